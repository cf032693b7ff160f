"""The real ChatAnthropic against a server that speaks the Messages API: what is asked, what is read, what fails."""

import base64
from typing import Any

import pytest
from tests.agents.langchain.conftest import DOUBLE, HI, KEY, Ask, model
from tests.browser.hostile import png
from tests.servers import anthropic as api
from tests.servers.chat_server import ChatServer, Hang, Raw, closed_port

from toolablate.agents.chat import NoReplyError
from toolablate.agents.spending import known_cost
from toolablate.traces.errors import ModelError
from toolablate.traces.records import Message, Picture, Price, ToolRequest, Usage

pytest.importorskip("langchain_anthropic", reason="langchain-anthropic is not installed (pip install -e .[dev])")


def claude(server: ChatServer | str, **fields: Any) -> Any:
    address = server if isinstance(server, str) else server.address
    kwargs = {"base_url": address, "max_tokens": 2000, **fields.pop("kwargs", {})}
    return model("langchain_anthropic:ChatAnthropic", "claude-x", kwargs=kwargs, api_key_env="KEY_OF_TEST", **fields)


THINKS = {"thinking": {"type": "enabled", "budget_tokens": 1024}}


async def test_thoughts_come_and_go_back_with_their_signatures(chat_server: ChatServer, ask: Ask) -> None:
    thought, hidden = api.thinking("Twice 21."), api.redacted()
    chat_server.plays(
        api.message(
            thought,
            hidden,
            api.text("Let me see."),
            api.tool_use("double", {"x": 21}),
            cache_read_input_tokens=7,
            cache_creation_input_tokens=3,
            output_tokens_details={"thinking_tokens": 4},
        ),
        api.message(api.text("Answer: A")),
    )
    record = claude(chat_server, kwargs=THINKS)
    system = Message(role="system", content="Be brief.")
    first = await ask(record, system, HI, tools=(DOUBLE,))
    assert (first.message.content, first.message.reasoning) == ("Let me see.", "Twice 21.")
    assert first.message.tool_calls == (ToolRequest(id="toolu_01A", name="double", arguments='{"x": 21}'),)
    assert first.finish_reason == "tool_calls"
    assert first.usage == Usage(
        input_tokens=20, output_tokens=5, cached_tokens=7, cache_write_tokens=3, reasoning_tokens=4
    )
    assert (first.model, first.response_id) == ("claude-served", "msg_01XFDUDYJgAACzvnptvVoYEL")
    # A store holds messages as JSON.
    kept = Message.from_json(first.message.to_json())
    result = Message(role="tool", content="42", tool_call_id="toolu_01A")
    second = await ask(record, system, HI, kept, result, tools=(DOUBLE,))
    assert (second.message.content, second.message.items, second.finish_reason) == ("Answer: A", (), "stop")

    asked, again = chat_server.requests
    assert asked["model"] == "claude-x"
    assert (asked["system"], asked["max_tokens"]) == ("Be brief.", 2000)
    assert [(tool["name"], tool["input_schema"]["properties"]) for tool in asked["tools"]] == [
        ("double", {"x": {"type": "integer"}})
    ]
    said, shown = again["messages"][1:]
    assert said["content"][:2] == [thought, hidden]
    assert [block["type"] for block in said["content"]] == ["thinking", "redacted_thinking", "text", "tool_use"]
    assert (shown["content"][0]["tool_use_id"], shown["content"][0]["content"]) == ("toolu_01A", "42")
    assert KEY in " ".join(chat_server.headers[0].values())


async def test_a_call_that_a_replay_took_out_is_not_sent(chat_server: ChatServer, ask: Ask) -> None:
    calls = (api.tool_use("double", {"x": 1}, "toolu_1"), api.tool_use("double", {"x": 2}, "toolu_2"))
    chat_server.plays(api.message(*calls), api.message(api.text("ok")))
    reply = await ask(claude(chat_server), HI, tools=(DOUBLE,))
    one = reply.message.model_copy(update={"tool_calls": reply.message.tool_calls[1:]})
    await ask(claude(chat_server), HI, one, Message(role="tool", content="4", tool_call_id="toolu_2"), tools=(DOUBLE,))
    assert [block["id"] for block in chat_server.messages[1]["content"]] == ["toolu_2"]


@pytest.mark.parametrize(
    ("choice", "parallel", "sent"),
    [
        ("auto", None, None),
        ("none", None, {"type": "none"}),
        ("required", None, {"type": "any"}),
        ("double", False, {"type": "tool", "name": "double", "disable_parallel_tool_use": True}),
    ],
)
async def test_how_tools_may_be_called(
    chat_server: ChatServer, ask: Ask, choice: str, parallel: bool | None, sent: Any
) -> None:
    chat_server.plays(api.message(api.text("ok")))
    await ask(claude(chat_server), HI, tools=(DOUBLE,), tool_choice=choice, parallel_tool_calls=parallel)
    assert chat_server.requests[0].get("tool_choice") == sent


@pytest.mark.parametrize(
    ("kind", "said", "code", "retryable"),
    [
        ("rate_limit_error", "This request would exceed your rate limit", "rate_limited", True),
        ("overloaded_error", "Overloaded", "overloaded", True),
        ("api_error", "Internal server error", "server_error", True),
        ("invalid_request_error", "prompt is too long: 210000 tokens > 200000 maximum", "context_length", False),
        ("invalid_request_error", "messages: roles must alternate", "bad_request", False),
        ("authentication_error", "invalid x-api-key", "unauthorized", False),
        ("permission_error", "Your API key may not use this", "forbidden", False),
        ("not_found_error", "model: claude-x", "unknown_model", False),
    ],
)
async def test_refusals(chat_server: ChatServer, ask: Ask, kind: str, said: str, code: str, retryable: bool) -> None:
    """Each is told at once: the client's own retries are off."""
    chat_server.plays(api.error(kind, f"{said} {KEY}", **{"retry-after": "7"}))
    with pytest.raises(ModelError) as caught:
        await ask(claude(chat_server))
    error = caught.value
    assert (error.code, error.retryable, error.retry_after) == (code, retryable, 7 if retryable else None)
    assert said in error.message
    assert KEY not in str(error)
    assert len(chat_server.requests) == 1


async def test_no_reply_at_all(chat_server: ChatServer, ask: Ask) -> None:
    chat_server.plays(Raw(b"<html>"), Hang())
    with pytest.raises(ModelError) as caught:
        await ask(claude(chat_server))
    assert (caught.value.code, caught.value.retryable) == ("bad_reply", True)
    with pytest.raises(ModelError) as caught:
        await ask(claude(chat_server), seconds=0.3)
    assert (caught.value.code, caught.value.retryable) == ("timeout", True)
    with pytest.raises(ModelError) as caught:
        await ask(claude(f"http://127.0.0.1:{closed_port()}").model_copy(update={"name": "other"}))
    assert (caught.value.code, caught.value.retryable) == ("unreachable", True)


@pytest.mark.parametrize(
    ("content", "stop_reason", "finish_reason"),
    [
        ((api.text("cut"),), "max_tokens", "length"),
        ((api.text("cut"),), "model_context_window_exceeded", "length"),
        ((api.text("I will not."),), "refusal", "refusal"),
        ((api.text("done"),), "stop_sequence", "stop"),
        ((api.text("so far"),), "pause_turn", "paused"),
        ((api.thinking("all of it"),), "max_tokens", "length"),
    ],
)
async def test_why_a_reply_ended(
    chat_server: ChatServer, ask: Ask, content: Any, stop_reason: str, finish_reason: str
) -> None:
    chat_server.plays(api.message(*content, stop_reason=stop_reason))
    assert (await ask(claude(chat_server))).finish_reason == finish_reason


@pytest.mark.parametrize(("stop_reason", "code"), [("refusal", "content_filter"), ("end_turn", "empty_reply")])
async def test_a_reply_that_is_none_was_paid_for(
    chat_server: ChatServer, ask: Ask, stop_reason: str, code: str
) -> None:
    chat_server.plays(api.message(stop_reason=stop_reason))
    with pytest.raises(NoReplyError) as caught:
        await ask(claude(chat_server))
    assert (caught.value.code, caught.value.reply.usage.output_tokens) == (code, 5)


async def test_what_a_cache_costs(chat_server: ChatServer, ask: Ask) -> None:
    """Writing for an hour and for five minutes are told apart by the API, and are both writing."""
    writes = {"ephemeral_5m_input_tokens": 300, "ephemeral_1h_input_tokens": 200}
    chat_server.plays(
        api.message(
            api.text("ok"),
            input_tokens=500,
            cache_read_input_tokens=4000,
            cache_creation_input_tokens=500,
            cache_creation=writes,
            output_tokens=1000,
        )
    )
    reply = await ask(claude(chat_server))
    assert reply.usage == Usage(input_tokens=5000, output_tokens=1000, cached_tokens=4000, cache_write_tokens=500)
    price = Price(input=3, output=15, cached_input=0.3, cache_write=3.75)
    assert known_cost(reply, price) == pytest.approx((500 * 3 + 4000 * 0.3 + 500 * 3.75 + 1000 * 15) / 1e6)


async def test_the_form_of_an_answer(chat_server: ChatServer, ask: Ask) -> None:
    schema = {"type": "object", "properties": {"answer": {"type": "string"}}, "additionalProperties": False}
    chat_server.plays(api.message(api.text('{"answer": "A"}')), api.message(api.text('{"answer": "A"}')))
    for tools in ((), (DOUBLE,)):
        await ask(claude(chat_server), HI, tools=tools, answer_schema=schema)
        assert chat_server.requests[-1]["output_config"]["format"]["schema"]["properties"] == schema["properties"]


async def test_pictures_stand_in_questions_and_in_results(chat_server: ChatServer, ask: Ask) -> None:
    picture = Picture.of(base64.b64decode(png()))
    chat_server.plays(api.message(api.tool_use("double", {"x": 1})), api.message(api.text("ok")))
    asked = Message(role="user", content="See <image 1> now", images=(picture,))
    reply = await ask(claude(chat_server), asked, tools=(DOUBLE,))
    drawn = Message(role="tool", content="drawn", tool_call_id="toolu_01A", images=(picture,))
    await ask(claude(chat_server), asked, reply.message, drawn, tools=(DOUBLE,))
    image = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": picture.data}}
    question, _, results = chat_server.requests[1]["messages"]
    assert question["content"] == [
        {"type": "text", "text": "See <image 1>"},
        image,
        {"type": "text", "text": " now"},
    ]
    (result,) = results["content"]
    assert (result["type"], result["tool_use_id"]) == ("tool_result", "toolu_01A")
    assert result["content"] == [image, {"type": "text", "text": "drawn"}]
