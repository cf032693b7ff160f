"""What a driver does for others while trials run: it tells how its workers are, and backs its store up."""

import asyncio
import os
import threading
from collections.abc import AsyncIterator, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

from toolablate.experiments.environment.environment import finished_trials
from toolablate.experiments.environment.web import Tell
from toolablate.traces.errors import InputError, StoreError
from toolablate.traces.store import NoWorker, WorkerStanding, remove_workers, write_workers
from toolablate.traces.store.backup import BackupStopped, back_up

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
    """Raises InputError where a backup in that place would be the store itself, or replace trials that the store lacks:
    who goes on after a loss has to copy it first. Raises StoreError where something else is there."""
    if backup.resolve() == store.resolve():
        raise InputError(
            "cluster.backup: it names the store itself", hint="name a file on another disk", code="backup_is_store"
        )
    if not os.access(backup.parent, os.W_OK | os.X_OK):
        there = "cannot be written" if backup.parent.is_dir() else "is not there"
        raise InputError(
            f"cluster.backup: the folder {backup.parent} {there}",
            hint="mount or make it first, or name a file in another folder",
            code="unwritable",
        )
    if lacking := finished_trials(backup) - finished_trials(store):
        raise InputError(
            f"cluster.backup: {backup} holds {len(lacking)} finished trials that the store {store} lacks",
            hint=f"to go on from it, copy it to {store}, or `toolablate merge` both; else name another backup",
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
            await _ended(repeating)
            tell(f"Backing the store up to {backup} ...")
            await copies.make()


@dataclass(slots=True)
class _Copies:
    store: Path
    backup: Path
    warn: Tell
    thread: ThreadPoolExecutor
    _warned: bool = False
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
        except StoreError as error:
            # Once, in whatever words it goes on failing, until one is made again.
            if not self._warned:
                self._warned = True
                self.warn(f"cluster.backup: {error}")
        else:
            self._warned = False

    def _copy(self) -> None:
        if self.store.exists():
            with suppress(BackupStopped):
                back_up(self.store, self.backup, self._stopped.is_set)
