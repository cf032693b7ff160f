"""Runs that are killed with SIGKILL at random moments: nothing finished is lost or done twice, and the rest gets done."""

import os
import random
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.experiments.capricious import Caprices, capricious_plan, finished
from tests.experiments.nursery import Nursery, nursery
from tests.servers.chat_server import ChatServer

from toolablate.traces.store import Store, verify

KILLS = 100
QUESTIONS = 240
REFUSED = {("3", "brief")}
ALL = {(str(n), condition) for n in range(QUESTIONS) for condition in ("none", "brief", "tool")}


@pytest.fixture
def runs(tmp_path: Path) -> Iterator[Nursery]:
    with nursery(tmp_path) as opened:
        yield opened


def _answers(store: Path) -> dict[str, tuple[str, str | None]]:
    with Store(store) as opened:
        return {trace.trial.id: (trace.outcome, trace.answer) for trace in opened.traces()}


def _count(store: Path) -> int:
    return len(finished(store)) if store.exists() else 0


def _has_ended(pid: int) -> bool:
    """Of itself: nobody has waited for it yet."""
    return Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[0] == "Z"


@pytest.mark.deep
@pytest.mark.timeout(1200)
def test_killed_a_hundred_times_a_plan_ends_as_if_it_had_never_been(
    chat_server: ChatServer, tmp_path: Path, runs: Nursery
) -> None:
    store, generator = tmp_path / "store.sqlite", random.Random(5)
    Caprices(chat_server, failing=False)
    plan = capricious_plan(tmp_path, chat_server.url, count=QUESTIONS, concurrency=8)
    runs.warm(plan, tmp_path / "undisturbed.sqlite")
    endpoint = Caprices(chat_server, seconds=0.15)
    before, killed, during = dict[tuple[str, str], bytes](), 0, 0
    for kill in range(KILLS):
        pid = runs.start(plan, store)
        # However busy the machine is, one of three is killed while it asks, and one when it has finished trials.
        heard, more = (0, 0) if kill % 3 == 0 else (generator.randrange(1, 16), 0) if kill % 3 == 1 else (0, 1)
        while not _has_ended(pid) and (len(endpoint.asked) < heard or _count(store) < len(before) + more):
            time.sleep(0.02)
        time.sleep(generator.uniform(0.0, 0.1 if heard or more else 0.4))
        os.kill(pid, signal.SIGKILL)
        killed += runs.wait(pid) == -signal.SIGKILL
        if not store.exists():
            continue
        report = verify(store)
        assert report.ok, report.problems
        now = finished(store)
        assert before.items() <= now.items()
        assert endpoint.take().keys().isdisjoint(before), "what was finished was asked again"
        during += len(now) > len(before)
        before = now
    assert killed >= KILLS * 0.9
    assert during >= KILLS * 0.2
    Caprices(chat_server, failing=False)
    assert runs.run(plan, store) == len(REFUSED)
    assert finished(store).keys() == ALL - REFUSED
    assert before.items() <= finished(store).items()
    assert _answers(store) == _answers(tmp_path / "undisturbed.sqlite")
    assert verify(store).ok
    assert sorted(entry.name for entry in tmp_path.glob("store*")) == ["store.sqlite"]
    assert runs.errors == ""
