"""What comes late or again, at the driver and at a worker, whose attempt has ended by then."""

import asyncio
from collections.abc import Sequence

import pytest
from tests.experiments.cluster.fleets import Scripted, Tapped, Workers, fleet, planned, texts

from toolablate.experiments.cluster import worker as workers
from toolablate.experiments.cluster.in_process import InProcess
from toolablate.experiments.cluster.messages import Attempt, Ended, Ready, Start, ToDriver

pytestmark = pytest.mark.usefixtures("at_once")


async def test_what_comes_late_of_an_attempt_is_nothing_of_the_next_one_at_the_same_trial() -> None:
    """Its events would be the same ones, so it is its end that comes late."""
    end_of_first, late = list[ToDriver](), list[int]()

    def hears(worker: Tapped, messages: Sequence[ToDriver]) -> Sequence[ToDriver]:
        numbers = {each.attempt.number for each in messages if not isinstance(each, Ready)}
        if numbers == {0}:
            end_of_first[:] = messages[-1:]
        if numbers != {1} or late:
            return messages
        late.extend(numbers)
        return [*end_of_first, *messages]

    async with fleet(Workers(hears=hears), 1) as (executor, warned, _):
        trial = planned("say 2; ask; say 2")
        assert [await texts(executor, trial) for _ in range(2)] == [["0", "1", "2", "3"]] * 2
    assert late == [1]
    assert isinstance(end_of_first[0], Ended)
    assert warned == []


async def test_a_start_that_comes_again_after_its_trial_has_ended_runs_nothing() -> None:
    channel = InProcess(Scripted(), {})

    async def heard_until_ended(number: int) -> list[int]:
        numbers = list[int]()
        while True:
            for message in await channel.take():
                assert not isinstance(message, Ready)
                numbers.append(message.attempt.number)
                if isinstance(message, Ended) and message.attempt.number == number:
                    return numbers

    await channel.take()
    first, second = Start(Attempt("t", 0), planned("say 1")), Start(Attempt("u", 1), planned("say 1", 1))
    await channel.put([first])
    assert await heard_until_ended(0) == [0, 0]
    await channel.put([first, second])
    assert await heard_until_ended(1) == [1, 1]
    await channel.close()


async def test_a_worker_that_has_ended_its_trials_begins_none(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 0.0
    monkeypatch.setattr(workers, "BEAT_SECONDS", 0.001)
    worker = workers.Worker(Scripted(), {}, clock=lambda: now)
    running = asyncio.create_task(worker.run())
    await worker.take()
    now = 61.0
    await running
    worker.put([Start(Attempt("t", 0), planned("hang"))])
    assert worker._trials == {}
