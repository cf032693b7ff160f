"""How far a store is, and who runs it: what `status` reads and shows."""

import asyncio
import io
import json
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from rich.console import Console
from tests.traces.samples import attempt, begun, conversation, filled, plan, trials

from toolablate.reports.terminal.status import errors_told, status_view
from toolablate.traces.store import (
    DriverLock,
    LivingRecorder,
    NoWorker,
    Recorder,
    Standing,
    Store,
    TrialCounts,
    WorkerStanding,
    standing,
)

AT = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)


def _row(*, answered: int = 0, failed: int = 0, running: int = 0, pending: int = 0) -> TrialCounts:
    planned = answered + failed + running + pending
    return TrialCounts("m", "none", planned, answered, 0, failed, running, pending)


def _recorder(minutes: float, ended: int, running: int = 0) -> LivingRecorder:
    return LivingRecorder(pid=7, since=AT - timedelta(minutes=minutes), running=running, ended=ended)


@pytest.mark.parametrize(
    ("recorders", "rate", "left"),
    [
        ((), None, None),
        ((_recorder(2, 0),), None, None),
        ((_recorder(2, 60),), 30.0, 40.0),
        ((_recorder(2, 60), _recorder(1, 10)), 40.0, 30.0),
        ((_recorder(0, 1),), 60.0, 20.0),
    ],
    ids=["nobody", "nothing ended", "one", "two", "just begun"],
)
def test_rate_and_time_left_are_those_of_who_runs(
    recorders: tuple[LivingRecorder, ...], rate: float | None, left: float | None
) -> None:
    found = Standing(AT, (_row(answered=5, failed=3, running=4, pending=16),), recorders)
    assert found.ended_per_minute == rate
    assert found.seconds_left == left


def test_nothing_is_left_where_all_has_ended() -> None:
    assert Standing(AT, (_row(answered=5, failed=3),), (_recorder(2, 60),)).seconds_left is None


def test_while_no_worker_is_ready_there_is_no_time_left_and_the_wait_is_told() -> None:
    found = Standing(
        AT,
        (_row(answered=5, failed=3, running=4, pending=16),),
        (_recorder(2, 60),),
        workers=(WorkerStanding("node-7, process 1", "lost", lost=4, ended=60, silent_seconds=95),),
        no_worker=NoWorker(90.0, 300.0),
    )
    assert (found.ended_per_minute, found.seconds_left) == (30.0, None)
    text = " ".join(_shown(found).split())
    assert "no worker: none has been ready for 90 s, so trials wait; the run ends if none is ready within 3.5" in text
    assert "for the rest" not in text


def _shown(found: Standing) -> str:
    console = Console(file=io.StringIO(), width=100)
    console.print(status_view(found))
    return str(console.file.getvalue())  # type: ignore[attr-defined]


def test_what_is_shown() -> None:
    text = _shown(Standing(AT, (_row(answered=5, running=4, pending=16),), (_recorder(2, 60, running=4),)))
    assert "process 7: since 2026-01-0" in text
    assert "(2 min), 4 running, 60 ended" in text
    assert "30 trials per minute, about 40 s for the rest" in text
    assert "Nothing runs." in _shown(Standing(AT, (_row(answered=5),), ()))
    assert "No trial is planned." in _shown(Standing(AT, (), ()))


async def test_a_failed_trial_that_is_run_again_is_running_and_nothing_else(tmp_path: Path) -> None:
    path = tmp_path / "s.db"
    with Recorder(path) as recorder:
        first, second, *_ = plan(recorder)
        await attempt(recorder, first, outcome="failed")
        await attempt(recorder, second, outcome="budget")
        assert [(row.failed, row.running, row.budget) for row in standing(path).counts] == [(1, 0, 0), (0, 0, 1)]
        again = await begun(recorder, first)
        (none, python) = standing(path).counts
        assert (none.planned, none.failed, none.running, none.pending) == (4, 0, 1, 3)
        assert standing(path).recorders[0].ended == 2
        with Store(path) as store:
            assert store.counts() == (none, python)
        await again.finish("failed", 1.0)
        assert [(row.failed, row.running) for row in standing(path).counts] == [(1, 0), (0, 0)]


def _status(path: Path, *options: str) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, "-m", "toolablate", "status", str(path), *options]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)


@pytest.mark.deep
async def test_the_command_beside_a_run_and_after_it(tmp_path: Path) -> None:
    path = tmp_path / "s.db"
    with Recorder(path) as recorder:
        planned = plan(recorder)
        await attempt(recorder, planned[0])
        await begun(recorder, planned[1])
        found = json.loads(_status(path, "--json").stdout)
        assert [(row["answered"], row["running"], row["pending"]) for row in found["counts"]] == [(1, 0, 3), (0, 1, 3)]
        (held,) = found["recorders"]
        assert (held["running"], held["ended"]) == (1, 1)
        assert datetime.fromisoformat(held["since"]) < datetime.fromisoformat(found["at"])
        assert found["ended_per_minute"] > 0
        assert "1 running, 1 ended" in _status(path).stdout
    after = _status(path)
    assert "Nothing runs." in after.stdout
    assert after.returncode == 0
    missing = _status(tmp_path / "none.db")
    assert (missing.returncode, missing.stdout) == (2, "")
    assert "There is no store" in missing.stderr
    with DriverLock(tmp_path / "none.db"):
        starting = _status(tmp_path / "none.db")
    assert (starting.returncode, starting.stdout) == (2, "")
    assert "yet: a run on a cluster is starting" in " ".join(starting.stderr.split())


LIGHT = (
    "import sys; from toolablate.traces.store import standing; from toolablate.reports.terminal.status import status_view;"
    " standing(sys.argv[1]); print(sorted({'pydantic', 'numpy', 'scipy', 'asyncio'} & set(sys.modules)))"
)


def test_counting_trials_needs_no_record_of_one(tmp_path: Path) -> None:
    """What makes it quick; how quick is measured in the benchmark."""
    asyncio.run(filled(tmp_path / "s.db", 2))
    command = [sys.executable, "-c", LIGHT, str(tmp_path / "s.db")]
    assert subprocess.run(command, capture_output=True, text=True, check=True).stdout == "[]\n"


def test_counting_trials_reads_one_index(tmp_path: Path) -> None:
    asyncio.run(filled(tmp_path / "s.db", 2))
    statements: list[str] = []
    with Store(tmp_path / "s.db") as store:
        store._connection.set_trace_callback(statements.append)
        assert sum(row.planned for row in store.counts()) == len(trials())
        (counting,) = [statement for statement in statements if "GROUP BY" in statement]
        steps = [step[3] for step in store._rows(f"EXPLAIN QUERY PLAN {counting}")]
    assert steps == ["SCAN trials USING COVERING INDEX trials_by_outcome"]


def test_a_high_rate_is_written_out() -> None:
    found = Standing(AT, (_row(answered=1, pending=20),), (_recorder(2, 2_100),))
    assert "1,050 trials per minute, about 1 s for the rest" in _shown(found)


def test_what_a_run_waits_for_stands_below_its_process_and_goes_when_it_is_over(tmp_path: Path) -> None:
    path = tmp_path / "s.db"
    with Recorder(path) as recorder:
        plan(recorder)
        recorder.waits_for(["waiting for http://e until 12:00:00", "and \x1b[2Jmore"])
        recorder.finished_trials()
        assert standing(path).recorders[0].waits_for == ("waiting for http://e until 12:00:00", "and \x1b[2Jmore")
        assert "\n  waiting for http://e until 12:00:00\n  and more\n" in _shown(standing(path))
        recorder.waits_for([])
        recorder.finished_trials()
        assert standing(path).recorders[0].waits_for == ()


async def test_what_runs_and_what_was_cut_off_is_told_with_its_events_so_far(tmp_path: Path) -> None:
    path = tmp_path / "s.db"
    with Recorder(path) as recorder:
        planned = plan(recorder)
        await attempt(recorder, planned[0])
        await attempt(recorder, planned[1], outcome="failed")
        session, again = await begun(recorder, planned[2]), await begun(recorder, planned[1])
        told = conversation(2)
        for event in told[:3]:
            session.record(event)
        await recorder.taken()
        with Store(path) as store:
            running = store.unfinished()
            assert [(each.trial, each.attempt, each.events, each.alive) for each in running] == [
                (planned[1].id, 2, 0, True),
                (planned[2].id, 1, 3, True),
            ]
            assert running[1].last == told[2].kind
            assert store.unfinished_events(planned[2].id) == tuple(told[:3])
        found = standing(path)
        assert (found.spent.attempts, found.spent.tokens, found.spent.unpriced) == (2, 720, 0)
        assert found.spent.usd == pytest.approx(0.006)
        assert "spent by trials, without judges: 720 tokens, $0.006" in _shown(found)
        assert again is not None
    with Store(path) as store:
        assert [each.alive for each in store.unfinished()] == [False, False]
        # What was cut off is no trial that ended, so that nothing scores it.
        assert {seen.trial for seen in store.summaries()} == {planned[0].id, planned[1].id}
        assert "failed: 1 trial, " in "".join(errors_told(store.failures()))
