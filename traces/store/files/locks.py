"""Locks on files beside a store: who may open or leave it just now, and which recorders still live."""

import contextlib
import fcntl
import os
import time
from pathlib import Path
from types import TracebackType
from typing import Self
from weakref import WeakSet

from toolablate.traces.errors import StoreError
from toolablate.traces.store.files.errors import unwritable

GATE_SECONDS = 30.0
GATE_POLL_SECONDS = 0.01


def beside(path: Path, suffix: str) -> Path:
    return path.with_name(path.name + suffix)


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
                    f"Cannot write the store {self._store}: a toolablate that opens it has stopped half-way",
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


class LifeLock:
    """Held by a recorder for as long as it lives, on a file of its own: however it dies, the system lets it go.

    Making one raises StoreError.
    """

    def __init__(self, store: Path, recorder: int) -> None:
        self._path = life_file(store, recorder)
        try:
            self._file: int | None = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
            # Not contended, but for the moment in which someone looks whether an earlier one of that number lives.
            fcntl.flock(self._file, fcntl.LOCK_EX)
        except OSError as error:
            raise unwritable(store, error) from error
        _held.add(self)

    def release(self) -> None:
        if self._file is not None and _is_at(self._file, self._path):
            with contextlib.suppress(OSError):
                self._path.unlink()
        self.let_go()

    def let_go(self) -> None:
        """A fork of the process lets go at once: it would keep the recorder alive beyond its death."""
        if self._file is not None:
            os.close(self._file)
            self._file = None


_held: "WeakSet[LifeLock]" = WeakSet()


def _let_go_of_all() -> None:
    for lock in _held:
        lock.let_go()


os.register_at_fork(after_in_child=_let_go_of_all)


def life_file(store: Path, recorder: int) -> Path:
    return beside(store.resolve(), f"-recorder-{recorder}")


def lives(store: Path, recorder: int) -> bool:
    """Whether the recorder of that number still holds its lock; so does one that another user runs unseen."""
    try:
        file = os.open(life_file(store, recorder), os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        return False
    except OSError:
        return True
    try:
        # Shared, so that two who look at once do not take each other for the recorder.
        fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except OSError:
        return True
    else:
        return False
    finally:
        os.close(file)
