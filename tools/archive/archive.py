"""An open archive with all that it lies over: looked up, and recorded into."""

import contextlib
import errno
import hashlib
import os
import sqlite3
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from os import PathLike
from pathlib import Path
from types import TracebackType
from typing import Self

from toolablate.tools.archive import index
from toolablate.tools.archive import warc as _http
from toolablate.tools.archive.captures import (
    FOREVER,
    MAX_REQUESTS,
    NEIGHBOURS,
    ArchiveEntry,
    EntryKind,
    Layer,
    Missing,
    Requests,
    StoredExchange,
    best_entry,
    best_exchange,
    from_micros,
    near_form,
    nearest_url,
    shortened,
    to_micros,
)
from toolablate.tools.archive.index import entry_digest, exchange_row_digest, put_blob
from toolablate.tools.archive.manifest import (
    MANIFEST,
    WARC_FOLDER,
    ArchiveManifest,
    Base,
    cannot_open,
    failed,
    read_manifest,
)
from toolablate.tools.archive.warc import WarcWriter, exchange_digest, exchange_members
from toolablate.tools.web.exchange import Exchange
from toolablate.traces.database import digest_bytes
from toolablate.traces.errors import InputError, InternalError
from toolablate.traces.records import clean_text

INSERT_ENTRY = """
INSERT INTO entries (kind, key, failed, captured_at, request, blob, digest) VALUES (?, ?, ?, ?, ?, ?, ?)
"""
SAME_ENTRY = "SELECT 1 FROM entries WHERE kind = ? AND key = ? AND failed = ? AND captured_at = ?"
SAME_EXCHANGE = "SELECT 1 FROM exchanges WHERE key = ? AND failed = ? AND captured_at = ?"
INSERT_EXCHANGE = """
INSERT INTO exchanges (key, failed, captured_at, url, near, status, location, content_type, payload, file, position,
    response_bytes, request_bytes, content, digest)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
"""


class CaptureRecorder:
    """Belongs to one process; its threads take turns. `below` are the layers that its archive lies over."""

    def __init__(self, path: Path, connection: sqlite3.Connection, below: Sequence[Layer]) -> None:
        self._path = path
        self._connection = connection
        self._layers = (Layer(path, connection), *below)
        self._warc = WarcWriter(path / WARC_FOLDER)
        self._lock = threading.Lock()
        self._process = os.getpid()

    def keep(self, entry: ArchiveEntry, *, refresh: bool) -> ArchiveEntry:
        """What counts under that key from now on. Raises ToolError."""
        micros = to_micros(entry.captured_at)
        with self._transaction() as connection:
            found = best_entry(self._layers, entry.kind, entry.key, FOREVER)
            if found is not None and not found.failed and (entry.failed or not refresh):
                return found
            capture = (entry.kind, entry.key, int(entry.failed), micros)
            if not connection.execute(SAME_ENTRY, capture).fetchone():
                blob = put_blob(connection, entry.content)
                content = hashlib.sha256(entry.content).hexdigest()
                digest = entry_digest(*capture, entry.request, content)
                connection.execute(INSERT_ENTRY, (*capture, entry.request, blob, digest))
            return best_entry(self._layers, entry.kind, entry.key, FOREVER) or entry

    def keep_exchange(self, key: str, exchange: Exchange, *, failed: bool, refresh: bool) -> StoredExchange:
        """`exchange` is one that can be kept (`_http.as_kept`). Raises ToolError."""
        micros = to_micros(exchange.fetched_at)
        with self._transaction() as connection:
            found = best_exchange(self._layers, key, FOREVER)
            if found is not None and not found.failed and (failed or not refresh):
                return found
            capture = (key, int(failed), micros)
            if not connection.execute(SAME_EXCHANGE, capture).fetchone():
                self._add(connection, capture, exchange)
            kept = best_exchange(self._layers, key, FOREVER)
            if kept is None:
                raise InternalError(f"The archive {self._path} does not hold what was just put there")
            return kept

    def _add(self, connection: sqlite3.Connection, capture: tuple[str, int, int], exchange: Exchange) -> None:
        response, request = exchange_members(exchange, self._warc.info_id())
        name, position = self._warc.append((response, request))
        connection.execute("INSERT OR IGNORE INTO files (name) VALUES (?)", (name,))
        (file,) = connection.execute("SELECT id FROM files WHERE name = ?", (name,)).fetchone()
        told = (exchange.status, exchange.header("location"), exchange.header("content-type"))
        payload, content = digest_bytes(exchange.body), exchange_digest(exchange)
        row = (
            *capture,
            exchange.url,
            near_form(exchange.url),
            *told,
            payload,
            file,
            position,
            len(response),
            len(request),
            content,
            exchange_row_digest(*capture, exchange.url, *told, payload, content),
        )
        connection.execute(INSERT_EXCHANGE, row)

    @contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        if os.getpid() != self._process:
            raise InternalError("An archive that is open for writing was used in a process forked from its own")
        with self._lock:
            try:
                self._connection.execute("BEGIN IMMEDIATE")
                try:
                    yield self._connection
                    self._connection.execute("COMMIT")
                except BaseException:
                    # Whether a commit that failed reached the disk is unknown, so what was written stays where it is.
                    self._warc.leave()
                    if self._connection.in_transaction:
                        self._connection.execute("ROLLBACK")
                    raise
            except (sqlite3.Error, OSError) as error:
                raise failed(self._path, "written", error) from error

    def close(self) -> None:
        with self._lock:
            self._warc.leave()
            self._connection.close()


RAW: EntryKind = "raw"
COMPARED_KINDS = ("search", "mcp", "mcp_tools")
"""Kinds whose requests a person could compare; the others are looked for beside an exchange, and often in vain."""


class Archive:
    """An open archive, with the archives that it lies over. All threads may use it; every call is short.

    Several captures may lie under one key. Of those until `as_of` (all, where it is None) a good one counts before a
    failed one, then the newest; the first good one is never joined by another unless that is kept with `refresh`. What
    fails while an archive is used is a ToolError. `open_archive` makes these.
    """

    def __init__(
        self,
        path: Path,
        manifest: ArchiveManifest,
        layers: Sequence[Layer],
        recorder: CaptureRecorder | None,
        lock: int,
    ) -> None:
        self.path = path
        self._manifest = manifest
        self._layers = tuple(layers)
        self._recorder = recorder
        self._lock = lock
        self._requests: dict[str, Requests] = {}
        self._comparing = threading.Lock()

    @property
    def sealed(self) -> bool:
        return self._manifest.sealed is not None

    @property
    def root(self) -> str:
        """The root digest: 64 hexadecimal digits, empty until the archive is sealed."""
        return self._manifest.sealed.root if self._manifest.sealed else ""

    def find(
        self, kind: EntryKind, key: str, request: str, *, as_of: datetime | None = None, nearest: bool = True
    ) -> ArchiveEntry | Missing:
        """`request` describes what is asked for, as `keep` was told; only the `nearest` request is found by it.

        To find that one takes up to 2 ms, and the first time of all up to 0.2 s.
        """
        found = best_entry(self._layers, kind, key, _upto(as_of))
        if found is not None:
            return found
        later = best_entry(self._layers, kind, key, FOREVER) if as_of else None
        if later is not None:
            return _too_late(later.request, later.captured_at)
        return Missing("not_in_archive", self._nearest_request(kind, request) if nearest else "")

    def find_exchange(self, key: str, url: str, *, as_of: datetime | None = None) -> StoredExchange | Missing:
        found = best_exchange(self._layers, key, _upto(as_of))
        if found is not None:
            return found
        later = best_exchange(self._layers, key, FOREVER) if as_of else None
        if later is not None:
            return _too_late(later.url, later.captured_at)
        return Missing("not_in_archive", self._nearest_url(url))

    def pages(self) -> Iterator[StoredExchange]:
        """Every capture of a page that was had (status 200), of all that this archive lies over as well."""
        for layer in self._layers:
            yield from layer.pages()

    def keep(
        self,
        kind: EntryKind,
        key: str,
        request: str,
        content: bytes,
        captured_at: datetime,
        *,
        failed: bool = False,
        refresh: bool = False,
    ) -> ArchiveEntry:
        """Durable when it returns. Returns what counts now, which another may have kept first.

        A failed one gives way to any good one and to a newer failed one, and never takes the place of a good one.
        Raises ToolError; ValueError for a time without a zone.
        """
        recorder = self._writable()
        if not refresh:
            found = best_entry(self._layers, kind, key, FOREVER)
            if found is not None and not found.failed:
                return found
        entry = ArchiveEntry(kind, clean_text(key), clean_text(request), content, captured_at, failed)
        return recorder.keep(entry, refresh=refresh)

    def keep_exchange(
        self, key: str, exchange: Exchange, *, failed: bool = False, refresh: bool = False
    ) -> StoredExchange:
        """As `keep`; a fetch that got no reply is a `failure` entry."""
        recorder = self._writable()
        if not refresh:
            found = best_exchange(self._layers, key, FOREVER)
            if found is not None and not found.failed:
                return found
        return recorder.keep_exchange(clean_text(key), _http.as_kept(exchange), failed=failed, refresh=refresh)

    def keep_raw(self, content: bytes) -> str:
        """The digest under which `raw` gives it back: the first 32 hexadecimal digits of its SHA-256."""
        digest = digest_bytes(content).hex()
        self.keep(RAW, digest, "", content, from_micros(0))
        return digest

    def raw(self, digest: str) -> bytes | None:
        found = best_entry(self._layers, RAW, digest, FOREVER)
        return found.content if found else None

    def close(self) -> None:
        """May be called again."""
        for layer in self._layers:
            layer.close()
        # Last, since only a connection that may write leaves one plain file behind.
        if self._recorder is not None:
            self._recorder.close()
        if self._lock >= 0:
            os.close(self._lock)
            self._lock = -1

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def _writable(self) -> CaptureRecorder:
        if self._recorder is None:
            raise InternalError(f"The archive {self.path} is not open for writing")
        return self._recorder

    def _nearest_request(self, kind: str, request: str) -> str:
        # While recording, what is missing is about to be asked for.
        if kind not in COMPARED_KINDS or self._recorder is not None:
            return ""
        with self._comparing:
            if kind not in self._requests:
                found = (layer.rows(REQUESTS, (kind, MAX_REQUESTS)) for layer in self._layers)
                self._requests[kind] = Requests(text for rows in found for (text,) in rows)
            return self._requests[kind].nearest(request)

    def _nearest_url(self, url: str) -> str:
        if self._recorder is not None:
            return ""
        near = near_form(url)
        found = [layer.rows(query, (near, NEIGHBOURS)) for layer in self._layers for query in (AFTER, BEFORE)]
        return nearest_url(url, (row for rows in found for row in rows))


# By key, which is a digest: where there are too many to compare, an even sample of them.
REQUESTS = "SELECT request FROM entries WHERE kind = ? ORDER BY key LIMIT ?"
AFTER = "SELECT DISTINCT near, url FROM exchanges WHERE near >= ? ORDER BY near, url LIMIT ?"
BEFORE = "SELECT DISTINCT near, url FROM exchanges WHERE near < ? ORDER BY near DESC, url LIMIT ?"


def _upto(as_of: datetime | None) -> int:
    return FOREVER if as_of is None else to_micros(as_of)


def _too_late(request: str, captured_at: datetime) -> Missing:
    return Missing("after_cutoff", f"{shortened(request)} (captured {captured_at:%Y-%m-%d %H:%M:%S} UTC)")


# Opens archives, and makes overlays of sealed ones.


MAX_LAYERS = 16


def open_archive(path: str | PathLike[str], *, write: bool = False) -> Archive:
    """An archive with all that it lies over; with `write`, made where there is none yet.

    Raises InputError where it is no archive, of a newer format or damaged, where what it lies over is gone or another
    than it was, and with `write` where it is sealed.
    """
    folder = Path(path)
    with contextlib.ExitStack() as opened:
        lock = -1
        if write or read_manifest(folder).sealed is None:
            lock = _hold(folder, write=write)
            opened.callback(os.close, lock)
        manifest = read_manifest(folder)
        if write:
            _refuse_sealed(folder, manifest)
        layers = [_layer(opened, folder, manifest)]
        layers += [_layer(opened, *below) for below in bases(folder, manifest)]
        recorder = None
        if write:
            recorder = CaptureRecorder(folder, index.open_growing(folder, write=True), layers[1:])
        opened.pop_all()
    return Archive(folder, manifest, layers, recorder, lock)


def check_growing(path: str | PathLike[str]) -> bool:
    """Whether there is an archive that can be recorded into; False where one would be made. Nothing is changed.

    Raises InputError where neither is so.
    """
    folder = Path(path)
    try:
        if not folder.exists() or index.is_free(folder):
            return False
        if not os.access(folder, os.W_OK):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
    except OSError as error:
        raise cannot_open(folder, error) from error
    _refuse_sealed(folder, read_manifest(folder))
    return True


def _refuse_sealed(folder: Path, manifest: ArchiveManifest) -> None:
    if manifest.sealed:
        raise InputError(
            f"The archive {folder} is sealed, so nothing can be added to it",
            hint=f"Name a new archive in the plan and extend this one: toolablate web record PLAN --over {folder}",
            code="sealed",
        )


def _hold(folder: Path, *, write: bool) -> int:
    if write:
        index.make_folder(folder)
    lock = index.lock(folder)
    try:
        if write and not (folder / MANIFEST).exists():
            index.create(folder)
    except BaseException:
        os.close(lock)
        raise
    return lock


def _layer(opened: contextlib.ExitStack, folder: Path, manifest: ArchiveManifest) -> Layer:
    connection = index.open_sealed(folder, manifest) if manifest.sealed else index.open_growing(folder, write=False)
    layer = Layer(folder, connection)
    opened.callback(layer.close)
    return layer


def bases(folder: Path, manifest: ArchiveManifest) -> Iterator[tuple[Path, ArchiveManifest]]:
    """What an archive lies over, from the top down. Raises InputError where one is gone or has become another."""
    for _ in range(MAX_LAYERS):
        if manifest.base is None:
            return
        below = base_folder(folder, manifest.base)
        folder, manifest = below, base_manifest(folder, below, manifest.base)
        yield folder, manifest
    raise InputError(f"The archive {folder} lies over more than {MAX_LAYERS} others", code="too_many_layers")


def base_folder(folder: Path, base: Base) -> Path:
    # Links are followed, since the path was made relative to the folder itself.
    return Path(os.path.normpath(folder.resolve() / base.path))


def base_manifest(folder: Path, below: Path, base: Base) -> ArchiveManifest:
    """Of what `folder` lies over. Raises InputError where it is gone or has become another."""
    try:
        manifest = read_manifest(below)
    except InputError as error:
        raise InputError(
            f"The archive {folder} lies over {below}, which cannot be opened: {error.message}",
            hint="Restore the base there, or edit `base.path` in archive.json, which is relative to the folder.",
            code="no_base",
        ) from error
    if manifest.sealed is None or manifest.sealed.root != base.root:
        raise InputError(
            f"The archive {folder} lies over {below}, which is not what it was: its root digest was {base.root}",
            hint="Restore the base there, or edit `base.path` in archive.json, which is relative to the folder.",
            code="base_changed",
        )
    return manifest


def create_overlay(path: str | PathLike[str], base: str | PathLike[str]) -> None:
    """Makes an empty archive that lies over a sealed one, which stays as it is.

    Raises InputError where the base is not sealed or cannot be opened, where there is something at `path`, and where
    that lies inside the base.
    """
    folder, below = Path(path), Path(base)
    with open_archive(below) as opened:
        if not opened.sealed:
            raise InputError(
                f"The archive {below} is not sealed, so nothing can be laid over it",
                hint=f"Seal it first: toolablate web seal {below}",
                code="not_sealed",
            )
        root = opened.root
    if folder.resolve().is_relative_to(below.resolve()):
        raise InputError(
            f"{folder} lies inside the archive {below}, to which nothing can be added",
            hint="Name a new folder beside it.",
            code="inside_base",
        )
    index.make_folder(folder)
    lock = index.lock(folder, exclusive=True)
    try:
        if (folder / MANIFEST).exists():
            raise InputError(f"There is an archive at {folder} already", hint="Name a new folder.", code="exists")
        relative = os.path.relpath(below.resolve(), folder.resolve())
        index.create(folder, Base(path=relative, root=root))
    except OSError as error:
        raise cannot_open(folder, error) from error
    finally:
        os.close(lock)
