"""How the file is opened: for recording by several processes at once, for replaying without a change to it."""

import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path

from toolablate.agents.replies._errors import cannot_open, not_a_library
from toolablate.agents.replies._schema import create_schema, is_empty, is_library, is_newer, is_ours
from toolablate.traces.database import connect, patiently
from toolablate.traces.errors import InputError


def open_recording(path: Path) -> sqlite3.Connection:
    """For writing; what is committed survives SIGKILL and power loss. Makes the file where there is none.

    Raises InputError.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise cannot_open(path, error) from error
    connection = _connect(path, "mode=rwc")
    try:
        if patiently(lambda: is_empty(connection)):
            patiently(lambda: connection.execute("PRAGMA journal_mode = WAL").fetchone())
            patiently(lambda: create_schema(connection))
        _require_library(path, connection, new=True)
        connection.execute("PRAGMA synchronous = FULL")
        connection.execute("PRAGMA foreign_keys = ON")
        # Refuses a read-only file now, and not after the first reply was paid for.
        patiently(lambda: connection.execute("BEGIN IMMEDIATE"))
        connection.execute("ROLLBACK")
    except sqlite3.Error as error:
        connection.close()
        raise cannot_open(path, error, new=True) from error
    except InputError:
        connection.close()
        raise
    return connection


def open_reading(path: Path, *, damaged: bool = False) -> sqlite3.Connection:
    """For reading, at one moment of the file, whatever others add to it meanwhile; on a read-only disk too.

    `damaged` lets through what was a library once, for who looks for damage. Raises InputError.
    """
    if not path.is_file():
        raise _none_there(path)
    try:
        return _opened(path, "mode=ro", damaged=damaged)
    except sqlite3.OperationalError as error:
        # On a read-only disk the files beside it cannot be made; nobody writes there, so none are needed.
        if os.access(path.parent, os.W_OK):
            raise cannot_open(path, error) from error
        if _unwritten(path):
            raise _not_closed(path) from error
    except sqlite3.Error as error:
        raise cannot_open(path, error) from error
    try:
        return _opened(path, "mode=ro&immutable=1", damaged=damaged)
    except sqlite3.Error as error:
        raise cannot_open(path, error) from error


def close_reading(path: Path, connection: sqlite3.Connection) -> None:
    """Takes away what SQLite put beside the file for reading, unless somebody else uses that."""
    connection.close()
    if _wal(path).exists() and not _unwritten(path):
        # SQLite does so when the last who may write leaves; one who only reads leaves it behind.
        with suppress(sqlite3.Error, InputError), closing(_connect(path, "mode=rw")) as last:
            last.execute("SELECT count(*) FROM sqlite_schema").fetchone()


@contextmanager
def reading_of(path: Path, *, damaged: bool = False) -> Iterator[sqlite3.Connection]:
    """As `open_reading`, closed behind the caller."""
    connection = open_reading(path, damaged=damaged)
    try:
        yield connection
    finally:
        close_reading(path, connection)


def _wal(path: Path) -> Path:
    return path.with_name(f"{path.name}-wal")


def _unwritten(path: Path) -> bool:
    """Whether replies wait beside the file, of one who records just now or was killed."""
    try:
        return _wal(path).stat().st_size > 0
    except OSError:
        return False


def _opened(path: Path, options: str, *, damaged: bool) -> sqlite3.Connection:
    connection = _connect(path, options)
    try:
        if is_empty(connection):
            # Whoever was to record into it was killed before it could.
            raise _none_there(path)
        _require_library(path, connection, damaged=damaged)
        connection.execute("BEGIN")
        connection.execute("SELECT count(*) FROM sqlite_schema").fetchone()
    except BaseException:
        close_reading(path, connection)
        raise
    return connection


def _not_closed(path: Path) -> InputError:
    return InputError(
        f"Cannot read the recorded replies {path} here: the last recording did not close them, and the folder is"
        " read-only",
        hint=f"Copy {path.name} and {_wal(path).name} to a folder that you can write to, and name that file.",
        code="read_only",
    )


def _none_there(path: Path) -> InputError:
    return InputError(
        f"There are no recorded replies at {path}",
        hint='replies.mode = "record" in a plan records them; replies.file names the file.',
        code="no_replies",
    )


def _require_library(path: Path, connection: sqlite3.Connection, *, damaged: bool = False, new: bool = False) -> None:
    if is_newer(connection):
        raise InputError(
            f"The replies in {path} were recorded by a newer toolablate",
            hint="Upgrade toolablate (pip install -U toolablate); the file was left as it was.",
            code="newer_version",
        )
    if not (is_ours(connection) if damaged else is_library(connection)):
        raise not_a_library(path, new=new)


def _connect(path: Path, options: str) -> sqlite3.Connection:
    try:
        return connect(path, options)
    except sqlite3.Error as error:
        raise cannot_open(path, error) from error
