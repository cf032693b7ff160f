"""What a run says of itself: while it goes, where no trial ends, and of the failures that are its own."""

import io
import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console
from tests.conftest import Cli, WritePlan
from tests.experiments.plan_files import answered, endpoint_plan, outcomes, right, wait_for
from tests.servers.chat_server import ChatServer, Hang, Status

from toolablate.experiments.plans.plan import design, load_plan
from toolablate.experiments.running import progress as module
from toolablate.experiments.running.progress import RunProgress


def test_rounds_of_one_command_add_up(good_plan: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "SECONDS_BETWEEN_LINES", 0.0)
    planned = design(load_plan(good_plan)[0]).trials
    written = io.StringIO()
    with RunProgress(Console(file=written)) as progress:
        progress.begin(4, planned)
        progress.beat()
        progress.begin(4, planned[:2])
        progress.beat()
    told = [line.split(",")[0] for line in written.getvalue().splitlines()]
    assert told == [
        "4 of 4 trials to run",
        "0/4 trials",
        "2 of 4 trials to run (2 are in the store already)",
        "0/6 trials",
    ]


def test_a_file_gets_a_line_now_and_then_though_no_trial_ends(good_plan: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "SECONDS_BETWEEN_LINES", 0.0)
    planned = design(load_plan(good_plan)[0]).trials
    written = io.StringIO()
    with RunProgress(Console(file=written)) as progress:
        progress.begin(4, planned)
        progress.started(planned[0])
        progress.beat()
        progress.skipped(planned[1])
        progress.beat()
        monkeypatch.setattr(module, "SECONDS_BETWEEN_LINES", 3600.0)
        progress.beat()
    lines = written.getvalue().splitlines()
    assert lines[0] == "4 of 4 trials to run"
    assert [line.split(",")[0] for line in lines[1:]] == ["0/4 trials", "0/3 trials"]
    assert "1 in flight" in lines[1]


def test_a_run_tells_of_its_own_failures_alone(chat_server: ChatServer, tmp_path: Path, cli: Cli, store: Path) -> None:
    chat_server.answers(lambda request: Status(500, {"message": "first trouble"}))
    plan = endpoint_plan(tmp_path, chat_server.url, count=4, extra="runner.attempts = 1")
    first = cli("run", plan)
    assert "4 trials failed: model server error: the endpoint answered 500: first trouble" in " ".join(
        first.stdout.split()
    )
    # This time the endpoint refuses the key, so that most trials keep the failure that they had.
    chat_server.answers(lambda request: Status(401, {"message": "second trouble"}))
    second = cli("run", plan)
    assert "first trouble" not in second.stdout
    assert "second trouble" in " ".join(second.stdout.split())
    chat_server.answers(
        lambda request: Status(400, {"message": "third"}) if "Question 1" in str(request) else right(request)
    )
    third = json.loads(cli("run", plan, "--json").stdout)
    (failure,) = third["failures"]
    assert (failure["code"], failure["count"], third["missing"], third["elsewhere"]) == ("bad_request", 1, 1, 0)
    chat_server.answers(right)
    assert not re.search("trials? failed:", cli("run", plan).stdout)
    assert set(outcomes(store).values()) == {("answered", "correct")}


def test_what_another_process_runs_is_told_and_not_waited_for(
    chat_server: ChatServer, tmp_path: Path, cli: Cli
) -> None:
    chat_server.answers(lambda request: Hang() if "Question 0" in str(request) else right(request))
    plan = endpoint_plan(tmp_path, chat_server.url, count=3)
    command = [sys.executable, "-m", "toolablate", "run", str(plan)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as running:
        wait_for(lambda: any("Question 0" in str(request) for request in chat_server.requests))
        other = cli("run", plan)
        assert other.returncode == 1, other.stderr
        assert "1 of 3 trials are being run by another process" in " ".join(other.stdout.split())
        assert "are missing" not in other.stdout
        running.terminate()
        running.communicate(timeout=60)
    chat_server.answers(right)
    assert json.loads(cli("run", plan, "--json").stdout)["missing"] == 0


@pytest.mark.parametrize(
    ("condition", "told"),
    [
        ("{ name = 'c', tools = ['python'], tool_choice = 'pyton' }", "the condition's tools are python"),
        ("{ name = 'c', base = 'none', tool_choice = 'python' }", "the condition has no tools"),
    ],
)
def test_a_tool_choice_that_names_no_tool_is_refused(
    write_plan: WritePlan, cli: Cli, store: Path, condition: str, told: str
) -> None:
    plan = write_plan({("q1", "c"): answered()}, conditions=f"[{condition}]")
    ran = cli("run", plan)
    assert ran.returncode == 2
    assert "conditions: c: tool_choice = " in ran.stderr
    assert told in ran.stderr
    assert not store.exists()


def test_what_a_condition_says_of_calls_and_reasoning_is_part_of_it(write_plan: WritePlan) -> None:
    changes: dict[str, Any] = {"tool_choice": "python", "parallel_tool_calls": False, "reasoning": "drop"}
    written = "tool_choice = 'python', parallel_tool_calls = false, reasoning = 'drop'"
    plan = write_plan({}, conditions=f"['python', {{ name = 'other', base = 'python', {written} }}]")
    first, second = load_plan(plan)[0].resolved_conditions()
    assert second == first.model_copy(update={"name": "other", **changes})
    assert first.identity() != second.identity()


def test_a_capability_that_a_condition_lacks_is_refused_before_anything_runs(
    chat_server: ChatServer, tmp_path: Path, cli: Cli, store: Path
) -> None:
    plan = endpoint_plan(tmp_path, chat_server.url, count=1, model="capabilities = { tools = false }")
    plan.write_text(plan.read_text(encoding="utf-8").replace("['none']", "['none', 'python']"), encoding="utf-8")
    ran = cli("run", plan)
    assert ran.returncode == 2
    assert "capabilities.tools" in ran.stderr
    assert not chat_server.requests
    assert not store.exists()
