"""Ask, act, answer: what is asked, what is run, what is recorded."""

import asyncio

import pytest
from tests.agents.conftest import LocalTools, Play, condition, double
from tests.servers.chat_server import ChatServer, Json, reply

from toolablate.tools.tool import ToolResult
from toolablate.traces.records import Price


async def test_an_answer_without_tools(chat_server: ChatServer, play: Play) -> None:
    chat_server.plays(reply("Answer: A"))
    played = await play(arm=condition(prompt="Be brief."))
    assert played.result.outcome == "answered"
    assert played.kinds == ["model_call", "answer"]
    assert (played.answer.text, played.answer.limit) == ("Answer: A", None)
    assert chat_server.messages == [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "Which one?"},
    ]
    assert chat_server.requests[0].keys() == {"model", "messages"}
    call = played.events[0]
    assert (call.reply.model, call.reply.response_id, call.reply.finish_reason) == (
        "served-model",
        "chatcmpl-1",
        "stop",
    )


async def test_a_tool_result_goes_back_to_the_model(chat_server: ChatServer, play: Play) -> None:
    chat_server.plays(reply(None, ("double", {"x": 21})), reply("Answer: 42"))
    played = await play(LocalTools(double=double))
    assert played.kinds == ["model_call", "tool_call", "model_call", "answer"]
    (called,) = played.of("tool_call")
    assert (called.call.name, called.call.arguments, called.output, called.status) == (
        "double",
        '{"x": 21}',
        "42",
        "ok",
    )
    assert chat_server.messages[1:] == [
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [
                {
                    "id": "call_double_0",
                    "type": "function",
                    "function": {"name": "double", "arguments": '{"x": 21}'},
                }
            ],
        },
        {"role": "tool", "tool_call_id": "call_double_0", "content": "42"},
    ]
    assert [request["tool_choice"] for request in chat_server.requests] == ["auto", "auto"]
    assert [tool["function"]["name"] for tool in chat_server.requests[0]["tools"]] == ["double"]


async def test_calls_of_one_turn_run_at_once_and_come_back_in_order(chat_server: ChatServer, play: Play) -> None:
    meeting = asyncio.Barrier(3)

    async def meet(x: int) -> ToolResult:
        await meeting.wait()  # passes only when all three are here
        await asyncio.sleep(0.01 * (3 - x))
        return ToolResult(f"result {x}")

    chat_server.plays(reply("", *(("meet", {"x": x}) for x in range(3))), reply("done"))
    played = await play(LocalTools(meet=meet))
    assert [event.output for event in played.of("tool_call")] == ["result 2", "result 1", "result 0"]
    results = [message for message in chat_server.messages if message["role"] == "tool"]
    assert [message["content"] for message in results] == ["result 0", "result 1", "result 2"]


@pytest.mark.parametrize(
    ("name", "arguments", "error", "sent_back"),
    [
        ("double", '{"x": 2', "bad_json", ("double", '{"invalid_arguments": "{\\"x\\": 2"}')),
        ("no_such", "{}", "unknown_tool", ("no_such", "{}")),
        ("a b;c" * 30, "", "unknown_tool", (("a_b_c" * 30)[:64], '{"invalid_arguments": ""}')),
        ("", "[1]", "unknown_tool", ("unnamed", '{"invalid_arguments": "[1]"}')),
        ("double", '{"x": "\\ud800"}', "", ("double", '{"x": "\\ud800"}')),
    ],
)
async def test_a_call_that_makes_no_sense_is_the_models_affair(
    chat_server: ChatServer, play: Play, name: str, arguments: str, error: str, sent_back: tuple[str, str]
) -> None:
    chat_server.plays(reply("", (name, arguments)), reply("sorry"))
    played = await play(LocalTools(double=double))
    (called,) = played.of("tool_call")
    assert (called.call.arguments, called.error) == (arguments, error)
    assert played.result.outcome == "answered"
    function = chat_server.messages[1]["tool_calls"][0]["function"]
    assert (function["name"], function["arguments"]) == sent_back


async def test_a_barred_tool_is_not_run_though_it_is_called(chat_server: ChatServer, play: Play) -> None:
    async def never() -> ToolResult:
        raise AssertionError("a tool was run under tool_choice none")

    chat_server.plays(reply("", ("never", {}), ("no_such", {})), reply("Answer: B"))
    played = await play(LocalTools(never=never), condition(tool_choice="none"))
    calls = [(called.call.name, called.status, called.error) for called in played.of("tool_call")]
    assert calls == [("never", "invalid", "not_allowed"), ("no_such", "invalid", "unknown_tool")]
    assert chat_server.requests[0]["tool_choice"] == "none"
    assert played.answer.text == "Answer: B"


async def test_a_required_tool_is_required_once(chat_server: ChatServer, play: Play) -> None:
    chat_server.plays(reply("", ("double", {"x": 1})), reply("2"))
    await play(LocalTools(double=double), condition(tool_choice="required"))
    assert [request["tool_choice"] for request in chat_server.requests] == ["required", "auto"]


async def test_usage_and_cost_are_summed(chat_server: ChatServer, play: Play) -> None:
    usage = {
        "prompt_tokens": 1000,
        "completion_tokens": 200,
        "prompt_tokens_details": {"cached_tokens": 640},
        "completion_tokens_details": {"reasoning_tokens": 150},
    }
    chat_server.plays(reply("", ("double", {"x": 1}), usage=usage), reply("2", usage=usage))
    played = await play(LocalTools(double=double), price=Price(input=1.0, output=10.0))
    spent = played.result.usage
    assert (spent.input_tokens, spent.output_tokens, spent.cached_tokens, spent.reasoning_tokens) == (
        2000,
        400,
        1280,
        300,
    )
    assert played.result.cost_usd == pytest.approx(0.006)
    assert [event.cost_usd for event in played.of("model_call")] == [pytest.approx(0.003)] * 2


@pytest.mark.parametrize(
    ("given", "read"),
    [(2**53 - 1, 2**53 - 1), (0, 0), (2**53, None), (10**19, None), (-1, None), (1.0, None), (True, None), ("7", None),
     ([7], None), ({"n": 7}, None), (None, None)],
)  # fmt: skip
async def test_only_what_can_be_a_count_is_read_as_one(
    chat_server: ChatServer, play: Play, given: object, read: int | None
) -> None:
    usage = {
        "prompt_tokens": given,
        "completion_tokens": given,
        "prompt_tokens_details": {"cached_tokens": given},
        "completion_tokens_details": {"reasoning_tokens": given},
    }
    chat_server.plays(reply("Answer: A", usage=usage))
    told = (await play()).of("model_call")[0].reply.usage
    counts = (told.input_tokens, told.output_tokens, told.cached_tokens, told.reasoning_tokens)
    assert counts == (read,) * 4


async def test_a_refusal_is_an_answer(chat_server: ChatServer, play: Play) -> None:
    chat_server.plays(reply(None, refusal="I will not answer that."))
    played = await play()
    assert (played.answer.text, played.result.outcome) == ("I will not answer that.", "answered")


@pytest.mark.parametrize("key", ["reasoning_content", "reasoning"])
async def test_reasoning_is_given_back_between_tool_calls(chat_server: ChatServer, play: Play, key: str) -> None:
    chat_server.plays(reply("", ("double", {"x": 1}), **{key: "let me think"}), reply("2", **{key: "so it is 2"}))
    played = await play(LocalTools(double=double))
    assert [event.reply.message.reasoning for event in played.of("model_call")] == ["let me think", "so it is 2"]
    assert chat_server.messages[1][key] == "let me think"


async def test_what_other_servers_write_is_read_too(chat_server: ChatServer, play: Play) -> None:
    message = {
        "role": "assistant",
        "content": [{"type": "text", "text": "one "}, {"type": "text", "text": "two \ud800"}],
        "tool_calls": [{"function": {"name": "double", "arguments": {"x": 4}}} for _ in range(2)],
    }
    chat_server.plays(Json({"choices": [{"message": message, "finish_reason": "eos"}]}), reply("8"))
    played = await play(LocalTools(double=double))
    first = played.of("model_call")[0].reply
    assert first.message.content == "one two \ufffd"
    assert [call.id for call in first.message.tool_calls] == ["call_0_0", "call_0_1"]
    assert first.usage.input_tokens is None
    assert [event.output for event in played.of("tool_call")] == ["8", "8"]


async def test_calls_are_told_apart_though_the_endpoint_does_not(chat_server: ChatServer, play: Play) -> None:
    calls = [{"id": given, "function": {"name": "double", "arguments": '{"x": 1}'}} for given in ("call_0_1",) * 3]
    chat_server.plays(*[reply("", tool_calls=calls, finish_reason="tool_calls")] * 2, reply("2"))
    played = await play(LocalTools(double=double))
    ids = [call.id for event in played.of("model_call") for call in event.reply.message.tool_calls]
    assert ids == ["call_0_1", "call_0_1_", "call_0_2", "call_0_1", "call_1_1", "call_1_2"]


async def test_only_what_is_set_is_sent(chat_server: ChatServer, play: Play) -> None:
    sampling = {"temperature": 0.5, "max_tokens": 99, "seed": 0, "extra": {"top_k": 20}}
    chat_server.plays(reply("ok"))
    await play(model={"model": "wire", "sampling": sampling})
    body = chat_server.requests[0]
    body.pop("messages")
    assert body == {"model": "wire", "temperature": 0.5, "max_tokens": 99, "seed": 0, "top_k": 20}


async def test_a_bug_in_a_tool_is_not_hidden(chat_server: ChatServer, play: Play) -> None:
    async def broken() -> ToolResult:
        return ToolResult(str(1 // 0))

    chat_server.plays(reply("", ("broken", {})))
    with pytest.raises(ZeroDivisionError):
        await play(LocalTools(broken=broken))


async def test_a_trial_can_be_cancelled_in_a_tool(chat_server: ChatServer, play: Play) -> None:
    started, cleaned = asyncio.Event(), asyncio.Event()

    async def wait() -> ToolResult:
        started.set()
        try:
            await asyncio.Event().wait()
        finally:
            cleaned.set()
        raise AssertionError

    chat_server.plays(reply("", ("wait", {})))
    trial = asyncio.ensure_future(play(LocalTools(wait=wait)))
    await started.wait()
    trial.cancel()
    with pytest.raises(asyncio.CancelledError):
        await trial
    assert cleaned.is_set()


async def test_many_trials_share_one_graph(chat_server: ChatServer, play: Play) -> None:
    def decide(body: dict[str, object]) -> Json:
        messages = body["messages"]
        assert isinstance(messages, list)
        x = int(str(body["seed"]))
        return reply("", ("double", {"x": x})) if len(messages) == 1 else reply(messages[-1]["content"])

    chat_server.answers(decide)
    trials = (play(LocalTools(double=double), model={"sampling": {"seed": seed}}) for seed in range(12))
    played = await asyncio.gather(*trials)
    assert [trial.answer.text for trial in played] == [str(2 * seed) for seed in range(12)]


async def test_no_trace_is_sent_to_langsmith(
    chat_server: ChatServer, play: Play, monkeypatch: pytest.MonkeyPatch
) -> None:
    from langsmith.utils import get_env_var, tracing_is_enabled

    async def traced() -> ToolResult:
        return ToolResult(str(tracing_is_enabled()))

    monkeypatch.setenv("LANGSMITH_TRACING", "true")
    get_env_var.cache_clear()
    try:
        assert tracing_is_enabled()
        chat_server.plays(reply("", ("traced", {})), reply("done"))
        played = await play(LocalTools(traced=traced))
    finally:
        get_env_var.cache_clear()
    assert [event.output for event in played.of("tool_call")] == ["False"]
