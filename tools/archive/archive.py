"""A web that was recorded: what was asked under which key, and what came of it."""

import os
import threading
from collections.abc import Iterator, Sequence
from datetime import datetime
from pathlib import Path
from types import TracebackType
from typing import Self

from toolablate.tools.archive import _http
from toolablate.tools.archive._blobs import digest_bytes
from toolablate.tools.archive._layer import FOREVER, Layer, best_entry, best_exchange
from toolablate.tools.archive._nearest import MAX_REQUESTS, NEIGHBOURS, Requests, near_form, nearest_url, shortened
from toolablate.tools.archive._recorder import Recorder
from toolablate.tools.archive.entry import Entry, EntryKind, Missing, StoredExchange, from_micros, to_micros
from toolablate.tools.archive.manifest import Manifest
from toolablate.tools.web.exchange import Exchange
from toolablate.traces.errors import InternalError
from toolablate.traces.records import clean_text

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
        self, path: Path, manifest: Manifest, layers: Sequence[Layer], recorder: Recorder | None, lock: int
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
    ) -> Entry | Missing:
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
    ) -> Entry:
        """Durable when it returns. Returns what counts now, which another may have kept first.

        A failed one gives way to any good one and to a newer failed one, and never takes the place of a good one.
        Raises ToolError; ValueError for a time without a zone.
        """
        recorder = self._writable()
        if not refresh:
            found = best_entry(self._layers, kind, key, FOREVER)
            if found is not None and not found.failed:
                return found
        entry = Entry(kind, clean_text(key), clean_text(request), content, captured_at, failed)
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

    def _writable(self) -> Recorder:
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
