"""The file of recorded replies: its tables, opening it for recording and for replaying, errors in sentences."""

import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path

from pydantic import ValidationError

from toolablate.traces.database import (
    ContentDamaged,
    FileSchema,
    beside,
    connect,
    has_wal,
    known_failure,
    layout,
    patiently,
)
from toolablate.traces.errors import InputError, StoreError
from toolablate.traces.installing import to_upgrade

APPLICATION_ID = 0x746C7270
"""`tlrp`: in the file's header, so that no other SQLite database is taken for a response cache."""
SCHEMA_VERSION = 1

_TABLES = """
CREATE TABLE texts (
    id INTEGER PRIMARY KEY,
    digest BLOB NOT NULL UNIQUE,
    encoding INTEGER NOT NULL,
    body BLOB NOT NULL
);
CREATE TABLE replies (
    key BLOB NOT NULL,
    repeat INTEGER NOT NULL,
    model INTEGER NOT NULL REFERENCES texts (id),
    parameters INTEGER NOT NULL REFERENCES texts (id),
    tools INTEGER NOT NULL REFERENCES texts (id),
    messages TEXT NOT NULL,
    said INTEGER NOT NULL REFERENCES texts (id),
    rest INTEGER NOT NULL REFERENCES texts (id),
    none INTEGER NOT NULL,
    recorded_at INTEGER NOT NULL,
    digest BLOB NOT NULL,
    PRIMARY KEY (key, repeat)
) WITHOUT ROWID;
CREATE INDEX replies_digest ON replies (digest);
CREATE INDEX replies_messages ON replies (model, messages);
"""

SCHEMA = FileSchema(APPLICATION_ID, SCHEMA_VERSION, _TABLES)


def is_ours(connection: sqlite3.Connection) -> bool:
    """Whether it is a cache, or was one before it was damaged: by its number, or by a table of ours."""
    statements = {statement for *_, statement in SCHEMA.layout if statement is not None}
    return SCHEMA.numbers(connection)[0] == APPLICATION_ID or any(row[-1] in statements for row in layout(connection))


def is_newer(connection: sqlite3.Connection) -> bool:
    application, version = SCHEMA.numbers(connection)
    return application == APPLICATION_ID and version > SCHEMA_VERSION


# What SQLite, the disk and damage say, as one error that says what to do.


# What reading a row runs into that holds something else than was kept.
DAMAGE = (
    ContentDamaged,
    ValidationError,
    ValueError,
    TypeError,
    KeyError,
    AttributeError,
    OverflowError,
    RecursionError,
)


@contextmanager
def using(path: Path, doing: str) -> Iterator[None]:
    """Turns what goes wrong while an open response cache is used into StoreError, which ends a run: what is not kept
    must not happen, and what is damaged must not be taken for a model's words. `doing` is `read` or `write`.
    """
    try:
        yield
    except sqlite3.Error as error:
        raise failed(path, doing, error) from error
    except DAMAGE as error:
        said = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise StoreError(
            f"The recorded replies in {path} are damaged: {said}",
            hint=f"toolablate verify {path} lists all damage",
            code="replies_damaged",
        ) from None


def failed(path: Path, doing: str, error: sqlite3.Error) -> StoreError:
    known = known_failure(error)
    if known is not None:
        return StoreError(
            f"Cannot {doing} the recorded replies {path}: {known.reason}", hint=known.hint, code=known.code
        )
    hint = f"toolablate verify {path} says whether it is damaged"
    return StoreError(f"Cannot {doing} the recorded replies {path}: {error}", hint=hint, code="replies_damaged")


def cannot_open(path: Path, error: sqlite3.Error | OSError, *, new: bool = False) -> InputError:
    """`new` says that a file which is not there yet would do."""
    if isinstance(error, sqlite3.Error):
        if getattr(error, "sqlite_errorname", "").startswith("SQLITE_NOTADB"):
            return not_a_cache(path, new=new)
        told = failed(path, "open", error)
        return InputError(told.message, hint=told.hint, code=told.code)
    reason = error.strerror or str(error)
    return InputError(f"Cannot open the recorded replies {path}: {reason}", code="cannot_open")


def not_a_cache(path: Path, *, new: bool = False) -> InputError:
    """`new` as in `cannot_open`."""
    return InputError(
        f"{path} does not hold recorded replies",
        hint='Name a file that a run with replies.mode = "record" wrote' + (", or a new one." if new else "."),
        code="not_replies",
    )


# How the file is opened: for recording by several processes at once, for replaying without a change to it.


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
        if patiently(lambda: SCHEMA.is_empty(connection)):
            patiently(lambda: connection.execute("PRAGMA journal_mode = WAL").fetchone())
            patiently(lambda: SCHEMA.create(connection))
        _require_cache(path, connection, new=True)
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

    `damaged` lets through what was a cache once, for who looks for damage. Raises InputError.
    """
    if not path.is_file():
        raise _none_there(path)
    try:
        return _opened(path, "mode=ro", damaged=damaged)
    except sqlite3.OperationalError as error:
        # On a read-only disk the files beside it cannot be made; nobody writes there, so none are needed.
        if os.access(path.parent, os.W_OK):
            raise cannot_open(path, error) from error
        if has_wal(path):
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
    if beside(path, "-wal").exists() and not has_wal(path):
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


def _opened(path: Path, options: str, *, damaged: bool) -> sqlite3.Connection:
    connection = _connect(path, options)
    try:
        if SCHEMA.is_empty(connection):
            # Whoever was to record into it was killed before it could.
            raise _none_there(path)
        _require_cache(path, connection, damaged=damaged)
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
        hint=f"Copy {path.name} and {beside(path, '-wal').name} to a folder that you can write to, and name that file.",
        code="read_only",
    )


def _none_there(path: Path) -> InputError:
    return InputError(
        f"There are no recorded replies at {path}",
        hint='replies.mode = "record" in a plan records them; replies.file names the file.',
        code="no_replies",
    )


def _require_cache(path: Path, connection: sqlite3.Connection, *, damaged: bool = False, new: bool = False) -> None:
    if is_newer(connection):
        raise InputError(
            f"The replies in {path} were recorded by a newer toolablate",
            hint=f"Upgrade toolablate ({to_upgrade()}); the file was left as it was.",
            code="newer_version",
        )
    if not (is_ours(connection) if damaged else SCHEMA.fits(connection)):
        raise not_a_cache(path, new=new)


def _connect(path: Path, options: str) -> sqlite3.Connection:
    try:
        return connect(path, options)
    except sqlite3.Error as error:
        raise cannot_open(path, error) from error
