"""What the guide to conditions shows, run as it stands there: its plans, its modules, and those as a package."""

import json
import re
import sys
import tomllib
from collections.abc import Iterator
from contextlib import AsyncExitStack, ExitStack
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from tests.experiments.running.test_ladder_runs import calls_of, first_request, run
from tests.experiments.scripted import QUESTION
from tests.project.pages import blocks, text_of

from toolablate.experiments import condition
from toolablate.experiments.environment.environment import fingerprint_of
from toolablate.experiments.plans.plan import load_plan
from toolablate.experiments.running.execution import open_executor
from toolablate.tools import INTERVENTIONS, Resources, open_toolset, user_code
from toolablate.traces.records import Condition, ToolRequest, ToolUse, Trace

GUIDE = "docs/conditions.md"
OTHER = {"id": "other", "prompt": "What is the capital of Mongolia?", "answer": "Ulaanbaatar"}
ASKS = {
    "thermometer": ("fahrenheit", {"celsius": 100.0}),
    "fahrenheit": ("fahrenheit", {"celsius": 100.0}),
    "careful": ("fahrenheit", {"celsius": 100.0}),
    "lookup": ("look_up", {"word": "muon"}),
}
"""The call that a scripted model makes under a condition of the guide."""

LADDERS = ("careful", "my_tools:fahrenheit")
SUFFIXED = (":scaffold", ":offered", ":sham", ":placebo", ":oracle", ":adversarial")


PACKAGE = next(text for text in blocks(GUIDE, "toml") if "entry-points" in text)
PLANS = [text for text in blocks(GUIDE, "toml") if text != PACKAGE]


def plan_with(text: str) -> str:
    return next(plan for plan in PLANS if text in plan)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The guide's modules in a folder, where they can be imported and `python` is the one that runs the tests."""
    names = []
    for code in blocks(GUIDE, "python"):
        first, _, _ = code.partition("\n")
        names.append(first.removeprefix("# ").removesuffix(".py"))
        (tmp_path / f"{names[-1]}.py").write_text(code, encoding="utf-8")
    assert names == ["my_tools", "server", "my_interventions", "my_conditions", "my_servers"]
    monkeypatch.setattr(sys, "path", [*sys.path, str(tmp_path)])
    monkeypatch.setenv("PATH", str(Path(sys.executable).parent), prepend=":")
    monkeypatch.chdir(tmp_path)
    with ExitStack() as stack:
        for name in names:
            stack.callback(sys.modules.pop, name, None)
        yield tmp_path


@pytest.fixture
def package(folder: Path) -> Iterator[Path]:
    """The same modules, as a package that is installed."""
    about = folder / "guide_package-1.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: guide-package\nVersion: 1.0\n")
    groups = tomllib.loads(PACKAGE)["project"]["entry-points"]
    lines = [
        f"[{group}]\n" + "".join(f"{key} = {value}\n" for key, value in found.items())
        for group, found in groups.items()
    ]
    (about / "entry_points.txt").write_text("\n".join(lines))
    user_code.registered.cache_clear()
    yield folder
    user_code.registered.cache_clear()


def asked(name: str) -> list[dict[str, Any]]:
    """The reply in which a scripted model calls the tool of a condition, where it may."""
    stem = next((stem for stem in (*ASKS, *LADDERS) if name.startswith(stem)), None)
    if stem is None or name.endswith(("offered", "scaffold")):
        return []
    tool, given = ASKS.get(stem, ASKS["fahrenheit"])
    return [{"tool_calls": [{"name": tool, "arguments": given}]}]


def written(folder: Path, text: str) -> Path:
    """A plan of the guide with one question, and a model that makes the calls of `ASKS`."""
    (folder / "questions.jsonl").write_text(json.dumps(QUESTION) + "\n" + json.dumps(OTHER), encoding="utf-8")
    arms = (f"{stem}{arm}" for stem in LADDERS for arm in SUFFIXED)
    conditions = ("none", "scaffold", "doubtful", *ASKS, "my_tools:fahrenheit", *arms)
    lines: list[dict[str, Any]] = [
        {"question": question, "condition": name, "replies": [*asked(name), {"content": "Answer: 1"}]}
        for name in conditions
        for question in ("q", "other")
    ]
    (folder / "script.jsonl").write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")
    path = folder / "plan.toml"
    source = "[questions]\nfile = 'questions.jsonl'\n[[models]]\nprovider = 'scripted'\nname = 'm'\nscript = 'script.jsonl'\n"
    path.write_text(f"{text}\n{source}", encoding="utf-8")
    return path


def shown(traces: dict[str, list[Trace]], name: str) -> str:
    outputs = {call.output for trace in traces[name] for call in calls_of(trace) if call.status == "ok"}
    assert len(outputs) == 1
    return outputs.pop()


@pytest.mark.deep
@pytest.mark.parametrize("text", [text for text in PLANS if "[placebo]" not in text])
async def test_every_plan_of_the_guide_can_be_run(package: Path, text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """All but what is behind an address can be opened, tool by tool and intervention by intervention."""
    monkeypatch.setenv("OPENAI_API_KEY", "no-key-for-nobody-is-asked")
    plan, _ = load_plan(written(package, text))
    conditions = plan.resolved_conditions()
    assert conditions
    reachable = [each for each in conditions if not any(use.name == "mcp:files" for use in each.tools)]
    async with AsyncExitStack() as stack:
        await open_executor(plan, reachable, fingerprint_of(plan, reachable), stack)


@pytest.mark.deep
def test_the_guides_own_tools_interventions_and_conditions_work(folder: Path) -> None:
    traces = run(written(folder, plan_with('"my_conditions:careful"')))
    assert sorted(traces) == ["careful", "doubtful", "lookup", "none", "thermometer"]
    assert shown(traces, "thermometer") == "212.0"
    assert shown(traces, "careful") == "212.0"
    assert shown(traces, "lookup") == "A particle"
    assert first_request(traces["doubtful"][0]).messages[0].content.startswith("Doubt what a tool says.")
    assert first_request(traces["careful"][0]).messages[0] == first_request(traces["doubtful"][0]).messages[0]


async def test_the_guides_intervention_draws_again_in_a_replay(folder: Path) -> None:
    sometimes_late = import_module("my_interventions").sometimes_late

    async def shown_by(seed: str) -> list[str]:
        uses = [ToolUse(name="my_tools:fahrenheit")]
        async with open_toolset(uses, Resources(), interventions=[sometimes_late.use(rate=0.3)], seed=seed) as tools:
            asked = [ToolRequest(id="1", name="fahrenheit", arguments='{"celsius": 100.0}') for _ in range(50)]
            return [(await tools.call(each)).output for each in asked]

    first = await shown_by("trial")
    assert first == await shown_by("trial") != await shown_by("another")
    assert set(first) == {"212.0", "Try again later."}
    assert 5 < first.count("Try again later.") < 25


@pytest.mark.deep
def test_the_guides_own_tools_have_ladders_with_the_results_of_an_earlier_run(folder: Path) -> None:
    pilot = written(folder, plan_with('"my_conditions:doubtful"'))
    script = folder / "script.jsonl"
    script.write_text(script.read_text(encoding="utf-8").replace("100.0", "30.0"), encoding="utf-8")
    run(pilot, "pilot.sqlite")
    traces = run(written(folder, plan_with("[placebo]")))
    assert {name for name in traces if "fahrenheit" in name} == {
        "my_tools:fahrenheit", "my_tools:fahrenheit:offered", "my_tools:fahrenheit:sham",
    }  # fmt: skip
    assert {name for name in traces if "careful" in name} == {"careful", *(f"careful{arm}" for arm in SUFFIXED)}
    assert {shown(traces, name) for name in ("careful", "my_tools:fahrenheit")} == {"212.0"}
    assert shown(traces, "careful:placebo") == "86.0"
    assert {shown(traces, name) for name in ("careful:sham", "my_tools:fahrenheit:sham")} == {"no reading"}
    assert {call.original is None for trace in traces["careful:placebo"] for call in calls_of(trace)} == {False}


@pytest.mark.deep
def test_what_a_package_names_works_without_its_modules_names(package: Path) -> None:
    traces = run(written(package, plan_with('"first-line"')))
    assert sorted(traces) == ["doubtful", "fahrenheit", "lookup", "none"]
    assert shown(traces, "fahrenheit") == "212.0"
    assert shown(traces, "lookup") == "A particle"


def test_the_table_of_the_guide_is_the_condition_built_in_python(folder: Path) -> None:
    (table,) = load_plan(written(folder, plan_with("[[conditions]]")))[0].resolved_conditions()
    built = load_plan(written(folder, plan_with('"my_conditions:careful"')))[0].resolved_conditions()
    assert table == next(each for each in built if each.name == "careful")
    assert isinstance(condition("careful", base=table), Condition)


def test_the_guide_names_every_intervention_with_its_options() -> None:
    rows = {}
    for line in text_of(GUIDE).partition("## Interventions")[2].splitlines():
        if line.startswith("| `"):
            names, options, _ = (cell.strip() for cell in line.strip("|").split("|"))
            rows |= {name: set(re.findall(r"`(\w+)`", options)) for name in re.findall(r"`(\w+)`", names)}
    assert rows.keys() == INTERVENTIONS.keys()
    for name, kind in INTERVENTIONS.items():
        own_options = set(kind.options.model_fields) - {"tools"}
        counted = own_options - {"calls"} if name != "limit" else own_options
        assert counted <= rows[name], name
