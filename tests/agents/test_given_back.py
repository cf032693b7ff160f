"""What a condition says about a conversation reaches the endpoint, and the trace shows what was sent."""

from typing import Any

import pytest
from tests.agents.conftest import LocalTools, Play, double
from tests.servers.chat_server import ChatServer, reply

from toolablate.traces.records import Condition, Price

DOUBLE = ("double", {"x": 1})


@pytest.mark.parametrize("keeping", ["keep", "drop"])
async def test_reasoning_is_given_back_or_dropped(chat_server: ChatServer, play: Play, keeping: Any) -> None:
    chat_server.plays(reply("", DOUBLE, reasoning_content="hmm"), reply("Answer: A", reasoning_content="so"))
    played = await play(LocalTools(double=double), Condition(name="c", reasoning=keeping))
    first, second = played.of("model_call")
    assert (first.reply.message.reasoning, second.reply.message.reasoning) == ("hmm", "so")
    given_back = second.request.messages[1]
    assert given_back.tool_calls == first.reply.message.tool_calls
    assert given_back.reasoning == ("hmm" if keeping == "keep" else "")
    assert (given_back.reasoning_key, given_back.items) == (
        (first.reply.message.reasoning_key, first.reply.message.items) if keeping == "keep" else ("", ())
    )
    assert chat_server.messages[1].get("reasoning_content") == ("hmm" if keeping == "keep" else None)


@pytest.mark.parametrize("allowed", [None, True, False])
async def test_parallel_tool_calls_are_asked_for_where_there_are_tools(
    chat_server: ChatServer, play: Play, allowed: bool | None
) -> None:
    chat_server.plays(reply("", DOUBLE), reply("Answer: A"), reply("Answer: A"))
    arm = Condition(name="c", parallel_tool_calls=allowed)
    played = await play(LocalTools(double=double), arm)
    assert [call.request.parallel_tool_calls for call in played.of("model_call")] == [allowed] * 2
    played = await play(LocalTools(), arm)
    assert [call.request.parallel_tool_calls for call in played.of("model_call")] == [None]


async def test_a_named_tool_is_asked_for_until_it_was_called(chat_server: ChatServer, play: Play) -> None:
    chat_server.plays(reply("", DOUBLE), reply("Answer: A"))
    played = await play(LocalTools(double=double), Condition(name="c", tool_choice="double"))
    assert [call.request.tool_choice for call in played.of("model_call")] == ["double", "auto"]


async def test_a_reply_that_is_none_is_kept_and_charged(chat_server: ChatServer, play: Play) -> None:
    usage = {"prompt_tokens": 1000, "completion_tokens": 100}
    chat_server.plays(reply("", usage=usage), reply("Answer: A", usage=usage))
    played = await play(price=Price(input=10, output=100))
    (failure,) = played.of("failure")
    assert (failure.code, failure.retried) == ("empty_reply", True)
    assert failure.reply.usage.input_tokens == 1000
    assert failure.cost_usd == pytest.approx(0.02)
    assert played.result.usage.input_tokens == 2000
    assert played.result.cost_usd == pytest.approx(0.04)
