"""Tools that the endpoint runs by itself, over Responses: what is asked, what the trace tells of them, what they cost."""

import pytest
from tests.agents.conftest import LocalTools, Play, condition, double
from tests.servers.chat_server import ChatServer
from tests.servers.responses import calls, cites, looked, ran, response, says, searched, thinks

from toolablate.agents import require_capabilities
from toolablate.agents.provider_tools import FAILED, MOST_CHARS, NOT_TOLD
from toolablate.agents.replies.recorded import asked
from toolablate.traces.errors import InputError
from toolablate.traces.records import (
    Budget,
    Condition,
    LangChainModel,
    Model,
    ModelRequest,
    OpenAIModel,
    Price,
    SimulatedModel,
)

RESPONSES = {"api": "responses"}
SEARCH = {"type": "web_search", "search_context_size": "low"}
CODE = {"type": "code_interpreter", "container": {"type": "auto"}}
PRICE = Price(input=1, output=1, calls={"web_search": 0.01, "code_interpreter": 0.03})


def with_tools(*tools: dict[str, object], **fields: object) -> Condition:
    return Condition.model_validate({"name": "theirs", "provider_tools": tools, **fields})


async def test_a_search_within_a_reply_is_in_the_trace_and_goes_back(chat_server: ChatServer, play: Play) -> None:
    thought = thinks("Look.", "gAAA")
    search = searched("capital of X", "X seat", sources=("https://a.example/x", "https://b.example/y"))
    opened = looked("open_page", url="https://a.example/x")
    chat_server.plays(
        response(thought, search, opened, calls("double", {"x": 2}, "call_1")),
        response(says("Answer: A", annotations=[cites("https://a.example/x", "On X")]), searched("again")),
    )
    arm = with_tools(SEARCH, tool_choice="required")
    played = await play(LocalTools(double=double), arm, model=RESPONSES, price=PRICE)
    assert played.kinds == ["tool_call", "tool_call", "model_call", "tool_call", "tool_call", "model_call", "answer"]
    first, page, ours, last = played.of("tool_call")
    assert [event.by_provider for event in played.of("tool_call")] == [True, True, False, True]
    assert (first.call.id, first.call.name) == (search["id"], "web_search")
    assert first.call.arguments == '{"query": "capital of X", "queries": ["capital of X", "X seat"]}'
    assert first.output == "Sources:\n- https://a.example/x\n- https://b.example/y"
    assert (page.call.name, page.call.arguments) == ("open_page", '{"url": "https://a.example/x"}')
    assert (page.output, page.status, ours.output) == (NOT_TOLD, "ok", "4")
    assert last.output == "Cited in the reply:\n- On X: https://a.example/x"
    # Two searches, a page that is free without a price of its own, 10 + 5 tokens in each of two replies.
    assert played.result.cost_usd == pytest.approx(2 * 0.01 + 2 * 15e-6)
    asked, again = chat_server.requests
    assert [tool.get("name", tool["type"]) for tool in asked["tools"]] == ["double", "web_search"]
    assert asked["tools"][1] == SEARCH
    assert asked["include"] == ["reasoning.encrypted_content", "web_search_call.action.sources"]
    assert again["input"][1:4] == [thought, search, opened]
    # It has to call one tool, which was done within the first reply.
    assert (asked["tool_choice"], again["tool_choice"]) == ("required", "auto")


async def test_code_that_the_endpoint_ran(chat_server: ChatServer, play: Play) -> None:
    image = {"type": "image", "url": "data:image/png;base64,AAAA"}
    chat_server.plays(
        response(
            ran("print(6*7)", {"type": "logs", "logs": "42\n"}, image),
            ran("1/0", status="failed"),
            ran("print('x' * 10**6)", {"type": "logs", "logs": "x" * 10**6}),
            says("Answer: A"),
        )
    )
    arm = with_tools(CODE, tool_choice="code_interpreter")
    played = await play(arm=arm, model=RESPONSES, price=PRICE)
    ok, failed, long = played.of("tool_call")
    assert (ok.call.name, ok.call.arguments) == ("code_interpreter", '{"code": "print(6*7)"}')
    assert ok.output == "42\n\n\n[image]"
    assert (failed.status, failed.error, failed.output) == ("error", FAILED, NOT_TOLD)
    assert (len(long.output), long.truncated) == (MOST_CHARS, True)
    assert chat_server.requests[0]["include"][1:] == ["code_interpreter_call.outputs"]
    assert chat_server.requests[0]["tool_choice"] == {"type": "code_interpreter"}
    # A container has one price, whatever ran in it.
    assert played.result.cost_usd == pytest.approx(0.03 + 15e-6)


async def test_whatever_an_endpoint_writes_is_recorded(chat_server: ChatServer, play: Play) -> None:
    strange = [
        {"type": "web_search_call", "action": [], "status": 7},
        {"type": "web_search_call", "id": "\ud800", "action": {"type": "search", "query": "\ud800", "sources": [1]}},
        {"type": "code_interpreter_call", "outputs": {"a": 1}, "code": None},
        {"type": "file_search_call", "queries": [None, "q"], "results": [{"filename": "f.txt", "text": "found"}]},
        {"type": "mcp_call", "id": "m", "name": "look", "arguments": "{}", "output": "seen"},
    ]
    chat_server.plays(response(*strange, says("Answer: A", annotations=[7, {"url": ["no"]}])))
    played = await play(arm=with_tools(SEARCH), model=RESPONSES, price=PRICE)
    names = ["web_search", "web_search", "code_interpreter", "file_search", "mcp"]
    assert [event.call.name for event in played.of("tool_call")] == names
    assert [event.output for event in played.of("tool_call")][3:] == ["f.txt\nfound", '{"output": "seen"}']
    assert played.answer.text == "Answer: A"
    # Nothing says what two of these cost.
    assert played.result.cost_usd is None


async def test_the_budget_counts_them(chat_server: ChatServer, play: Play) -> None:
    chat_server.plays(
        response(searched("a"), searched("b"), calls("double", {"x": 2}, "call_1")),
        response(says("Answer: A")),
    )
    arm = with_tools(SEARCH, budget=Budget(tool_calls=2))
    played = await play(LocalTools(double=double), arm, model=RESPONSES)
    assert (played.result.outcome, played.answer.limit) == ("budget", "tool_calls")
    assert chat_server.requests[1]["tool_choice"] == "none"


@pytest.mark.parametrize(
    ("model", "tool", "why"),
    [
        (OpenAIModel(name="m"), SEARCH, "Chat Completions tells of no calls"),
        (SimulatedModel(name="m"), SEARCH, "of 'simulated' it is not known"),
        (LangChainModel.model_validate({"name": "m", "class": "langchain_ollama:ChatOllama"}), SEARCH, "langchain_ol"),
        (OpenAIModel(name="m", api="responses"), {"google_search": {}}, "each tool needs a `type`"),
        (
            LangChainModel.model_validate({"name": "m", "class": "langchain_google_genai:ChatGoogleGenerativeAI"}),
            SEARCH,
            "Gemini's tools have no `type`",
        ),
    ],
)
def test_a_model_without_such_tools_is_refused(model: Model, tool: dict[str, object], why: str) -> None:
    require_capabilities(model, condition())
    with pytest.raises(InputError, match=why) as refused:
        require_capabilities(model, with_tools(tool))
    assert "'theirs'" in refused.value.message


def test_a_recorded_reply_is_of_the_same_tools() -> None:
    model = OpenAIModel(name="m", api="responses")
    requests = [ModelRequest(messages=(), provider_tools=tools) for tools in ((), (SEARCH,), (CODE,))]
    assert len({asked(model, request, 0).key for request in requests}) == 3
