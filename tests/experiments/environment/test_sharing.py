"""Several runs of one plan on one store at once, and runs whose disk gives out."""

import os
import shutil
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path
from threading import Event
from typing import Any

import pytest
from tests.conftest import Cli
from tests.experiments.capricious import Caprices, capricious_plan, finished
from tests.experiments.nursery import Nursery, nursery
from tests.experiments.plan_files import wait_for
from tests.servers.chat_server import ChatServer, Step, Until

from toolablate.traces.store import standing, verify

CONDITIONS = ("none", "brief", "tool")
CALLS = {"none": 1, "brief": 1, "tool": 2}


@pytest.fixture
def runs(tmp_path: Path) -> Iterator[Nursery]:
    with nursery(tmp_path) as opened:
        yield opened


def _all(count: int) -> set[tuple[str, str]]:
    return {(str(n), condition) for n in range(count) for condition in CONDITIONS} - {("3", "brief")}


@pytest.mark.deep
@pytest.mark.parametrize("processes", [2, 3])
def test_processes_share_a_plan_and_no_trial_is_done_twice(
    chat_server: ChatServer, tmp_path: Path, runs: Nursery, processes: int
) -> None:
    store = tmp_path / "store.sqlite"
    plan = capricious_plan(tmp_path, chat_server.url, count=20)
    endpoint = Caprices(chat_server, seconds=0.05, failing=False)
    joined = Event()
    endpoint.hold = lambda _, answer: Until(joined.is_set, answer)
    pids = [runs.start(plan, store) for _ in range(processes)]
    wait_for(lambda: store.exists() and len(standing(store).recorders) == processes)
    joined.set()
    ended = [runs.wait(pid) for pid in pids]
    # What another still has when a run ends is missing there, and done all the same.
    assert 1 in ended
    assert finished(store).keys() == _all(20)
    asked = endpoint.take()
    assert {each: asked[each] for each in _all(20)} == {each: CALLS[each[1]] for each in _all(20)}
    assert verify(store).ok
    assert sorted(entry.name for entry in tmp_path.glob("store*")) == ["store.sqlite"]
    assert runs.errors == ""


@pytest.mark.deep
@pytest.mark.parametrize("processes", [2, 3])
def test_what_a_killed_process_had_is_done_by_those_who_are_left(
    chat_server: ChatServer, tmp_path: Path, runs: Nursery, processes: int
) -> None:
    store = tmp_path / "store.sqlite"
    plan = capricious_plan(tmp_path, chat_server.url, count=20)
    endpoint = Caprices(chat_server, seconds=0.05, failing=False)
    joined, killed, begun = Event(), Event(), list[None]()

    def hold(request: dict[str, Any], answer: Step) -> Step:
        if request["messages"][-1]["role"] == "tool":
            return answer
        begun.append(None)
        # A run ends that finds all it could do done or held: the others must not end before what is held is given up.
        return Until(joined.is_set if len(begun) <= 40 else killed.is_set, answer)

    endpoint.hold = hold
    victim, *others = [runs.start(plan, store) for _ in range(processes)]
    wait_for(lambda: store.exists() and len(standing(store).recorders) == processes)
    joined.set()

    def in_the_middle() -> bool:
        held = {each.pid: each for each in standing(store).recorders} if store.exists() else {}
        return victim in held and held[victim].ended >= 3 and held[victim].running > 0

    wait_for(in_the_middle)
    os.kill(victim, signal.SIGKILL)
    assert runs.wait(victim) == -signal.SIGKILL
    assert verify(store).ok
    before = finished(store)
    killed.set()
    for pid in others:
        runs.wait(pid)
    assert finished(store).keys() == _all(20)
    assert before.items() <= finished(store).items()
    asked = endpoint.take()
    # Only what the killed one was at has been asked once more: at most as many trials as it runs at once.
    again = {each for each in _all(20) if asked[each] != CALLS[each[1]]}
    assert len(again) <= 4
    assert again.isdisjoint(before)
    assert verify(store).ok
    assert sorted(entry.name for entry in tmp_path.glob("store*")) == ["store.sqlite"]
    assert runs.errors == ""


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A real file system of 600 kB; only root may mount one."""
    folder = tmp_path / "disk"
    folder.mkdir()
    if shutil.which("mount") is None or not _mount(folder, "size=600k", "-t", "tmpfs", "none"):
        pytest.skip("no tmpfs can be mounted here")
    try:
        yield folder
    finally:
        subprocess.run(["umount", str(folder)], check=True)


def _mount(folder: Path, options: str, *what: str) -> bool:
    command = ["mount", "-o", options, *what, str(folder)]
    return subprocess.run(command, capture_output=True, check=False).returncode == 0


@pytest.mark.deep
def test_a_disk_that_fills_up_ends_a_run_with_one_sentence_and_costs_nothing_finished(
    chat_server: ChatServer, tmp_path: Path, cli: Cli, small_disk: Path
) -> None:
    store = small_disk / "store.sqlite"
    plan = capricious_plan(tmp_path, chat_server.url, count=40)
    endpoint = Caprices(chat_server, failing=False)
    endpoint.padding = 8_000
    stopped = cli("run", plan, "--store", store)
    assert stopped.returncode == 2, stopped.stdout
    assert "the disk is full" in stopped.stderr
    assert "Free some space" in stopped.stderr
    assert "Traceback" not in stopped.stderr
    before = finished(store)
    assert 0 < len(before) < len(_all(40))
    assert verify(store).ok
    endpoint.take()
    assert _mount(small_disk, "remount,size=20m")
    cli("run", plan, "--store", store)
    assert endpoint.take().keys().isdisjoint(before)
    assert finished(store).keys() == _all(40)
    assert before.items() <= finished(store).items()
    assert verify(store).ok
    assert [entry.name for entry in small_disk.iterdir()] == ["store.sqlite"]


def test_a_store_on_a_read_only_mount_is_read_and_not_run_on(
    chat_server: ChatServer, tmp_path: Path, cli: Cli, small_disk: Path
) -> None:
    store = small_disk / "store.sqlite"
    plan = capricious_plan(tmp_path, chat_server.url, count=4)
    endpoint = Caprices(chat_server, failing=False)
    cli("run", plan, "--store", store)
    whole = finished(store)
    plan = capricious_plan(tmp_path, chat_server.url, count=8)
    endpoint.take()
    assert _mount(small_disk, "remount,ro")
    refused = cli("run", plan, "--store", store)
    assert refused.returncode == 2
    assert "Read-only file system" in refused.stderr
    assert "Traceback" not in refused.stderr
    assert endpoint.take() == {}
    assert finished(store) == whole
    for command in ("verify", "status", "compare"):
        shown = cli(command, store)
        assert shown.returncode == 0, shown.stderr
