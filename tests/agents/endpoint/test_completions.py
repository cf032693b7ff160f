"""Chat Completions: what is asked, and what each kind of reply is read as."""

from typing import Any

import pytest
from tests.agents.conftest import LocalTools, Play, double
from tests.agents.endpoint.conftest import DOUBLE, Ask
from tests.servers.chat_server import ChatServer, Json, Status, reply

from toolablate.agents.chat import NoReplyError
from toolablate.traces.errors import ModelError
from toolablate.traces.records import FinishReason, OpenAIModel, Usage


@pytest.mark.parametrize(
    ("choice", "sent"),
    [
        ("auto", "auto"),
        ("none", "none"),
        ("required", "required"),
        ("double", {"type": "function", "function": {"name": "double"}}),
    ],
)
@pytest.mark.parametrize("parallel", [None, True, False])
async def test_how_tools_may_be_used(
    chat_server: ChatServer, ask: Ask, choice: str, sent: object, parallel: bool | None
) -> None:
    chat_server.plays(reply("ok"))
    await ask(tools=(DOUBLE,), tool_choice=choice, parallel_tool_calls=parallel)
    body = chat_server.requests[0]
    assert body["tool_choice"] == sent
    assert body.get("parallel_tool_calls") is parallel


async def test_without_tools_nothing_is_said_of_them(chat_server: ChatServer, ask: Ask) -> None:
    chat_server.plays(reply("ok"))
    await ask(tool_choice="required", parallel_tool_calls=True)
    assert chat_server.requests[0].keys() == {"model", "messages"}


@pytest.mark.parametrize(
    ("fields", "key"),
    [
        ({"endpoint": "https://api.openai.com/v1"}, "max_completion_tokens"),
        ({"endpoint": "http://127.0.0.1:1/v1"}, "max_tokens"),
        ({"capabilities": {"max_tokens_key": "max_completion_tokens"}}, "max_completion_tokens"),
        ({"endpoint": "https://api.openai.com/v1", "capabilities": {"max_tokens_key": "max_tokens"}}, "max_tokens"),
    ],
)
def test_the_name_of_the_limit_of_a_reply(fields: dict[str, Any], key: str) -> None:
    from toolablate.agents.endpoint.completions import Completions

    model = OpenAIModel(**{"name": "m", "endpoint": "http://x/v1", "sampling": {"max_tokens": 9}, **fields})
    assert Completions().settings(model) == {"model": "m", key: 9}


@pytest.mark.parametrize(
    ("said", "other"),
    [
        ("Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens'.", True),
        ("Unrecognized request argument supplied: max_tokens", True),
        ("max_tokens is too large: 99", False),
        ("messages: at least one message is required", False),
    ],
)
async def test_a_limit_by_another_name_is_hinted_at(chat_server: ChatServer, ask: Ask, said: str, other: bool) -> None:
    chat_server.plays(Status(400, {"message": said}))
    with pytest.raises(ModelError) as caught:
        await ask(model={"sampling": {"max_tokens": 99}})
    assert ('capabilities.max_tokens_key = "max_completion_tokens"' in caught.value.hint) is other


async def test_settings_and_extra_both_arrive(chat_server: ChatServer, ask: Ask) -> None:
    extra = {"chat_template_kwargs": {"thinking": True}, "top_k": 20, "temperature": 0.1}
    sampling = {"temperature": 0.9, "reasoning_effort": "low", "top_logprobs": 3, "extra": extra}
    chat_server.plays(reply("ok"))
    await ask(model={"sampling": sampling})
    body = chat_server.requests[0]
    del body["messages"]
    assert body == {"model": "m", "reasoning_effort": "low", "logprobs": True, "top_logprobs": 3, **extra}


ENDED: dict[str, FinishReason] = {
    "stop": "stop",
    "eos": "stop",
    "length": "length",
    "max_tokens": "length",
    "refusal": "refusal",
    "something new": "other",
}


@pytest.mark.parametrize("said", ENDED)
async def test_how_a_reply_ended(chat_server: ChatServer, ask: Ask, said: str) -> None:
    chat_server.plays(reply("A", finish_reason=said))
    assert (await ask()).finish_reason == ENDED[said]


async def test_a_refusal_is_told_by_its_reason(chat_server: ChatServer, ask: Ask) -> None:
    chat_server.plays(reply(None, refusal="I will not."))
    told = await ask()
    assert (told.finish_reason, told.message.content) == ("refusal", "I will not.")


@pytest.mark.parametrize(
    ("step", "code", "retryable"),
    [
        (reply("half a", finish_reason="content_filter"), "content_filter", False),
        (reply("", finish_reason="sensitive"), "content_filter", False),
        (reply(""), "empty_reply", True),
        (reply("half", finish_reason="insufficient_system_resource"), "server_error", True),
        (reply("half", finish_reason="error"), "server_error", True),
        (reply("I lean to A. Answer: A", finish_reason="tool_calls"), "bad_reply", True),
        (reply("I lean to A. Answer: A", finish_reason="function_call", tool_calls=[]), "bad_reply", True),
    ],
    ids=["filtered", "sensitive", "empty", "out of resources", "upstream", "lost calls", "lost call"],
)
async def test_a_reply_that_is_none_keeps_what_it_cost(
    chat_server: ChatServer, ask: Ask, step: Json, code: str, retryable: bool
) -> None:
    chat_server.plays(step)
    with pytest.raises(NoReplyError) as caught:
        await ask()
    assert (caught.value.code, caught.value.retryable) == (code, retryable)
    assert caught.value.reply.usage == Usage(input_tokens=10, output_tokens=5)
    assert caught.value.reply.message.content == step.value["choices"][0]["message"]["content"]


@pytest.mark.parametrize(
    "message",
    [
        {"tool_calls": {"0": {"id": "a", "function": {"name": "double", "arguments": "{}"}}}},
        {"tool_calls": "double()"},
        {"tool_calls": [{"id": "a", "type": "custom", "custom": {"name": "double", "input": "1"}}]},
        {"function_call": "double()"},
        {"function_call": ["double"]},
    ],
)
async def test_calls_that_cannot_be_read_leave_no_answer_behind(
    chat_server: ChatServer, ask: Ask, message: dict[str, Any]
) -> None:
    chat_server.plays(reply("I lean to A. Answer: A", **message))
    with pytest.raises(ModelError) as caught:
        await ask()
    assert (caught.value.code, caught.value.retryable) == ("bad_reply", True)


@pytest.mark.parametrize("arguments", ['{"x": 1}', {"x": 1}])
async def test_an_old_servers_one_call_is_a_call(chat_server: ChatServer, play: Play, arguments: object) -> None:
    call = {"name": "double", "arguments": arguments}
    chat_server.plays(reply("Hm. Answer: A", function_call=call, finish_reason="function_call"), reply("2"))
    played = await play(LocalTools(double=double))
    assert (played.answer.text, played.of("tool_call")[0].output) == ("2", "2")
    assert [call.id for call in played.of("model_call")[0].reply.message.tool_calls] == ["call_0_0"]
    assert chat_server.messages[1]["tool_calls"][0]["id"] == chat_server.messages[2]["tool_call_id"] == "call_0_0"


@pytest.mark.parametrize("nothing", [None, [], {}, ""])
async def test_no_calls_by_any_way_to_write_none(chat_server: ChatServer, ask: Ask, nothing: object) -> None:
    chat_server.plays(reply("A", tool_calls=nothing, function_call=nothing))
    told = await ask()
    assert (told.message.content, told.message.tool_calls, told.finish_reason) == ("A", (), "stop")


@pytest.mark.parametrize("name", ["", None])
async def test_a_call_without_a_name_beside_a_text_is_none(chat_server: ChatServer, ask: Ask, name: str | None) -> None:
    lost = {"name": name, "arguments": ""}
    chat_server.plays(reply("A", function_call=lost), reply("A", function_call=lost, finish_reason="function_call"))
    told = await ask()
    assert (told.message.content, told.message.tool_calls, told.finish_reason) == ("A", (), "stop")
    with pytest.raises(NoReplyError) as caught:
        await ask()
    assert caught.value.code == "bad_reply"


async def test_choices_stand_by_their_numbers(chat_server: ChatServer, ask: Ask) -> None:
    first, second, third = (reply(text).value["choices"][0] for text in ("one", "two", "three"))
    mixed = [{**third, "index": 2}, {**first, "index": 0, "logprobs": {"content": [1]}}, {**second, "index": 1}]
    chat_server.plays(Json({"choices": mixed}), Json({"choices": [{**first, "index": None}, {**second, "index": "0"}]}))
    told = await ask()
    assert (told.message.content, [other.content for other in told.alternatives]) == ("one", ["two", "three"])
    assert told.logprobs == {"content": [1]}
    assert (await ask()).message.content == "one"


async def test_several_choices(chat_server: ChatServer, ask: Ask) -> None:
    first, second = (reply(text).value["choices"][0] for text in ("one", "two"))
    logprobs = {"content": [{"token": "one", "logprob": -0.5}]}
    chat_server.plays(Json({"choices": [{**first, "logprobs": logprobs}, {**second, "index": 1}]}))
    told = await ask(model={"sampling": {"logprobs": True, "extra": {"n": 2}}})
    assert chat_server.requests[0]["n"] == 2
    assert (told.message.content, [other.content for other in told.alternatives]) == ("one", ["two"])
    assert told.logprobs == logprobs


@pytest.mark.parametrize(
    ("usage", "cached"),
    [
        ({"prompt_tokens_details": {"cached_tokens": 0}, "prompt_cache_hit_tokens": 9}, 0),
        ({"prompt_cache_hit_tokens": 64, "prompt_cache_miss_tokens": 36}, 64),
        ({"cached_tokens": 32}, 32),
        ({"prompt_tokens_details": None}, None),
        ({}, None),
    ],
)
async def test_cached_tokens_by_their_names(
    chat_server: ChatServer, ask: Ask, usage: dict[str, Any], cached: int | None
) -> None:
    chat_server.plays(reply("ok", usage={"prompt_tokens": 100, "completion_tokens": 1, **usage}))
    assert (await ask()).usage == Usage(input_tokens=100, output_tokens=1, cached_tokens=cached)


@pytest.mark.parametrize("number", ["NaN", "-Infinity", "1e999"])
async def test_numbers_that_are_none_spoil_no_reply_or_are_told(chat_server: ChatServer, ask: Ask, number: str) -> None:
    from tests.servers.chat_server import Raw

    body = '{"choices": [{"message": {"content": "A"}, "finish_reason": "stop", "logprobs": {"content": [%s]}}]}'
    chat_server.plays(Raw((body % number).encode()))
    if number != "1e999":
        assert (await ask()).logprobs == {"content": [None]}
        return
    with pytest.raises(ModelError, match="cannot be recorded") as caught:
        await ask()
    assert caught.value.code == "bad_reply"
