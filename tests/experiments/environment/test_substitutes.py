"""Whole runs under shams, placebos, oracles and adversaries."""

import json
import re
import sqlite3
import subprocess
from contextlib import closing
from pathlib import Path

import pytest
from tests.conftest import Cli, WritePlan
from tests.experiments.environment.test_frozen_web import toolablate
from tests.experiments.library import Library
from tests.experiments.plan_files import answered, call
from tests.tools.interventions.substitutes.said import says

from toolablate.benchmarks.builtin import builtin_questions
from toolablate.experiments.environment.placebo_sources import read_results
from toolablate.traces.records import ToolCall
from toolablate.traces.store import Store

BOUNDS = """
name = "bounds"
seed = 5
conditions = [
    "none",
    {{ name = "sham", tools = ["{tools}"], interventions = ["sham"] }},
    {{ name = "placebo", tools = ["{tools}"], interventions = ["placebo"] }},
    {{ name = "oracle", tools = ["{tools}"], interventions = ["oracle"] }},
    {{ name = "adversarial", tools = ["{tools}"], interventions = ["adversarial"] }},
]
{web}

[questions]
file = "builtin"
limit = {limit}

[[models]]
provider = "simulated"
playbook = "builtin"
name = "steady"
seed = 1
ability = 0.5
confidence = 1.0
trust = 4.0
eagerness = 1.0
concurrency = 8
"""
CORPUS = '[search]\nprovider = "corpus"\ncorpus = "builtin"\n'


def tool_calls(store: Path) -> list[tuple[str, str, ToolCall]]:
    """With the names of their conditions and the ids of their questions."""
    with Store(store) as opened:
        conditions = {each.identity(): each.name for each in opened.conditions()}
        questions = {each.identity(): each.id for each in opened.questions()}
        return [
            (conditions[trace.trial.condition], questions[trace.trial.question], event)
            for trace in opened.traces()
            for event in trace.events
            if isinstance(event, ToolCall)
        ]


def shares(store: Path) -> dict[str, float]:
    with Store(store) as opened:
        seen = opened.summaries()
    scores: dict[str, list[float]] = {}
    for each in seen:
        scores.setdefault(each.condition, []).append(each.value or 0.0)
    return {condition: sum(values) / len(values) for condition, values in scores.items()}


@pytest.mark.deep
@pytest.mark.parametrize(("tools", "web", "limit"), [("python", "", 30), ("search", CORPUS, 30)])
def test_an_oracle_helps_and_an_adversary_harms(tmp_path: Path, cli: Cli, tools: str, web: str, limit: int) -> None:
    plan = tmp_path / "bounds.toml"
    plan.write_text(BOUNDS.format(tools=tools, web=web, limit=limit), encoding="utf-8")
    ran = cli("run", plan, "--store", "bounds.sqlite")
    assert ran.returncode == 0, ran.stderr + ran.stdout
    store = tmp_path / "bounds.sqlite"
    right = shares(store)
    assert right["oracle"] > right["none"] + 0.15
    assert right["adversarial"] < right["none"] - 0.15
    made = tool_calls(store)
    assert {condition for condition, _, _ in made} == {"sham", "placebo", "oracle", "adversarial"}
    with Store(store) as opened:
        questions = {each.id: each for each in opened.questions()}
        fingerprint = opened.runs()[0].fingerprint["placebo"]
    assert fingerprint.startswith("questions")
    everyone = {question.id for question in builtin_questions()}
    for condition, question, event in made:
        called = condition == "placebo"
        assert (event.original is not None) == (called and bool(event.changes))
        if called and event.changes and event.status == "ok":
            behind_heading = event.output if tools == "python" else event.output.partition("\n")[2]
            assert not says(re.sub(r"(?m)^(lines .*|L\d+: |\d+\. )", "", behind_heading), questions[question])
            # One of the length of a long result may be put together from several questions'.
            sources = event.changes[0].detail.split(", ")
            if tools == "python":
                assert all(source.startswith("bank ") for source in sources)
            else:
                assert everyone.issuperset(sources) or "unchanged" in sources[0]
            assert question not in sources


RECORDED = """
name = "frozen"
seed = 3
conditions = [{{ name = "placebo", tools = ["search"], interventions = ["placebo"] }}]

[questions]
file = "builtin"
limit = 8

[search]
provider = "searxng"
endpoint = "{url}"

[web]
mode = "{mode}"
archive = "web-archive"
allow = ["{host}"]
delay_seconds = 0

[[models]]
provider = "simulated"
playbook = "builtin"
name = "steady"
seed = 1
ability = 0.5
trust = 1.5
eagerness = 1.0
concurrency = 4
"""


@pytest.mark.deep
def test_placebos_are_recorded_and_replayed_without_a_request(tmp_path: Path) -> None:
    with Library().running() as library:
        plan = RECORDED.format(url=library.url, host=library.host, mode="record")
        (tmp_path / "record.toml").write_text(plan, encoding="utf-8")
        (tmp_path / "replay.toml").write_text(plan.replace('mode = "record"', 'mode = "replay"'), encoding="utf-8")
        ran = toolablate(tmp_path, "run", "record.toml", "--store", "recorded.sqlite")
        assert ran.returncode == 0, ran.stderr + ran.stdout
    assert toolablate(tmp_path, "web", "seal", "web-archive").returncode == 0
    ran = toolablate(tmp_path, "run", "replay.toml", "--store", "replayed.sqlite", without_network=True)
    assert ran.returncode == 0, ran.stderr + ran.stdout
    first, again = ({(question, event.call.id): event for _, question, event in tool_calls(tmp_path / store)} for store in ("recorded.sqlite", "replayed.sqlite"))  # fmt: skip
    assert len(first) >= 8
    assert {at: event.output for at, event in first.items()} == {at: event.output for at, event in again.items()}
    assert [event.changes for event in first.values()] == [again[at].changes for at in first]
    swapped = [event for event in again.values() if event.changes]
    assert {event.call.name for event in swapped} == {"web_search", "browser_open"}
    assert all(event.lookup and not event.lookup.miss for event in swapped)


TOOL = (
    "from toolablate.tools import tool\n\n@tool\ndef double(x: int) -> str:\n    '''Double a number.'''\n"
    "    return f'twice that is {2 * x}'\n"
)
PLACEBO = '[{ name = "mine", tools = ["my_tools:double"], interventions = ["placebo"] }]'


def doubling(write_plan: WritePlan, folder: Path, conditions: str, extra: str = "") -> Path:
    (folder / "my_tools.py").write_text(TOOL, encoding="utf-8")
    asks = [
        {"tool_calls": [{"name": "double", "arguments": {"x": 1}}]},
        {"tool_calls": [{"name": "double", "arguments": {"y": 1}}]},
        {"content": "Answer: 2"},
    ]
    other = [{"tool_calls": [{"name": "double", "arguments": {"x": 50}}]}, {"content": "Answer: 4"}]
    return write_plan({("q1", "mine"): asks, ("q2", "mine"): other}, conditions=conditions, extra=extra)


def test_tools_of_ones_own_take_their_placebos_from_an_earlier_run(
    write_plan: WritePlan, tmp_path: Path, cli: Cli, store: Path
) -> None:
    refused = cli("run", doubling(write_plan, tmp_path, PLACEBO))
    assert refused.returncode == 2
    assert "placebo.store: missing" in refused.stderr
    assert '[placebo] store = "pilot.sqlite"' in " ".join(refused.stderr.split())
    assert not store.exists()
    pilot = doubling(write_plan, tmp_path, PLACEBO.replace("placebo", "x").replace(', interventions = ["x"]', ""))
    assert cli("run", pilot, "--store", "pilot.sqlite").returncode == 0
    results = read_results(tmp_path / "pilot.sqlite")
    assert [candidate.output for candidate in sorted(results["double"], key=lambda candidate: candidate.source)] == [
        "twice that is 2",
        "twice that is 100",
    ]
    ran = cli("run", doubling(write_plan, tmp_path, PLACEBO, "[placebo]\nstore = 'pilot.sqlite'\n"))
    assert ran.returncode == 0, ran.stderr
    made = {(question, event.call.id): event for _, question, event in tool_calls(store) if event.status == "ok"}
    shown = {question: (event.output, event.changes[0].detail) for (question, _), event in made.items()}
    assert shown == {"q1": ("twice that is 100", "q2"), "q2": ("twice that is 2", "q1")}
    with Store(store) as opened:
        assert opened.runs()[0].fingerprint["placebo"].startswith("store/")
    # A store in which all was changed gives nothing.
    assert read_results(store) == {}


def test_what_a_call_says_that_time_ran_out_under_is_no_result_of_its_tool(
    write_plan: WritePlan, tmp_path: Path, cli: Cli, store: Path
) -> None:
    conditions = '[{ name = "mine", tools = ["my_tools:double"], budget = { seconds = 0.5 } }]'
    plan = doubling(write_plan, tmp_path, conditions)
    (tmp_path / "my_tools.py").write_text(TOOL.replace("    return", "    import time; time.sleep(9)\n    return"))
    assert cli("run", plan).returncode == 0
    assert {event.error for _, _, event in tool_calls(store)} == {"out_of_time"}
    assert read_results(store) == {}


@pytest.mark.parametrize(
    ("sources", "said"),
    [
        ("none.sqlite", "placebo.store: there is no store at"),
        ("my_tools.py", "placebo.store: "),
        ("runs/plan.sqlite", "it is the store that this plan writes"),
        ("empty.sqlite", "holds no result of 'double'"),
        ("damaged.sqlite", "placebo.store: "),
        ("a\\u0000b", "placebo.store: "),
    ],
)
def test_placebo_sources_that_are_none_are_refused_before_the_run(
    write_plan: WritePlan, tmp_path: Path, cli: Cli, store: Path, sources: str, said: str
) -> None:
    if sources == "empty.sqlite":
        pilot = write_plan({("q1", "none"): answered(), ("q2", "none"): answered()}, conditions='["none"]')
        assert cli("run", pilot, "--store", sources).returncode == 0
    if sources == "damaged.sqlite":
        pilot = doubling(write_plan, tmp_path, PLACEBO.replace("placebo", "x").replace(', interventions = ["x"]', ""))
        assert cli("run", pilot, "--store", sources).returncode == 0
        with closing(sqlite3.connect(tmp_path / sources)) as opened, opened:
            opened.execute("UPDATE texts SET body = x'28b52ffd00', encoding = 1")
    refused = cli("run", doubling(write_plan, tmp_path, PLACEBO, f'[placebo]\nstore = "{sources}"\n'))
    assert refused.returncode == 2, refused.stdout
    assert said in " ".join(refused.stderr.split())
    assert "Traceback" not in refused.stderr
    assert not store.exists()


CLUSTERED = [
    {"id": f"q{n}", "prompt": f"What is {n}?", "cluster": "one", "target": {"kind": "number", "value": n}}
    for n in (1, 2)
]


@pytest.mark.parametrize(
    ("interventions", "target", "said"),
    [
        ('["placebo"]', {}, "conditions: p: no placebo of 'web_search' for the question 'q1'"),
        ('["truncate", "placebo"]', {}, "interventions: 'placebo' comes after 'truncate'"),
        ('["adversarial"]', {"relative": 1e308}, "question 'q2': an adversary finds nothing wrong to say"),
    ],
)  # fmt: skip
def test_what_could_only_fail_is_refused_before_the_run(
    write_plan: WritePlan, cli: Cli, store: Path, interventions: str, target: dict[str, float], said: str
) -> None:
    interventions = interventions.replace('"truncate"', '{ name = "truncate", options = { chars = 9 } }')
    conditions = f'[{{ name = "p", tools = ["search"], interventions = {interventions} }}]'
    questions = [CLUSTERED[0], CLUSTERED[1] | {"target": {"kind": "number", "value": 2, **target}}]
    refused = cli(
        "run", write_plan({("q1", "p"): answered()}, conditions=conditions, questions=questions, extra=CORPUS)
    )
    assert refused.returncode == 2, refused.stderr
    assert said in " ".join(refused.stderr.split())
    assert not store.exists()


def test_pages_without_a_search_need_a_store(write_plan: WritePlan, cli: Cli) -> None:
    conditions = '[{ name = "p", tools = ["browser_open"], interventions = ["placebo"] }]'
    refused = cli("run", write_plan({("q1", "p"): answered()}, conditions=conditions, extra=CORPUS))
    assert refused.returncode == 2
    assert "no search tool" in " ".join(refused.stderr.split())


def test_a_kernel_runs_what_a_placebo_hides(write_plan: WritePlan, cli: Cli, store: Path) -> None:
    replies = [call("x = 20 + 3"), call("print(x)"), {"content": "Answer: {{last_tool_output}}"}]
    plan = write_plan(
        {("q1", "p"): replies, ("q2", "p"): replies},
        conditions='[{ name = "p", tools = ["python"], interventions = ["placebo"] }]',
    )
    ran: subprocess.CompletedProcess[str] = cli("run", plan, "--json")
    assert ran.returncode == 0, ran.stderr
    assert json.loads(ran.stdout)["missing"] == 0
    printed = [event for _, _, event in tool_calls(store) if event.changes]
    assert [event.original.output for event in printed if event.original] == ["23", "23"]
    assert all(event.output != "23" for event in printed)
