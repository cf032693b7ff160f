"""The index: one SQLite file over everything, its contents by digest, and how it is opened and locked."""

import fcntl
import hashlib
import os
import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime
from pathlib import Path

from toolablate.tools.archive.manifest import (
    ASIDE,
    INDEX,
    MANIFEST,
    WARC_FOLDER,
    ArchiveManifest,
    Base,
    cannot_open,
    create_manifest,
    damaged,
)
from toolablate.traces.database import (
    BUSY_SECONDS,
    DIGEST_BYTES,
    ContentDamaged,
    FileSchema,
    connect,
    decoded,
    digest_bytes,
    encoded,
    is_damage,
    patiently,
)
from toolablate.traces.errors import InputError
from toolablate.traces.records import canonical_json

APPLICATION_ID = 0x746C7765
"""`tlwe`: in the file's header, so that no other SQLite database is taken for an index."""
SCHEMA_VERSION = 1

_TABLES = """
CREATE TABLE facts (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE blobs (
    id INTEGER PRIMARY KEY,
    digest BLOB NOT NULL UNIQUE,
    encoding INTEGER NOT NULL,
    body BLOB NOT NULL
);
CREATE TABLE entries (
    id INTEGER PRIMARY KEY,
    kind TEXT NOT NULL,
    key TEXT NOT NULL,
    failed INTEGER NOT NULL,
    captured_at INTEGER NOT NULL,
    request TEXT NOT NULL,
    blob INTEGER NOT NULL REFERENCES blobs (id),
    digest BLOB NOT NULL,
    UNIQUE (kind, key, failed, captured_at)
);
CREATE TABLE files (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE);
CREATE TABLE exchanges (
    id INTEGER PRIMARY KEY,
    key TEXT NOT NULL,
    failed INTEGER NOT NULL,
    captured_at INTEGER NOT NULL,
    url TEXT NOT NULL,
    near TEXT NOT NULL,
    status INTEGER NOT NULL,
    location TEXT NOT NULL,
    content_type TEXT NOT NULL,
    payload BLOB NOT NULL,
    file INTEGER NOT NULL REFERENCES files (id),
    position INTEGER NOT NULL,
    response_bytes INTEGER NOT NULL,
    request_bytes INTEGER NOT NULL,
    content BLOB NOT NULL,
    digest BLOB NOT NULL,
    UNIQUE (key, failed, captured_at)
);
CREATE INDEX exchanges_near ON exchanges (near);
"""

SCHEMA = FileSchema(APPLICATION_ID, SCHEMA_VERSION, _TABLES)


def create_schema(connection: sqlite3.Connection) -> None:
    """Makes an empty file an index, once, whoever else tries at the same time. Raises sqlite3.Error."""
    connection.execute("PRAGMA journal_mode = WAL").fetchone()
    SCHEMA.create(connection)


# Contents, each kept once under its digest.


def put_blob(connection: sqlite3.Connection, content: bytes) -> int:
    """The id of a content, written if it is new. Raises sqlite3.Error."""
    digest = digest_bytes(content)
    row = connection.execute("SELECT id FROM blobs WHERE digest = ?", (digest,)).fetchone()
    if row is not None:
        return int(row[0])
    encoding, body = encoded(content)
    cursor = connection.execute("INSERT INTO blobs (digest, encoding, body) VALUES (?, ?, ?)", (digest, encoding, body))
    return int(cursor.lastrowid or 0)


def decode_blob(digest: bytes, encoding: int, body: bytes) -> tuple[bytes, str]:
    """The content in a row, and its whole SHA-256. Raises ContentDamaged where it is not what its digest says."""
    what = f"content {digest.hex()}" if isinstance(digest, bytes) else "a content"
    content = decoded(what, encoding, body)
    whole = hashlib.sha256(content)
    if whole.digest()[:DIGEST_BYTES] != digest:
        raise ContentDamaged(f"{what} does not match its digest")
    return content, whole.hexdigest()


# What makes a capture, as one digest. These, sorted, make an archive's root digest.


def entry_digest(kind: str, key: str, failed: int, micros: int, request: str, content: str) -> bytes:
    """`content` is the SHA-256 of what was kept, as 64 hexadecimal digits."""
    return _row_digest(kind, key, micros, [bool(failed), request, content])


def exchange_row_digest(
    key: str,
    failed: int,
    micros: int,
    url: str,
    status: int,
    location: str,
    content_type: str,
    payload: bytes,
    content: bytes,
) -> bytes:
    """Of what the index tells of an exchange; `content` is the digest of the exchange itself."""
    told = [bool(failed), url, status, location, content_type, payload.hex(), content.hex()]
    return _row_digest("exchange", key, micros, told)


def _row_digest(kind: str, key: str, micros: int, told: list[object]) -> bytes:
    return hashlib.sha256(canonical_json([kind, key, micros, told]).encode()).digest()


def root_digest(digests: Iterable[bytes], manifest: ArchiveManifest) -> str:
    """SHA-256 (64 hexadecimal digits) over the base's root digest, if any, and the captures' digests in order."""
    base = manifest.base.root if manifest.base else ""
    return hashlib.sha256(b"".join([b"toolablate-archive 1\n", base.encode(), b"\n", *sorted(digests)])).hexdigest()


# How the files of an archive are opened: locked while it can change, untouched once it is sealed.


def lock(path: Path, *, exclusive: bool = False) -> int:
    """A descriptor that holds the folder's lock until it is closed; all who use an archive that is not sealed share it.

    Raises InputError where it cannot be had.
    """
    try:
        folder = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except OSError as error:
        raise cannot_open(path, error) from error
    try:
        fcntl.flock(folder, (fcntl.LOCK_EX if exclusive else fcntl.LOCK_SH) | fcntl.LOCK_NB)
    except OSError:
        os.close(folder)
        raise InputError(
            f"The archive {path} is {'being used' if exclusive else 'just being sealed'} by another process",
            hint="Wait until it is done, or stop it, and try again.",
            code="locked",
        ) from None
    return folder


FILE_SIZES = """
SELECT name, max(position + response_bytes + request_bytes) FROM exchanges JOIN files ON files.id = file GROUP BY name
"""


def open_sealed(path: Path, manifest: ArchiveManifest) -> sqlite3.Connection:
    """Reads the index without locks and without a trace, on a read-only disk too. Raises InputError.

    The root digest is derived again from those of the captures, and each capture is held to its own when it is found.
    """
    connection = _connect(path, "mode=ro&immutable=1")
    try:
        _check_seal(path, manifest, connection)
    except (sqlite3.Error, ValueError, TypeError) as error:
        connection.close()
        raise damaged(path, f"its {INDEX} cannot be read ({error})") from error
    except InputError:
        connection.close()
        raise
    return connection


def _check_seal(path: Path, manifest: ArchiveManifest, connection: sqlite3.Connection) -> None:
    facts = dict(connection.execute("SELECT name, value FROM facts"))
    if facts != sealed_facts(manifest):
        raise damaged(path, f"its {INDEX} is not the one that was sealed, or {MANIFEST} was edited")
    if root_digest(row_digests(connection), manifest) != facts["root"]:
        raise damaged(path, f"its {INDEX} does not have the root digest that it was sealed with")
    for name, size in connection.execute(FILE_SIZES):
        file = path / WARC_FOLDER / name
        if not file.is_file() or file.stat().st_size < size:
            raise damaged(path, f"its {WARC_FOLDER}/{name} is not there, or cut off")


def row_digests(connection: sqlite3.Connection) -> list[bytes]:
    """Those of all captures, as the index has them. Raises sqlite3.Error, and TypeError for what is none."""
    query = "SELECT digest FROM entries UNION ALL SELECT digest FROM exchanges"
    return [bytes(digest) for (digest,) in connection.execute(query)]


def sealed_facts(manifest: ArchiveManifest) -> dict[str, str]:
    """What the index repeats of `archive.json`, so that neither can be exchanged for another's."""
    facts = {"root": manifest.sealed.root} if manifest.sealed else {}
    return facts | ({"base": manifest.base.root} if manifest.base else {})


def open_growing(path: Path, *, write: bool) -> sqlite3.Connection:
    """The index of an archive that others may be recording into. Raises InputError."""
    connection = _connect(path, "mode=rw" if write else _reading(path))
    try:
        connection.execute("SELECT count(*) FROM files").fetchone()
        if write:
            patiently(lambda: connection.execute("PRAGMA journal_mode = WAL").fetchone())
            connection.execute("PRAGMA synchronous = FULL")
            connection.execute("PRAGMA foreign_keys = ON")
            # Only a sealing that was cut short leaves any.
            connection.execute("DELETE FROM facts")
    except sqlite3.Error as error:
        connection.close()
        raise _unusable(path, error) from error
    return connection


def _reading(path: Path) -> str:
    """How to read what can grow. One who may write takes away the files beside it that SQLite makes for each reader;
    what a killed recorder left there is let alone.
    """
    beside = (path / f"{INDEX}-wal").exists() or not os.access(path, os.W_OK)
    return "mode=ro" if beside else "mode=rw"


def _unusable(path: Path, error: sqlite3.Error) -> InputError:
    if os.access(path, os.W_OK):
        return cannot_open(path, error)
    return InputError(
        f"The archive {path} cannot be used here: it is not sealed, and its folder is read-only",
        hint=f"Seal it where it can be written: toolablate web seal {path}",
        code="read_only",
    )


def _connect(path: Path, options: str) -> sqlite3.Connection:
    index = path / INDEX
    if not index.is_file():
        raise damaged(path, f"its {INDEX} is missing")
    try:
        connection = connect(index, options)
    except sqlite3.Error as error:
        raise cannot_open(path, error) from error
    try:
        known = SCHEMA.fits(connection)
    except sqlite3.Error as error:
        connection.close()
        if is_damage(error):
            raise damaged(path, f"its {INDEX} is no index of ours ({error})") from error
        raise _unusable(path, error) from error
    if not known:
        connection.close()
        raise damaged(path, f"its {INDEX} is no index of ours")
    return connection


def make_folder(path: Path) -> None:
    """Raises InputError."""
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise cannot_open(path, error) from error


def create(path: Path, base: Base | None = None) -> None:
    """Makes an empty archive of a folder whose lock is held, whoever else does so too. Raises InputError."""
    try:
        if not is_free(path):
            return
        connection = sqlite3.connect(path / INDEX, isolation_level=None, timeout=BUSY_SECONDS)
        try:
            patiently(lambda: create_schema(connection))
        finally:
            connection.close()
        create_manifest(path, ArchiveManifest(created_at=datetime.now(UTC), base=base))
    except (OSError, sqlite3.Error) as error:
        raise cannot_open(path, error) from error


def is_free(path: Path) -> bool:
    """Whether a folder is one to make an archive of; one that is an archive is not.

    Raises InputError where it holds anything else, and OSError.
    """
    strange = sorted(entry.name for entry in path.iterdir() if not entry.name.startswith(_OWN_NAMES))
    if (path / MANIFEST).exists():
        return False
    if strange:
        raise InputError(
            f"{path} is neither an archive nor empty: it contains {strange[0]}",
            hint="Name a new folder, or an archive.",
            code="not_an_archive",
        )
    return True


# What another that is creating the same archive, or was killed while it did, may have put there.
_OWN_NAMES = (INDEX, ASIDE)


@contextmanager
def opened_for_checks(path: Path, manifest: ArchiveManifest) -> Iterator[sqlite3.Connection]:
    """The index however damaged, for who looks for damage. Raises InputError where it is no index at all."""
    with ExitStack() as opened:
        if not manifest.sealed:
            opened.callback(os.close, lock(path))
        connection = _connect(path, "mode=ro&immutable=1" if manifest.sealed else _reading(path))
        opened.callback(connection.close)
        yield connection
