"""Opens stores: for reading without leaving a trace, for writing as the only one."""

import contextlib
import fcntl
import os
import sqlite3
from pathlib import Path

from toolablate.traces.errors import StoreError
from toolablate.traces.store._errors import explain, reading
from toolablate.traces.store._schema import SCHEMA_VERSION, check_version, migrate, migrations

BUSY_SECONDS = 5.0


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
    version = check_version(connection, path)
    if version < SCHEMA_VERSION:
        raise StoreError(
            f"{path} has the older version {version}; this toolablate reads version {SCHEMA_VERSION}",
            hint="Run its plan again, or any command that writes to it: that brings it up to date.",
            code="older_version",
        )
    connection.execute("SELECT count(*) FROM sqlite_schema").fetchone()


def _open_unshared(path: Path) -> sqlite3.Connection:
    """Where the index beside a WAL cannot be made (a read-only disk): nobody writes there, so none is needed."""
    wal = _beside(path.resolve(), "-wal")
    if wal.exists() and wal.stat().st_size > 0:
        raise StoreError(
            f"Cannot read {path} here: its last writer did not close it, and the folder is read-only",
            hint=f"Copy {path.name} and {wal.name} to a folder you can write to and read them there.",
            code="read_only",
        )
    connection = _connect(path, "mode=ro&immutable=1")
    with reading(path):
        _check_readable(connection, path)
    return connection


def open_writer(path: Path) -> sqlite3.Connection:
    """The one read-write connection of a recorder that holds the lock; creates the store where there is none."""
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
            check_version(connection, path)
        migrate(connection, migrations())
        connection.execute("PRAGMA journal_mode = WAL").fetchone()
        connection.execute("PRAGMA foreign_keys = ON")
    except sqlite3.Error as error:
        connection.close()
        raise explain(error, path, "write") from error
    except BaseException:
        connection.close()
        raise
    return connection


def close_writer(connection: sqlite3.Connection) -> None:
    """Leaves one plain file behind, which can be copied and read from a read-only disk.

    Where someone still reads, the WAL stays beside the store; that loses nothing.
    """
    try:
        connection.execute("PRAGMA busy_timeout = 0")
        connection.execute("PRAGMA journal_mode = DELETE").fetchone()
    except sqlite3.Error:
        pass
    finally:
        connection.close()


class WriterLock:
    """Held by a store's one writer for as long as it writes, so that no trial is run twice."""

    def __init__(self, store: Path) -> None:
        self._store = store
        self._path = store
        self._file = -1

    def acquire(self) -> None:
        """Raises StoreError where another process writes or the folder is read-only."""
        while True:
            try:
                # Beside the file itself, so that neither a link to it nor another working folder is a way around it.
                self._path = _beside(self._store.resolve(), "-lock")
                file = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
            except (OSError, RuntimeError, ValueError) as error:
                raise unwritable(self._store, error) from error
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                os.close(file)
                raise StoreError(
                    f"Cannot write the store {self._store}: another toolablate is writing to it",
                    hint="Wait until it is done, or stop it, and run again. Reading (compare, show) works meanwhile.",
                    code="locked",
                ) from None
            if self._is_current(file):
                self._file = file
                return
            os.close(file)

    def _is_current(self, file: int) -> bool:
        # Its last holder may have removed it between our opening and locking it.
        try:
            return os.path.samestat(os.fstat(file), os.stat(self._path))  # noqa: PTH116
        except FileNotFoundError:
            return False

    def release(self) -> None:
        if self._file >= 0:
            self._path.unlink(missing_ok=True)
            os.close(self._file)
            self._file = -1


def unwritable(store: Path, error: OSError | RuntimeError | ValueError) -> StoreError:
    reason = getattr(error, "strerror", None) or str(error)
    return StoreError(
        f"Cannot write the store {store}: {reason}",
        hint=f"Its folder {store.parent} has to exist, be writable and have space left.",
        code="cannot_write",
    )


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
    building = _beside(path, "-new")
    try:
        _remove(building)
        connection = _connect(building, "mode=rwc")
        try:
            migrate(connection, migrations())
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
        _beside(building, "-journal").unlink(missing_ok=True)


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
            hint="Name the store that `toolablate run` wrote, or a new file.",
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
        connection = sqlite3.connect(
            f"{path.absolute().as_uri()}?{options}",
            uri=True,
            isolation_level=None,
            timeout=BUSY_SECONDS,
            check_same_thread=False,
        )
    except sqlite3.Error as error:
        raise explain(error, path, "open") from error
    # A store may come from someone else: nothing in its schema may run functions or name other files.
    connection.execute("PRAGMA trusted_schema = OFF")
    return connection


def _beside(path: Path, suffix: str) -> Path:
    return path.with_name(path.name + suffix)
