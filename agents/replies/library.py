"""Recorded replies in one SQLite file, found by what was asked."""

import asyncio
import hashlib
import sqlite3
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from os import PathLike
from pathlib import Path
from typing import Self

from toolablate.agents.pacing.waits import Waited
from toolablate.agents.replies._errors import using
from toolablate.agents.replies._nearest import nearest_difference
from toolablate.agents.replies._opening import close_reading, open_reading, open_recording, reading_of
from toolablate.agents.replies._rows import put_kept, read_kept
from toolablate.agents.replies.asked import Asked
from toolablate.agents.replies.kept import Came, Kept
from toolablate.tools.recorded.lookups import SingleFlight
from toolablate.traces.errors import ModelError

Waiting = tuple[Asked, Kept, "asyncio.Future[Kept]"]


class ReplyLibrary:
    """Reads, and with `write` records, also while other processes record into the same file.

    To be used inside one event loop. Opening raises InputError; all else raises StoreError where the file cannot be
    read or written or is damaged. Opened for reading, it stays as it was at that moment.
    """

    def __init__(self, path: str | PathLike[str], *, write: bool = False) -> None:
        self.path = Path(path)
        self.flight: SingleFlight[Came] = SingleFlight()
        """What is being asked just now, so that who asks the same at the same time shares the one reply."""
        self._asking: dict[str, Waited] = {}
        self._writer = open_recording(self.path) if write else None
        # When recording it is a second connection, so that reading never waits for a disk that writes.
        self._reader = open_recording(self.path) if write else open_reading(self.path)
        self._thread = ThreadPoolExecutor(1, "replies")
        self._waiting: list[Waiting] = []
        self._writing: asyncio.Task[None] | None = None

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        """Writes what is queued, and leaves one plain file behind if nobody else uses it."""
        if self._writing is not None:
            await self._writing
        self._thread.shutdown()
        if self._writer is None:
            close_reading(self.path, self._reader)
        else:
            self._reader.close()
            self._writer.close()

    def root(self) -> str:
        """SHA-256 (64 hexadecimal digits) over all that is kept, in whatever order it was recorded."""
        with using(self.path, "read"):
            return root_digest(self._reader)

    def get(self, asked: Asked) -> Kept | None:
        """What is kept for a request and its repeat."""
        with using(self.path, "read"):
            return read_kept(self._reader, asked.key, asked.repeat)

    @contextmanager
    def asking(self, name: str, waited: Waited) -> Iterator[None]:
        """While what goes by that name is asked; `waited` tells whether it is still in line."""
        self._asking[name] = waited
        try:
            yield
        finally:
            del self._asking[name]

    def is_out(self, name: str) -> bool:
        """Whether a request of that name has been sent and not been answered."""
        waited = self._asking.get(name)
        return waited is not None and not waited.in_line

    async def keep(self, asked: Asked, kept: Kept) -> Kept:
        """What counts for that request from now on: what was there before, else this. When it returns, that is on the
        disk. One who is cancelled meanwhile leaves it to be written."""
        future: asyncio.Future[Kept] = asyncio.get_running_loop().create_future()
        self._waiting.append((asked, kept, future))
        if self._writing is None or self._writing.done():
            self._writing = asyncio.create_task(self._write_all())
        return await asyncio.shield(future)

    def not_recorded(self, asked: Asked) -> ModelError:
        """The error for a request that is not there: it tells what the nearest recorded one has instead."""
        with using(self.path, "read"):
            difference = nearest_difference(self._reader, asked)
        message = f"{self.path.name} holds no reply to this request"
        if difference is None:
            message += ", nor to any other"
        else:
            recorded, now = difference.shown()
            message += f"; the nearest one differs in {difference.path}: recorded {recorded}, asked {now}"
        hint = 'run the plan with replies.mode = "record" to have it asked and kept'
        return ModelError(message, hint=hint, code="not_recorded")

    async def _write_all(self) -> None:
        """What is asked to be kept while a commit runs shares the next one."""
        loop = asyncio.get_running_loop()
        while self._waiting:
            batch, self._waiting = self._waiting, []
            try:
                results = await loop.run_in_executor(self._thread, self._commit, batch)
            except Exception as error:  # noqa: BLE001 - told to each who waits, or they would wait for ever
                for _, _, future in batch:
                    future.set_exception(error)
                    future.exception()  # who waited may be gone
            else:
                for (_, _, future), result in zip(batch, results, strict=True):
                    future.set_result(result)

    def _commit(self, batch: list[Waiting]) -> list[Kept]:
        assert self._writer is not None
        with using(self.path, "write"):
            self._writer.execute("BEGIN IMMEDIATE")
            try:
                results = [self._put(self._writer, asked, kept) for asked, kept, _ in batch]
                self._writer.execute("COMMIT")
            except BaseException:
                if self._writer.in_transaction:
                    self._writer.execute("ROLLBACK")
                raise
            return results

    @staticmethod
    def _put(connection: sqlite3.Connection, asked: Asked, kept: Kept) -> Kept:
        before = read_kept(connection, asked.key, asked.repeat)
        if before is not None:
            return before
        put_kept(connection, asked, kept)
        return kept


def read_root(path: str | PathLike[str]) -> str:
    """The root digest of a file of recorded replies. Raises InputError where there is none, StoreError for damage."""
    file = Path(path)
    with reading_of(file) as connection, using(file, "read"):
        return root_digest(connection)


def root_digest(connection: sqlite3.Connection) -> str:
    """Raises sqlite3.Error, and TypeError for what is no digest."""
    digest = hashlib.sha256(b"toolablate-replies 1\n")
    for (row,) in connection.execute("SELECT digest FROM replies ORDER BY digest"):
        digest.update(row)
    return digest.hexdigest()
