"""What changes while a recorder writes: an answer key, the environment, the file, the clock, the process itself."""

import os
import shutil
import sqlite3
import subprocess
import sys
from contextlib import closing
from datetime import datetime, timedelta, tzinfo
from pathlib import Path

import pytest
from tests.traces.samples import CODE, MODEL, NONE, QUESTIONS, SIMULATED, attempt, begun, plan, run, score, trials

from toolablate.traces.errors import InputError, StoreError
from toolablate.traces.records import ChoiceTarget, Question, Trial
from toolablate.traces.store import Recorder, Store, standing, verify

PROJECT = Path(__file__).parents[2]
WRONG, RIGHT = ChoiceTarget(letters=("B",)), QUESTIONS[0].target


def _plan(recorder: Recorder, identity: str, *, target: ChoiceTarget | None = None, sandbox: str = "") -> list[Trial]:
    questions: list[Question] = list(QUESTIONS)
    if target is not None:
        questions = [each.model_copy(update={"target": target}) for each in questions]
    entered = run(identity).model_copy(update={"fingerprint": {"sandbox": sandbox} if sandbox else {}})
    recorder.plan(entered, questions, [MODEL, SIMULATED], [NONE, CODE], trials())
    return trials()


async def test_a_score_by_a_key_that_was_mended_meanwhile_is_left_out(tmp_path: Path) -> None:
    path = tmp_path / "s.db"
    with Recorder(path) as one, Recorder(path) as other:
        first, second, third, *_ = _plan(one, "run-1", target=WRONG)
        for trial in (first, second, third):
            await attempt(one, trial)
        by_wrong = [score(t, 0.0).model_copy(update={"target": WRONG.identity()}) for t in (first, second)]
        assert await one.score(by_wrong) == frozenset()
        _plan(other, "run-2", target=RIGHT)  # type: ignore[arg-type]
        assert await one.score([*by_wrong, score(third)]) == {first.id, second.id}
        with Store(path) as store:
            assert store.unscored_trials() == {first.id, second.id}
        by_right = [score(t).model_copy(update={"target": RIGHT.identity()}) for t in (first, second)]
        assert await one.score(by_right) == frozenset()
    assert verify(path).ok
    with Store(path) as store:
        assert {seen.value for seen in store.summaries()} == {1.0}


async def test_a_score_by_another_key_than_its_questions_is_damage(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "s.db"
    with Recorder(path) as recorder:
        (first, *_) = _plan(recorder, "run-1", target=WRONG)
        await attempt(recorder, first)
        await recorder.score([score(first, 0.0).model_copy(update={"target": WRONG.identity()})])
        monkeypatch.setattr("toolablate.traces.store.writing.drop_scores_of_another_target", lambda *_: None)
        _plan(recorder, "run-2", target=RIGHT)  # type: ignore[arg-type]
    (problem,) = verify(path).problems
    assert "another answer key" in problem.what


async def test_a_recorder_of_another_environment_is_refused_while_one_is_at_its_trials(tmp_path: Path) -> None:
    path = tmp_path / "s.db"
    with Recorder(path) as one, Recorder(path) as other:
        _plan(one, "run-1", sandbox="bubblewrap")
        with pytest.raises(InputError, match="ran with sandbox = 'bubblewrap'; this plan says 'none'") as caught:
            _plan(other, "run-2", sandbox="none")
        assert caught.value.code == "other_environment"
        # Nothing of the refused run is there, and its recorder can go on.
        with Store(path) as store:
            assert [each.id for each in store.runs()] == ["run-1"]
        one.close()
        (trial, *_) = _plan(other, "run-2", sandbox="none")
        await attempt(other, trial)
    with Recorder(path) as late, pytest.raises(InputError, match="ran with sandbox = 'none'"):
        _plan(late, "run-3", sandbox="bubblewrap")
    with Store(path) as store, pytest.raises(InputError, match="ran with sandbox = 'none'"):
        store.require_same_environment({"sandbox": "bubblewrap"})


@pytest.mark.parametrize("fate", ["deleted", "moved", "replaced", "folder deleted"])
async def test_a_store_that_leaves_its_place_ends_its_recorder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fate: str
) -> None:
    monkeypatch.setattr("toolablate.traces.store.file.LOOK_SECONDS", 0.0)
    path, elsewhere = tmp_path / "in" / "s.db", tmp_path / "elsewhere.db"
    with Recorder(path) as recorder:
        first, second, *_ = plan(recorder)
        await attempt(recorder, first)
        if fate == "moved":
            path.rename(elsewhere)
        elif fate == "replaced":
            shutil.copy(path, tmp_path / "copy")
            (tmp_path / "copy").replace(path)
        elif fate == "deleted":
            path.unlink()
        else:
            shutil.rmtree(path.parent)
        with pytest.raises(StoreError, match="deleted, moved or replaced") as caught:
            await begun(recorder, second)
        assert caught.value.code == "gone"
    if fate == "moved":
        # Whole, though what was finished last had not reached it yet when it was moved.
        assert verify(elsewhere).finished == 1
        assert verify(elsewhere).ok
    if fate in ("moved", "deleted"):
        assert list(path.parent.iterdir()) == []
    if fate == "replaced":
        assert verify(path).ok
    with Recorder(path) as again:
        await attempt(again, plan(again, identity="run-2")[0])
    assert verify(path).ok


HOLD = """
import asyncio, os, sys, time
from tests.traces.samples import plan
from toolablate.traces.store import Recorder

recorder = Recorder(sys.argv[1])
plan(recorder)
if len(sys.argv) > 2 and os.fork() == 0:
    print(os.getpid(), flush=True)
    time.sleep(100)
    os._exit(0)
if len(sys.argv) == 2:
    print("up", flush=True)
time.sleep(100)
"""


def test_a_fork_of_a_killed_process_does_not_keep_its_recorder_alive(tmp_path: Path) -> None:
    path = tmp_path / "s.db"
    command = [sys.executable, "-c", HOLD, str(path), "fork"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=PROJECT) as parent:
        assert parent.stdout is not None
        child = int(parent.stdout.readline())
        try:
            assert [each.pid for each in standing(path).recorders] == [parent.pid]
            parent.kill()
            parent.wait()
            assert standing(path).recorders == ()
        finally:
            os.kill(child, 9)


def test_trials_that_a_killed_process_wrote_are_not_taken_for_those_of_a_new_store(tmp_path: Path) -> None:
    path = tmp_path / "s.db"
    with subprocess.Popen(
        [sys.executable, "-c", HOLD, str(path)], stdout=subprocess.PIPE, text=True, cwd=PROJECT
    ) as killed:
        assert killed.stdout is not None
        assert killed.stdout.readline() == "up\n"
        killed.kill()
    path.rename(tmp_path / "moved.db")
    with pytest.raises(StoreError, match=r"s\.db-wal of a store that was moved or deleted") as caught:
        Recorder(path)
    assert caught.value.code == "orphaned"
    assert not path.exists()
    (tmp_path / "moved.db").rename(path)
    Recorder(path).close()
    assert len(trials()) == verify(path).planned


def test_who_may_hold_a_store_that_is_never_let_go_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("toolablate.traces.store.file.BUSY_SECONDS", 0.05)
    path = tmp_path / "s.db"
    command = [sys.executable, "-c", HOLD, str(path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=PROJECT) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == "up\n"
        try:
            with Recorder(path) as recorder, closing(sqlite3.connect(path, isolation_level=None)) as holder:
                holder.execute("BEGIN IMMEDIATE")
                with pytest.raises(
                    StoreError, match=rf"holds it \(it is written by process {other.pid} too\)"
                ) as caught:
                    recorder.finished_trials()
                assert caught.value.code == "locked"
        finally:
            other.kill()


class _HourBack(datetime):
    @classmethod
    def now(cls, tz: tzinfo | None = None) -> "_HourBack":  # type: ignore[override]
        back = datetime.now(tz) - timedelta(hours=1)
        return cls.combine(back.date(), back.time(), tz)


async def test_a_clock_that_is_set_back_changes_no_age_and_no_rate(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "s.db"
    with Recorder(path) as recorder:
        await attempt(recorder, plan(recorder)[0])
        before = standing(path)
        monkeypatch.setattr("toolablate.traces.store.status.datetime", _HourBack)
        after = standing(path)
        assert before.at - after.at > timedelta(minutes=59)
        ages = [found.at - found.recorders[0].since for found in (before, after)]
        assert timedelta(0) < ages[0] <= ages[1] < timedelta(minutes=5)


STARVED = """
import asyncio, os, resource, sys
from tests.traces.samples import WHEN, attempt, begun, plan, trials
from toolablate.traces.errors import StoreError
from toolablate.traces.store import Recorder

async def main() -> None:
    resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))
    with Recorder(sys.argv[1]) as recorder:
        planned = plan(recorder, trials(repeats=10))
        await attempt(recorder, planned[0])
        taken = []
        try:
            while True:
                taken.append(os.open(os.devnull, os.O_RDONLY))
        except OSError:
            pass
        for trial in planned[1:]:
            await attempt(recorder, trial, salt=os.urandom(2000).hex())
        for name in (sys.argv[1], sys.argv[1] + "-other"):
            try:
                Recorder(name)
            except StoreError as error:
                print(error.code, error.message)
        for file in taken:
            os.close(file)

asyncio.run(main())
"""


@pytest.mark.deep
def test_who_has_no_more_files_to_open_writes_on_and_is_told_what_it_is(tmp_path: Path) -> None:
    path = tmp_path / "s.db"
    command = [sys.executable, "-c", STARVED, str(path)]
    ended = subprocess.run(command, capture_output=True, text=True, cwd=PROJECT, timeout=60, check=False)
    assert ended.returncode == 0, ended.stderr
    lines = ended.stdout.splitlines()
    assert len(lines) == 2
    assert all(line.startswith("too_many_files ") and "too many files open" in line for line in lines)
    assert verify(path).finished == len(trials(repeats=10))
