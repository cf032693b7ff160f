"""Runs at endpoints that hold them back: what is said of it, and what a first Ctrl-C lets go."""

import io
import json
import re
import signal
import subprocess
import sys
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console
from tests.conftest import Cli
from tests.experiments.plan_files import endpoint_plan, outcomes, right, wait_for
from tests.servers.chat_server import ChatServer, Status
from tests.traces.samples import ENVIRONMENT, WHEN

from toolablate.agents.pacing import Pressure
from toolablate.experiments.plans.plan import PlannedTrial, design, load_plan
from toolablate.experiments.running import progress as module
from toolablate.experiments.running.launch import told_at_the_end, waits
from toolablate.experiments.running.progress import RunProgress
from toolablate.traces.records import SimulatedModel, Trace

BUSY = Pressure("http://e/v1", {"rate_limited": 40, "overloaded": 1}, 62.04, 0.0, None, 3, True)


@pytest.mark.deep
def test_an_endpoint_that_asks_to_be_left_alone_is_told_of_and_ctrl_c_does_not_wait_for_it(
    chat_server: ChatServer, tmp_path: Path, cli: Cli, store: Path
) -> None:
    chat_server.answers(lambda request: Status(429, headers={"retry-after": "120"}))
    plan = endpoint_plan(tmp_path, chat_server.url, count=4, concurrency=3)
    command = [sys.executable, "-m", "toolablate", "run", str(plan)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as running:
        wait_for(lambda: bool(told(cli, store)))
        assert re.search(r"waiting for \S+ at http\S+ until \d\d:\d\d:\d\d \(it asked for 120 s\)", told(cli, store)[0])
        assert "it asked for 120 s" in " ".join(cli("status", store).stdout.split())
        running.send_signal(signal.SIGINT)
        output, errors = running.communicate(timeout=60)
    assert running.returncode == 1, errors
    assert "with 3 trials in flight" in " ".join(errors.split())
    assert re.search(r"refused 3 requests \(429\); it was left alone for \S+ s in all", " ".join(output.split()))
    assert "4 of 4 trials are missing (you stopped the run)" in output
    assert len(chat_server.requests) == 3
    chat_server.answers(right)
    assert cli("run", plan).returncode == 0
    assert set(outcomes(store).values()) == {("answered", "correct")}
    assert cli("verify", store).returncode == 0


def told(cli: Cli, store: Path) -> list[str]:
    if not store.exists():
        return []
    recorders = json.loads(cli("status", store, "--json").stdout)["recorders"]
    return [wait for recorder in recorders for wait in recorder["waits_for"]]


def test_how_an_endpoint_holds_a_run_back_in_words() -> None:
    now = datetime(2026, 1, 1, 12, 0, 0)
    resting = Pressure("http://e/v1", {"rate_limited": 1}, 120.0, 119.6, 120.0, 4, True)
    unnamed = Pressure("http://e/v1", {"overloaded": 1}, 2.0, 1.0, None, 4, True)
    past = Pressure("http://f/v1", {"rate_limited": 1}, 1.0, 0.0, None, 1, False)
    assert waits([resting, unnamed, BUSY, past], now) == (
        "waiting for http://e/v1 until 12:01:59 (it asked for 120 s)",
        "waiting for http://e/v1 until 12:00:01 (it refuses: 503)",
        "slowed down by http://e/v1 (429, 503): 3 requests in flight allowed",
    )
    assert told_at_the_end([BUSY, past]) == (
        "http://e/v1 refused 41 requests (429, 503); it was left alone for 62 s in all",
        "http://f/v1 refused 1 request (429); it was left alone for 1 s in all",
    )


@pytest.fixture
def planned(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[PlannedTrial]:
    monkeypatch.setattr(module, "SECONDS_BETWEEN_LINES", 0.0)
    return list(design(load_plan(endpoint_plan(tmp_path, "http://127.0.0.1:9/v1", count=3))[0]).trials)


def lines(planned: list[PlannedTrial], *happening: Any) -> list[str]:
    """What is printed, a line for each beat after what happened."""
    written = io.StringIO()
    with RunProgress(Console(file=written, width=200)) as progress:
        progress.begin(3, planned)
        for happens in happening:
            happens(progress)
            progress.beat()
    return written.getvalue().splitlines()[1:]


def ended(planned: PlannedTrial, cost: float | None) -> Any:
    trace = Trace(
        trial=planned.trial, outcome="answered", started_at=WHEN, seconds=1, environment=ENVIRONMENT, cost_usd=cost
    )

    def happens(progress: RunProgress) -> None:
        progress.started(planned)
        progress.finished(planned, trace, None)

    return happens


def test_a_trial_taken_over_from_another_process_counts_once(planned: list[PlannedTrial]) -> None:
    steps = (ended(planned[0], 0), lambda on: on.skipped(planned[1]), ended(planned[2], 0), ended(planned[1], 0))
    shown = [line.split()[0] for line in lines(planned, *steps)]
    assert shown == ["1/3", "1/2", "2/2", "3/3"]


def test_a_cost_is_told_as_far_as_it_is_known(planned: list[PlannedTrial]) -> None:
    shown = lines(planned, lambda on: on.started(planned[0]))
    assert shown[0].endswith("0 failed")
    assert lines(planned, ended(planned[0], None))[-1].endswith(", cost unknown")
    shown = lines(planned, ended(planned[0], 0.00012), ended(planned[1], None))
    assert shown[0].endswith(", $0.00012")
    assert shown[1].endswith(", $0.00012 + 1 trial of unknown cost")
    simulated = replace(planned[0], model=SimulatedModel(name="sim"))
    assert lines(planned, ended(simulated, None))[-1].endswith(", $0")


def test_what_is_waited_for_stands_below_the_line(planned: list[PlannedTrial]) -> None:
    wait = waits([BUSY], datetime(2026, 1, 1))
    shown = lines(planned, lambda on: on.slowed(wait), lambda on: on.slowed(()))
    assert [line.split(",")[0] for line in shown] == ["0/3 trials", wait[0].split(",")[0], "0/3 trials"]
