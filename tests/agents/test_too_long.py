"""A conversation that its tools have made too long ends in an answer; a question that is too long is a failure."""

import json
from typing import Any

import pytest
from tests.agents.conftest import LocalTools, Play, condition
from tests.servers.chat_server import ChatServer, Status, Step, reply

from toolablate.agents.session import LEFT_OUT
from toolablate.tools.tool import ToolResult

READ = ("read", {})


async def read() -> ToolResult:
    return ToolResult("z" * 1000)


def takes(characters: int, *, calls: int = 10) -> Any:
    """A model that calls a tool so often, behind an endpoint that takes so many characters of messages."""

    def decide(body: dict[str, Any]) -> Step:
        if len(json.dumps(body["messages"])) > characters:
            return Status(400, {"message": "too long", "code": "context_length_exceeded"})
        results = sum(message["role"] == "tool" for message in body["messages"])
        return reply("", READ) if body["tool_choice"] == "auto" and results < calls else reply("Answer: A")

    return decide


def left_out(body: dict[str, Any]) -> list[bool]:
    return [message["content"] == LEFT_OUT for message in body["messages"] if message["role"] == "tool"]


async def test_results_are_left_out_of_the_last_request_the_oldest_first(chat_server: ChatServer, play: Play) -> None:
    chat_server.answers(takes(6000))
    played = await play(LocalTools(read=read))
    assert (played.result.outcome, played.answer.limit, played.answer.text) == ("budget", "context_length", "Answer: A")
    (failure,) = played.of("failure")
    assert (failure.code, failure.retried) == ("context_length", False)
    sent = played.of("model_call")[-1]
    assert sent.purpose == "final"
    shown = [message.content for message in sent.request.messages if message.role == "tool"]
    assert left_out(chat_server.requests[-1]) == [text == LEFT_OUT for text in shown]
    kept = left_out(chat_server.requests[-1])
    assert 0 < sum(kept) < len(kept)
    assert kept == sorted(kept, reverse=True)
    ids = [message.tool_call_id for message in sent.request.messages if message.role == "tool"]
    made = [call.id for message in sent.request.messages for call in message.tool_calls]
    assert ids == made


async def test_more_is_left_out_until_it_fits(chat_server: ChatServer, play: Play) -> None:
    many = takes(6000)
    chat_server.answers(lambda body: takes(3000)(body) if body["tool_choice"] == "none" else many(body))
    played = await play(LocalTools(read=read))
    assert played.answer.limit == "context_length"
    failures = played.of("failure")
    assert len(failures) > 1
    assert [failure.retried for failure in failures] == [False] + [True] * (len(failures) - 1)
    counts = [sum(left_out(body)) for body in chat_server.requests if body["tool_choice"] == "none"]
    assert counts == sorted(set(counts))


async def test_another_limit_keeps_its_name_when_the_last_request_is_too_long(
    chat_server: ChatServer, play: Play
) -> None:
    many = takes(100_000)
    chat_server.answers(lambda body: takes(3000)(body) if body["tool_choice"] == "none" else many(body))
    played = await play(LocalTools(read=read), condition(turns=5))
    assert (played.result.outcome, played.answer.limit) == ("budget", "turns")
    assert sum(left_out(chat_server.requests[-1])) >= 3


@pytest.mark.parametrize("calls", [0, 3])
async def test_what_leaving_out_cannot_mend_is_a_failure(chat_server: ChatServer, play: Play, calls: int) -> None:
    refusal = Status(400, {"message": "too long", "code": "context_length_exceeded"})
    chat_server.plays(*[reply("", READ)] * calls).answers(lambda body: refusal)
    played = await play(LocalTools(read=read))
    assert played.result.outcome == "failed"
    assert played.of("answer") == []
    assert played.events[-1].code == "context_length"
    assert played.events[-1].retried is False
    assert len(played.of("failure")) <= 4
