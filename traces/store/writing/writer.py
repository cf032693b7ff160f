"""The thread that writes: everything queued meanwhile goes into one transaction."""

import contextlib
import os
import sqlite3
import threading
import time
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Any, TypeVar

from toolablate.traces.errors import InternalError, StoreError, ToolablateError
from toolablate.traces.store.content.blocks import Bases
from toolablate.traces.store.content.texts import TextWriter
from toolablate.traces.store.files.errors import explain
from toolablate.traces.store.files.opening import MAX_BUSY_PAUSE_SECONDS, begin_writing
from toolablate.traces.store.files.place import Place
from toolablate.traces.store.writing.arrivals import Arrivals

T = TypeVar("T")

# A disk that does not keep up slows the callers down at this point, instead of filling the memory.
MAX_PENDING_CHARS = 64_000_000
MAX_PENDING_JOBS = 20_000
# Others wait for the end of a group.
GROUP_JOBS = 200


@dataclass(frozen=True, slots=True)
class Desk:
    """What a job writes with, inside the writer's transaction."""

    connection: sqlite3.Connection
    texts: TextWriter
    bases: Bases


@dataclass(slots=True)
class _Job:
    write: Callable[[Desk], Any]
    future: "Future[Any]"
    chars: int
    durable: bool


class Writer:
    """Runs jobs in order. A job that refuses is undone alone; an error of the disk ends the writer.

    After that every further job, and every job that waits, gets the same error. So does one that finds the store gone
    from its place.
    """

    def __init__(self, connection: sqlite3.Connection, place: Place) -> None:
        self._path = place.path
        self._place = place
        self._desk = Desk(connection, TextWriter(connection), Bases(connection))
        self._jobs: deque[_Job] = deque()
        self._chars = 0
        self._changed = threading.Condition()
        self._closing = False
        self._error: ToolablateError | None = None
        self._arrivals = Arrivals()
        self._told = False
        self._shared = False
        self._durable: bool | None = None
        self._thread = threading.Thread(target=self._work, name=f"recorder of {place.path.name}", daemon=True)
        self._thread.start()

    def submit(self, write: Callable[[Desk], T], *, chars: int = 0, durable: bool = False) -> "Future[T]":
        """Queues a job. `durable` has its commit reach the disk before the job counts as done.

        Raises the error that ended the writer, if one did; waits only where the queue is full.
        """
        future: Future[T] = Future()
        with self._changed:
            while self._is_full() and self._error is None and not self._closing:
                self._changed.wait()
            if self._error is not None:
                self._told = True
                raise self._error
            if self._closing:
                raise StoreError(f"The recorder of {self._path} is closed", code="closed")
            self._jobs.append(_Job(write, future, chars, durable))
            self._chars += chars
            self._changed.notify_all()
        return future

    def close(self) -> ToolablateError | None:
        """Writes what is queued. Returns an error that nobody has been told of. The connection stays open."""
        with self._changed:
            self._closing = True
            self._changed.notify_all()
        self._thread.join()
        return None if self._told else self._error

    def _is_full(self) -> bool:
        return len(self._jobs) >= MAX_PENDING_JOBS or (self._chars > MAX_PENDING_CHARS and bool(self._jobs))

    def _work(self) -> None:
        while group := self._next_group():
            try:
                settle = self._write(group)
            except Exception as error:  # noqa: BLE001 - whatever it is, those who wait must be told
                self._fail(group, error)
                return
            for act in settle:
                act()
            if self._shared and self._jobs:
                # Another's turn: for so long those who wait may be asleep.
                time.sleep(MAX_BUSY_PAUSE_SECONDS)

    def _next_group(self) -> list[_Job]:
        with self._changed:
            while not self._jobs and not self._closing:
                self._changed.wait()
            group = [self._jobs.popleft() for _ in range(min(len(self._jobs), GROUP_JOBS))]
            self._chars -= sum(job.chars for job in group)
            self._changed.notify_all()
        return group

    def _write(self, group: list[_Job]) -> list[Callable[[], None]]:
        connection = self._desk.connection
        durable = any(job.durable for job in group)
        if durable is not self._durable:
            connection.execute(f"PRAGMA synchronous = {'FULL' if durable else 'NORMAL'}")
            self._durable = durable
        self._place.require_kept()
        begin_writing(connection)
        (self._shared,) = connection.execute("SELECT count(*) > 1 FROM recorders").fetchone()
        settle = [self._write_one(job) for job in group]
        connection.execute("COMMIT")
        return settle

    def _write_one(self, job: _Job) -> Callable[[], None]:
        connection = self._desk.connection
        connection.execute("SAVEPOINT job")
        try:
            result = job.write(self._desk)
        except ToolablateError as refusal:
            connection.execute("ROLLBACK TO job")
            connection.execute("RELEASE job")
            self._desk.texts.forget()
            self._desk.bases.forget()
            error = refusal  # `refusal` is unbound when this block ends
            return lambda: job.future.set_exception(error)
        connection.execute("RELEASE job")
        return lambda: job.future.set_result(result)

    def _fail(self, group: list[_Job], error: Exception) -> None:
        # A connection that cannot roll back does so when it is closed; those who wait must be told all the same.
        with contextlib.suppress(sqlite3.Error):
            if self._desk.connection.in_transaction:
                self._desk.connection.execute("ROLLBACK")
        told = self._as_told(error)
        with self._changed:
            self._error = told
            waiting = [*group, *self._jobs]
            self._jobs.clear()
            self._chars = 0
            self._changed.notify_all()
        for job in waiting:
            job.future.set_exception(told)

    def _as_told(self, error: Exception) -> ToolablateError:
        told: ToolablateError
        if isinstance(error, ToolablateError):
            return error
        if not self._place.is_kept():
            told = self._place.gone()
        elif isinstance(error, sqlite3.Error):
            told = explain(error, self._path, "write")
            if told.code == "locked":
                told.message += self._neighbours()
        else:
            told = InternalError(f"The recorder of {self._path} failed: {type(error).__name__}: {error}")
        told.__cause__ = error
        return told

    def _neighbours(self) -> str:
        """Who may hold the store: to read them needs no lock."""
        try:
            rows = self._desk.connection.execute("SELECT pid FROM recorders WHERE pid <> ?", (os.getpid(),)).fetchall()
        except sqlite3.Error:
            return ""
        return f" (it is written by process {', '.join(str(pid) for (pid,) in rows)} too)" if rows else ""

    async def settle(self, future: "Future[T]") -> T:
        """Waits for a job. A caller that is cancelled meanwhile leaves the job to be done."""
        try:
            return await self._arrivals.of(future)
        except ToolablateError:
            self.note_told()
            raise

    def note_told(self) -> None:
        """An error reached its caller by way of a future."""
        with self._changed:
            self._told = True
