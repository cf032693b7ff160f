"""What is told of lines that are held back, and who leaves them when a run is stopped."""

import asyncio

import pytest
from tests.agents.limited import QUESTION, REQUEST, Endpoint, ask_many, ask_until_answered, now
from tests.agents.virtual_time import at_once

from toolablate.agents.pacing import EndpointPace, LetGo, PacedSource, Pressure, pressures
from toolablate.traces.records import Condition


def test_refusals_and_rests_are_counted() -> None:
    async def main() -> list[tuple[Pressure, ...]]:
        pace, endpoint = EndpointPace("http://e"), Endpoint(opens=50, asks=40)
        lines = [pace.line(3), pace.line(4)]
        seen = [pressures(lines)]
        asking = asyncio.create_task(ask_many(lines[0], endpoint, 6))
        await asyncio.sleep(10)
        seen.append(pressures(lines))
        await asking
        seen.append(pressures(lines))
        await asyncio.sleep(61)
        return [*seen, pressures(lines)]

    before, (resting,), (done,), (later,) = at_once(main())
    assert before == ()
    assert (resting.name, resting.refused, resting.asked) == ("http://e", {"rate_limited": 1}, 40)
    assert 30 <= resting.rests <= 32
    assert resting.rested == pytest.approx(10)
    assert done.rests == 0
    assert 80 <= done.rested <= 84
    assert done.refused == {"rate_limited": 2}
    assert (resting.lately, later.lately) == (True, False)


def test_who_waits_for_a_first_reply_is_let_go_and_others_stay() -> None:
    async def main() -> tuple[list[object], object, int]:
        line, endpoint = EndpointPace("e").line(1), Endpoint(seconds=5)
        chat = PacedSource(endpoint, line).session(QUESTION, Condition(name="c"), 0)
        reply = await chat.complete(REQUEST, seconds=60)
        going_on = REQUEST.model_copy(update={"messages": (*REQUEST.messages, reply.message)})
        in_flight = asyncio.create_task(ask_until_answered(line, endpoint))
        await asyncio.sleep(1)
        waiting = [asyncio.create_task(ask_until_answered(line, endpoint)) for _ in range(3)]
        again = asyncio.create_task(chat.complete(going_on, seconds=60))
        await asyncio.sleep(1)
        line.let_go()
        gone = await asyncio.gather(*waiting, ask_until_answered(line, endpoint), return_exceptions=True)
        assert now() == 7
        await again
        return [type(each) for each in gone], await in_flight, line.in_flight

    gone, ended, in_flight = at_once(main())
    assert gone == [LetGo] * 4
    assert (ended, in_flight) == (10, 0)
