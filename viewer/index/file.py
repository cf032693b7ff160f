"""The index's file: made anew where it is not one of ours, and read at one moment while another process writes it."""

import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from importlib.resources import files
from pathlib import Path

from toolablate.traces.database import connect, patiently
from toolablate.traces.errors import StoreError

APPLICATION_ID = 0x746C6978
"""`tlix`"""

VERSION = 7
"""Of the schema and of how it is filled: a file of another is made anew."""

_OURS = (APPLICATION_ID, VERSION)


def ensure(path: Path) -> None:
    """Makes the index where there is none, or none that can be used. Raises StoreError where it cannot be made."""
    try:
        # A cache may be cleared while it is in use.
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        if not _is_usable(path):
            remove(path)
        with closing(connect(path, "mode=rwc")) as connection:
            patiently(lambda: _create(connection))
    except (sqlite3.Error, OSError) as error:
        raise unusable(path, error) from None


def unusable(path: Path, error: Exception) -> StoreError:
    return StoreError(
        f"Cannot write the viewer's index {path}: {error}",
        hint="Its folder has to be writable and have space left.",
        code="cannot_write",
    )


def remove(path: Path) -> None:
    for suffix in ("", "-wal", "-shm"):
        path.with_name(path.name + suffix).unlink(missing_ok=True)


@contextmanager
def reader(path: Path) -> Iterator[sqlite3.Connection]:
    """What is read within is of one moment. Raises sqlite3.Error."""
    with closing(connect(path, "mode=ro")) as connection:
        _require_ours(connection)
        connection.execute("BEGIN")
        yield connection


@contextmanager
def writer(path: Path) -> Iterator[sqlite3.Connection]:
    """What is written within is there at its end, or nothing of it; and a new version, if anything is. Raises
    sqlite3.Error."""
    with closing(connect(path, "mode=rw")) as connection:
        _require_ours(connection)
        connection.execute("PRAGMA synchronous = NORMAL")
        connection.execute("BEGIN IMMEDIATE")
        before = connection.total_changes
        yield connection
        if connection.total_changes > before:
            connection.execute("UPDATE facts SET value = value + 1 WHERE name = 'version'")
        connection.execute("COMMIT")


def fact(connection: sqlite3.Connection, name: str) -> str | None:
    row = connection.execute("SELECT value FROM facts WHERE name = ?", (name,)).fetchone()
    return None if row is None else str(row[0])


def state(connection: sqlite3.Connection, name: str, value: str) -> None:
    connection.execute(
        "INSERT INTO facts VALUES (?1, ?2) ON CONFLICT (name) DO UPDATE SET value = ?2 WHERE value <> ?2", (name, value)
    )


def _is_usable(path: Path) -> bool:
    """Whether it is an index without damage, or will become one: it is not there, or empty. Raises sqlite3.Error where
    nobody can tell: that is no reason to throw it away."""
    if not path.exists():
        return True
    try:
        with closing(connect(path, "mode=rw")) as connection:
            (tables,) = connection.execute("SELECT count(*) FROM sqlite_schema").fetchone()
            ours = _kind(connection) == _OURS or (_kind(connection) == (0, 0) and not tables)
            return ours and connection.execute("PRAGMA quick_check(1)").fetchone()[0] == "ok"
    except sqlite3.OperationalError:
        raise
    except sqlite3.DatabaseError:
        return False


def _require_ours(connection: sqlite3.Connection) -> None:
    """Another version of toolablate may have made it anew meanwhile."""
    if _kind(connection) != _OURS:
        raise sqlite3.DatabaseError("it is of another version")


def _kind(connection: sqlite3.Connection) -> tuple[int, int]:
    found = (connection.execute(f"PRAGMA {name}").fetchone()[0] for name in ("application_id", "user_version"))
    return next(found), next(found)


def _create(connection: sqlite3.Connection) -> None:
    """The first version is the time, so that it is above any that a page may know of a file that was here before."""
    connection.execute("PRAGMA journal_mode = WAL")
    if _kind(connection) == _OURS:
        return
    schema = (files("toolablate.viewer.index") / "schema.sql").read_text(encoding="utf-8")
    first = time.time_ns() // 1_000_000
    connection.executescript(
        f"BEGIN IMMEDIATE;\n{schema}\nINSERT OR IGNORE INTO facts VALUES ('version', '{first}');"
        f"PRAGMA application_id = {APPLICATION_ID};\nPRAGMA user_version = {VERSION};\nCOMMIT;"
    )
