"""`none`, the provider's search and ours, in one plan against an endpoint that speaks Responses: run, compared, priced,
attributed and replayed."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from tests.experiments.replay.scenes import run, trace_of, trial_of
from tests.servers.chat_server import ChatServer, ChatServers, Step
from tests.servers.responses import calls, cites, looked, response, says, searched

from toolablate.cli import group
from toolablate.experiments.doctor import price_findings
from toolablate.experiments.plans.plan import load_plan
from toolablate.traces.errors import InputError, ToolablateError
from toolablate.traces.store import Store

COUNT = 8
ARMS = """
    'none',
    { name = 'openai-search', provider_tools = [{ type = 'web_search' }] },
    { name = 'ours', tools = ['web_search'] },
"""
PRICE = "price = { input = 1.0, output = 2.0, calls = { web_search = 0.01 } }"


def plan_of(folder: Path, url: str, conditions: str = ARMS, *, price: str = PRICE, extra: str = "") -> Path:
    lines = (
        {"id": f"q{n}", "prompt": f"What is the charge of item {n}?", "target": {"kind": "number", "value": 100 + n}}
        for n in range(COUNT)
    )
    (folder / "questions.jsonl").write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")
    path = folder / "plan.toml"
    path.write_text(
        f"conditions = [{conditions}]\n{extra}\n"
        "search = { provider = 'corpus', corpus = 'builtin' }\n[questions]\nfile = 'questions.jsonl'\n"
        f"[[models]]\nprovider = 'openai'\napi = 'responses'\nname = 'm'\nendpoint = '{url}'\n{price}\n",
        encoding="utf-8",
    )
    return path


def misled(request: dict[str, Any]) -> Step:
    """Knows every charge, and believes a page that the endpoint's own search finds, wherever it may search."""
    said = str(request["input"])
    item = int(said.split("charge of item ")[1].split("?")[0])
    names = [tool.get("name", tool["type"]) for tool in request.get("tools", ())]
    free = request.get("tool_choice") == "auto"
    if free and [tool["type"] for tool in request["tools"]] == ["web_search"]:
        page = f"https://pages.example/{item}"
        wrong = f"The charge of item {item} is {500 + item} units"
        text = says(f"It is so.\n\nAnswer: {500 + item}", annotations=[cites(page, wrong)])
        return response(searched(f"charge item {item}", sources=(page,)), text)
    if free and "function_call_output" not in said:
        return response(calls(names[0], {"query": f"charge item {item}"}))
    return response(says(f"Answer: {100 + item}"))


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory, chat_servers: ChatServers) -> Iterator[Path]:
    with chat_servers.server() as server:
        server.answers(misled)
        yield run(plan_of(tmp_path_factory.mktemp("provider"), server.url))


def asked(*arguments: object) -> Result:
    return CliRunner().invoke(group, [*map(str, arguments)])


def test_it_is_compared_with_none_and_with_ours(store: Path) -> None:
    with Store(store) as opened:
        seen = opened.summaries()
    right = {
        name: {each.verdict for each in seen if each.condition == name} for name in ("none", "openai-search", "ours")
    }
    assert right == {"none": {"correct"}, "openai-search": {"wrong"}, "ours": {"correct"}}
    compared = asked("compare", store, "--baseline", "none", "--json")
    assert compared.exit_code == 0, compared.output
    effects = {each["condition"]: each for each in json.loads(compared.output)["comparisons"]}
    assert effects["openai-search"]["delta_points"] == -100
    assert effects["ours"]["delta_points"] == 0
    # 10 tokens in and 5 out, and a search.
    assert trace_of(store, trial_of(store, "openai-search")).cost_usd == pytest.approx(0.01 + 20e-6)


def test_its_results_are_a_cause_by_the_trace(store: Path) -> None:
    attributed = asked("attribute", store)
    assert attributed.exit_code == 0, attributed.output
    assert "retrieval distraction" in attributed.output
    explained = asked("show", store, trial_of(store, "openai-search"))
    assert explained.exit_code == 0, explained.output
    # The question stands above the search that was made for it.
    assert explained.output.index("What is the charge") < explained.output.index("web_search returns")
    # The page cites another item's charge nowhere, so that of one it is not known.
    assert "openai-search" in attributed.output.split("by trace only")[1].split("not told")[0]


@pytest.mark.deep
def test_replays_tell_what_they_can(store: Path) -> None:
    """Its reply drawn again is wrong again, and an answer before it is right: the search did it, or its results."""
    replayed = asked("attribute", store, "--replay")
    assert replayed.exit_code == 0, replayed.output
    assert "By replay: retrieval distraction 8." in replayed.output
    why = asked("show", store, trial_of(store, "openai-search"), "--why")
    assert "Add a condition with a tool of ours" in " ".join(why.output.split())


def test_no_result_within_a_reply_can_be_exchanged(store: Path) -> None:
    trial = trial_of(store, "openai-search")
    for option in ("--drop", "--swap=null"):
        refused = asked("replay", store, trial, "--from", "0", option).exception
        assert isinstance(refused, ToolablateError)
        assert refused.code == "provider_tool"
        assert "a call that the provider made within its reply" in str(refused)
    early = asked("replay", store, trial, "--from", "0", "--answer-now")
    assert early.exit_code == 0, early.output
    assert "answered 101" in early.output


@pytest.mark.parametrize(
    ("conditions", "extra", "said"),
    [
        ("{ name = 'x', provider_tools = [{ kind = 'web_search' }] }", "", "each is a table as the API writes it"),
        ("{ name = 'x', provider_tools = [{ type = 'function' }] }", "", "belongs into `tools`"),
        (
            "{ name = 'x', provider_tools = [{ type = 'web_search' }], interventions = ['sham'] }",
            "",
            "no intervention (sham) can change what they return",
        ),
        ("{ name = 'x', provider_tools = [{ type = 'web_search' }], reasoning = 'drop' }", "", "reasoning"),
        (
            "'none'",
            "ladder = [{ name = 'x', provider_tools = [{ type = 'web_search' }] }]",
            "whose results nobody else can substitute",
        ),
    ],
)
def test_what_cannot_be_is_refused(tmp_path: Path, conditions: str, extra: str, said: str) -> None:
    plan = plan_of(tmp_path, "http://127.0.0.1:9/v1", conditions, extra=extra)
    with pytest.raises(InputError) as refused:
        load_plan(plan)[0].resolved_conditions()
    assert said in str(refused.value)


def test_a_limit_on_costs_needs_a_price_of_calls(tmp_path: Path) -> None:
    path = plan_of(
        tmp_path, "http://127.0.0.1:9/v1", price="price = { input = 1, output = 1 }", extra="budget.cost_usd = 1"
    )
    with pytest.raises(InputError, match="no price of their calls"):
        load_plan(path)


def test_a_tool_without_a_price_of_its_calls_is_named_before_the_run(tmp_path: Path, chat_server: ChatServer) -> None:
    chat_server.answers(misled)
    tools = "{ name = 'theirs', provider_tools = [{ type = 'web_search_preview' }, { type = 'code_interpreter' }] }"
    plan = plan_of(tmp_path, chat_server.url, f"'none', {tools}")
    said = " ".join(asked("run", plan, "--store", tmp_path / "store.sqlite").output.split())
    assert "the price of the model 'm' has none of a call of code_interpreter: " in said
    found = list(price_findings(load_plan(plan)[0]))
    assert [each.state for each in found] == ["ok", "warning"]
    assert found[1].detail.endswith("Add to it: calls = { code_interpreter = ... }")


def stumbles(request: dict[str, Any]) -> Step:
    """Searches, and then fails to look through a page, whenever it may."""
    free = request.get("tool_choice") == "auto"
    page = {**looked("find_in_page", url="https://pages.example", pattern="charge"), "status": "failed"}
    found = (searched("charge"), looked("open_page", url="https://pages.example"), page) if free else ()
    return response(*found, says("Answer: 7"))


@pytest.mark.deep
def test_what_the_provider_fails_to_do_spoils_no_replay(tmp_path: Path, chat_server: ChatServer) -> None:
    """Its calls stand on the page by their events, and cost nothing but the search."""
    chat_server.answers(stumbles)
    arms = "'none', { name = 'theirs', provider_tools = [{ type = 'web_search' }] }"
    store = run(plan_of(tmp_path, chat_server.url, arms))
    trial = trial_of(store, "theirs")
    assert trace_of(store, trial).cost_usd == pytest.approx(0.01 + 20e-6)
    did = " ".join(asked("show", store, trial, "--why").output.partition("This trial step by step")[2].split())
    rows = ("before any call 0 the provider's web_search: charge", "1 the provider's open_page: https://pages.")
    assert re.search(
        ".*".join((*map(re.escape, rows), "2 the provider's find_in_page fails: ", "3 replies: Answer: 7")), did
    )
    replayed = asked("attribute", store, "--replay")
    assert replayed.exit_code == 0, replayed.output
    assert "without usable replays" not in replayed.output
    assert "8 of 8 trials were replayed" in " ".join(replayed.output.split())
    why = asked("show", store, trial, "--why").output
    assert re.search("the [0-9]+ answers counted below", " ".join(why.split()))
    assert "with tools that work" not in why
