"""Opens stores: for reading without leaving a trace, for writing beside other writers."""

import contextlib
import os
import random
import sqlite3
import time
from pathlib import Path

from toolablate.traces.database import connect
from toolablate.traces.errors import StoreError
from toolablate.traces.store.files.errors import NAME_A_STORE, explain, reading, unwritable
from toolablate.traces.store.files.locks import beside
from toolablate.traces.store.files.schema import check_layout, check_version, create_schema

# Ten writers and a slow disk are no reason to give up, a program that never lets go is.
BUSY_SECONDS = 30.0
MAX_BUSY_PAUSE_SECONDS = 0.004


def open_reader(path: Path) -> sqlite3.Connection:
    """A read-only connection, which works beside a running recorder and on a read-only file system.

    Raises StoreError; never creates or changes the store.
    """
    require_store(path)
    connection = _connect(path, "mode=ro")
    try:
        with reading(path):
            _check_readable(connection, path)
    except StoreError as error:
        connection.close()
        if error.code not in ("cannot_open", "read_only"):
            raise
        return _open_unshared(path)
    return connection


def _check_readable(connection: sqlite3.Connection, path: Path) -> None:
    check_version(connection, path)
    check_layout(connection, path)


def _open_unshared(path: Path) -> sqlite3.Connection:
    """Where the index beside a WAL cannot be made (a read-only disk): nobody writes there, so none is needed."""
    if _has_wal(path):
        raise StoreError(
            f"Cannot read {path} here: its last writer did not close it, and the folder is read-only",
            hint=f"Copy {path.name} and {path.resolve().name}-wal to a folder you can write to and read them there.",
            code="read_only",
        )
    connection = _connect(path, "mode=ro&immutable=1")
    with reading(path):
        _check_readable(connection, path)
    return connection


def open_writer(path: Path) -> sqlite3.Connection:
    """A read-write connection of a recorder that is inside the gate; creates the store where there is none. Raises
    StoreError."""
    if not is_there(path):
        _create(path)
    require_store(path)
    if not os.access(path, os.W_OK):
        raise StoreError(
            f"Cannot write the store {path}: the file is read-only",
            hint="Make it writable, or name another store.",
            code="read_only",
        )
    connection = _connect(path, "mode=rw")
    try:
        with reading(path):
            _check_readable(connection, path)
        connection.execute("PRAGMA journal_mode = WAL").fetchone()
        connection.execute("PRAGMA foreign_keys = ON")
        connection.execute("PRAGMA busy_timeout = 0")
        # No file is opened while it writes, when the process may have no more to give.
        connection.execute("PRAGMA temp_store = MEMORY")
    except sqlite3.Error as error:
        connection.close()
        raise explain(error, path, "write") from error
    except BaseException:
        connection.close()
        raise
    return connection


def begin_writing(connection: sqlite3.Connection) -> None:
    """Begins a transaction that writes, after those of other writers. Raises sqlite3.Error after BUSY_SECONDS.

    SQLite's own wait, which a writer's connection does without, sleeps up to 100 ms at a time: a busy neighbour then
    gets in again and again.
    """
    deadline, pause = time.monotonic() + BUSY_SECONDS, 0.0005
    while True:
        try:
            connection.execute("BEGIN IMMEDIATE")
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY or time.monotonic() > deadline:
                raise
            time.sleep(pause * random.uniform(0.5, 1.0))  # noqa: S311 - not a secret
            pause = min(2 * pause, MAX_BUSY_PAUSE_SECONDS)
        else:
            return


def close_last_writer(connection: sqlite3.Connection) -> None:
    """Leaves one plain file behind, which can be copied and read from a read-only disk.

    Where someone still reads, the WAL stays beside the store; that loses nothing.
    """
    try:
        connection.executescript("PRAGMA incremental_vacuum")  # `execute` would give back one page
        connection.execute("PRAGMA journal_mode = DELETE").fetchone()
    except sqlite3.Error:
        pass
    finally:
        connection.close()


def close_elsewhere(connection: sqlite3.Connection, path: Path) -> None:
    """Of a store that is not at its path any more: puts all that was written into its file, wherever that is, and
    leaves nothing that another store under its name would take for its own."""
    with contextlib.suppress(sqlite3.Error):
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
    connection.close()
    if not path.exists() and not _has_wal(path):
        for suffix in ("-wal", "-shm"):
            with contextlib.suppress(OSError):
                beside(path.resolve(), suffix).unlink()


def _has_wal(path: Path) -> bool:
    wal = beside(path.resolve(), "-wal")
    return wal.exists() and wal.stat().st_size > 0


def is_there(path: Path) -> bool:
    """Whether anything has that name. Raises StoreError where that cannot be told."""
    try:
        return path.exists()
    except OSError as error:
        raise StoreError(
            f"Cannot open the store {path}: {error.strerror}",
            hint="Check the path and its permissions.",
            code="cannot_open",
        ) from None


def _not_a_file(path: Path) -> str:
    if path.is_dir():
        return "a folder"
    if not path.is_file():
        return "no regular file"
    return "" if path.stat().st_size else "an empty file"


def make_folder(store: Path) -> list[Path]:
    """Makes the folder of a new store; returns what it made, deepest first. Raises StoreError."""
    try:
        missing = [folder for folder in store.absolute().parents if not folder.exists()]
        store.absolute().parent.mkdir(parents=True, exist_ok=True)
    except (OSError, ValueError) as error:
        raise unwritable(store, error) from error
    return missing


def _create(path: Path) -> None:
    # Built aside and renamed, so that a crash never leaves half a store under the store's name.
    # The name needs no number: the lock is held, and what an earlier crash left there is worth nothing.
    if _has_wal(path):
        raise StoreError(
            f"There is no store at {path}, but {path.name}-wal of one that was moved or deleted while it was written",
            hint=f"Put the store back, or delete {path.name}-wal: the trials in it are of no use without it.",
            code="orphaned",
        )
    building = beside(path, "-new")
    try:
        _remove(building)
        connection = _connect(building, "mode=rwc")
        try:
            # Rows of events go when their trial has ended; the last writer gives their pages back.
            connection.execute("PRAGMA auto_vacuum = INCREMENTAL")
            create_schema(connection)
        finally:
            connection.close()
        building.rename(path)
    except sqlite3.Error as error:
        raise explain(error, path, "write") from error
    except OSError as error:
        raise unwritable(path, error) from error
    finally:
        _remove(building)


def _remove(building: Path) -> None:
    with contextlib.suppress(OSError):  # on a disk that turned read-only the error proper is already on its way
        building.unlink(missing_ok=True)
        beside(building, "-journal").unlink(missing_ok=True)


def require_store(path: Path) -> None:
    """Refuses what is no store without creating anything beside it, which an ordinary connection might do."""
    if not is_there(path):
        raise StoreError(
            f"There is no store at {path}",
            hint="Check the path; `toolablate run PLAN.toml` creates the store that its plan names.",
            code="not_found",
        )
    kind = _not_a_file(path)
    if kind:
        raise StoreError(
            f"{path} is not a toolablate store: it is {kind}",
            hint=NAME_A_STORE,
            code="not_a_store",
        )
    connection = _connect(path, "mode=ro&immutable=1")
    try:
        with reading(path):
            check_version(connection, path)
    except StoreError as error:
        # A writer may be moving pages just now; the connection proper, which locks, tells damage from that.
        if error.code != "corrupt":
            raise
    finally:
        connection.close()


def _connect(path: Path, options: str) -> sqlite3.Connection:
    try:
        return connect(path, options, busy_seconds=BUSY_SECONDS)
    except sqlite3.Error as error:
        raise explain(error, path, "open") from error
