"""What a driver does for others while trials run: it tells how its workers are, and backs its store up."""

import asyncio
import os
import threading
from collections.abc import AsyncIterator, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

from toolablate.experiments.environment.web import Tell
from toolablate.traces.database import beside, has_wal
from toolablate.traces.errors import InputError, StoreError
from toolablate.traces.store import NoWorker, WorkerStanding, remove_workers, write_workers
from toolablate.traces.store.backup import BackupStopped, back_up, lacking

TELL_SECONDS = 2.0
BACKUP_SECONDS = 600.0


@asynccontextmanager
async def told_to_others(
    store: Path, workers: Callable[[], tuple[Sequence[WorkerStanding], NoWorker | None]]
) -> AsyncIterator[None]:
    """`status` reads how they are, until they are closed."""
    telling = asyncio.create_task(_tell(store, workers))
    try:
        yield
    finally:
        await _ended(telling)
        remove_workers(store)


async def _tell(store: Path, workers: Callable[[], tuple[Sequence[WorkerStanding], NoWorker | None]]) -> None:
    while True:
        # A disk that is full ends the run by its recorder.
        with suppress(OSError):
            write_workers(store, *workers())
        await asyncio.sleep(TELL_SECONDS)


async def _ended(task: "asyncio.Task[None]") -> None:
    task.cancel()
    with suppress(asyncio.CancelledError):
        await task


def require_backup_of(store: Path, backup: Path) -> None:
    """Raises InputError where a backup in that place would be the store itself, or a file that SQLite or we keep beside
    it, or where it has what the store lacks. Raises StoreError where something else is there."""
    # `Path.resolve` raises RuntimeError of a link to itself.
    own, there = store.resolve(), Path(os.path.realpath(backup))
    if there.is_symlink():
        raise InputError(
            f"cluster.backup: {backup} is a link that leads to itself",
            hint="remove it, or name a file",
            code="unwritable",
        )
    # A copy is made beside the backup first.
    if own in (there, beside(there, ".new")):
        itself = "itself" if there == own else "by a file of its own"
        raise _is_store(f"{backup} names the store {itself}")
    if there.parent == own.parent and there.name.startswith(f"{own.name}-"):
        raise _is_store(f"{backup}: names that begin with {own.name}- are for the store's own files in this folder")
    if told := lacking_folder(there):
        raise InputError(
            f"cluster.backup: {told}",
            hint="mount or make it first, or name a file in another folder",
            code="unwritable",
        )
    _require_no_more(store, backup)


def _is_store(told: str) -> InputError:
    return InputError(f"cluster.backup: {told}", hint="name a file on another disk", code="backup_is_store")


def lacking_folder(backup: Path) -> str:
    """Why nothing can be written in the folder of a backup, or ""."""
    if os.access(backup.parent, os.W_OK | os.X_OK):
        return ""
    return f"the folder {backup.parent} {'cannot be written' if backup.parent.is_dir() else 'is not there'}"


def _require_no_more(store: Path, backup: Path) -> None:
    """People may have labelled in a copy, and judges read it. Who goes on after a loss has to copy it first."""
    if has_wal(backup):
        raise InputError(
            f"cluster.backup: {backup} is written by another process, or one that was killed, and is not replaced",
            hint=f"end what writes it; where nothing does, move it away with {backup.name}-wal, or name another backup",
            code="backup_is_written",
        )
    if more := lacking(store, backup):
        raise InputError(
            f"cluster.backup: {backup} has {more} that the store {store} lacks, and is not replaced",
            hint=f"`toolablate merge {store} {backup} -o NEW` makes a store with both to go on with; without a store,"
            f" copy it to {store}. Or name another backup",
            code="backup_has_more",
        )


@asynccontextmanager
async def backed_up(store: Path, backup: Path, tell: Tell, warn: Tell) -> AsyncIterator[None]:
    """A copy every ten minutes, and one at the end. One that fails is warned of, and ends nothing."""
    with ThreadPoolExecutor(1, "backup") as thread:
        copies = _Copies(store, backup, warn, thread)
        repeating = asyncio.create_task(copies.repeat())
        try:
            yield
        finally:
            try:
                await _ended(repeating)
            finally:
                tell(f"Backing the store up to {backup} ...")
                await copies.make()


@dataclass(slots=True)
class _Copies:
    store: Path
    backup: Path
    warn: Tell
    thread: ThreadPoolExecutor
    _warned: bool = False
    _seen: list[tuple[int, int, int]] = field(default_factory=list)
    _stopped: threading.Event = field(default_factory=threading.Event)

    async def repeat(self) -> None:
        while True:
            await asyncio.sleep(BACKUP_SECONDS)
            await self.make()

    async def make(self) -> None:
        """Where it is cancelled, what was copied is thrown away. A run that was refused has made no store."""
        self._stopped.clear()
        try:
            await asyncio.get_running_loop().run_in_executor(self.thread, self._copy)
        except asyncio.CancelledError:
            self._stopped.set()
            raise
        except (InputError, StoreError, OSError) as error:
            # A share that is away comes back. Once, in whatever words it goes on failing, until one is made again.
            if not self._warned:
                self._warned = True
                self.warn(str(error) if isinstance(error, InputError) else f"cluster.backup: {error}")
        else:
            self._warned = False

    def _copy(self) -> None:
        if not self.store.exists():
            return
        self._look()
        with suppress(BackupStopped):
            # Again once the copy is made, which takes its time.
            back_up(self.store, self.backup, self._stopped.is_set, self._look_again)

    def _look(self) -> None:
        """What nobody has changed since is not read again. Raises InputError."""
        if (found := _stamps(self.backup)) != self._seen:
            _require_no_more(self.store, self.backup)
            self._seen = found

    def _look_again(self) -> None:
        """What is put into the new copy once it has its name is seen as a change of it."""
        self._look()
        self._seen = _stamps(beside(Path(os.path.realpath(self.backup)), ".new"))


def _stamps(backup: Path) -> list[tuple[int, int, int]]:
    """Also of what one who writes there keeps beside it."""
    stamps = []
    for path in (backup, beside(backup, "-wal")):
        with suppress(OSError):
            found = path.stat()
            stamps.append((found.st_ino, found.st_size, found.st_mtime_ns))
    return stamps
