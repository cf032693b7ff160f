"""Which batches a store's runs have made, and what was asked in each: a file beside the store.

It is written before a batch is made and before it is waited for, so that a run which is killed at any moment goes on
with its batches. It goes when there is none left whose replies have not been read.
"""

import sqlite3
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

from toolablate.traces.database import FileSchema, connect, transaction
from toolablate.traces.errors import StoreError

_TABLES = """
CREATE TABLE batches (
    token TEXT NOT NULL PRIMARY KEY,
    id TEXT NOT NULL,
    read INTEGER NOT NULL
) WITHOUT ROWID;
CREATE TABLE requests (
    name TEXT NOT NULL PRIMARY KEY,
    batch TEXT NOT NULL REFERENCES batches (token)
) WITHOUT ROWID;
"""
SCHEMA = FileSchema(application_id=0x746C6274, version=1, sql=_TABLES)
"""`tlbt` in the file's header."""
_ALL_BATCHES = "SELECT token, id, read FROM batches"
_HINT = "Batches that are not read yet are named in it; without it they are made, and paid for, once more."


@dataclass(frozen=True, slots=True)
class KeptBatch:
    """`token` is ours, and goes with the batch as metadata; `id` is the endpoint's, "" where it is not known whether
    the batch was made. `read` tells that its replies were given to trials before."""

    token: str
    id: str = ""
    read: bool = False


class KeptBatches:
    """Every method raises StoreError where the file cannot be used; several processes may use it at once."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._seen: tuple[int, int, int] | None = None
        self._by_request: dict[str, KeptBatch] = {}

    def find(self, request: str) -> KeptBatch | None:
        """The last batch in which this was asked."""
        seen = self._stat()
        if seen != self._seen:
            self._by_request = self._load() if seen else {}
            self._seen = seen
        return self._by_request.get(request)

    def begin(self, token: str, requests: Iterable[str]) -> None:
        """A batch is about to be made."""
        names = list(requests)

        def write(connection: sqlite3.Connection) -> None:
            connection.execute("INSERT INTO batches VALUES (?, '', 0)", (token,))
            connection.executemany("INSERT OR REPLACE INTO requests VALUES (?, ?)", ((name, token) for name in names))

        self._write(write)

    def made(self, token: str, identity: str) -> None:
        self._write(lambda file: file.execute("UPDATE batches SET id = ? WHERE token = ?", (identity, token)))

    def ended(self, token: str) -> None:
        """Its replies were read, or it was never made."""
        self._write(lambda file: file.execute("UPDATE batches SET read = 1 WHERE token = ?", (token,)))

    def tidy(self) -> None:
        """Removes the file where nothing in it is waited for."""
        if self._stat() is None:
            return
        with self._opened() as connection, transaction(connection):
            if connection.execute("SELECT 1 FROM batches WHERE NOT read LIMIT 1").fetchone() is None:
                self._path.unlink(missing_ok=True)

    def _stat(self) -> tuple[int, int, int] | None:
        try:
            found = self._path.stat()
        except FileNotFoundError:
            return None
        return found.st_ino, found.st_mtime_ns, found.st_size

    def _load(self) -> dict[str, KeptBatch]:
        with self._opened() as connection:
            batches = {row[0]: KeptBatch(row[0], row[1], bool(row[2])) for row in connection.execute(_ALL_BATCHES)}
            return {name: batches[token] for name, token in connection.execute("SELECT name, batch FROM requests")}

    def _write(self, write: Callable[[sqlite3.Connection], object]) -> None:
        """Once more where another process has removed the file meanwhile, since nothing was left in it."""
        for _ in range(10):
            with self._opened() as connection:
                before = self._path.stat().st_ino
                with transaction(connection):
                    write(connection)
                now = self._stat()
                if now is not None and now[0] == before:
                    return
        raise StoreError(f"{self._path} is removed again and again", hint=_HINT, code="cannot_open")

    @contextmanager
    def _opened(self) -> Iterator[sqlite3.Connection]:
        try:
            with closing(connect(self._path, "mode=rwc")) as connection:
                connection.execute("PRAGMA synchronous = EXTRA")
                SCHEMA.create(connection)
                if not SCHEMA.fits(connection):
                    raise StoreError(f"{self._path} is no file of batches", hint=_HINT, code="not_a_store")
                yield connection
        except (sqlite3.Error, OSError) as error:
            raise StoreError(f"{self._path} cannot be used: {error}", hint=_HINT, code="cannot_open") from None
