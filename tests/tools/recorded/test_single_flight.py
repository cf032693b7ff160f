import asyncio

import pytest

from toolablate.tools.recorded.lookups import SingleFlight


class Attempts:
    """Waits until it is let go; counts how often it was begun and given up."""

    def __init__(self, error: Exception | None = None) -> None:
        self.gate = asyncio.Event()
        self.begun = 0
        self.given_up = 0
        self._error = error

    async def __call__(self) -> int:
        self.begun += 1
        try:
            await self.gate.wait()
        except asyncio.CancelledError:
            self.given_up += 1
            raise
        if self._error:
            raise self._error
        return self.begun


async def waiting(flights: SingleFlight[int], attempt: Attempts, count: int) -> list[asyncio.Task[int]]:
    tasks = [asyncio.create_task(flights.run("key", attempt)) for _ in range(count)]
    await asyncio.sleep(0.01)
    return tasks


async def test_all_who_wait_share_one_attempt_and_the_next_has_its_own() -> None:
    flights, attempt = SingleFlight[int](), Attempts()
    tasks = await waiting(flights, attempt, 5)
    attempt.gate.set()
    assert await asyncio.gather(*tasks) == [1] * 5
    assert await flights.run("key", attempt) == 2


async def test_other_keys_do_not_wait() -> None:
    flights, held, free = SingleFlight[int](), Attempts(), Attempts()
    tasks = await waiting(flights, held, 1)
    free.gate.set()
    assert await flights.run("other", free) == 1
    held.gate.set()
    await asyncio.gather(*tasks)


async def test_all_who_wait_share_an_error() -> None:
    flights, attempt = SingleFlight[int](), Attempts(ValueError("no"))
    tasks = await waiting(flights, attempt, 3)
    attempt.gate.set()
    outcomes = await asyncio.gather(*tasks, return_exceptions=True)
    assert [str(outcome) for outcome in outcomes] == ["no"] * 3
    assert attempt.begun == 1


async def test_one_who_is_cancelled_leaves_the_others_alone() -> None:
    flights, attempt = SingleFlight[int](), Attempts()
    first, second = await waiting(flights, attempt, 2)
    first.cancel()
    with pytest.raises(asyncio.CancelledError):
        await first
    attempt.gate.set()
    assert await second == 1
    assert attempt.given_up == 0


async def test_an_attempt_that_nobody_waits_for_ends_and_is_not_joined() -> None:
    flights, attempt = SingleFlight[int](), Attempts()
    for task in await waiting(flights, attempt, 2):
        task.cancel()
    await asyncio.sleep(0.01)
    assert attempt.given_up == 1
    attempt.gate.set()
    assert await flights.run("key", attempt) == 2
