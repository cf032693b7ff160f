"""The thread that writes, what waits for it, and which recorders are there."""

import asyncio
import contextlib
import os
import sqlite3
import threading
import time
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from toolablate.traces.errors import InternalError, StoreError, ToolablateError
from toolablate.traces.store.file import (
    MAX_BUSY_PAUSE_SECONDS,
    LifeLock,
    StorePlace,
    begin_writing,
    explain,
    life_file,
    lives,
    uptime,
)
from toolablate.traces.store.texts import Bases, TextWriter

T = TypeVar("T")


class Arrivals:
    """Wakes a loop once for all that is done by then: each wake is a system call, and a commit ends many jobs."""

    def __init__(self) -> None:
        self._trays: dict[asyncio.AbstractEventLoop, _Tray] = {}

    async def of(self, future: "Future[T]") -> T:
        """Waits for a job, in the loop of the caller."""
        loop = asyncio.get_running_loop()
        tray = self._trays.get(loop)
        if tray is None:
            self._trays = {known: tray for known, tray in self._trays.items() if not known.is_closed()}
            tray = self._trays[loop] = _Tray(loop)
        waiting: asyncio.Future[T] = loop.create_future()
        future.add_done_callback(lambda done: tray.put(waiting, done))
        return await waiting


class _Tray:
    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._done: deque[tuple[asyncio.Future[Any], Future[Any]]] = deque()
        self._rung = False

    def put(self, waiting: "asyncio.Future[Any]", done: "Future[Any]") -> None:
        self._done.append((waiting, done))
        if not self._rung and not self._loop.is_closed():
            self._rung = True
            self._loop.call_soon_threadsafe(self._deliver)

    def _deliver(self) -> None:
        # Before the first is taken: what is put from here on rings again.
        self._rung = False
        while self._done:
            waiting, done = self._done.popleft()
            if waiting.done():
                continue
            error = done.exception()
            if error is None:
                waiting.set_result(done.result())
            else:
                waiting.set_exception(error)


# The thread that writes: everything queued meanwhile goes into one transaction.


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
    future: "Future[Any] | None"
    chars: int
    durable: bool


class StoreWriter:
    """Runs jobs in order. A job that refuses is undone alone; an error of the disk ends the writer.

    After that every further job, and every job that waits, gets the same error. So does one that finds the store gone
    from its place.
    """

    def __init__(self, connection: sqlite3.Connection, place: StorePlace) -> None:
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
        self._queue(_Job(write, future, chars, durable))
        return future

    def post(self, write: Callable[[Desk], None], *, chars: int = 0) -> None:
        """As `submit`, for a job that refuses nothing, and that nobody waits for."""
        self._queue(_Job(write, None, chars, durable=False))

    def _queue(self, job: _Job) -> None:
        with self._changed:
            while self._is_full() and self._error is None and not self._closing:
                self._changed.wait()
            if self._error is not None:
                self._told = True
                raise self._error
            if self._closing:
                raise StoreError(f"The recorder of {self._path} is closed", code="closed")
            self._jobs.append(job)
            self._chars += job.chars
            self._changed.notify_all()

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
        settle = [told for job in group if (told := self._write_one(job))]
        connection.execute("COMMIT")
        return settle

    def _write_one(self, job: _Job) -> Callable[[], None] | None:
        """Gives what tells who waits for it."""
        connection, future = self._desk.connection, job.future
        if future is None:
            job.write(self._desk)
            return None
        connection.execute("SAVEPOINT job")
        try:
            result = job.write(self._desk)
        except ToolablateError as refusal:
            connection.execute("ROLLBACK TO job")
            connection.execute("RELEASE job")
            self._desk.texts.forget()
            self._desk.bases.forget()
            error = refusal  # `refusal` is unbound when this block ends
            return lambda: future.set_exception(error)
        connection.execute("RELEASE job")
        return lambda: future.set_result(result)

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
            if job.future is not None:
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


# Who writes a store, and which trials each is at: several recorders share them, and none is done twice.


class Membership:
    """A recorder among those of a store, from when it registers until it leaves. Both happen inside the gate."""

    def __init__(self, connection: sqlite3.Connection, store: Path) -> None:
        """Raises sqlite3.Error, and StoreError where its lock cannot be had."""
        self._store = store
        sweep(connection, store)
        begin_writing(connection)
        cursor = connection.execute("INSERT INTO recorders (pid, clock) VALUES (?, ?)", (os.getpid(), uptime()))
        connection.execute("COMMIT")
        self.key = int(cursor.lastrowid or 0)
        self._lock = LifeLock(store, self.key)

    def leave(self, connection: sqlite3.Connection) -> None:
        """Gives back what it claims. On a full disk its row stays, and counts for nothing, since its lock is free."""
        self.release()
        with contextlib.suppress(sqlite3.Error):
            sweep(connection, self._store)

    def release(self) -> None:
        self._lock.release()


def sweep(connection: sqlite3.Connection, store: Path) -> None:
    """Removes what dead recorders have left: their claims, their rows and the files of their locks."""
    dead = [key for (key,) in connection.execute("SELECT key FROM recorders") if not lives(store, key)]
    if not dead:
        return
    begin_writing(connection)
    for key in dead:
        connection.execute("DELETE FROM claims WHERE recorder = ?", (key,))
        connection.execute("DELETE FROM recorders WHERE key = ?", (key,))
    connection.execute("COMMIT")
    for key in dead:
        life_file(store, key).unlink(missing_ok=True)


def is_deserted(connection: sqlite3.Connection, store: Path) -> bool:
    """Whether no recorder lives. Raises sqlite3.Error."""
    return not any(lives(store, key) for (key,) in connection.execute("SELECT key FROM recorders"))


def taken(store: Path, recorder: int) -> Callable[[Desk], frozenset[str]]:
    """Ids of the trials that other living recorders are at."""

    def read(desk: Desk) -> frozenset[str]:
        rows = desk.connection.execute(
            "SELECT trials.id, recorder FROM claims JOIN trials ON trials.key = claims.trial WHERE recorder <> ?",
            (recorder,),
        ).fetchall()
        living = {key for key in {row[1] for row in rows} if lives(store, key)}
        return frozenset(identity for identity, key in rows if key in living)

    return read
