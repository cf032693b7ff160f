"""The main job by the real command line: run, resume, stop, compare, verify, show."""

import json
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.experiments.conftest import Cli
from tests.servers.chat_server import ChatServer, Slow, Status, closed_port, reply

from toolablate.traces.store import Store

WritePlan = Callable[..., Path]


def call(code: str) -> dict[str, Any]:
    return {"tool_calls": [{"name": "python", "arguments": {"code": code}}]}


def answered(text: str = "Answer: 2") -> list[dict[str, Any]]:
    return [{"content": text}]


def outcomes(store: Path) -> dict[tuple[str, str], tuple[str, str | None]]:
    with Store(store) as opened:
        return {(seen.question, seen.condition): (seen.outcome, seen.verdict) for seen in opened.observations()}


@pytest.fixture
def store(tmp_path: Path) -> Path:
    return tmp_path / "runs/plan.sqlite"


@pytest.fixture
def good_plan(write_plan: WritePlan) -> Path:
    return write_plan(
        {
            ("q1", "none"): answered("Answer: 3"),
            ("q2", "none"): answered("Answer: 4"),
            ("q1", "python"): [call("x = 1"), call("print(x + 1)"), {"content": "Answer: {{last_tool_output}}"}],
            ("q2", "python"): [call("print(5)"), {"content": "Answer: {{last_tool_output}}"}],
        }
    )


def test_a_plan_runs_compares_and_runs_nothing_twice(good_plan: Path, cli: Cli, store: Path) -> None:
    ran = cli("run", good_plan)
    assert ran.returncode == 0, ran.stderr
    assert str(store) in ran.stdout.replace("\n", "")
    assert outcomes(store) == {
        ("q1", "none"): ("answered", "wrong"),
        ("q2", "none"): ("answered", "correct"),
        ("q1", "python"): ("answered", "correct"),
        ("q2", "python"): ("answered", "wrong"),
    }
    (row,) = json.loads(cli("compare", store, "--json").stdout)["comparisons"]
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
    again = json.loads(cli("run", good_plan, "--json").stdout)
    assert (again["planned"], again["done_before"], again["missing"]) == (4, 4, 0)
    verified = cli("verify", store)
    assert verified.returncode == 0, verified.stdout


def test_another_scorer_scores_again_without_running_again(good_plan: Path, cli: Cli, store: Path) -> None:
    assert cli("run", good_plan).returncode == 0
    text = good_plan.read_text(encoding="utf-8")
    good_plan.write_text(text.replace("[questions]", "[questions]\nunparsed = 'exclude'"), encoding="utf-8")
    again = json.loads(cli("run", good_plan, "--json").stdout)
    assert (again["done_before"], again["missing"]) == (4, 0)
    with Store(store) as opened:
        assert opened.scorers() == ("number", "number[unparsed=exclude]")
    assert json.loads(cli("compare", store, "--json").stdout)["comparisons"][0]["questions"] == 2
    assert cli("compare", store, "--scorer", "nobody").returncode == 2


def test_a_trace_tells_what_was_run_and_how_it_was_held(good_plan: Path, cli: Cli, store: Path) -> None:
    cli("run", good_plan)
    listed = json.loads(cli("show", store, "--condition", "python", "--question", "q1", "--json").stdout)["trials"]
    shown = cli("show", store, listed[0]["trial"][:10])
    assert shown.returncode == 0
    assert "print(x + 1)" in shown.stdout
    trace = json.loads(cli("show", store, listed[0]["trial"][:10], "--json").stdout)
    assert trace["environment"]["sandbox"] == "bubblewrap"
    assert trace["environment"]["sandbox_limits"]["memory_mb"] > 0
    assert "ipykernel" in trace["environment"]["versions"]
    kinds = [event["kind"] for event in trace["events"]]
    assert kinds == ["model_call", "tool_call", "model_call", "tool_call", "model_call", "answer"]


@pytest.mark.parametrize(
    ("code", "expected"),
    [("import os; os._exit(3)", "exit"), ("import os, signal; os.kill(os.getpid(), signal.SIGKILL)", "signal 9")],
)
def test_a_kernel_that_dies_is_told_and_the_trial_goes_on(
    write_plan: WritePlan, cli: Cli, store: Path, code: str, expected: str
) -> None:
    plan = write_plan(
        {("q1", "python"): [call(code), call("print(1 + 1)"), {"content": "Answer: {{last_tool_output}}"}]},
        conditions='["python"]',
        questions=[{"id": "q1", "prompt": "1 + 1?", "target": {"kind": "number", "value": 2}}],
    )
    assert cli("run", plan).returncode == 0
    assert outcomes(store) == {("q1", "python"): ("answered", "correct")}
    with Store(store) as opened:
        (trace,) = opened.traces()
    died, fresh = (event for event in trace.events if event.kind == "tool_call")
    assert died.status == "error"
    assert expected in died.error
    assert "fresh" in died.output
    assert (fresh.status, fresh.output.strip()) == ("ok", "2")


def test_what_the_model_gets_wrong_comes_back_to_it(write_plan: WritePlan, cli: Cli, store: Path) -> None:
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
    assert cli("run", plan).returncode == 0
    assert outcomes(store) == {("q1", "python"): ("answered", "correct")}
    with Store(store) as opened:
        (trace,) = opened.traces()
    assert [event.status for event in trace.events if event.kind == "tool_call"] == ["invalid", "invalid"]


def test_a_script_without_a_reply_fails_its_trial_alone(write_plan: WritePlan, cli: Cli, store: Path) -> None:
    plan = write_plan({("q1", "none"): answered(), ("q2", "none"): answered(""), ("q1", "python"): answered()})
    ran = cli("run", plan)
    assert ran.returncode == 1
    found = outcomes(store)
    assert found["q1", "none"] == ("answered", "correct")
    assert found["q2", "none"] == ("answered", "unparsed")
    assert found["q2", "python"] == ("failed", None)
    assert "1 of 4 trials are missing" in ran.stdout


def endpoint_plan(folder: Path, url: str, *, count: int, extra: str = "", model: str = "") -> Path:
    lines = (
        json.dumps({"id": f"q{n}", "prompt": f"Question {n}", "target": {"kind": "number", "value": n}})
        for n in range(count)
    )
    (folder / "questions.jsonl").write_text("\n".join(lines), encoding="utf-8")
    plan = folder / "plan.toml"
    plan.write_text(
        f"conditions = ['none']\n{extra}\n[questions]\nfile = 'questions.jsonl'\n"
        f"[[models]]\nprovider = 'openai'\nname = 'm'\nendpoint = '{url}'\nconcurrency = 2\n{model}\n",
        encoding="utf-8",
    )
    return plan


def right(request: dict[str, Any]) -> Any:
    number = request["messages"][-1]["content"].split()[1]
    return reply(f"Answer: {number}")


def test_failed_trials_are_no_wrong_answers_and_are_run_again(
    chat_server: ChatServer, tmp_path: Path, cli: Cli, store: Path
) -> None:
    chat_server.answers(lambda request: Status(500) if "Question 1" in str(request) else right(request))
    plan = endpoint_plan(tmp_path, chat_server.url, count=4, extra="runner.attempts = 1")
    ran = cli("run", plan)
    assert ran.returncode == 1, ran.stderr
    assert outcomes(store)["q1", "none"] == ("failed", None)
    assert sum(outcome == "answered" for outcome, _ in outcomes(store).values()) == 3
    before = len(chat_server.requests)
    chat_server.answers(right)
    assert cli("run", plan).returncode == 0
    assert len(chat_server.requests) == before + 1
    assert set(outcomes(store).values()) == {("answered", "correct")}
    assert cli("verify", store).returncode == 0


def test_an_endpoint_that_is_down_is_given_up_and_named(
    chat_server: ChatServer, tmp_path: Path, cli: Cli, store: Path
) -> None:
    chat_server.answers(lambda request: Status(500, {"message": "out of order"}))
    ran = cli("run", endpoint_plan(tmp_path, chat_server.url, count=60, extra="runner.attempts = 1"))
    assert ran.returncode == 1
    assert len(chat_server.requests) < 20
    assert "trials failed in a row" in ran.stderr
    assert "out of order" in ran.stderr.replace("\n", " ")
    assert {outcome for outcome, _ in outcomes(store).values()} == {"failed"}
    assert cli("verify", store).returncode == 0


def test_search_is_never_a_toy_corpus_by_accident(write_plan: WritePlan, cli: Cli) -> None:
    refused = cli("run", write_plan({("q1", "search"): answered()}, conditions='["search"]'))
    assert refused.returncode == 2
    assert "[search]" in refused.stderr


def test_comparing_keeps_to_the_latest_plan(good_plan: Path, tmp_path: Path, cli: Cli, store: Path) -> None:
    assert cli("run", good_plan).returncode == 0
    questions = tmp_path / "questions.jsonl"
    questions.write_text(questions.read_text(encoding="utf-8").replace("What is 2 + 2", "And 2 + 2"), encoding="utf-8")
    assert cli("run", good_plan).returncode == 0
    assert json.loads(cli("compare", store, "--json").stdout)["comparisons"][0]["questions"] == 2
    assert json.loads(cli("compare", store, "--json", "--run", "all").stdout)["comparisons"][0]["questions"] == 3
    assert "2 more trials" in cli("compare", store).stdout
    assert len(json.loads(cli("show", store, "--question", "q2", "--json").stdout)["trials"]) == 4
    unknown = cli("show", store, "--question", "q9")
    assert unknown.returncode == 2
    assert "q1" in unknown.stderr


def test_doctor_checks_what_a_plan_needs(chat_server: ChatServer, tmp_path: Path, cli: Cli) -> None:
    plan = endpoint_plan(tmp_path, chat_server.url, count=2)
    good = json.loads(cli("doctor", plan, "--json").stdout)["findings"]
    assert {finding["state"] for finding in good if finding["topic"] == "plan"} == {"ok"}
    (tmp_path / "questions.jsonl").write_text("{}", encoding="utf-8")
    plan.write_text(plan.read_text(encoding="utf-8").replace(chat_server.url, f"http://127.0.0.1:{closed_port()}/v1"))
    bad = cli("doctor", plan, "--json")
    assert bad.returncode == 1
    findings = [finding for finding in json.loads(bad.stdout)["findings"] if finding["topic"] == "plan"]
    assert [finding["state"] for finding in findings] == ["missing", "ok", "missing"]


def test_an_endpoint_that_refuses_the_key_is_not_asked_for_every_trial(
    chat_server: ChatServer, tmp_path: Path, cli: Cli
) -> None:
    chat_server.answers(lambda request: Status(401))
    ran = cli("run", endpoint_plan(tmp_path, chat_server.url, count=40))
    assert ran.returncode == 1
    assert len(chat_server.requests) <= 4
    assert "left undone" in ran.stderr
    assert "OPENAI_API_KEY" in ran.stderr


@pytest.mark.parametrize("sign", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_a_run_that_is_stopped_goes_on_where_it_stopped(
    chat_server: ChatServer, tmp_path: Path, cli: Cli, store: Path, sign: signal.Signals
) -> None:
    chat_server.answers(lambda request: Slow(0.3, right(request)))
    plan = endpoint_plan(tmp_path, chat_server.url, count=12)
    command = [sys.executable, "-m", "toolablate", "run", str(plan)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as running:
        deadline = time.monotonic() + 60
        while len(chat_server.requests) < 5 and time.monotonic() < deadline:
            time.sleep(0.02)
        running.send_signal(sign)
        output, errors = running.communicate(timeout=60)
    assert "Traceback" not in errors
    if sign == signal.SIGINT:
        assert running.returncode == 1, errors
        assert "you stopped the run" in output
    finished = {key for key, (outcome, _) in outcomes(store).items() if outcome == "answered"}
    assert 2 <= len(finished) < 12
    assert cli("verify", store).returncode == 0
    asked = len(chat_server.requests)
    assert cli("run", plan).returncode == 0
    assert len(chat_server.requests) - asked == 12 - len(finished)
    assert set(outcomes(store).values()) == {("answered", "correct")}
    assert cli("verify", store).returncode == 0


def test_a_store_holds_one_world_only(good_plan: Path, cli: Cli) -> None:
    assert cli("run", good_plan).returncode == 0
    text = good_plan.read_text(encoding="utf-8")
    good_plan.write_text(text + "[sandbox]\nbackend = 'none'\n", encoding="utf-8")
    refused = cli("run", good_plan)
    assert refused.returncode == 2
    assert "'bubblewrap'" in refused.stderr
    assert "--store" in refused.stderr


def test_an_unprotected_kernel_is_warned_of_and_recorded(good_plan: Path, cli: Cli, store: Path) -> None:
    text = good_plan.read_text(encoding="utf-8")
    good_plan.write_text(text + "[sandbox]\nbackend = 'none'\n", encoding="utf-8")
    ran = cli("run", good_plan)
    assert ran.returncode == 0
    assert "unprotected" in ran.stderr
    with Store(store) as opened:
        assert {trace.environment.sandbox for trace in opened.traces()} == {"none"}


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        (['{"id": "a", "prompt": "p", "target": {"kind": "number", "value": 1}}', '{"id": "b", "prompt": "p"}'], ":2"),
        (['{"id": "a", "prompt": "p", "target": {"kind": "number", "value": 1}}'] * 2, '"a"'),
    ],
)
def test_a_bad_question_file_is_one_sentence(
    good_plan: Path, tmp_path: Path, cli: Cli, store: Path, lines: list[str], expected: str
) -> None:
    (tmp_path / "questions.jsonl").write_text("\n".join(lines), encoding="utf-8")
    refused = cli("run", good_plan)
    assert refused.returncode == 2
    assert "questions.jsonl" in refused.stderr
    assert expected in refused.stderr
    assert "Traceback" not in refused.stderr
    assert not store.exists()


def test_a_tool_of_ones_own_beside_the_plan(write_plan: WritePlan, tmp_path: Path, cli: Cli, store: Path) -> None:
    (tmp_path / "my_tools.py").write_text(
        "from toolablate.tools import tool\n\n@tool\ndef double(x: int) -> int:\n    '''Double a number.'''\n    return 2 * x\n",
        encoding="utf-8",
    )
    replies = [{"tool_calls": [{"name": "double", "arguments": {"x": 1}}]}, {"content": "Answer: {{last_tool_output}}"}]
    plan = write_plan(
        {("q1", "mine"): replies, ("q2", "mine"): answered("Answer: 4")},
        conditions='[{ name = "mine", tools = ["my_tools:double"] }]',
    )
    ran = cli("run", plan)
    assert ran.returncode == 0, ran.stderr
    assert set(outcomes(store).values()) == {("answered", "correct")}
