"""The main job by the real command line: run, compare, verify, show."""

import json
from pathlib import Path

import pytest
from tests.conftest import Cli, WritePlan
from tests.experiments.plan_files import answered, call, outcomes

from toolablate.sandbox import BACKENDS
from toolablate.traces.store import Store


@pytest.mark.deep
def test_a_plan_runs_compares_and_runs_nothing_twice(usual_plan: Path, cold_cli: Cli, store: Path) -> None:
    ran = cold_cli("run", usual_plan)
    assert ran.returncode == 0, ran.stderr
    assert str(store) in ran.stdout.replace("\n", "")
    assert outcomes(store) == {
        ("q1", "none"): ("answered", "wrong"),
        ("q2", "none"): ("answered", "correct"),
        ("q1", "python"): ("answered", "correct"),
        ("q2", "python"): ("answered", "wrong"),
    }
    (row,) = json.loads(cold_cli("compare", store, "--json").stdout)["comparisons"]
    expected = {
        "model": "recorded",
        "baseline": "none",
        "condition": "python",
        "questions": 2,
        "baseline_score": 50.0,
        "score": 50.0,
        "delta_points": 0.0,
        "right_to_wrong": 1,
        "wrong_to_right": 1,
    }
    assert {key: row[key] for key in expected} == expected
    flips = json.loads(cold_cli("compare", store, "--flips", "--json").stdout)["flips"]
    assert {(flip["question"], flip["direction"]) for flip in flips} == {
        ("q1", "wrong_to_right"),
        ("q2", "right_to_wrong"),
    }
    again = json.loads(cold_cli("run", usual_plan, "--json").stdout)
    assert (again["planned"], again["done_before"], again["missing"]) == (4, 4, 0)
    verified = cold_cli("verify", store)
    assert verified.returncode == 0, verified.stdout


@pytest.mark.deep
def test_a_trace_tells_what_was_run_and_how_it_was_held(usual_plan: Path, cold_cli: Cli, store: Path) -> None:
    cold_cli("run", usual_plan)
    listed = json.loads(cold_cli("show", store, "--condition", "python", "--question", "q1", "--json").stdout)["trials"]
    shown = cold_cli("show", store, listed[0]["trial"][:10])
    assert shown.returncode == 0
    assert "print(x + 1)" in shown.stdout
    trace = json.loads(cold_cli("show", store, listed[0]["trial"][:10], "--json").stdout)
    assert trace["environment"]["sandbox"] == BACKENDS[0]
    assert trace["environment"]["sandbox_limits"]["memory_mb"] > 0
    assert "ipykernel" in trace["environment"]["versions"]
    assert [score["scorer"] for score in trace["scores"]] == ["number"]
    kinds = [event["kind"] for event in trace["events"]]
    assert kinds == ["model_call", "tool_call", "model_call", "tool_call", "model_call", "answer"]


@pytest.mark.deep
@pytest.mark.parametrize(
    ("code", "expected"),
    [("import os; os._exit(3)", "exit"), ("import os, signal; os.kill(os.getpid(), signal.SIGKILL)", "signal 9")],
)
def test_a_kernel_that_dies_is_told_and_the_trial_goes_on(
    write_plan: WritePlan, cold_cli: Cli, store: Path, code: str, expected: str
) -> None:
    plan = write_plan(
        {("q1", "python"): [call(code), call("print(1 + 1)"), {"content": "Answer: {{last_tool_output}}"}]},
        conditions='["python"]',
        questions=[{"id": "q1", "prompt": "1 + 1?", "target": {"kind": "number", "value": 2}}],
    )
    assert cold_cli("run", plan).returncode == 0
    assert outcomes(store) == {("q1", "python"): ("answered", "correct")}
    with Store(store) as opened:
        (trace,) = opened.traces()
    died, fresh = (event for event in trace.events if event.kind == "tool_call")
    assert died.status == "error"
    assert expected in died.error
    assert "fresh" in died.output
    assert (fresh.status, fresh.output.strip()) == ("ok", "2")


@pytest.mark.deep
def test_what_the_model_gets_wrong_comes_back_to_it(write_plan: WritePlan, cold_cli: Cli, store: Path) -> None:
    replies = [
        {"tool_calls": [{"name": "python", "arguments": '{"code": '}]},
        {"tool_calls": [{"name": "calculator", "arguments": "{}"}]},
        {"content": "Answer: 2"},
    ]
    plan = write_plan(
        {("q1", "python"): replies},
        conditions='["python"]',
        questions=[{"id": "q1", "prompt": "1 + 1?", "target": {"kind": "number", "value": 2}}],
    )
    assert cold_cli("run", plan).returncode == 0
    assert outcomes(store) == {("q1", "python"): ("answered", "correct")}
    with Store(store) as opened:
        (trace,) = opened.traces()
    assert [event.status for event in trace.events if event.kind == "tool_call"] == ["invalid", "invalid"]


@pytest.mark.deep
def test_a_script_without_a_reply_fails_its_trial_alone(write_plan: WritePlan, cold_cli: Cli, store: Path) -> None:
    plan = write_plan({("q1", "none"): answered(), ("q2", "none"): answered(""), ("q1", "python"): answered()})
    ran = cold_cli("run", plan)
    assert ran.returncode == 1
    found = outcomes(store)
    assert found["q1", "none"] == ("answered", "correct")
    assert found["q2", "none"] == ("answered", "unparsed")
    assert found["q2", "python"] == ("failed", None)
    assert "1 of 4 trials are missing" in ran.stdout


@pytest.mark.parametrize("text", ["Answer: [{(1,2): 3}]", "Answer: [0x" + "f" * 5000 + "]", 'Answer: ["\\ud800"]'])
def test_no_reply_can_end_a_run(write_plan: WritePlan, cold_cli: Cli, store: Path, text: str) -> None:
    asked = [{"id": f"q{n}", "prompt": "?", "target": {"kind": "spans", "spans": ["a", "b"]}} for n in (1, 2)]
    plan = write_plan(
        {("q1", "none"): answered(text), ("q2", "none"): answered('Answer: ["a", "b"]')},
        conditions='["none"]',
        questions=asked,
    )
    ran = cold_cli("run", plan)
    assert ran.returncode == 0, ran.stderr
    found = outcomes(store)
    assert found["q2", "none"] == ("answered", "correct")
    assert found["q1", "none"][0] == "answered"


@pytest.mark.deep
def test_an_unprotected_kernel_is_warned_of_and_recorded(usual_plan: Path, cold_cli: Cli, store: Path) -> None:
    text = usual_plan.read_text(encoding="utf-8")
    usual_plan.write_text(text + "[sandbox]\nbackend = 'none'\n", encoding="utf-8")
    ran = cold_cli("run", usual_plan)
    assert ran.returncode == 0
    assert "unprotected" in ran.stderr
    with Store(store) as opened:
        assert {trace.environment.sandbox for trace in opened.traces()} == {"none"}


def test_a_tool_of_ones_own_beside_the_plan(write_plan: WritePlan, tmp_path: Path, cold_cli: Cli, store: Path) -> None:
    (tmp_path / "my_tools.py").write_text(
        "from toolablate.tools import tool\n\n@tool\ndef double(x: int) -> int:\n    '''Double a number.'''\n    return 2 * x\n",
        encoding="utf-8",
    )
    replies = [{"tool_calls": [{"name": "double", "arguments": {"x": 1}}]}, {"content": "Answer: {{last_tool_output}}"}]
    plan = write_plan(
        {("q1", "mine"): replies, ("q2", "mine"): answered("Answer: 4")},
        conditions='[{ name = "mine", tools = ["my_tools:double"] }]',
    )
    ran = cold_cli("run", plan)
    assert ran.returncode == 0, ran.stderr
    assert set(outcomes(store).values()) == {("answered", "correct")}
