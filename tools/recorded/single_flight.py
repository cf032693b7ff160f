"""One attempt at a time for each key, shared by all who want it."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

Outcome = TypeVar("Outcome")


@dataclass(slots=True)
class _Flight(Generic[Outcome]):
    task: asyncio.Task[Outcome]
    waiting: int = 0


class SingleFlight(Generic[Outcome]):
    """Whoever asks for a key that is under way waits for that attempt and gets its outcome, an exception included; who
    asks once it has ended starts another, though some have not taken its outcome yet.

    One who is cancelled leaves the others alone; the attempt ends when nobody waits for it any more. For one event
    loop.
    """

    def __init__(self) -> None:
        self._flights: dict[str, _Flight[Outcome]] = {}

    async def run(self, key: str, attempt: Callable[[], Awaitable[Outcome]]) -> Outcome:
        flight = self._flights.get(key)
        if flight is None or flight.task.done():
            flight = self._flights[key] = _Flight(asyncio.create_task(self._attempted(attempt)))
        flight.waiting += 1
        try:
            return await asyncio.shield(flight.task)
        finally:
            flight.waiting -= 1
            if not flight.waiting:
                self._leave(key, flight)

    async def _attempted(self, attempt: Callable[[], Awaitable[Outcome]]) -> Outcome:
        return await attempt()

    def _leave(self, key: str, flight: _Flight[Outcome]) -> None:
        if self._flights.get(key) is flight:
            del self._flights[key]
        flight.task.cancel()
