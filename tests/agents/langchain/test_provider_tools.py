"""Tools that Anthropic and Google run by themselves, through the real classes of LangChain: what is asked, what the trace
tells, what goes back, what it costs."""

from typing import Any

import pytest
from tests.agents.conftest import QUESTION, LocalTools, Played, double, play_with
from tests.agents.langchain.conftest import KEY, model
from tests.servers import anthropic, gemini
from tests.servers.chat_server import ChatServer

from toolablate.agents import connect
from toolablate.agents.provider_tools import NOT_TOLD
from toolablate.traces.records import Condition, LangChainModel, Message, Price

# A client of Google's inherits from a class of aiohttp that does not like it; and code is told with a warning.
pytestmark = [
    pytest.mark.filterwarnings("ignore:Inheritance class:DeprecationWarning"),
    pytest.mark.filterwarnings("ignore:(?s).*Output may vary each run:UserWarning"),
]

WEB_SEARCH = {"type": "web_search_20250305", "name": "web_search", "max_uses": 3}
BASH = {"type": "code_execution_20250825", "name": "code_execution"}
PRICE = Price(input=0, output=0, calls={"web_search": 0.01, "google_search": 0.014, "code_execution": 0})


async def played(
    record: LangChainModel, *tools: dict[str, Any], ours: LocalTools | None = None, **fields: Any
) -> Played:
    source = connect(record)
    arm = Condition.model_validate({"name": "theirs", "provider_tools": tools, **fields})
    try:
        return await play_with(source.session(QUESTION, arm, 0), ours, arm, price=PRICE)
    finally:
        await source.close()


@pytest.fixture
def claude(chat_server: ChatServer, monkeypatch: pytest.MonkeyPatch) -> LangChainModel:
    pytest.importorskip("langchain_anthropic", reason="langchain-anthropic is not installed (pip install -e .[dev])")
    monkeypatch.setenv("KEY_OF_TEST", KEY)
    kwargs = {"base_url": chat_server.address, "max_tokens": 2000}
    return model("langchain_anthropic:ChatAnthropic", "claude-x", kwargs=kwargs, api_key_env="KEY_OF_TEST")


@pytest.fixture
def google(chat_server: ChatServer, monkeypatch: pytest.MonkeyPatch) -> LangChainModel:
    pytest.importorskip(
        "langchain_google_genai", reason="langchain-google-genai is not installed (pip install -e .[dev])"
    )
    monkeypatch.setenv("KEY_OF_TEST", KEY)
    kwargs = {"base_url": chat_server.address}
    path = "langchain_google_genai:ChatGoogleGenerativeAI"
    return model(path, "gemini-x", kwargs=kwargs, api_key_env="KEY_OF_TEST")


async def test_a_search_of_anthropics_that_pauses_goes_on(chat_server: ChatServer, claude: LangChainModel) -> None:
    asking = anthropic.server_tool_use("web_search", {"query": "capital of X"}, "srvtoolu_1")
    found = anthropic.found("srvtoolu_1", ("On X", "https://a.example/x"), ("Off X", "https://b.example/y"))
    more = anthropic.server_tool_use("web_search", {"query": "X again"}, "srvtoolu_2")
    failed = anthropic.result("web_search_tool_result_error", "srvtoolu_2", error_code="max_uses_exceeded")
    said = anthropic.cited("Answer: A", "https://a.example/x", "On X", "The capital of X is A.")
    chat_server.plays(
        anthropic.message(anthropic.text("I will look."), asking, found, stop_reason="pause_turn"),
        anthropic.message(more, failed, said, server_tool_use={"web_search_requests": 1, "web_fetch_requests": 0}),
    )
    trial = await played(claude, WEB_SEARCH)
    assert trial.kinds == ["tool_call", "model_call", "tool_call", "model_call", "answer"]
    first, second = trial.of("tool_call")
    assert (first.call.name, first.call.arguments) == ("web_search", '{"query": "capital of X"}')
    assert first.output == "On X: https://a.example/x\nOff X: https://b.example/y"
    assert (second.status, second.error) == ("error", "max_uses_exceeded")
    assert second.output.endswith('- On X: https://a.example/x: "The capital of X is A."')
    assert [event.reply.finish_reason for event in trial.of("model_call")] == ["paused", "stop"]
    assert (trial.result.outcome, trial.answer.text) == ("answered", "Answer: A")
    # What the API could not do is not charged.
    assert trial.result.cost_usd == pytest.approx(0.01)
    asked, again = chat_server.requests
    assert asked["tools"] == [WEB_SEARCH]
    assert again["messages"][-1]["content"][1:] == [asking, found]
    kept = trial.of("model_call")[0].reply.message
    assert Message.from_json(kept.to_json()) == kept


async def test_it_pauses_after_a_call_of_ours_as_well(chat_server: ChatServer, claude: LangChainModel) -> None:
    asking = anthropic.server_tool_use("web_search", {"query": "X"}, "srvtoolu_1")
    chat_server.plays(
        anthropic.message(anthropic.tool_use("double", {"x": 2})),
        anthropic.message(asking, stop_reason="pause_turn"),
        anthropic.message(anthropic.found("srvtoolu_1", ("On X", "https://a.example/x")), anthropic.text("Answer: A")),
    )
    trial = await played(claude, WEB_SEARCH, ours=LocalTools(double=double))
    assert trial.answer.text == "Answer: A"
    ours, asked, found = trial.of("tool_call")
    assert (ours.by_provider, ours.output, asked.output) == (False, "4", NOT_TOLD)
    assert (found.call.id, found.call.name) == ("srvtoolu_1", "web_search")
    assert found.output == "On X: https://a.example/x"
    assert trial.result.cost_usd == pytest.approx(0.01)
    assert chat_server.messages[-1]["content"] == [asking]


async def test_code_that_anthropic_ran(chat_server: ChatServer, claude: LangChainModel) -> None:
    def ran(number: int, code: int, stdout: str, stderr: str = "") -> tuple[dict[str, Any], dict[str, Any]]:
        asking = anthropic.server_tool_use("bash_code_execution", {"command": f"run {number}"}, f"srvtoolu_{number}")
        told = {"stdout": stdout, "stderr": stderr, "return_code": code, "content": []}
        return asking, anthropic.result("bash_code_execution_result", f"srvtoolu_{number}", **told)

    chat_server.plays(
        anthropic.message(*ran(1, 0, "42\n"), *ran(2, 1, "", "no such file"), anthropic.text("Answer: A"))
    )
    trial = await played(claude, BASH)
    worked, broke = trial.of("tool_call")
    assert (worked.call.arguments, worked.output, worked.status) == ('{"command": "run 1"}', "42", "ok")
    assert (broke.output, broke.status, broke.error) == ("no such file", "error", "exit: 1")
    # Nothing says what a call of bash costs.
    assert trial.result.cost_usd is None


async def test_a_search_of_googles(chat_server: ChatServer, google: LangChainModel) -> None:
    reply = gemini.content(gemini.text("Answer: A"))
    chat_server.plays(
        gemini.grounded(reply, "capital of X", "X seat", pages=(("On X", "https://a.example/x"),)),
    )
    trial = await played(google, {"google_search": {}})
    (call,) = trial.of("tool_call")
    assert call.call.name == "google_search"
    assert call.call.arguments == '{"queries": ["capital of X", "X seat"], "query": "capital of X; X seat"}'
    assert call.output == "Sources:\n- On X: https://a.example/x"
    assert trial.kinds == ["tool_call", "model_call", "answer"]
    # By the query.
    assert trial.result.cost_usd == pytest.approx(2 * 0.014)
    (asked,) = chat_server.requests
    assert [list(tool) for tool in asked["tools"]] == [["googleSearch"]]
    assert "renderedContent" not in str(trial.of("model_call")[0].reply.message.items)


async def test_googles_search_beside_a_function_is_left_out_where_calls_are_barred(
    chat_server: ChatServer, google: LangChainModel
) -> None:
    chat_server.plays(gemini.content(gemini.call("double", {"x": 2})), gemini.content(gemini.text("Answer: A")))
    trial = await played(google, {"google_search": {}}, ours=LocalTools(double=double), budget={"turns": 1})
    assert trial.result.outcome == "budget", trial.of("failure")
    first, last = ([list(tool) for tool in asked["tools"]] for asked in chat_server.requests)
    assert sorted(first) == [["functionDeclarations"], ["googleSearch"]]
    assert last == [["functionDeclarations"]]


async def test_code_that_google_ran(chat_server: ChatServer, google: LangChainModel) -> None:
    ran, broke = gemini.ran("print(6*7)", "42\n"), gemini.ran("1/0", "ZeroDivisionError", "OUTCOME_FAILED")
    chat_server.plays(gemini.content(*ran, *broke, gemini.ran("x = 1", "")[0], gemini.text("Answer: A")))
    trial = await played(google, {"code_execution": {}})
    first, second, third = trial.of("tool_call")
    assert (first.call.name, first.call.arguments, first.output) == ("code_execution", '{"code": "print(6*7)"}', "42")
    assert (second.status, second.error, second.output) == ("error", "exit: error", "ZeroDivisionError")
    assert (third.output, trial.answer.text) == (NOT_TOLD, "Answer: A")
    assert trial.result.cost_usd == 0
    assert [list(tool) for tool in chat_server.requests[0]["tools"]] == [["codeExecution"]]
