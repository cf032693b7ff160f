"""A run that is stopped, in each way in which one can be."""

import signal
import subprocess
import sys
from pathlib import Path

import pytest
from tests.conftest import Cli, WritePlan
from tests.experiments.library import Library
from tests.experiments.plan_files import call, endpoint_plan, outcomes, right, wait_for
from tests.experiments.scripted import write_scripted
from tests.servers.chat_server import ChatServer, Hang, Until

from toolablate.tools.archive import info

pytestmark = pytest.mark.deep


@pytest.mark.parametrize("sign", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_a_run_that_is_stopped_goes_on_where_it_stopped(
    chat_server: ChatServer, tmp_path: Path, cli: Cli, store: Path, sign: signal.Signals
) -> None:
    stopped = list[signal.Signals]()
    chat_server.answers(
        lambda request: Until(lambda: stopped, right(request)) if len(chat_server.requests) > 4 else right(request)
    )
    plan = endpoint_plan(tmp_path, chat_server.url, count=12)
    command = [sys.executable, "-m", "toolablate", "run", str(plan)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as running:
        wait_for(lambda: len(chat_server.requests) >= 5)
        running.send_signal(sign)
        stopped.append(sign)
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
    chat_server.answers(lambda request: Hang())
    plan = endpoint_plan(tmp_path, chat_server.url, count=3)
    command = [sys.executable, "-m", "toolablate", "run", str(plan)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as running:
        wait_for(lambda: len(chat_server.requests) >= 2)
        running.send_signal(signal.SIGTERM)
        output, errors = running.communicate(timeout=60)
    assert running.returncode == 1, errors
    assert "3 of 3 trials are missing (you stopped the run)" in output
    assert store.name in output.replace("\n", "")


@pytest.mark.deep
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


@pytest.mark.deep
def test_a_recording_that_is_stopped_keeps_what_it_has_and_goes_on(tmp_path: Path, cli: Cli) -> None:
    archive = tmp_path / "kept"
    with Library().running() as library:
        web = f"[web]\narchive = 'kept'\nallow = ['{library.host}']\nrobots = false\ndelay_seconds = 1.0\n"
        plan = write_scripted(tmp_path, [], '[{ name = "c", tools = ["browser_open"] }]', web)
        pages = [page.replace("/doc/", "/pages/") for page in library.pages[:30]]
        command = [sys.executable, "-m", "toolablate", "web", "record", str(plan), *pages]
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as running:
            wait_for(lambda: (archive / "archive.json").exists() and info(archive).counts.get("extraction", 0) > 2)
            running.send_signal(signal.SIGINT)
            output, errors = running.communicate(timeout=60)
        assert running.returncode == 1
        assert errors.strip() == "Stopped; what was finished is kept, and the same command goes on from there."
        kept = int(output.split()[0])
        assert 1 <= kept < 30
        plan.write_text(plan.read_text(encoding="utf-8").replace("1.0", "0"), encoding="utf-8")
        again = cli("web", "record", plan, *pages)
        assert "30 of 30 recorded" in again.stdout, again.stderr
        # What was on its way when it was stopped is asked for again.
        assert len(library.requests) - len(set(library.requests)) <= 30 - kept


@pytest.mark.deep
def test_a_run_that_is_stopped_before_its_trials_says_so(tmp_path: Path) -> None:
    server = "[[mcp]]\nname = 'slow'\ncommand = ['sh', '-c', 'touch started; exec sleep 60']\n"
    plan = write_scripted(tmp_path, [], '[{ name = "c", tools = ["mcp:slow"] }]', server)
    command = [sys.executable, "-m", "toolablate", "run", str(plan)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as running:
        wait_for((tmp_path / "started").exists)
        running.send_signal(signal.SIGINT)
        _, errors = running.communicate(timeout=60)
    assert running.returncode == 1
    assert errors == "Stopped; what was finished is kept, and the same command goes on from there.\n"
