"""Interventions in whole runs by the real command line: what the store keeps of them, and what may not change."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from toolablate.traces.records import Trace
from toolablate.traces.store import Store

OWN = '''
from toolablate.tools import ToolResult, intervention, tool

@tool
def fahrenheit(celsius: float) -> float:
    """Converts a temperature."""
    return celsius * 9 / 5 + 32

@intervention
def rounded(result: ToolResult, *, digits: int = 0) -> str:
    return f"{float(result.output):.{digits}f}"

@intervention
def broken(result: ToolResult) -> str:
    raise KeyError("of the user's")
'''

TOOLS = 'tools = ["own_things:fahrenheit"]'


def call(celsius: float) -> dict[str, Any]:
    return {"tool_calls": [{"name": "fahrenheit", "arguments": {"celsius": celsius}}]}


def write_plan(folder: Path, *conditions: str, calls: int = 2) -> Path:
    (folder / "own_things.py").write_text(OWN)
    question = {"id": "q", "prompt": "20.1 C in F?", "target": {"kind": "number", "value": 68}}
    (folder / "questions.jsonl").write_text(json.dumps(question))
    replies = [*(call(20.1 + n) for n in range(calls)), {"content": "Answer: 68"}]
    (folder / "script.jsonl").write_text(json.dumps({"question": "q", "replies": replies}))
    written = ", ".join(f"{{ name = 'c{n}', {TOOLS}, {rest} }}" for n, rest in enumerate(conditions))
    plan = folder / "plan.toml"
    plan.write_text(
        f"conditions = [{written}]\nstore = 'store.sqlite'\n[questions]\nfile = 'questions.jsonl'\n"
        "[[models]]\nprovider = 'scripted'\nname = 'm'\nscript = 'script.jsonl'\n"
    )
    return plan


def run(plan: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "toolablate", "run", str(plan)],
        capture_output=True,
        text=True,
        cwd=plan.parent,
        timeout=100,
        check=False,
    )


def traces(folder: Path) -> dict[str, Trace]:
    with Store(folder / "store.sqlite") as store:
        return {store.condition(trace.trial.condition).name: trace for trace in store.traces()}


def calls_of(trace: Trace) -> list[Any]:
    return [event for event in trace.events if event.kind == "tool_call"]


@pytest.mark.deep
def test_a_trace_keeps_what_was_changed_and_what_the_tool_gave(tmp_path: Path) -> None:
    own = "'own_things:rounded'"
    plan = write_plan(
        tmp_path,
        f"interventions = [{own}, {{ name = 'remind', options = {{ text = 'Mind the unit.', calls = [2] }} }}]",
        "interventions = [{ name = 'limit', options = { calls = 1 } }, 'spotlight']",
        "interventions = [{ name = 'fail', options = { tools = ['fahrenheit'] } }]",
    )
    ran = run(plan)
    assert ran.returncode == 0, ran.stderr
    done = traces(tmp_path)
    first, second = calls_of(done["c0"])
    assert (first.output, second.output) == ("68", "70\n\nMind the unit.")
    assert [change.intervention for change in second.changes] == ["own_things:rounded", "remind"]
    assert float(second.original.output) == pytest.approx(69.98)
    first, second = calls_of(done["c1"])
    assert (first.changes, second.error, second.original) == ((), "call_limit", None)
    assert [event.error for event in calls_of(done["c2"])] == ["injected_failure"] * 2
    assert not any(event.kind == "failure" for trace in done.values() for event in trace.events)
    assert {trace.outcome for trace in done.values()} == {"answered"}


@pytest.mark.deep
def test_another_text_of_an_intervention_of_ones_own_is_another_environment(tmp_path: Path) -> None:
    plan = write_plan(tmp_path, "interventions = ['own_things:rounded']")
    assert run(plan).returncode == 0
    (tmp_path / "own_things.py").write_text(f"# A comment.\n{OWN}")
    assert run(plan).returncode == 0
    (tmp_path / "own_things.py").write_text(OWN.replace("digits: int = 0", "digits: int = 1"))
    refused = run(plan)
    assert refused.returncode != 0
    assert "intervention own_things:rounded" in refused.stderr.replace("\n", " ")
    assert "under another name" in refused.stderr.replace("\n", " ")
    assert "Traceback" not in refused.stderr
    (tmp_path / "own_things_2.py").write_text(OWN.replace("digits: int = 0", "digits: int = 1"))
    renamed = run(write_plan(tmp_path, "interventions = ['own_things_2:rounded']"))
    assert (renamed.returncode, "Traceback" in renamed.stderr) == (0, False), renamed.stderr


@pytest.mark.deep
def test_a_bug_in_an_intervention_fails_its_trial(tmp_path: Path) -> None:
    ran = run(write_plan(tmp_path, "interventions = ['own_things:broken']", "tool_choice = 'auto'"))
    assert "Traceback" not in ran.stderr
    done = traces(tmp_path)
    assert (done["c0"].outcome, done["c1"].outcome) == ("failed", "answered")
    failure = done["c0"].events[-1]
    assert (failure.kind, failure.boundary, failure.code) == ("failure", "runner", "internal_error")  # type: ignore[union-attr]
    assert "the intervention 'own_things:broken' failed: KeyError" in failure.message  # type: ignore[union-attr]


@pytest.mark.deep
def test_a_delay_counts_against_a_trials_seconds_and_ends_with_them(tmp_path: Path) -> None:
    delay = "interventions = [{ name = 'delay', options = { seconds = 10000, calls = [2] } }]"
    ran = run(write_plan(tmp_path, f"budget = {{ seconds = 1.0 }}, {delay}"))
    assert ran.returncode == 0, ran.stderr
    trace = traces(tmp_path)["c0"]
    assert [event.error for event in calls_of(trace)] == ["", "out_of_time"]
    assert (trace.outcome, trace.events[-1].limit) == ("budget", "seconds")  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("written", "said"),
    [
        ("{ name = 'fail', options = { tools = ['python'] } }", "tools of 'fail': the condition has no tool 'python'"),
        ("{ name = 'delay', options = { second = 1 } }", "options of 'delay': second"),
        ("'own_things:flattened'", "there is no 'flattened'"),
        ("'own_things:fahrenheit'", "is not an intervention: it is a FunctionTool"),
    ],
)
def test_what_does_not_fit_is_refused_before_the_run(tmp_path: Path, written: str, said: str) -> None:
    refused = run(write_plan(tmp_path, f"interventions = [{written}]"))
    assert refused.returncode != 0
    assert said in " ".join(refused.stderr.split())
    assert "Traceback" not in refused.stderr
    assert not (tmp_path / "store.sqlite").exists()
