"""When a budget runs out the model is asked once more, in a conversation that is still valid."""

import asyncio
from itertools import pairwise

import pytest
from tests.agents.conftest import LocalTools, Play, condition, double
from tests.servers.chat_server import ChatServer, Hang, Slow, Status, reply

from toolablate.tools.tool import ToolResult
from toolablate.traces.records import Price

DOUBLE = ("double", {"x": 1})


def assert_valid(messages: list[dict[str, object]]) -> None:
    """Every call is answered, once, right after the turn that made it."""
    for message, after in pairwise([*messages, {"role": "end"}]):
        if message.get("tool_calls"):
            assert after["role"] == "tool"
    made = [call["id"] for message in messages for call in message.get("tool_calls") or []]  # type: ignore[attr-defined,union-attr]
    assert made == [message["tool_call_id"] for message in messages if message["role"] == "tool"]


@pytest.mark.parametrize(
    ("budget", "limit", "tool_calls", "turns"),
    [
        ({"turns": 1}, "turns", 1, 1),
        ({"turns": 3}, "turns", 3, 3),
        ({"tool_calls": 0}, "tool_calls", 0, 1),
        ({"tool_calls": 2}, "tool_calls", 2, 3),
        ({"tokens": 40}, "tokens", 2, 3),
        ({"cost_usd": 0.0025}, "cost_usd", 2, 3),
    ],
)
async def test_a_limit_ends_in_one_last_request(
    chat_server: ChatServer, play: Play, budget: dict[str, float], limit: str, tool_calls: int, turns: int
) -> None:
    chat_server.answers(lambda body: reply("", DOUBLE) if body["tool_choice"] == "auto" else reply("Answer: A"))
    played = await play(LocalTools(double=double), condition(**budget), price=Price(input=50, output=100))
    assert (played.answer.text, played.answer.limit, played.result.outcome) == ("Answer: A", limit, "budget")
    assert [event.purpose for event in played.of("model_call")] == ["ask"] * turns + ["final"]
    assert len(played.of("tool_call")) == tool_calls
    last = chat_server.requests[-1]
    assert (last["tool_choice"], last["messages"][-1]["role"]) == ("none", "user")
    assert last["tools"] == chat_server.requests[0]["tools"]
    assert_valid(last["messages"])


async def test_calls_that_fit_are_run_and_the_rest_are_answered_neutrally(chat_server: ChatServer, play: Play) -> None:
    chat_server.plays(reply("", *(("double", {"x": x}) for x in (1, 2, 3))), reply("done"))
    played = await play(LocalTools(double=double), condition(tool_calls=2))
    assert [event.output for event in played.of("tool_call")] == ["2", "4"]
    results = [message["content"] for message in chat_server.messages if message["role"] == "tool"]
    assert results[:2] == ["2", "4"]
    assert "not executed" in results[2]
    assert_valid(chat_server.messages)


@pytest.mark.parametrize("tools", [LocalTools(), LocalTools(double=double)])
async def test_an_answer_within_the_last_turn_is_no_budget_stop(
    chat_server: ChatServer, play: Play, tools: LocalTools
) -> None:
    chat_server.plays(reply("Answer: A"))
    played = await play(tools, condition(turns=1, tool_calls=0, tokens=1))
    assert (played.result.outcome, played.answer.limit) == ("answered", None)


async def test_a_last_reply_that_calls_a_tool_all_the_same(chat_server: ChatServer, play: Play) -> None:
    chat_server.plays(reply("", DOUBLE), reply("I think A", DOUBLE))
    played = await play(LocalTools(double=double), condition(turns=1))
    assert played.answer.text == "I think A"
    assert len(played.of("tool_call")) == 1


@pytest.mark.parametrize("first", ["half of an ans", None])
async def test_a_reply_cut_by_length(chat_server: ChatServer, play: Play, first: str | None) -> None:
    chat_server.plays(reply(first, finish_reason="length"), reply("Answer: A"))
    played = await play()
    assert (played.answer.text, played.answer.limit, played.result.outcome) == ("Answer: A", "reply_length", "budget")
    assert chat_server.messages[1] == {"role": "assistant", "content": first or ""}


async def test_a_reply_cut_twice_is_what_there_is(chat_server: ChatServer, play: Play) -> None:
    chat_server.plays(reply("half", finish_reason="length"), reply("again hal", finish_reason="length"))
    played = await play()
    assert (played.answer.text, played.answer.limit) == ("again hal", "reply_length")


async def test_tool_calls_cut_by_length_are_the_models_affair(chat_server: ChatServer, play: Play) -> None:
    chat_server.plays(reply("", ("double", '{"x": '), finish_reason="length"), reply("Answer: A"))
    played = await play(LocalTools(double=double))
    assert [event.status for event in played.of("tool_call")] == ["invalid"]
    assert played.result.outcome == "answered"


async def test_time_runs_out_while_the_model_writes(chat_server: ChatServer, play: Play) -> None:
    chat_server.plays(Hang(), reply("Answer: A"))
    played = await play(arm=condition(seconds=0.2))
    assert played.kinds == ["failure", "model_call", "answer"]
    assert (played.events[0].code, played.events[0].retried) == ("timeout", False)
    assert (played.answer.limit, played.result.outcome) == ("seconds", "budget")


@pytest.mark.deep
async def test_time_runs_out_in_a_tool(chat_server: ChatServer, play: Play) -> None:
    async def forever() -> ToolResult:
        await asyncio.Event().wait()
        raise AssertionError

    chat_server.plays(reply("", ("forever", {}), DOUBLE), reply("Answer: A"))
    played = await play(LocalTools(forever=forever, double=double), condition(seconds=2.0))
    assert {event.call.name: event.error for event in played.of("tool_call")} == {
        "forever": "out_of_time",
        "double": "",
    }
    assert (played.answer.limit, played.result.outcome) == ("seconds", "budget")
    assert_valid(chat_server.messages)


async def test_a_tools_own_timeout_is_a_bug_and_not_the_budget(chat_server: ChatServer, play: Play) -> None:
    async def impatient() -> ToolResult:
        raise TimeoutError("mine")

    chat_server.plays(reply("", ("impatient", {})))
    with pytest.raises(TimeoutError, match="mine"):
        await play(LocalTools(impatient=impatient))


@pytest.mark.deep
async def test_an_outage_does_not_use_up_the_budget(chat_server: ChatServer, play: Play) -> None:
    outage = [Slow(0.15, Status(503, headers={"retry-after": "1.0"}))] * 3
    chat_server.plays(*outage, reply("", DOUBLE), reply("Answer: A"))
    played = await play(LocalTools(double=double), condition(seconds=2.5))
    assert (played.result.outcome, played.answer.limit) == ("answered", None)
    assert played.result.seconds > 3


@pytest.mark.parametrize(
    ("budget", "limit"), [({"tokens": 35}, None), ({"tokens": 15}, "tokens"), ({"cost_usd": 0.0035}, "cost_usd")]
)
async def test_a_reply_that_is_broken_off_is_paid_for_and_uses_up_no_tokens(
    chat_server: ChatServer, play: Play, budget: dict[str, float], limit: str | None
) -> None:
    broken = [reply("half a", finish_reason="error")] * 3
    chat_server.plays(*broken, reply("", DOUBLE)).answers(lambda body: reply("Answer: A"))
    played = await play(LocalTools(double=double), condition(**budget), price=Price(input=50, output=100))
    assert [event.cost_usd for event in played.of("failure")] == [pytest.approx(0.001)] * 3
    assert played.answer.limit == limit
    assert played.result.usage.input_tokens == 50
    assert played.result.cost_usd == pytest.approx(0.005)


async def test_a_last_request_that_fails_is_a_failure(chat_server: ChatServer, play: Play) -> None:
    chat_server.plays(reply("", DOUBLE), *[Status(500)] * 4)
    played = await play(LocalTools(double=double), condition(turns=1))
    assert played.result.outcome == "failed"
    assert played.of("answer") == []
    assert played.result.usage.input_tokens == 10


async def test_an_endpoint_that_hides_its_usage_cannot_run_away(chat_server: ChatServer, play: Play) -> None:
    silent = {"prompt_tokens": None}
    chat_server.answers(lambda body: reply("x" * 400, *[DOUBLE] * (body["tool_choice"] == "auto"), usage=silent))
    played = await play(LocalTools(double=double), condition(tokens=300))
    assert played.answer.limit == "tokens"
    assert (played.result.usage.input_tokens, played.result.cost_usd) == (None, None)
