"""A run that is stopped, in each way in which one can be."""

import signal
import subprocess
import sys
from pathlib import Path

import pytest
from tests.experiments.conftest import Cli, WritePlan
from tests.experiments.plans import call, endpoint_plan, outcomes, right, wait_for
from tests.servers.chat_server import ChatServer, Slow


@pytest.mark.parametrize("sign", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_a_run_that_is_stopped_goes_on_where_it_stopped(
    chat_server: ChatServer, tmp_path: Path, cli: Cli, store: Path, sign: signal.Signals
) -> None:
    chat_server.answers(lambda request: Slow(0.3, right(request)))
    plan = endpoint_plan(tmp_path, chat_server.url, count=12)
    command = [sys.executable, "-m", "toolablate", "run", str(plan)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as running:
        wait_for(lambda: len(chat_server.requests) >= 5)
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


def test_a_run_that_is_cancelled_before_anything_ended_says_so(
    chat_server: ChatServer, tmp_path: Path, store: Path
) -> None:
    chat_server.answers(lambda request: Slow(30, right(request)))
    plan = endpoint_plan(tmp_path, chat_server.url, count=3)
    command = [sys.executable, "-m", "toolablate", "run", str(plan)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as running:
        wait_for(lambda: len(chat_server.requests) >= 2)
        running.send_signal(signal.SIGTERM)
        output, errors = running.communicate(timeout=20)
    assert running.returncode == 1, errors
    assert "3 of 3 trials are missing (you stopped the run)" in output
    assert store.name in output.replace("\n", "")


def test_after_ctrl_c_no_trial_begins_that_waited_for_a_kernel(write_plan: WritePlan, cli: Cli, store: Path) -> None:
    asked = [{"id": f"q{n}", "prompt": "?", "target": {"kind": "number", "value": 1}} for n in range(12)]
    replies = [call("import time; time.sleep(2)"), {"content": "Answer: 1"}]
    plan = write_plan(
        {(question["id"], "python"): replies for question in asked},
        conditions='["python"]',
        questions=asked,
        extra="runner.kernels = 1",
    )
    command = [sys.executable, "-m", "toolablate", "run", str(plan)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as running:
        wait_for(lambda: store.exists() and len(outcomes(store)) >= 1)
        running.send_signal(signal.SIGINT)
        output, _ = running.communicate(timeout=60)
    assert "you stopped the run" in output
    assert len(outcomes(store)) <= 3
