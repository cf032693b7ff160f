"""Responses: what is asked, and what each kind of reply is read as."""

from typing import Any

import pytest
from tests.agents.conftest import LocalTools, Play, condition, double
from tests.agents.endpoint.conftest import DOUBLE, Ask
from tests.servers.chat_server import ChatServer, Json
from tests.servers.responses import calls, declines, response, says, thinks

from toolablate.agents.chat import NoReplyError
from toolablate.traces.errors import ModelError
from toolablate.traces.records import FinishReason, Message, ToolRequest, Usage

RESPONSES = {"api": "responses"}


async def test_what_is_asked(chat_server: ChatServer, play: Play) -> None:
    chat_server.plays(response(says("Answer: A")))
    played = await play(LocalTools(double=double), condition(prompt="Be brief."), model=RESPONSES)
    assert played.answer.text == "Answer: A"
    assert chat_server.requests == [
        {
            "model": "m",
            "store": False,
            "include": ["reasoning.encrypted_content"],
            "input": [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Which one?"}],
            "tools": [
                {
                    "type": "function",
                    "name": "double",
                    "description": "double",
                    "parameters": {"type": "object", "properties": {}},
                    "strict": False,
                }
            ],
            "tool_choice": "auto",
        }
    ]


async def test_settings_go_by_their_names_there(chat_server: ChatServer, ask: Ask) -> None:
    sampling = {
        "temperature": 0.5,
        "max_tokens": 99,
        "reasoning_effort": "low",
        "top_logprobs": 2,
        "extra": {"reasoning": {"summary": "auto"}, "include": ["file_search_call.results"], "truncation": "auto"},
    }
    chat_server.plays(response(says("ok")))
    model = {**RESPONSES, "sampling": sampling, "capabilities": {"encrypted_reasoning": False}}
    await ask(model=model, tools=(DOUBLE,), tool_choice="double", parallel_tool_calls=False)
    body = chat_server.requests[0]
    del body["input"], body["tools"]
    assert body == {
        "model": "m",
        "store": False,
        "include": ["message.output_text.logprobs", "file_search_call.results"],
        "temperature": 0.5,
        "max_output_tokens": 99,
        "top_logprobs": 2,
        "reasoning": {"effort": "low", "summary": "auto"},
        "truncation": "auto",
        "tool_choice": {"type": "function", "name": "double"},
        "parallel_tool_calls": False,
    }


READ: dict[str, tuple[Json, FinishReason, str]] = {
    "text": (response(says("Yes. "), says("A")), "stop", "Yes. A"),
    "plain text": (response({"type": "message", "role": "assistant", "content": "A"}), "stop", "A"),
    "call": (response(says("Hm."), calls("double", {"x": 1})), "tool_calls", "Hm."),
    "refusal": (response(declines("I will not.")), "refusal", "I will not."),
    "length": (
        response(says("half"), status="incomplete", incomplete_details={"reason": "max_output_tokens"}),
        "length",
        "half",
    ),
    "no reason": (response(says("half"), status="incomplete"), "other", "half"),
}


@pytest.mark.parametrize("case", READ)
async def test_how_a_reply_ended(chat_server: ChatServer, ask: Ask, case: str) -> None:
    step, finish_reason, text = READ[case]
    chat_server.plays(step)
    reply = await ask(model=RESPONSES)
    assert (reply.finish_reason, reply.message.content) == (finish_reason, text)
    assert (reply.model, reply.response_id) == ("served-model", "resp_1")
    assert list(reply.message.items) == step.value["output"]


STRANGE = {"type": "custom_tool_call", "call_id": "c", "name": "double", "input": "x"}
FILTERED = {"status": "incomplete", "incomplete_details": {"reason": "content_filter"}}


@pytest.mark.parametrize(
    ("step", "code", "retryable", "reasoning"),
    [
        (response(says("bad th"), **FILTERED), "content_filter", False, ""),
        (response(), "empty_reply", True, ""),
        (response(thinks("only this")), "empty_reply", True, "only this"),
        (response(thinks("hm"), says("Answer: A"), STRANGE), "bad_reply", True, "hm"),
    ],
    ids=["filtered", "empty", "thoughts only", "never offered"],
)
async def test_a_reply_that_is_none_keeps_what_it_cost(
    chat_server: ChatServer, ask: Ask, step: Json, code: str, retryable: bool, reasoning: str
) -> None:
    chat_server.plays(step)
    with pytest.raises(NoReplyError) as caught:
        await ask(model=RESPONSES)
    assert (caught.value.code, caught.value.retryable) == (code, retryable)
    assert caught.value.reply.usage == Usage(input_tokens=10, output_tokens=5)
    assert caught.value.reply.message.reasoning == reasoning


@pytest.mark.parametrize(
    ("body", "code", "retryable"),
    [
        ({"status": "failed", "error": {"code": "server_error", "message": "m"}}, "server_error", True),
        ({"status": "failed", "error": {"code": "rate_limit_exceeded", "message": "m"}}, "rate_limited", True),
        ({"status": "failed", "error": {"code": "insufficient_quota", "message": "m"}}, "insufficient_quota", False),
        ({"status": "failed", "error": {"code": "invalid_prompt", "message": "m"}}, "bad_request", False),
        ({"status": "failed"}, "server_error", True),
        ({"error": {"message": "gateway"}, "status": None}, "server_error", True),
        ({"status": "queued"}, "bad_reply", True),
        ({"output": None}, "bad_reply", True),
        ({"output": ["text"]}, "bad_reply", True),
    ],
)
async def test_a_response_that_failed(
    chat_server: ChatServer, ask: Ask, body: dict[str, Any], code: str, retryable: bool
) -> None:
    chat_server.plays(response(**body))
    with pytest.raises(ModelError) as caught:
        await ask(model=RESPONSES)
    assert (caught.value.code, caught.value.retryable) == (code, retryable)


async def test_usage_is_read(chat_server: ChatServer, ask: Ask) -> None:
    usage = {
        "input_tokens": 100,
        "output_tokens": 20,
        "input_tokens_details": {"cached_tokens": 64},
        "output_tokens_details": {"reasoning_tokens": 15},
    }
    chat_server.plays(response(says("ok"), usage=usage))
    assert (await ask(model=RESPONSES)).usage == Usage(
        input_tokens=100, output_tokens=20, cached_tokens=64, reasoning_tokens=15
    )


async def test_logprobs_are_kept_beside_the_message(chat_server: ChatServer, ask: Ask) -> None:
    logprobs = [{"token": "A", "logprob": -0.1, "bytes": [65], "top_logprobs": []}]
    chat_server.plays(response(says("A", logprobs=logprobs)))
    reply = await ask(model={**RESPONSES, "sampling": {"logprobs": True}})
    assert chat_server.requests[0]["include"][-1] == "message.output_text.logprobs"
    assert reply.logprobs == logprobs
    assert "logprob'" not in str(reply.message.items)


async def test_calls_without_an_id_of_their_own_get_one_in_both_places(chat_server: ChatServer, play: Play) -> None:
    twins = [{**calls("double", {"x": x}), "call_id": "same"} for x in (1, 2)]
    chat_server.plays(response(*twins), response(says("4")))
    played = await play(LocalTools(double=double), model=RESPONSES)
    assert [call.id for call in played.of("model_call")[0].reply.message.tool_calls] == ["same", "call_0_1"]
    kinds = [(item.get("type"), item.get("call_id")) for item in chat_server.messages[1:]]
    assert kinds == [
        ("function_call", "same"),
        ("function_call", "call_0_1"),
        ("function_call_output", "same"),
        ("function_call_output", "call_0_1"),
    ]


async def test_calls_that_no_server_would_take_back_are_wrapped(chat_server: ChatServer, play: Play) -> None:
    chat_server.plays(response(calls("a b", '{"x": ')), response(says("sorry")))
    played = await play(LocalTools(double=double), model=RESPONSES)
    assert played.of("tool_call")[0].call.arguments == '{"x": '
    back = chat_server.messages[1]
    assert (back["name"], back["arguments"]) == ("a_b", '{"invalid_arguments": "{\\"x\\": "}')


async def test_a_message_without_items_is_rebuilt(chat_server: ChatServer, ask: Ask) -> None:
    call = ToolRequest(id="c1", name="double", arguments="{}")
    chat_server.plays(response(says("ok")))
    await ask(Message(role="assistant", tool_calls=(call,)), Message(role="assistant", content="so"), model=RESPONSES)
    assert chat_server.messages == [
        {"type": "function_call", "call_id": "c1", "name": "double", "arguments": "{}"},
        {"role": "assistant", "content": "so"},
    ]
