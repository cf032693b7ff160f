"""When requests are sent: by a clock that jumps, so that an hour of pacing takes no time."""

import asyncio
import math
from itertools import pairwise
from typing import Any

import pytest
from tests.agents.limited import QUESTION, REPLY, REQUEST, Endpoint, ask_many, ask_until_answered, most_within, now
from tests.agents.virtual_time import at_once

from toolablate.agents.chat import NoReplyError
from toolablate.agents.pacing import EndpointPace, LetGo, PacedSource, counting_waits, lines_of
from toolablate.traces.errors import ModelError
from toolablate.traces.records import (
    Condition,
    ModelReply,
    ModelRequest,
    OpenAIModel,
    ScriptedModel,
    Usage,
)


def test_it_starts_with_a_few_and_soon_has_all_in_flight() -> None:
    endpoint = Endpoint()
    ended = at_once(ask_many(EndpointPace("e").line(500), endpoint, 3000))
    assert len([at for at in endpoint.sent if at == 0]) == 8
    assert endpoint.peak == 500
    assert max(ended) <= 3000 / 500 + 4
    assert not endpoint.refused


def test_what_is_declared_is_filled_before_the_first_reply() -> None:
    endpoint = Endpoint(seconds=2.0)
    ended = at_once(ask_many(EndpointPace("e").line(500, declared=True), endpoint, 3000))
    assert len([at for at in endpoint.sent if at == 0]) == 8
    assert endpoint.peak == 500
    # At least 92 % of what 500 places can do from first to last.
    assert max(ended) <= 3000 / 500 * 2 / 0.92


@pytest.mark.parametrize("refuses_after", [0.0, 0.3])
@pytest.mark.parametrize("limit", [1, 8, 100])
def test_what_is_declared_and_cannot_be_had_is_refused_few_times(limit: int, refuses_after: float) -> None:
    """Also where a proxy takes a while to say no."""
    endpoint = Endpoint(seconds=2.0, at_once=limit)
    endpoint.refuses_after = refuses_after
    count = 20 * limit
    at_once(ask_many(EndpointPace("e").line(500, declared=True), endpoint, count))
    assert endpoint.peak == limit
    # Before the first refusal is heard, two rounds may have been let in, each of twice what was there.
    assert len(endpoint.refused) <= (3 if refuses_after == 0 else 9) * max(limit, 8) + count / 10


@pytest.mark.parametrize("concurrency", [1, 32])
def test_an_endpoint_that_is_not_there_is_tried_by_one_at_a_time(concurrency: int) -> None:
    class Absent(Endpoint):
        async def complete(self, request: ModelRequest, *, seconds: float) -> ModelReply:
            self.sent.append(now())
            raise ModelError("cannot reach it", hint="start it", code="unreachable", retryable=True)

    absent = Absent()

    async def main() -> list[object]:
        line = EndpointPace("e").line(concurrency)
        asked = (ask_until_answered(line, absent) for _ in range(80))
        return await asyncio.gather(*asked, return_exceptions=True)

    ended = at_once(main())
    told = [error for error in ended if isinstance(error, ModelError)]
    assert [(error.code, error.retryable, error.hint) for error in told] == [("unreachable", False, "start it")]
    assert {type(error) for error in ended} == {ModelError, LetGo}
    assert len(absent.sent) <= min(8, concurrency) + 3
    assert absent.sent[-1] < 8


def test_one_that_was_there_is_not_given_up_for_a_broken_connection() -> None:
    class Restarting(Endpoint):
        async def complete(self, request: ModelRequest, *, seconds: float) -> ModelReply:
            if 5 < now() < 6:
                await asyncio.sleep(0.1)
                raise ModelError("cannot reach it", code="unreachable", retryable=True)
            return await super().complete(request, seconds=seconds)

    assert len(at_once(ask_many(EndpointPace("e").line(4), Restarting(), 80))) == 80


def test_there_are_never_more_in_flight_than_the_model_allows() -> None:
    endpoint = Endpoint()
    at_once(ask_many(EndpointPace("e").line(3), endpoint, 100))
    assert endpoint.peak == 3


@pytest.mark.parametrize("limit", [1, 5, 30, 200])
def test_it_finds_how_many_an_endpoint_takes(limit: int) -> None:
    endpoint = Endpoint(at_once=limit)
    count = 60 * limit
    ended = at_once(ask_many(EndpointPace("e").line(500), endpoint, count))
    assert len(ended) == count
    # What lies beyond the limit is found out by being refused, once; later at most one request in twenty is.
    assert len(endpoint.refused) <= 3 * limit + 8 + count / 20
    assert max(ended) <= 2.5 * count / limit + 20


@pytest.mark.parametrize(
    ("limit_of", "names", "kept"),
    [("key", ("a", "b"), True), ("", ("a", "b"), False), ("model", ("a", "b"), False), ("", ("a", "a"), True)],
)
def test_a_wait_is_kept_by_all_whose_limit_it_is(limit_of: Any, names: tuple[str, str], kept: bool) -> None:
    """A refusal that names the key's limit is everybody's; else it is of those who ask the same served model."""

    async def main() -> tuple[Endpoint, Endpoint]:
        pace = EndpointPace("e")
        first, second = Endpoint(seconds=0.5, at_once=7, asks=40, limit_of=limit_of), Endpoint()
        lines = [pace.line(8, name) for name in names]
        await asyncio.gather(ask_many(lines[1], second, 100), ask_many(lines[0], first, 20))
        return first, second

    first, second = at_once(main())
    assert first.refused[0] == second.sent[0] == 0
    assert [at for at in first.sent if 0 < at < 40] == []
    assert 40 <= first.sent[8] <= 42
    assert ([at for at in second.sent if 0 < at < 40] == []) is kept


@pytest.mark.parametrize("asks", [None, 5.0, 60.0])
def test_one_of_four_models_that_is_refused_holds_up_no_other(asks: float | None) -> None:
    async def main() -> list[float]:
        models = [OpenAIModel(name=name, endpoint="http://e/v1") for name in ("spent", "a", "b", "c")]
        lines = lines_of(models)
        refusing = Endpoint(opens=math.inf, asks=asks)
        spent = asyncio.create_task(ask_many(lines["spent"], refusing, 12))
        ended = await asyncio.gather(*(ask_many(lines[name], Endpoint(), 12) for name in "abc"))
        spent.cancel()
        return [at for each in ended for at in each]

    assert max(at_once(main())) <= 2


def test_a_limit_of_the_key_that_no_refusal_names_is_found_by_each_model() -> None:
    async def main() -> Endpoint:
        lines = lines_of(OpenAIModel(name=name, endpoint="http://e/v1") for name in "abcd")
        shared = Endpoint(seconds=0.5, at_once=12)
        await asyncio.gather(*(ask_many(lines[name], shared, 200) for name in lines))
        return shared

    shared = at_once(main())
    assert len(shared.refused) <= 800 / 10


def test_a_refusal_that_names_no_wait_makes_longer_and_longer_ones() -> None:
    endpoint = Endpoint(opens=60)
    at_once(ask_many(EndpointPace("e").line(4), endpoint, 20))
    tries = sorted(set(endpoint.refused))
    waits = [after - before for before, after in pairwise(tries)]
    for wait, expected in zip(waits, (1, 2, 4, 8, 16, 30), strict=False):
        assert expected <= wait <= expected * 1.05
    assert len(endpoint.refused) < 4 + 2 + 6


def test_an_outage_of_minutes_is_waited_out_and_then_made_up_for() -> None:
    endpoint = Endpoint()
    endpoint.code = "overloaded"

    async def main() -> list[float]:
        line = EndpointPace("e").line(200)
        await ask_many(line, endpoint, 2000)
        endpoint.opens = now() + 120
        return await ask_many(line, endpoint, 4000)

    ended = at_once(main())
    assert len(endpoint.refused) < 400
    assert max(ended) - endpoint.opens < 30 + 4000 / 200 + 10


def test_an_endpoint_that_refuses_everything_is_given_up() -> None:
    endpoint = Endpoint(opens=math.inf)

    async def main() -> list[object]:
        line = EndpointPace("http://e", patience=100).line(8)
        return await asyncio.gather(*(ask_until_answered(line, endpoint) for _ in range(50)), return_exceptions=True)

    ended = at_once(main())
    assert {getattr(error, "code", None) for error in ended} == {"endpoint_busy"}
    assert "http://e has refused every request for 1" in str(ended[0])
    assert 100 < endpoint.sent[-1] < 140
    assert len(endpoint.sent) < 30


def test_an_endpoint_that_asks_for_a_wait_of_hours_is_given_up_at_once() -> None:
    endpoint = Endpoint(opens=math.inf, asks=7200)

    async def main() -> float:
        with pytest.raises(ModelError, match="asks to be left alone for 7200 s"):
            await ask_until_answered(EndpointPace("e").line(8), endpoint)
        return now()

    assert at_once(main()) == 0


def test_requests_a_minute_are_kept() -> None:
    endpoint = Endpoint(seconds=0.5)
    pace = EndpointPace("e", requests_per_minute=120)
    at_once(ask_many(pace.line(50), endpoint, 600))
    assert most_within(endpoint.sent, 60) <= 121
    assert max(endpoint.sent) <= 600 / 120 * 60 + 1


def test_tokens_a_minute_are_kept_by_what_was_really_used() -> None:
    endpoint = Endpoint(seconds=0.5)
    endpoint.usage = Usage(input_tokens=900, output_tokens=100)
    pace = EndpointPace("e", tokens_per_minute=60_000)
    at_once(ask_many(pace.line(50), endpoint, 600))
    # The estimate was 600 of the 1,000 that each took; what is in flight may be owed.
    assert most_within(endpoint.sent, 60) <= 60 + 9
    assert max(endpoint.sent) <= 600_000 / 60_000 * 60 + 5


def test_a_request_larger_than_a_minutes_tokens_passes_and_is_paid_off() -> None:
    async def main() -> list[float]:
        line = EndpointPace("e", tokens_per_minute=60).line(2)
        model = PacedSource(Endpoint(), line, max_tokens=20).session(QUESTION, Condition(name="c"), 0)
        times = []
        for _ in range(2):
            await model.complete(REQUEST, seconds=60)
            times.append(now())
        return times

    first, second = at_once(main())
    assert (first, round(second)) == (1, 201)


def test_those_who_came_first_are_served_first() -> None:
    async def main() -> list[int]:
        line, order = EndpointPace("e").line(1), []

        async def ask(number: int) -> None:
            place = await line.enter()
            order.append(number)
            await asyncio.sleep(1)
            line.replied(place)

        await asyncio.gather(*(ask(number) for number in range(20)))
        return order

    assert at_once(main()) == list(range(20))


def test_a_model_that_hangs_holds_up_no_other_at_the_same_endpoint() -> None:
    async def main() -> tuple[float, int]:
        models = [OpenAIModel(name=name, endpoint="http://e/v1", concurrency=16) for name in ("dead", "well")]
        lines = lines_of(models)
        assert lines["dead"].pace is lines["well"].pace
        hanging, well = Endpoint(seconds=1e6), Endpoint()
        stuck = asyncio.create_task(ask_many(lines["dead"], hanging, 100))
        await ask_many(lines["well"], well, 160)
        stuck.cancel()
        return now(), hanging.in_flight

    ended, hanging = at_once(main())
    assert ended <= 160 / 16 + 2
    assert hanging == 16


def test_a_place_that_is_not_taken_up_goes_to_the_next() -> None:
    async def main() -> None:
        line = EndpointPace("e").line(1)
        held = await line.enter()
        waiting = [asyncio.create_task(line.enter()) for _ in range(3)]
        await asyncio.sleep(0)
        waiting[0].cancel()
        line.replied(held)
        waiting[1].cancel()
        place = await waiting[2]
        line.replied(place)
        assert line.in_flight == 0

    at_once(main())


def test_a_wait_is_counted_apart() -> None:
    async def main() -> tuple[float, float]:
        line = EndpointPace("e").line(1)
        asked = asyncio.create_task(ask_until_answered(line, Endpoint(seconds=7)))
        await asyncio.sleep(0)
        with counting_waits() as waited:
            await asyncio.create_task(ask_until_answered(line, Endpoint(seconds=1)))
        await asked
        return waited.seconds, now()

    assert at_once(main()) == (7, 8)


@pytest.mark.parametrize(
    "error",
    [ModelError("no", code="bad_request"), NoReplyError("no", REPLY, code="empty_reply"), RuntimeError("a bug")],
)
def test_any_end_of_a_request_frees_its_place(error: Exception) -> None:
    class Failing(Endpoint):
        async def complete(self, request: ModelRequest, *, seconds: float) -> ModelReply:
            raise error

    async def main() -> int:
        line = EndpointPace("e").line(4)
        for _ in range(10):
            with pytest.raises(type(error)):
                await ask_until_answered(line, Failing())
        return line.in_flight

    assert at_once(main()) == 0


def test_models_share_a_pace_by_address_and_key_and_take_the_lowest_rates() -> None:
    def model(name: str, **fields: object) -> OpenAIModel:
        return OpenAIModel.model_validate({"name": name, "endpoint": "http://e/v1", **fields})

    lines = lines_of(
        [
            model("a", requests_per_minute=10),
            model("b", endpoint="http://e/v1/", requests_per_minute=5),
            model("c", api_key_env="OTHER_KEY"),
            ScriptedModel(name="s", script="x"),
        ]
    )
    assert set(lines) == {"a", "b", "c"}
    assert lines["a"].pace is lines["b"].pace is not lines["c"].pace
    sent = Endpoint(seconds=0.1)

    async def main() -> None:
        await asyncio.gather(ask_many(lines["a"], sent, 10), ask_many(lines["b"], sent, 10))

    at_once(main())
    assert most_within(sent.sent, 60) <= 6
