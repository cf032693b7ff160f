"""Trials that ask the same while they are recorded: what one meets must not be booked as another's own time."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from tests.agents.conftest import QUESTION, LocalTools, condition
from tests.agents.replies.samples import request
from tests.servers.chat_server import ChatServer, Hang, Slow, Status, Step, reply

from toolablate.agents import RetryPolicy, connect, run_agent
from toolablate.agents.pacing import EndpointPace, LetGo, Line, PacedSource
from toolablate.agents.replies import RecordedSource, ResponseCache
from toolablate.agents.session import CUT_OFF
from toolablate.traces.records import Condition, Event, Failure, Message, ModelRequest, OpenAIModel

QUICK = RetryPolicy(attempts=4, base_seconds=0.01, cap_seconds=0.02, paced=True)


@pytest.fixture
async def cache(tmp_path: Path) -> AsyncIterator[ResponseCache]:
    async with ResponseCache(tmp_path / "replies.sqlite", write=True) as opened:
        yield opened


@pytest.fixture
def line() -> Line:
    return EndpointPace("http://x/v1").line(8)


@pytest.fixture
async def source(chat_server: ChatServer, cache: ResponseCache, line: Line) -> AsyncIterator[RecordedSource]:
    model = OpenAIModel(name="m", endpoint=chat_server.url)
    source = RecordedSource(PacedSource(connect(model), line), model, cache)
    yield source
    await source.close()


async def play(source: RecordedSource, arm: Condition, events: list[Event]) -> str:
    result = await run_agent(
        prompt="Why?",
        model=source.session(QUESTION, arm, 0),
        condition=arm,
        tools=LocalTools(),
        record=events.append,
        retry=QUICK,
    )
    return result.outcome


@pytest.mark.deep
async def test_an_outage_that_others_met_uses_up_nobodys_budget(
    chat_server: ChatServer, source: RecordedSource
) -> None:
    def answer(_: dict[str, Any]) -> Step:
        return Slow(1.0, Status(500)) if len(chat_server.requests) <= 5 else reply("well")

    chat_server.answers(answer)
    played = [play(source, condition(seconds=3.0), []) for _ in range(8)]
    assert await asyncio.gather(*played) == ["answered"] * 8


async def cut_off_after(seconds: float, source: RecordedSource) -> list[str]:
    """The codes of the failures of a trial that is ended from outside."""
    events: list[Event] = []
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(seconds):
            await play(source, condition(), events)
    return [event.code for event in events if isinstance(event, Failure)]


async def test_a_request_that_still_stood_in_line_was_not_cut_off(
    chat_server: ChatServer, source: RecordedSource, line: Line
) -> None:
    line.rests_until = asyncio.get_running_loop().time() + 50
    assert await asyncio.gather(cut_off_after(0.2, source), cut_off_after(0.3, source)) == [[], []]
    assert not chat_server.requests


async def test_a_request_that_was_out_was_cut_off_for_all_who_joined_it(
    chat_server: ChatServer, source: RecordedSource
) -> None:
    chat_server.plays(Hang())
    assert await asyncio.gather(cut_off_after(0.5, source), cut_off_after(0.5, source)) == [[CUT_OFF], [CUT_OFF]]
    assert len(chat_server.requests) == 1


async def test_who_has_had_a_reply_from_the_cache_is_not_let_go(
    chat_server: ChatServer, source: RecordedSource, line: Line
) -> None:
    chat_server.plays(reply("well"))
    line.let_go()
    chat = source.session(QUESTION, condition(), 0)
    with pytest.raises(LetGo):
        await chat.complete(request("Why?"), seconds=5)
    said = (Message(role="assistant", content="Because."), Message(role="user", content="And then?"))
    asked = ModelRequest(messages=(*request("Why?").messages, *said))
    assert (await chat.complete(asked, seconds=5)).message.content == "well"
