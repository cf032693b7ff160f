"""How long an endpoint that refuses is waited for: by a clock that jumps, and once by the real one."""

import asyncio
import math
import random
import time
from collections import Counter
from itertools import pairwise

import pytest
from tests.agents.conftest import condition, play_with
from tests.agents.limited import QUESTION, Endpoint, ask_many, ask_until_answered, now
from tests.agents.virtual_time import at_once
from tests.servers.chat_server import ChatServer, Status, reply

from toolablate.agents import RetryPolicy, connect
from toolablate.agents.pacing import EndpointPace, Line, PacedSource
from toolablate.agents.pacing.waits import in_line
from toolablate.agents.session import TrialSession
from toolablate.agents.spending import Spending
from toolablate.tools.tool import ToolResult
from toolablate.traces.errors import ModelError, ToolError
from toolablate.traces.records import Message, ModelReply, ModelRequest, OpenAIModel, ToolRequest

WAITING = RetryPolicy(attempts=2, paced=True)


async def outcomes(line: Line, endpoint: Endpoint, count: int) -> Counter[str]:
    """How so many trials end, as many at a time as the line takes."""
    free = asyncio.Semaphore(line.window.most)
    source = PacedSource(endpoint, line)

    async def trial(number: int) -> str:
        async with free:
            model = source.session(QUESTION, condition(), number)
            return (await play_with(model, retry=WAITING, clock=now)).result.outcome

    return Counter(await asyncio.gather(*(trial(number) for number in range(count))))


@pytest.mark.parametrize(
    ("asks", "opens", "concurrency"), [(0.05, 20, 2), (1, 25, 1), (0, 280, 4), (0.05, 280, 1), (None, 280, 4)]
)
def test_no_trial_fails_while_its_endpoint_is_waited_for(asks: float | None, opens: float, concurrency: int) -> None:
    endpoint = Endpoint(seconds=0.1, opens=opens, asks=asks)
    assert at_once(outcomes(EndpointPace("e").line(concurrency), endpoint, 20)) == {"answered": 20}
    assert len(endpoint.refused) < 25


def test_a_short_wait_is_kept_at_first_and_becomes_longer_when_it_was_not_enough() -> None:
    endpoint = Endpoint(opens=60, asks=3)
    at_once(ask_many(EndpointPace("e").line(1), endpoint, 1))
    waits = [after - before for before, after in pairwise(endpoint.sent)]
    for wait, expected in zip(waits, (3, 3, 3, 4, 8, 16, 30), strict=True):
        assert expected <= wait <= expected * 1.05


def test_waits_at_the_same_time_count_once() -> None:
    """An agent asks its models, and calls its tools, several at a time."""

    class Queued:
        specs = ()

        async def complete(self, request: ModelRequest, *, seconds: float) -> ModelReply:
            with in_line():
                await asyncio.sleep(3)
            await asyncio.sleep(1)
            return ModelReply(message=Message(role="assistant", content="4"), finish_reason="stop")

        async def call(self, request: ToolRequest) -> ToolResult:
            await asyncio.sleep(2)
            if now() < 3:
                raise ToolError("later", retryable=True)
            return ToolResult("4")

    async def main() -> float:
        both, arm = Queued(), condition()
        policy = RetryPolicy(base_seconds=0)
        spending = Spending(arm.budget, None)
        session = TrialSession(both, both, arm, lambda _: None, spending, policy, now, random.Random(1), now())
        request = ModelRequest(messages=(Message(role="user", content="2 + 2?"),))
        calls = tuple(ToolRequest(id=name, name="t", arguments="{}") for name in "ab")
        await asyncio.gather(*(session.ask(request, "ask") for _ in range(4)), session.call_all(calls))
        return session.elapsed() - session.worked()

    assert at_once(main()) == pytest.approx(3)


def test_patience_begins_anew_with_a_reply() -> None:
    """Two outages of 200 s, which are more than the patience together."""
    endpoint = Endpoint(opens=200, asks=0.05)

    async def main() -> Counter[str]:
        line = EndpointPace("e").line(2)
        first = await outcomes(line, endpoint, 2)
        endpoint.opens = now() + 200
        return first + await outcomes(line, endpoint, 2)

    assert at_once(main()) == {"answered": 4}


def test_a_question_that_alone_is_always_refused_fails_alone() -> None:
    refusing, well = Endpoint(opens=math.inf, asks=0.05), Endpoint(seconds=0.1)

    async def main() -> tuple[str, float]:
        line = EndpointPace("e").line(4)

        async def keep_asking() -> None:
            while True:
                await ask_until_answered(line, well)

        others = [asyncio.create_task(keep_asking()) for _ in range(3)]
        refused = PacedSource(refusing, line).session(QUESTION, condition(), 0)
        played = await play_with(refused, retry=WAITING, clock=now)
        for other in others:
            other.cancel()
        assert played.events[-1].code == "rate_limited"
        return played.result.outcome, now()

    outcome, ended = at_once(main())
    assert outcome == "failed"
    assert 300 < ended < 400
    assert 16 <= len(refusing.sent) < 60


@pytest.mark.parametrize("asks", [60, 3600])
def test_one_models_quota_is_not_the_end_of_the_others(asks: float) -> None:
    """They share an address and a key. The one is given up; the other waits with it once or twice, and goes on."""

    async def main() -> tuple[list[object], float]:
        pace = EndpointPace("e")
        spent, well = Endpoint(opens=math.inf, asks=asks), Endpoint()
        lines = pace.line(8), pace.line(8)
        refused = asyncio.gather(*(ask_until_answered(lines[0], spent) for _ in range(20)), return_exceptions=True)
        await ask_many(lines[1], well, 400)
        ended = now()
        return await refused, ended

    refused, ended = at_once(main())
    assert {getattr(error, "code", None) for error in refused} == {"endpoint_busy"}
    assert ended < 400 / 8 + 2 + (2.2 * asks if asks <= 300 else 0)


def test_a_long_wait_that_is_everybodys_ends_all_after_one_try_each() -> None:
    async def main() -> tuple[set[str], int]:
        pace, endpoint = EndpointPace("e"), Endpoint(opens=math.inf, asks=3600)
        asking = [ask_until_answered(line, endpoint) for line in (pace.line(8), pace.line(8)) for _ in range(20)]
        ended = await asyncio.gather(*asking, return_exceptions=True)
        return {error.code for error in ended if isinstance(error, ModelError)}, len(endpoint.sent)

    codes, sent = at_once(main())
    assert codes == {"endpoint_busy"}
    assert sent <= 16


def test_one_odd_wait_of_hours_after_replies_is_asked_about_again() -> None:
    class Odd(Endpoint):
        async def complete(self, request: ModelRequest, *, seconds: float) -> ModelReply:
            if len(self.sent) in (20, 21):
                self.sent.append(now())
                self.refused.append(now())
                raise ModelError("maintenance", code="overloaded", retryable=True, retry_after=7200)
            return await super().complete(request, seconds=seconds)

    endpoint = Odd()
    assert len(at_once(ask_many(EndpointPace("e").line(4), endpoint, 60))) == 60
    assert len(endpoint.refused) == 2


async def test_an_outage_that_always_asks_for_a_moment_is_waited_out_over_http(chat_server: ChatServer) -> None:
    """Asked as often as it wishes, it would have refused each trial dozens of times."""
    began: list[float] = []

    def decide(_: object) -> object:
        began[:] = began or [time.monotonic()]
        if len(chat_server.requests) <= 4 or time.monotonic() < began[0] + 0.8:
            return Status(429, headers={"retry-after-ms": "20"})
        return reply("Answer: A")

    chat_server.answers(decide)
    model = OpenAIModel(name="m", endpoint=chat_server.url)
    source = connect(model)
    paced = PacedSource(source, EndpointPace(model.endpoint).line(4))
    try:
        plays = (play_with(paced.session(QUESTION, condition(), n), retry=WAITING) for n in range(4))
        played = await asyncio.gather(*plays)
    finally:
        await source.close()
    assert {each.result.outcome for each in played} == {"answered"}
    assert 4 <= len(chat_server.requests) - 4 < 16
