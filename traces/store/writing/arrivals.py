"""Hands what the writer's thread has done to the event loops that wait for it."""

import asyncio
from collections import deque
from concurrent.futures import Future
from typing import Any, TypeVar

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
