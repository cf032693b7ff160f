"""A replay that is killed in the middle is done by the same command, and nothing of it twice."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from tests.conftest import Cli
from tests.experiments.plan_files import wait_for
from tests.experiments.replay.scenes import by_turn, code, endpoint_plan, run, trace_of, trial_of
from tests.servers.chat_server import ChatServer, Hang, reply

from toolablate.traces.store import Store, verify


def _finished(store: Path, trial: str) -> dict[str, bool]:
    with Store(store) as opened:
        return {each: bool(opened.attempts(each)) for each in opened.resumptions(trial)}


@pytest.mark.deep
def test_killed_in_the_middle_it_goes_on_where_it_was(chat_server: ChatServer, tmp_path: Path, cli: Cli) -> None:
    chat_server.answers(by_turn(code("x = 5"), code("print(x)"), reply("Answer: 5")))
    store = run(endpoint_plan(tmp_path, chat_server))
    trial = trial_of(store)
    recorded = trace_of(store, trial)
    calls = iter(range(100))
    last = reply("Answer: 5")
    chat_server.answers(lambda _: last if next(calls) < 2 else Hang())
    command = [sys.executable, "-m", "toolablate", "replay", str(store), trial, "--from", "4", "--repeats", "4"]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        wait_for(lambda: list(_finished(store, trial).values()).count(True) == 2)
        os.kill(process.pid, signal.SIGKILL)
    before = {each for each, done in _finished(store, trial).items() if done}
    assert (len(before), len(_finished(store, trial))) == (2, 4)
    assert verify(store).ok
    asked = len(chat_server.requests)
    chat_server.answers(by_turn(last))
    done = cli(*command[3:])
    assert done.returncode == 0, done.stderr
    assert len(chat_server.requests) == asked + 2
    assert all(_finished(store, trial).values())
    assert trace_of(store, trial) == recorded
    assert verify(store).ok
