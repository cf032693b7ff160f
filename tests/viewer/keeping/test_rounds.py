"""What keeps an index up to date, a piece of work at a time."""

import os
import shutil
import sqlite3
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from tests.traces.samples import attempt, begun, plan, score
from tests.viewer.keeping.reading import read_findings

from toolablate.analysis.attribution.report import AttributionReport
from toolablate.analysis.selection import Selection
from toolablate.experiments.attribution.store_report import read_report
from toolablate.traces.records import Label, Trace
from toolablate.traces.store import Recorder, Store
from toolablate.viewer.index import ViewerIndex
from toolablate.viewer.keeping import rounds
from toolablate.viewer.keeping.rounds import KeeperRounds, WorkPace
from toolablate.viewer.keeping.shown_trials import ViewScope, attributions_of

pytestmark = pytest.mark.deep


@dataclass
class Clock:
    now: float = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def own(ran: Path, tmp_path: Path) -> Path:
    """As it was written some time ago."""
    own = Path(shutil.copy(ran, tmp_path / "own.sqlite"))
    os.utime(own, (0, 0))
    return own


def _rounds(store: Path, clock: Callable[[], float] | None = None) -> tuple[KeeperRounds, ViewerIndex]:
    index = ViewerIndex.open(store.with_suffix(".index"))
    return KeeperRounds(ViewScope(store), index, clock or Clock()), index


def _to_the_end(kept: KeeperRounds) -> int:
    done = 0
    while kept.round():
        done += 1
        assert done < 20
    return done


def test_tables_come_first_then_effects_then_why(own: Path) -> None:
    kept, index = _rounds(own)
    assert not index.filled()
    assert kept.round()
    assert sum(arm.ended for arm in index.arms()) == 6 * 2 * 8
    assert index.findings() is None
    assert kept.round()
    assert index.findings() == read_findings(own, why=False)
    assert kept.round()
    assert index.findings() == read_findings(own)
    said = {each.trial: each.mechanism for each in attributions_of(read_report(own))}
    shown = index.questions(Selection(), size=100).rows
    trials = [trial for row in shown for glance in row.glances for trial in glance.trials]
    assert {trial.trial: trial.mechanism for trial in trials if trial.mechanism} == said


def test_a_store_that_stays_as_it_is_costs_nothing(own: Path) -> None:
    kept, index = _rounds(own)
    assert _to_the_end(kept) >= 3
    before = index.version()
    assert not kept.round()
    assert index.version() == before


def test_what_is_attributed_already_is_not_attributed_again(own: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _to_the_end(_rounds(own)[0])
    asked: list[Path] = []

    def read(store: Path, **options: Any) -> AttributionReport:
        asked.append(store)
        return read_report(store, **options)

    monkeypatch.setattr(rounds, "read_report", read)
    kept, index = _rounds(own)
    _to_the_end(kept)
    assert asked == []
    assert index.findings() == read_findings(own)
    index.put_attributions((), made_of="of another store")
    kept, index = _rounds(own)
    _to_the_end(kept)
    assert asked == [own]
    assert index.facets().mechanisms


def test_no_trace_is_read_twice_for_why(own: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[str] = []

    def trace(store: Store, trial: str, *, attempt: int | None = None) -> Trace:
        read.append(trial)
        return original(store, trial, attempt=attempt)

    original = Store.trace
    monkeypatch.setattr(Store, "trace", trace)
    _to_the_end(_rounds(own)[0])
    assert len(read) == len(set(read)) > 0
    read.clear()
    kept, index = _rounds(own)
    index.put_attributions((), made_of="of another store")
    _to_the_end(kept)
    assert read == []
    assert index.findings() == read_findings(own)


def test_a_label_changes_the_tables_alone(own: Path) -> None:
    clock = Clock()
    kept, index = _rounds(own, clock)
    _to_the_end(kept)
    trial = index.questions(Selection()).rows[0].glances[0].trials[0].trial
    with Recorder(own) as recorder:
        recorder.label(Label(trial=trial, person="Ada", at=datetime.now(UTC), mechanism="sampling_noise"))
    # As it was written some time ago, too: else its time alone cannot tell whether it is written still.
    for path in own.parent.glob(f"{own.name}*"):
        os.utime(path, (1, 1))
    clock.now += 60
    assert kept.round()
    assert index.trial(trial).label == "sampling_noise"
    assert not kept.round()


async def test_a_run_is_followed_and_its_end_told_at_once(tmp_path: Path) -> None:
    path, clock = tmp_path / "s.sqlite", Clock()
    with Recorder(path) as recorder:
        first, second, third, *_ = plan(recorder)
        kept, index = _rounds(path, clock)
        await attempt(recorder, first)
        await recorder.score([score(first)])
        await begun(recorder, second)
        clock.now += 60
        _to_the_end(kept)
        assert [(arm.ended, arm.running) for arm in index.arms()] == [(1, 0), (0, 1)]
        await attempt(recorder, third)
        clock.now += 60
        assert kept.round()
        assert sum(arm.ended for arm in index.arms()) == 2
    # A recorder that leaves takes what it was at along, and nothing is to be waited for any more.
    clock.now += 60
    assert kept.round()
    assert [arm.running for arm in index.arms()] == [0, 0]
    _to_the_end(kept)
    found = index.findings()
    assert found is not None
    assert [arm.condition for arm in found.arms] == ["none"]


def test_a_store_that_is_gone_is_told_until_it_is_back(own: Path) -> None:
    clock = Clock()
    kept, index = _rounds(own, clock)
    _to_the_end(kept)
    away = own.rename(own.with_name("away.sqlite"))
    clock.now += 60
    assert kept.round()
    assert "tables: There is no store at" in index.trouble()
    assert not kept.round()
    assert index.findings() == read_findings(away)
    away.rename(own)
    clock.now += 60
    _to_the_end(kept)
    assert index.trouble() == ""


def test_a_bug_in_one_figure_costs_that_alone_and_is_seen(own: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object, **__: object) -> None:
        raise ZeroDivisionError("no questions")

    monkeypatch.setattr(rounds, "read_report", broken)
    kept, index = _rounds(own)
    assert _to_the_end(kept) >= 3
    assert index.trouble() == "why: ZeroDivisionError: no questions"
    assert index.findings() == read_findings(own, why=False)


def test_what_was_said_by_one_before_is_forgotten(own: Path) -> None:
    index = ViewerIndex.open(own.with_suffix(".index"))
    index.put_trouble("why: an old trouble")
    index.put_progress("attributing 1 of 2 trials")
    _rounds(own)
    assert (index.trouble(), index.progress()) == ("", "")


def test_an_index_that_is_lost_is_filled_again(own: Path) -> None:
    clock = Clock()
    kept, index = _rounds(own, clock)
    _to_the_end(kept)
    index.path.write_bytes(b"not a database, and longer than its header is, so that it is looked at. " * 10)
    for beside in ("-wal", "-shm"):
        index.path.with_name(index.path.name + beside).unlink(missing_ok=True)
    assert not index.filled()
    clock.now += 60
    assert kept.round()
    assert sum(arm.ended for arm in index.arms()) == 96
    _to_the_end(kept)
    assert index.findings() == read_findings(own)


def test_an_index_that_cannot_be_written_is_raised(own: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kept, index = _rounds(own)

    def full(*_: object, **__: object) -> None:
        raise sqlite3.OperationalError("database or disk is full")

    monkeypatch.setattr(index, "refresh", full)
    with pytest.raises(sqlite3.OperationalError):
        kept.round()


def test_progress_is_told_now_and_then_alone(own: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Slow(Clock):
        def __call__(self) -> float:
            self.now += 0.5
            return self.now

    told: list[str] = []
    kept, index = _rounds(own, Slow())
    monkeypatch.setattr(index, "put_progress", told.append)
    _to_the_end(kept)
    assert told[0] == "attributing 3 of 12 trials"
    assert told[-1] == ""
    assert len(told) < 12


def test_work_rests_by_its_share() -> None:
    pace = WorkPace(1 / 4)
    assert pace.rested(0.0)
    pace.worked(2.0, 10.0)
    assert not pace.rested(15.9)
    assert pace.rested(16.0)


@pytest.mark.deep
def test_a_living_run_leaves_three_quarters_of_a_core(own: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """However much each round takes, and though the store changes all the time."""
    clock, worked = Clock(), [0.0]
    kept, _ = _rounds(own, clock)
    _to_the_end(kept)

    def takes(seconds: float) -> Callable[..., None]:
        def work(*_: object, **__: object) -> None:
            clock.now += seconds
            worked[0] += seconds

        return work

    for work, seconds in zip(kept._works, (2.0, 5.0, 90.0, 20.0, 30.0), strict=True):
        monkeypatch.setattr(work, "do", takes(seconds))
        monkeypatch.setattr(work, "state", lambda: clock.now)
    monkeypatch.setattr(kept, "_living", True)
    began = clock.now
    while clock.now < began + 20_000:
        if not kept.round():
            clock.now += 0.5
    assert 0.15 < worked[0] / (clock.now - began) < 0.26
