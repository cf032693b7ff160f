"""What all workers together keep to: an endpoint's rest, what may be spent, and the disk of the driver."""

import asyncio
import os
import secrets
import shutil
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from bench.kernels.load import descendants, processes
from tests.experiments.cluster.test_replays import InThisProcess
from tests.experiments.cluster.test_replays import engines as engines
from tests.experiments.cluster.test_runs import Engine, on_workers
from tests.experiments.cluster.test_runs import run as run_plan
from tests.experiments.plan_files import KERNELS, endpoint_plan, right, wait_for
from tests.experiments.replay import scenes
from tests.servers.chat_server import ChatServer, Slow, Status, Step, Until, reply

from toolablate.agents.pacing import EndpointLine
from toolablate.experiments.replay.batch import replay_many
from toolablate.experiments.replay.requests import ReplayRequest
from toolablate.traces.errors import StoreError
from toolablate.traces.records import Again


def test_one_refusal_stops_all_workers_for_as_long_as_it_asks(
    chat_server: ChatServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Who had a place before the driver heard of it may still come."""
    happened, lock = list[str](), threading.Lock()
    early = list[float]()

    def note(what: str) -> int:
        with lock:
            happened.append(what)
            return happened.count(what)

    let_in, refused = EndpointLine.let_in, EndpointLine.refused

    def granting(line: EndpointLine) -> None:
        note("granted")
        if (rest := line.rests_until - _now()) > 0:
            early.append(rest)
        let_in(line)

    def refusing(line: EndpointLine, *given: Any) -> None:
        before = _now()
        refused(line, *given)
        note("refused")
        assert line.rests_until > before + 0.5

    monkeypatch.setattr(EndpointLine, "let_in", granting)
    monkeypatch.setattr(EndpointLine, "refused", refusing)

    def answers(request: dict[str, Any]) -> Step:
        if note("came") == 9:
            return Status(429, headers={"Retry-After": "1"})
        return Slow(0.02, right(request))

    chat_server.answers(answers)
    path = endpoint_plan(tmp_path, chat_server.url, count=24, concurrency=6)
    assert run_plan(path, tmp_path / "run.sqlite", on_workers(3)).missing == 0
    at = happened.index("refused")
    before, after = happened[:at], happened[at + 1 :]
    assert happened.count("refused") == 1
    assert happened.count("granted") == happened.count("came") == 25
    assert early == []
    still_out = before.count("granted") - before.count("came")
    assert after[: after.index("granted")] == ["came"] * still_out


def _now() -> float:
    return asyncio.get_running_loop().time()


def test_three_workers_spend_beyond_the_cap_what_was_in_flight_at_most(
    chat_server: ChatServer, tmp_path: Path, engines: list[InThisProcess], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(InThisProcess, "workers", 3)
    usage = {"prompt_tokens": 10, "completion_tokens": 5}
    chat_server.answers(lambda _: Slow(0.02, reply("Answer: 4", usage=usage)))
    plan = scenes.endpoint_plan(tmp_path, chat_server, conditions="['none']")
    concurrency = f"{scenes.PRICED}\nconcurrency = 3"
    plan.write_text(plan.read_text(encoding="utf-8").replace(scenes.PRICED, concurrency), encoding="utf-8")
    store = scenes.run(plan)
    asked = len(chat_server.requests)
    # Each costs a dollar, which nobody could know beforehand.
    usage["prompt_tokens"] = 1_000_000
    wanted = [ReplayRequest(scenes.trial_of(store, "none"), 0, Again(), repeats=20)]
    batch = replay_many(store, wanted, plan=plan, cluster="local", max_cost=4.5)
    assert len(engines[0].started) == 3
    paid = len(chat_server.requests) - asked
    assert 5 <= paid <= 4 + 3
    assert batch.launched.missing == 20 - paid
    assert batch.spent_usd == pytest.approx(paid, rel=1e-3)


@pytest.fixture
def full_soon(tmp_path: Path) -> Iterator[Path]:
    """A folder with room for 2 MB."""
    folder = tmp_path / "small"
    folder.mkdir()
    mounting = ["mount", "-t", "tmpfs", "-o", "size=2m", "none", str(folder)]
    if not shutil.which("mount") or subprocess.run(mounting, capture_output=True, check=False).returncode:
        pytest.skip("no tmpfs can be mounted here")
    yield folder
    subprocess.run(["umount", str(folder)], check=True)


@pytest.mark.deep
def test_a_full_disk_ends_the_run_and_leaves_neither_workers_nor_kernels(
    chat_server: ChatServer, tmp_path: Path, full_soon: Path
) -> None:
    before = started()

    def answers(request: dict[str, Any]) -> Step:
        if "Question 0" in str(request["messages"]):
            return reply(None, ("python", {"code": "import time; time.sleep(100)"}))
        large = reply(f"{secrets.token_hex(600_000)}\nAnswer: 1")
        return Until(lambda: started() - before, large)

    chat_server.answers(answers)
    path = endpoint_plan(tmp_path, chat_server.url, count=12, concurrency=4, extra=KERNELS)
    path.write_text(path.read_text(encoding="utf-8").replace("['none']", "['python']"), encoding="utf-8")
    engines: list[Engine] = []
    with pytest.raises(StoreError, match="disk is full"):
        run_plan(path, full_soon / "run.sqlite", on_workers(2, engines=engines))
    assert [worker._running.done() for worker in engines[0].started] == [True, True]
    wait_for(lambda: started() <= before)
    assert len(chat_server.requests) < 13


def started() -> set[int]:
    """Processes below this one."""
    return descendants(processes(), {os.getpid()})
