"""litellm's proxy understands what we ask, and we what it answers."""

from typing import Any

import pytest
from tests.agents.conftest import QUESTION, LocalTools, Played, condition, double, play_with
from tests.compatible.conftest import Proxy
from tests.servers.chat_server import Status, Step, reply
from tests.servers.responses import calls, insisting_on, response, says, thinks

from toolablate.agents import connect
from toolablate.traces.records import OpenAIModel

pytestmark = [pytest.mark.compatible, pytest.mark.timeout(400)]

CALL = ("double", {"x": 21})


async def play(proxy: Proxy, model: str, *, key: str = "TEST_KEY", turns: int = 3, **fields: Any) -> Played:
    source = connect(OpenAIModel(name=model, endpoint=proxy.url, api_key_env=key, **fields))
    arm = condition(prompt="Be brief.", turns=turns)
    try:
        return await play_with(source.session(QUESTION, arm, 0), LocalTools(double=double), arm)
    finally:
        await source.close()


@pytest.mark.parametrize("api", ["chat", "responses"])
async def test_an_answer(proxy: Proxy, api: str) -> None:
    played = await play(proxy, "plain", api=api)
    assert (played.kinds, played.answer.text) == (["model_call", "answer"], "Answer: A")
    told = played.of("model_call")[0].reply
    assert told.finish_reason == "stop"
    assert told.response_id
    assert told.usage.input_tokens
    assert told.usage.output_tokens


async def test_calls_of_a_tool(proxy: Proxy) -> None:
    played = await play(proxy, "caller", turns=2)
    assert [event.output for event in played.of("tool_call")][:2] == ["42", "42"]
    assert len(played.of("model_call")) == 3
    assert played.result.outcome == "budget"


@pytest.mark.parametrize(
    ("model", "code", "attempts"),
    [
        ("RateLimitError", "rate_limited", 4),
        ("InternalServerError", "server_error", 4),
        ("ContextWindowExceededError", "context_length", 1),
        ("no-such-model", "unknown_model", 1),
    ],
)
async def test_failures_are_told_apart(proxy: Proxy, model: str, code: str, attempts: int) -> None:
    played = await play(proxy, model)
    assert [event.code for event in played.of("failure")] == [code] * attempts
    assert played.result.outcome == "failed"


async def test_a_wrong_key(proxy: Proxy, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WRONG_KEY", "sk-wrong-key-of-the-tests")
    played = await play(proxy, "plain", key="WRONG_KEY")
    # Without a database of keys it answers 400, "No connected db".
    assert [(event.kind, event.code) for event in played.events] == [("failure", "bad_request")]
    assert "sk-wrong" not in played.events[0].message


async def test_reasoning_content_passes_through_it(proxy: Proxy) -> None:
    replies = [reply("", CALL, reasoning_content=thought) for thought in ("first", "then")] + [reply("42")]
    proxy.upstream.answers(insisting_on(lambda message: message.get("reasoning_content"), *replies))
    played = await play(proxy, "deepseek")
    assert (played.result.outcome, played.answer.text) == ("answered", "42")
    assert [event.reply.message.reasoning for event in played.of("model_call")] == ["first", "then", ""]


async def test_encrypted_items_pass_through_it(proxy: Proxy) -> None:
    replies = [response(thinks("a plan", sealed), calls("double", {"x": 2})) for sealed in ("Zmlyc3Q=", "dGhlbg==")]

    def decide(body: dict[str, Any]) -> Step:
        back = [item["encrypted_content"] for item in body["input"] if item.get("type") == "reasoning"]
        if back != ["Zmlyc3Q=", "dGhlbg=="][: len(back)] or body["store"] is not False:
            return Status(400, {"message": "a reasoning item is missing"})
        return [*replies, response(says("4"))][len(back)]

    proxy.upstream.answers(decide)
    played = await play(proxy, "openai", api="responses")
    assert (played.result.outcome, played.answer.text) == ("answered", "4")


async def test_responses_for_a_model_that_has_chat_completions_only(proxy: Proxy) -> None:
    """litellm rewrites the conversation, so it has to understand each item that we send."""
    proxy.upstream.answers(
        lambda body: reply("42") if body["messages"][-1]["role"] == "tool" else reply("", CALL, reasoning_content="hm")
    )
    played = await play(proxy, "deepseek", api="responses")
    assert (played.result.outcome, played.answer.text) == ("answered", "42")
    first, last = proxy.upstream.requests
    assert [message["role"] for message in first["messages"]] == ["system", "user"]
    assert [message["role"] for message in last["messages"]] == ["system", "user", "assistant", "tool"]
    assert last["messages"][3]["content"] == "42"
