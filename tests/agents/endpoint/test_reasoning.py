"""What a model thought goes back to it as its API wants it, over endpoints that answer 400 where it does not."""

import asyncio
from typing import Any

import pytest
from tests.agents.conftest import QUESTION, LocalTools, Play, condition, double
from tests.agents.endpoint.conftest import Ask
from tests.servers.chat_server import ChatServer, Json, reply
from tests.servers.responses import calls, insisting_on, insisting_on_items, response, says, thinks

from toolablate.agents import connect
from toolablate.traces.records import Message, ModelRequest, OpenAIModel, ToolRequest

CALL = ("double", {"x": 1})
RESPONSES = {"api": "responses"}
DETAILS = [
    {"type": "reasoning.summary", "summary": "It asks for 2.", "id": "r1", "format": "openai-responses-v1", "index": 0},
    {"type": "reasoning.encrypted", "data": "ZmZm", "id": "r1", "format": "openai-responses-v1", "index": 1},
]
SIGNED = {"google": {"thought_signature": "c2ln"}}


def signed(arguments: str) -> dict[str, Any]:
    call = {"id": "c1", "type": "function", "function": {"name": "double", "arguments": arguments}}
    return {"tool_calls": [{**call, "extra_content": SIGNED}]}


# name: what each of two turns with a tool call holds, what is looked for in what comes back, the key of the text
DIALECTS: dict[str, tuple[list[dict[str, Any]], str, str]] = {
    "deepseek, kimi, glm": ([{"reasoning_content": "first"}, {"reasoning_content": "then"}], "reasoning_content", ""),
    "an empty thought": ([{"reasoning_content": "first"}, {"reasoning_content": ""}], "reasoning_content", ""),
    "plain openrouter, vllm": ([{"reasoning": "first"}, {"reasoning": "then"}], "reasoning", ""),
    "null beside it": ([{"reasoning_content": None, "reasoning": "first"}] * 2, "reasoning", ""),
    "openrouter": ([{"reasoning": "It asks", "reasoning_details": DETAILS}] * 2, "reasoning_details", "reasoning"),
    "details only": ([{"reasoning_details": DETAILS[:1]}] * 2, "reasoning_details", "reasoning"),
}


@pytest.mark.parametrize("name", DIALECTS)
async def test_each_chat_dialect_gets_back_what_it_gave(chat_server: ChatServer, play: Play, name: str) -> None:
    turns, key, absent = DIALECTS[name]
    replies = [reply("", CALL, **turn) for turn in turns] + [reply("2")]
    chat_server.answers(insisting_on(lambda message: message.get(key), *replies))
    played = await play(LocalTools(double=double))
    assert played.result.outcome == "answered"
    assert [key in message for message in chat_server.messages if message["role"] == "assistant"] == [True, True]
    assert not any(absent in message for message in chat_server.messages if absent)


THOUGHT = {"type": "thinking", "thinking": [{"type": "text", "text": "first "}, {"type": "text", "text": "hm"}]}
SAID = {"type": "text", "text": "Let me see."}
AGAIN = {"type": "thinking", "thinking": "then", "signature": "c2ln"}


@pytest.mark.parametrize(
    ("parts", "text", "thought"),
    [
        ([{**THOUGHT, "closed": True}, SAID], "Let me see.", "first hm"),
        ([THOUGHT, SAID, AGAIN, SAID], "Let me see.Let me see.", "first hm\n\nthen"),
        ([THOUGHT], "", "first hm"),
    ],
)
async def test_thoughts_among_the_content_go_back_where_they_stood(
    chat_server: ChatServer, play: Play, parts: list[dict[str, Any]], text: str, thought: str
) -> None:
    """Mistral's way."""
    replies = [reply(parts, CALL), reply(parts, ("double", {"x": 2})), reply([THOUGHT, {"type": "text", "text": "4"}])]
    chat_server.answers(insisting_on(lambda message: (message["content"], message["tool_calls"]), *replies))
    played = await play(LocalTools(double=double))
    assert played.answer.text == "4"
    first = played.of("model_call")[0].reply.message
    assert (first.content, first.reasoning, first.reasoning_key) == (text, thought, "content")
    assert "reasoning_details" not in chat_server.messages[1]


async def test_thoughts_among_the_content_are_left_out_where_they_are_dropped(
    chat_server: ChatServer, play: Play
) -> None:
    chat_server.plays(reply([THOUGHT, SAID], CALL), reply("2"))
    arm = condition().model_copy(update={"reasoning": "drop"})
    await play(LocalTools(double=double), arm)
    assert chat_server.messages[1]["content"] == "Let me see."


@pytest.mark.parametrize("content", ["", None])
async def test_a_call_without_a_text_goes_back_without_one(
    chat_server: ChatServer, play: Play, content: str | None
) -> None:
    """Some servers refuse an empty text beside a call."""
    chat_server.plays(reply(content, CALL), reply("2"))
    await play(LocalTools(double=double))
    assert chat_server.messages[1]["content"] is None


async def test_geminis_signatures_stay_on_their_calls(chat_server: ChatServer, play: Play) -> None:
    replies = [reply("", **signed('{"x": 1}'), finish_reason="tool_calls"), reply("2")]
    chat_server.answers(insisting_on(lambda message: message.get("tool_calls"), *replies))
    played = await play(LocalTools(double=double))
    assert played.answer.text == "2"
    assert "reasoning_details" not in chat_server.messages[1]


@pytest.mark.parametrize("encrypted", ["Z2Vo", ""])
async def test_responses_gets_its_items_back(chat_server: ChatServer, play: Play, encrypted: str) -> None:
    turns = [(thinks("a plan", encrypted), says("Let me see."), calls("double", {"x": x})) for x in (1, 2)]
    chat_server.answers(insisting_on_items(*[response(*turn) for turn in turns], response(thinks(), says("4"))))
    played = await play(LocalTools(double=double), model=RESPONSES)
    assert (played.result.outcome, played.answer.text) == ("answered", "4")
    assert played.of("model_call")[0].reply.message.reasoning == "a plan"
    assert chat_server.paths == ["/responses"] * 3
    outputs = [item for item in chat_server.messages if item.get("type") == "function_call_output"]
    assert [(item["call_id"], item["output"]) for item in outputs] == [
        (turns[0][2]["call_id"], "2"),
        (turns[1][2]["call_id"], "4"),
    ]


@pytest.mark.parametrize("api", ["chat", "responses"])
async def test_a_message_stripped_of_its_thoughts_sends_none(chat_server: ChatServer, ask: Ask, api: str) -> None:
    stripped = Message(
        role="assistant", content="Hm.", tool_calls=(ToolRequest(id="c1", name="double", arguments='{"x": 1}'),)
    )
    chat_server.plays(reply("ok") if api == "chat" else response(says("ok")))
    await ask(stripped, Message(role="tool", tool_call_id="c1", content="2"), model={"api": api})
    call = {"name": "double", "arguments": '{"x": 1}'}
    assert chat_server.messages == (
        [
            {"role": "assistant", "content": "Hm.", "tool_calls": [{"id": "c1", "type": "function", "function": call}]},
            {"role": "tool", "tool_call_id": "c1", "content": "2"},
        ]
        if api == "chat"
        else [
            {"role": "assistant", "content": "Hm."},
            {"type": "function_call", "call_id": "c1", **call},
            {"type": "function_call_output", "call_id": "c1", "output": "2"},
        ]
    )


async def test_an_endpoint_that_misses_a_thought_is_told_apart(chat_server: ChatServer, ask: Ask) -> None:
    chat_server.answers(
        insisting_on(lambda message: message.get("reasoning_content"), reply("", reasoning_content="x"))
    )
    with pytest.raises(Exception, match='reasoning = "drop" cannot be run') as caught:
        await ask(Message(role="user", content="?"), Message(role="assistant", content="no thought"))
    assert getattr(caught.value, "code", "") == "bad_request"


async def test_trials_at_once_do_not_mix_their_keys(chat_server: ChatServer) -> None:
    """What one trial saw says nothing of the next: two models can stand behind one name."""

    def decide(body: dict[str, Any]) -> Json:
        key = body["messages"][0]["content"]
        return reply("", CALL, **{key: "hm"}) if len(body["messages"]) == 1 else reply("done")

    chat_server.answers(decide)
    source = connect(OpenAIModel(name="m", endpoint=chat_server.url))

    async def trial(key: str) -> None:
        session = source.session(QUESTION, condition(), 0)
        asked: tuple[Message, ...] = (Message(role="user", content=key),)
        first = await session.complete(ModelRequest(messages=asked), seconds=10)
        result = Message(role="tool", tool_call_id=first.message.tool_calls[0].id, content="2")
        await session.complete(ModelRequest(messages=(*asked, first.message, result)), seconds=10)

    await asyncio.gather(*(trial(key) for key in ("reasoning", "reasoning_content") * 20))
    await source.close()
    seconds = [body["messages"] for body in chat_server.requests if len(body["messages"]) == 3]
    assert len(seconds) == 40
    for asked, given, _ in seconds:
        assert {key for key in given if key.startswith("reasoning")} == {asked["content"]}


async def test_a_cut_reply_goes_back_whole(chat_server: ChatServer, play: Play) -> None:
    chat_server.plays(reply("half", finish_reason="length", reasoning_content="long"), reply("Answer: A"))
    await play()
    assert chat_server.messages[1] == {"role": "assistant", "content": "half", "reasoning_content": "long"}


async def test_a_response_cut_in_its_thoughts_leaves_none_behind(chat_server: ChatServer, play: Play) -> None:
    """OpenAI refuses thoughts that nothing follows."""
    cut = response(thinks("on and on", "eA=="), status="incomplete", incomplete_details={"reason": "max_output_tokens"})
    chat_server.plays(cut, response(says("Answer: A")))
    played = await play(model=RESPONSES)
    first = played.of("model_call")[0].reply
    assert (first.finish_reason, first.message.reasoning, len(first.message.items)) == ("length", "on and on", 1)
    assert [item["role"] for item in chat_server.messages] == ["user", "user"]
    assert played.answer.limit == "reply_length"
