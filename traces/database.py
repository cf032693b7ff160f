"""SQLite files that may come from someone else, and that several processes use at once: the store, recorded replies,
the archive of the web. Opening them, their schema, contents by digest, checks, what SQLite says as a sentence, and the
disks that it cannot be trusted on."""

import hashlib
import re
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TypeVar

BUSY_SECONDS = 60.0
"""How long others that write are waited for."""

Result = TypeVar("Result")

DIGEST_BYTES = 16
COMPRESS_BYTES = 128
MAX_CONTENT_BYTES = 1_000_000_000
_PLAIN, _ZSTD = 0, 1
"""How a content lies in its row."""

Layout = tuple[tuple[str | None, ...], ...]
"""Type, name, table and SQL of all that a database's schema has, by name."""


def connect(path: Path, options: str, *, busy_seconds: float = BUSY_SECONDS) -> sqlite3.Connection:
    """A connection in which nothing in the file's schema may run functions or name other files, for use in any thread
    and with transactions by hand. `options` are those of SQLite's URIs (`mode=ro`). Raises sqlite3.Error."""
    connection = sqlite3.connect(
        f"{path.absolute().as_uri()}?{options}",
        uri=True,
        isolation_level=None,
        timeout=busy_seconds,
        check_same_thread=False,
    )
    try:
        connection.execute("PRAGMA trusted_schema = OFF")
    except sqlite3.Error:
        connection.close()
        raise
    return connection


def patiently(act: Callable[[], Result], seconds: float = BUSY_SECONDS) -> Result:
    """Repeats what SQLite refuses at once, without waiting: changing to a WAL while others do the same."""
    until = time.monotonic() + seconds
    while True:
        try:
            return act()
        except sqlite3.OperationalError as error:
            busy = getattr(error, "sqlite_errorname", "").startswith(("SQLITE_BUSY", "SQLITE_LOCKED"))
            if not busy or time.monotonic() > until:
                raise
            time.sleep(0.01)


def beside(path: Path, suffix: str) -> Path:
    return path.with_name(path.name + suffix)


def has_wal(path: Path) -> bool:
    """Whether something waits beside the file, of one who writes just now or was killed."""
    try:
        return beside(path, "-wal").stat().st_size > 0
    except OSError:
        return False


def layout(connection: sqlite3.Connection) -> Layout:
    """What its schema says, so that a file can be held to the tables that it should have. Raises sqlite3.Error."""
    return tuple(connection.execute("SELECT type, name, tbl_name, sql FROM sqlite_schema ORDER BY name"))


@contextmanager
def transaction(connection: sqlite3.Connection) -> Iterator[None]:
    """All that is written within, or nothing; others that write wait. SQLite rolls back by itself where a disk is
    full, and would then refuse to: that would hide why."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise


WORKBENCH_ID = 0x746C7762
"""Of workbenches, which `toolablate build` keeps beside stores."""
UNRELEASED_ID = 0x746C6162
"""Of stores and workbenches that development versions wrote, in versions of the tables that no release has had."""


@dataclass(frozen=True)
class FileSchema:
    """The tables of one kind of file, and the numbers in its header by which it is known. All methods raise
    sqlite3.Error, also for what is no database."""

    application_id: int
    version: int
    sql: str

    @cached_property
    def layout(self) -> Layout:
        connection = sqlite3.connect(":memory:", isolation_level=None)
        try:
            self._put(connection)
            return layout(connection)
        finally:
            connection.close()

    def create(self, connection: sqlite3.Connection) -> None:
        """Gives an empty file its tables, once, whoever else tries at the same time."""
        with transaction(connection):
            if self.is_empty(connection):
                self._put(connection)

    def numbers(self, connection: sqlite3.Connection) -> tuple[int, int]:
        """The application's and the version's."""
        (application,) = connection.execute("PRAGMA application_id").fetchone()
        (version,) = connection.execute("PRAGMA user_version").fetchone()
        return application, version

    def is_empty(self, connection: sqlite3.Connection) -> bool:
        return self.numbers(connection) == (0, 0) and not layout(connection)

    def fits(self, connection: sqlite3.Connection) -> bool:
        """Whether the file is laid out just so, with nothing in it that could act."""
        return self.numbers(connection) == (self.application_id, self.version) and layout(connection) == self.layout

    def _put(self, connection: sqlite3.Connection) -> None:
        for statement in self.sql.split(";\n"):
            connection.execute(statement)
        connection.execute(f"PRAGMA application_id = {self.application_id}")
        connection.execute(f"PRAGMA user_version = {self.version}")


class ContentDamaged(Exception):
    """A content that is not what was kept. Never leaves the store, the archive or the recorded replies as it is."""


class _Compressing(threading.local):
    """To make these takes longer than most contents do; one must not be used by two threads at once."""

    def __init__(self) -> None:
        import zstandard

        self.compress = zstandard.ZstdCompressor(level=3, write_checksum=False).compress
        self.decompress = zstandard.ZstdDecompressor().decompress


compressing = _Compressing()


def digest_bytes(content: bytes) -> bytes:
    """The first 128 bits of the SHA-256."""
    return hashlib.sha256(content).digest()[:DIGEST_BYTES]


def encoded(content: bytes) -> tuple[int, bytes]:
    """A content as its row has it: encoding and body, compressed where that makes it smaller."""
    if len(content) >= COMPRESS_BYTES:
        packed = compressing.compress(content)
        if len(packed) < len(content):
            return _ZSTD, packed
    return _PLAIN, content


def decoded(what: str, encoding: int, body: bytes) -> bytes:
    """The content of a row, which errors call `what`. Raises ContentDamaged."""
    import zstandard

    try:
        if encoding == _ZSTD:
            size = zstandard.frame_content_size(body)
            if not 0 <= size <= MAX_CONTENT_BYTES:
                raise ContentDamaged(f"{what} claims {size} bytes")
            body = compressing.decompress(body)
        if not isinstance(body, bytes):
            raise TypeError(f"it is no content but {type(body).__name__}")
        return body
    except (zstandard.ZstdError, AttributeError, TypeError, ValueError) as error:
        raise ContentDamaged(f"{what} cannot be decoded ({error})") from None


@dataclass(frozen=True, slots=True)
class Problem:
    """Something that is not as it was written. `where` names the row, entry or file (`trial 3f2a...`), `what` the
    damage."""

    where: str
    what: str


MAX_PROBLEMS = 1_000
"""Beyond this many a file is a ruin, and the list of its problems is cut."""


def structure_problems(connection: sqlite3.Connection, name: str) -> Iterator[tuple[str, str] | None]:
    """SQLite's own view: pages and indexes, of which errors speak as `name`, and foreign keys. None for what holds."""
    for (line,) in connection.execute("PRAGMA integrity_check"):
        yield None if line == "ok" else (name, str(line))
    for table, row, parent, _ in connection.execute("PRAGMA foreign_key_check"):
        yield f"{table} row {row}", f"refers to a row of {parent} that is not there"


_FAILURES = {
    "SQLITE_FULL": ("disk_full", "the disk is full", "Free some space and run again: what was kept is kept."),
    "SQLITE_READONLY": ("read_only", "it is read-only", "Make the file and its folder writable, or copy it."),
    "SQLITE_BUSY": ("locked", "another program holds it", "Wait until it is done, or stop it, and run again."),
    "SQLITE_LOCKED": ("locked", "another program holds it", "Wait until it is done, or stop it, and run again."),
    "SQLITE_CANTOPEN": ("cannot_open", "it cannot be opened", "Check the path and its permissions."),
    "SQLITE_IOERR": ("io_error", "the disk failed to read or write", "Check the disk and its free space."),
    "SQLITE_TOOBIG": ("too_big", "a content is larger than SQLite can hold (1 GB)", "Limit what a tool may return."),
}


@dataclass(frozen=True, slots=True)
class KnownFailure:
    """What SQLite or the file system says: a code for programs, the reason in words, and what to do."""

    code: str
    reason: str
    hint: str


def known_failure(error: Exception, hints: Mapping[str, str] | None = None) -> KnownFailure | None:
    """Of an error of SQLite whose reason lies outside the file's content; None for all others. `hints` are other
    words for what to do, by code."""
    name = getattr(error, "sqlite_errorname", "") or ""
    for prefix, (code, reason, hint) in _FAILURES.items():
        if name.startswith(prefix):
            return KnownFailure(code, reason, (hints or {}).get(code, hint))
    return None


def is_damage(error: sqlite3.Error) -> bool:
    """Whether SQLite says that the file is no database, or none any more."""
    return (getattr(error, "sqlite_errorname", "") or "").startswith(("SQLITE_NOTADB", "SQLITE_CORRUPT"))


_NETWORK = re.compile(r"nfs\d?|cifs|smb\d?|smbfs|lustre|gpfs|beegfs|afs|fuse\.sshfs")


def network_file_system(path: Path, mounts: str | None = None) -> str:
    """The type of the network file system that an absolute path lies on, such as "nfs4"; "" for a local disk, or where
    the system does not tell. `mounts` is the text of Linux's /proc/self/mountinfo, which is read by default."""
    try:
        place = path.resolve()
        mounts = Path("/proc/self/mountinfo").read_text(errors="surrogateescape") if mounts is None else mounts
    except (OSError, ValueError, RuntimeError):
        return ""
    best, kind = -1, ""
    for line in mounts.splitlines():
        before, _, after = line.partition(" - ")
        mount = Path(re.sub(r"\\(\d{3})", lambda found: chr(int(found[1], 8)), before.split(" ")[4]))
        # Of two mounts at one place the later one is on top.
        if place.is_relative_to(mount) and len(mount.parts) >= best:
            best, kind = len(mount.parts), after.split(" ")[0]
    return kind if _NETWORK.fullmatch(kind) else ""
