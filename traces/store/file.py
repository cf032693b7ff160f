"""A store as a file: errors in sentences, locks, its schema, opening it for reading and for writing."""

import contextlib
import errno
import fcntl
import os
import random
import socket
import sqlite3
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from importlib.resources import files
from pathlib import Path
from types import TracebackType
from typing import Self
from weakref import WeakSet

from toolablate.traces.database import (
    UNRELEASED_ID,
    WORKBENCH_ID,
    FileSchema,
    KnownFailure,
    beside,
    connect,
    has_wal,
    is_damage,
    known_failure,
    layout,
    network_file_system,
)
from toolablate.traces.errors import StoreError
from toolablate.traces.installing import to_upgrade

# What SQLite and the file system say, as one StoreError that says what to do.


NAME_A_STORE = "Name the store that `toolablate run` wrote."
_OUT_OF_FILES = (errno.EMFILE, errno.ENFILE)

_KNOWN = {
    "not_a_store": KnownFailure("not_a_store", "it is not a toolablate store", NAME_A_STORE),
    "corrupt": KnownFailure("corrupt", "the file is damaged", "Run `toolablate verify` on it to see what is lost."),
    "too_many_files": KnownFailure(
        "too_many_files",
        "this process has too many files open",
        "Raise its limit (ulimit -n), or run less at once.",
    ),
}
_HINTS = {
    "disk_full": "Free some space and run again: what was finished is kept.",
    "read_only": "Make the file and its folder writable, or copy the store.",
}


@contextmanager
def reading(path: Path) -> Iterator[None]:
    """Turns what SQLite raises while a store is read into StoreError."""
    try:
        yield
    except sqlite3.Error as error:
        raise explain(error, path, "read") from error
    except (UnicodeDecodeError, LookupError, TypeError) as error:
        # In a damaged file a name may be no text any more, a key lead nowhere, and a number be nothing.
        raise _of(_KNOWN["corrupt"], path, "read") from error


def explain(error: sqlite3.Error, path: Path, doing: str) -> StoreError:
    """An error of SQLite as a StoreError; `doing` is `read` or `write`."""
    name = getattr(error, "sqlite_errorname", "") or ""
    if name.startswith("SQLITE_CANTOPEN") and _no_file_can_be_opened():
        return _of(_KNOWN["too_many_files"], path, doing)
    if is_damage(error):
        return _of(_KNOWN["not_a_store" if name.startswith("SQLITE_NOTADB") else "corrupt"], path, doing)
    known = known_failure(error, _HINTS)
    if known is not None:
        return _of(known, path, doing)
    return StoreError(
        f"Cannot {doing} the store {path}: {error}",
        hint="Run `toolablate verify` on it to see whether it is damaged.",
        code="sqlite_error",
    )


def _no_file_can_be_opened() -> bool:
    """SQLite does not say why it could not open one."""
    try:
        os.close(os.open(os.devnull, os.O_RDONLY | os.O_CLOEXEC))
    except OSError as error:
        return error.errno in _OUT_OF_FILES
    return False


def unwritable(store: Path, error: OSError | RuntimeError | ValueError) -> StoreError:
    if getattr(error, "errno", None) in _OUT_OF_FILES:
        return _of(_KNOWN["too_many_files"], store, "write")
    reason = getattr(error, "strerror", None) or str(error)
    return StoreError(
        f"Cannot write the store {store}: {reason}",
        hint=f"Its folder {store.parent} has to exist, be writable and have space left.",
        code="cannot_write",
    )


def _of(known: KnownFailure, path: Path, doing: str) -> StoreError:
    return StoreError(f"Cannot {doing} the store {path}: {known.reason}", hint=known.hint, code=known.code)


# Locks on files beside a store: who may open or leave it just now, and which recorders still live.


GATE_SECONDS = 30.0
GATE_POLL_SECONDS = 0.01


class Gate:
    """Passed by one at a time: whoever opens a store for writing or leaves it. Entering raises StoreError where the
    folder is read-only or the wait too long."""

    def __init__(self, store: Path) -> None:
        self._store = store
        self._path = store
        self._file = -1

    def __enter__(self) -> Self:
        deadline = time.monotonic() + GATE_SECONDS
        while not self._try():
            if time.monotonic() > deadline:
                raise StoreError(
                    f"Cannot write the store {self._store}: a process that was opening it has stopped half-way",
                    hint="End that process, and run again. Reading (compare, show) works meanwhile.",
                    code="locked",
                )
            time.sleep(GATE_POLL_SECONDS)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        with contextlib.suppress(OSError):  # on a disk that has turned read-only the error proper is on its way
            self._path.unlink()
        os.close(self._file)

    def _try(self) -> bool:
        try:
            # Beside the file itself, so that neither a link to it nor another working folder is a way around it.
            self._path = beside(self._store.resolve(), "-lock")
            file = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
        except (OSError, RuntimeError, ValueError) as error:
            raise unwritable(self._store, error) from error
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(file)
            return False
        except OSError as error:
            os.close(file)
            raise unwritable(self._store, error) from error
        if not self._is_current(file):
            os.close(file)
            return False
        self._file = file
        return True

    def _is_current(self, file: int) -> bool:
        # Its last holder may have removed it between our opening and locking it.
        return _is_at(file, self._path)


def _is_at(file: int, path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(file), path.stat())
    except OSError:
        return False


class _Held:
    """A lock on a file of its own, for as long as its holder lives: however that dies, the system lets it go."""

    _path: Path
    _file: int | None = None

    def release(self) -> None:
        if self._file is not None and _is_at(self._file, self._path):
            with contextlib.suppress(OSError):
                self._path.unlink()
        self.let_go()

    def let_go(self) -> None:
        """A fork of the process lets go at once: it would keep the lock held beyond the holder's death."""
        if self._file is not None:
            os.close(self._file)
            self._file = None


class LifeLock(_Held):
    """That of a recorder. Making one raises StoreError."""

    def __init__(self, store: Path, recorder: int) -> None:
        self._path = life_file(store, recorder)
        try:
            self._file = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
            # Not contended, but for the moment in which someone looks whether an earlier one of that number lives.
            fcntl.flock(self._file, fcntl.LOCK_EX)
        except OSError as error:
            raise unwritable(store, error) from error
        _held.add(self)


class DriverLock(_Held):
    """That of the one process that drives a cluster on a store. Others may read it, and an ordinary run may share its
    trials; a second driver is refused.

    Entering makes the store's folder. It raises StoreError on a network file system, and with the process and machine
    of the other driver where there is one.
    """

    def __init__(self, store: Path) -> None:
        self._store = store
        self._path = driver_file(store)

    def __enter__(self) -> Self:
        require_local_disk(self._store)
        make_folder(self._store)
        while self._file is None:
            try:
                file = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
            except OSError as error:
                raise unwritable(self._store, error) from error
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                told = os.pread(file, 1_000, 0).decode(errors="replace")
                os.close(file)
                raise self._taken(told) from None
            except OSError as error:
                os.close(file)
                raise unwritable(self._store, error) from error
            if _is_at(file, self._path):
                self._file = file
            else:  # its last holder removed it between our opening and locking it
                os.close(file)
        _held.add(self)
        os.ftruncate(self._file, 0)
        os.pwrite(self._file, f"process {os.getpid()} on {socket.gethostname()}".encode(), 0)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.release()

    def _taken(self, by: str) -> StoreError:
        return StoreError(
            f"A cluster's run already drives the store {self._store}: {by or 'another process, which has just begun'}",
            hint="Wait until it ends, or end it: what is finished is kept. `toolablate status` shows how far it is.",
            code="driven",
        )


_held: "WeakSet[_Held]" = WeakSet()


def _let_go_of_all() -> None:
    for lock in _held:
        lock.let_go()


os.register_at_fork(after_in_child=_let_go_of_all)


def driver_file(store: Path) -> Path:
    return beside(store.resolve(), "-driver")


def life_file(store: Path, recorder: int) -> Path:
    return beside(store.resolve(), f"-recorder-{recorder}")


def lives(store: Path, recorder: int) -> bool:
    """Whether the recorder of that number still holds its lock; so does one that another user runs unseen."""
    return _is_held(life_file(store, recorder))


def is_driven(store: Path) -> bool:
    """Whether a cluster's run drives the store just now."""
    return _is_held(driver_file(store))


def _is_starting(store: Path) -> bool:
    """Whether a cluster's run has begun that has not written its store yet."""
    try:
        return driver_file(store).is_file() and is_driven(store)
    except (OSError, ValueError):
        return False


def _is_held(path: Path) -> bool:
    try:
        file = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        return False
    except OSError:
        return True
    try:
        # Shared, so that two who look at once do not take each other for the holder.
        fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except OSError:
        return True
    else:
        return False
    finally:
        os.close(file)


# The tables of a store, and whether an open file has them.


APPLICATION_ID = 0x746C6174
"""`tlat`: in the file's header, so that no other SQLite database is taken for a store."""


SCHEMA_VERSION = 2

_VERSION_1 = (
    ("    id TEXT NOT NULL,\n    question", "    id TEXT NOT NULL UNIQUE,\n    question"),
    (
        "'failed')) -- of `current`: progress is read from one index\n",
        "'failed')), -- of `current`: progress is read from one index\n"
        "    UNIQUE (question, model, condition, repeat)\n",
    ),
    ("CREATE UNIQUE INDEX trials_by_id ON trials (id);\n", ""),
    ("CREATE UNIQUE INDEX trials_by_place ON trials (question, model, condition, repeat);\n", ""),
)
"""What stood in the tables before. Such a store is read and written as it is: the same columns are unique."""


@cache
def schema(version: int = SCHEMA_VERSION) -> FileSchema:
    tables = (files("toolablate.traces.store") / "schema.sql").read_text(encoding="utf-8")
    for now, before in _VERSION_1 if version == 1 else ():
        tables = tables.replace(now, before)
    return FileSchema(APPLICATION_ID, version, tables)


def check_version(connection: sqlite3.Connection, path: object) -> None:
    """Raises StoreError where what is open is no store, or of another version."""
    application, version = schema().numbers(connection)
    if application == UNRELEASED_ID:
        raise StoreError(
            f"{path} was written by a development version of toolablate, from before the first release",
            hint="Read it with that version, or run its plan again into a new store.",
            code="older_version",
        )
    if application == WORKBENCH_ID:
        raise StoreError(
            f"{path} is a workbench of `toolablate build`, not a store",
            hint="`toolablate build status PIPELINE.toml` shows it",
            code="not_a_store",
        )
    if application != APPLICATION_ID:
        raise StoreError(
            f"{path} is not a toolablate store: it is an SQLite database of something else, or empty",
            hint=NAME_A_STORE,
            code="not_a_store",
        )
    if version < 1:
        raise StoreError(
            f"{path} was written by an older toolablate: its version is {version}, this one reads {SCHEMA_VERSION}",
            hint="Read it with that version, or run its plan again into a new store; the store was left as it was.",
            code="older_version",
        )
    if version > SCHEMA_VERSION:
        raise StoreError(
            f"{path} was written by a newer toolablate: its version is {version}, this one reads {SCHEMA_VERSION}",
            hint=f"Upgrade toolablate ({to_upgrade()}); the store was left as it was.",
            code="newer_version",
        )


def check_layout(connection: sqlite3.Connection, path: object) -> None:
    """Raises StoreError where tables are missing or changed, or something was added: a view in the place of a table
    can keep every reader busy for ever, and a trigger can change what is written."""
    _, version = schema().numbers(connection)
    found, wanted = layout(connection), schema(version).layout
    if found == wanted:
        return
    changed = sorted({f"{kind} {name}" for kind, name, *_ in set(found) ^ set(wanted)})
    named = ", ".join(changed[:3]) + (" ..." if changed[3:] else "")
    raise StoreError(
        f"{path} does not have the layout of a store; added, changed or missing: {named}",
        hint="Somebody changed its tables. Read a copy that nobody has changed.",
        code="changed_layout",
    )


# Opens stores: for reading without leaving a trace, for writing beside other writers.


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
    if has_wal(path.resolve()):
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
    if not path.exists() and not has_wal(path.resolve()):
        for suffix in ("-wal", "-shm"):
            with contextlib.suppress(OSError):
                beside(path.resolve(), suffix).unlink()


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


def require_local_disk(store: Path) -> None:
    """Raises StoreError on a network file system: SQLite's WAL needs memory that all writers share, and loses what they
    write where locks do not hold across machines."""
    if kind := network_file_system(store.absolute()):
        raise StoreError(
            f"Cannot write the store {store}: it lies on a network file system ({kind}), where SQLite can lose trials",
            hint="Name a store on a local disk, as in --store /tmp/run.sqlite; copy the file when the run has ended.",
            code="network_disk",
        )


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
    if has_wal(path.resolve()):
        raise StoreError(
            f"There is no store at {path}, but {path.name}-wal of a store that was moved or deleted during a run",
            hint=f"Put the store back, or delete {path.name}-wal: the trials in it are of no use without it.",
            code="orphaned",
        )
    with build_aside(path) as (connection, building):
        connection.close()
        building.rename(path)


@contextmanager
def build_aside(path: Path) -> Iterator[tuple[sqlite3.Connection, Path]]:
    """An empty store under another name, which has to be inside the gate and gets its own name when it is whole; what
    is left of it then goes. Raises StoreError."""
    building = beside(path, "-new")
    try:
        _remove(building)
        connection = _connect(building, "mode=rwc")
        try:
            # Rows of events go when their trial has ended; the last writer gives their pages back.
            connection.execute("PRAGMA auto_vacuum = INCREMENTAL")
            schema().create(connection)
            yield connection, building
        finally:
            connection.close()
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
        if _is_starting(path):
            raise StoreError(
                f"There is no store at {path} yet: a run on a cluster is starting",
                hint="Ask again once its workers are there: it writes the store before its first trial.",
                code="not_found",
            )
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


LOOK_SECONDS = 1.0


class StorePlace:
    """Where a store that is open for writing lies. SQLite writes on to a file that has lost its name, and nobody would
    notice. Making one raises StoreError where nothing is there."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._absolute = path.absolute()
        self._looked = time.monotonic()
        try:
            self._stat = self._absolute.stat()
        except OSError as error:
            raise unwritable(path, error) from error

    def require_kept(self) -> None:
        """Looks once a second. Raises StoreError where the store was deleted, moved or replaced."""
        if time.monotonic() - self._looked >= LOOK_SECONDS:
            self._looked = time.monotonic()
            if not self.is_kept():
                raise self.gone()

    def is_kept(self) -> bool:
        try:
            return os.path.samestat(self._absolute.stat(), self._stat)
        except (FileNotFoundError, NotADirectoryError):
            return False
        except OSError:
            return True  # what cannot be told is no reason to end a run

    def gone(self) -> StoreError:
        return StoreError(
            f"Cannot write the store {self.path}: it was deleted, moved or replaced meanwhile",
            hint="What was finished until then is in the file that was there: put it back, and run again.",
            code="gone",
        )


_CLOCK = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)


def uptime() -> float:
    """Seconds since the machine started: the same for all its processes, and nobody sets it back."""
    return time.clock_gettime(_CLOCK)
