"""One attempt at a time for each key, shared by all who want it."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Generic, TypeVar

Outcome = TypeVar("Outcome")


class SingleFlight(Generic[Outcome]):
    """Whoever asks for a key that is under way waits for that attempt and gets its outcome, an exception included.

    One who is cancelled leaves the others alone; the attempt ends when nobody waits for it any more. For one event
    loop.
    """

    def __init__(self) -> None:
        self._tasks: dict[str, asyncio.Task[Outcome]] = {}
        self._waiting: dict[str, int] = {}

    async def run(self, key: str, attempt: Callable[[], Awaitable[Outcome]]) -> Outcome:
        task = self._tasks.get(key)
        if task is None:
            task = self._tasks[key] = asyncio.create_task(self._attempted(key, attempt))
        self._waiting[key] = self._waiting.get(key, 0) + 1
        try:
            return await asyncio.shield(task)
        finally:
            self._leave(key, task)

    async def _attempted(self, key: str, attempt: Callable[[], Awaitable[Outcome]]) -> Outcome:
        return await attempt()

    def _leave(self, key: str, task: asyncio.Task[Outcome]) -> None:
        self._waiting[key] -= 1
        if self._waiting[key]:
            return
        del self._waiting[key], self._tasks[key]
        task.cancel()
