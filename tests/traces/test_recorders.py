"""Several recorders on one store share the trials: none is done twice, and what a dead one had begun is free."""

import asyncio
import contextlib
import fcntl
import itertools
import random
import signal
import socket
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from tests.traces.samples import ENVIRONMENT, WHEN, attempt, begun, filled, plan, trials

from toolablate.traces.errors import StoreError
from toolablate.traces.records import Answer, Trial
from toolablate.traces.store import DriverLock, Recorder, Store, standing, verify

PROJECT = Path(__file__).parents[2]


def _names(folder: Path) -> list[str]:
    return sorted(entry.name for entry in folder.iterdir())


async def _take(recorder: Recorder, trial: Trial) -> bool:
    return await recorder.begin(trial, started_at=WHEN, environment=ENVIRONMENT) is not None


async def test_two_recorders_of_a_process_never_do_a_trial_twice(tmp_path: Path) -> None:
    path = tmp_path / "s.db"
    with Recorder(path) as one, Recorder(path) as other:
        planned = plan(one, trials(repeats=10), identity="run-1")
        plan(other, trials(repeats=10), identity="run-2")

        async def work(recorder: Recorder, order: list[Trial]) -> list[str]:
            done = []
            for trial in order:
                session = await recorder.begin(trial, started_at=WHEN)
                if session is not None:
                    session.record(Answer(at=0, text="yes"))
                    await session.finish("answered", 1.0)
                    done.append(trial.id)
            return done

        shares = await asyncio.gather(
            work(one, planned), work(one, planned[::-1]), work(other, planned), work(other, planned[::-1])
        )
    assert sorted(itertools.chain(*shares)) == sorted(trial.id for trial in planned)
    with Store(path) as store:
        assert {len(store.attempts(trial.id)) for trial in planned} == {1}
        assert len(store.runs()) == 2
    assert verify(path).ok
    assert _names(tmp_path) == ["s.db"]


async def test_what_is_begun_is_taken_until_it_has_ended(tmp_path: Path) -> None:
    path = tmp_path / "s.db"
    with Recorder(path) as one, Recorder(path) as other:
        first, second, third, *_ = plan(one)
        sessions = {trial: await begun(one, trial) for trial in (first, second, third)}
        for recorder in (one, other):
            assert not await _take(recorder, first)
        assert await one.taken() == frozenset()
        assert await other.taken() == {first.id, second.id, third.id}
        await sessions[first].finish("answered", 1.0)
        await sessions[second].finish("failed", 1.0)
        assert await other.taken() == {third.id}
        assert not await _take(other, first)
        assert await _take(other, second)
        assert await one.taken() == {second.id}
        one.close()
        # It has left without an end of its third.
        assert await other.taken() == frozenset()
        assert await _take(other, third)
    assert verify(path).ok
    with Store(path) as store:
        assert [trace.outcome for trace in store.attempts(second.id)] == ["failed"]
    assert _names(tmp_path) == ["s.db"]


HOLD = """
import asyncio, sys, time
from tests.traces.samples import begun, plan, trials
from toolablate.traces.store import Recorder

async def main() -> None:
    recorder = Recorder(sys.argv[1])
    planned = plan(recorder, identity=sys.argv[2])
    for trial in planned[int(sys.argv[3]):int(sys.argv[4])]:
        await begun(recorder, trial)
    print("begun", flush=True)
    time.sleep(100)

asyncio.run(main())
"""


@contextlib.contextmanager
def _holding(path: Path, first: int, last: int) -> Iterator["subprocess.Popen[bytes]"]:
    """Another process that has begun some of the sample trials, and ends none."""
    command = [sys.executable, "-c", HOLD, str(path), f"held-{first}", str(first), str(last)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, cwd=PROJECT) as other:
        try:
            assert other.stdout is not None
            assert other.stdout.readline() == b"begun\n"
            yield other
        finally:
            other.kill()


@pytest.mark.deep
async def test_what_a_killed_process_had_begun_is_free_at_once(tmp_path: Path) -> None:
    path = tmp_path / "s.db"
    planned = trials()
    with _holding(path, 0, 2) as other, Recorder(path) as recorder:
        assert await recorder.taken() == {trial.id for trial in planned[:2]}
        assert not await _take(recorder, planned[0])
        # A process that is only stopped is alive.
        other.send_signal(signal.SIGSTOP)
        assert not await _take(recorder, planned[1])
        other.send_signal(signal.SIGKILL)
        other.wait()
        assert await recorder.taken() == frozenset()
        again = await begun(recorder, planned[0])
        assert (await again.finish("answered", 1.0)).attempt == 2
    report = verify(path)
    assert (report.ok, report.finished, report.unfinished, report.pending) == (True, 1, 1, 6)
    assert _names(tmp_path) == ["s.db"]


async def test_a_killed_process_leaves_claims_that_are_no_damage_and_count_for_nothing(tmp_path: Path) -> None:
    path = tmp_path / "s.db"
    with _holding(path, 0, 3) as other:
        (held,) = standing(path).recorders
        assert (held.pid, held.running, held.ended) == (other.pid, 3, 0)
        assert sum(row.running for row in standing(path).counts) == 3
        assert verify(path).ok
    # Both before anybody has tidied up and after.
    assert (tmp_path / "s.db-recorder-1").exists()
    for _ in range(2):
        report = verify(path)
        assert (report.ok, report.unfinished, report.pending) == (True, 3, 5)
        assert standing(path).recorders == ()
        assert [(row.running, row.pending) for row in standing(path).counts] == [(0, 4), (0, 4)]
        Recorder(path).close()
    assert _names(tmp_path) == ["s.db"]


@pytest.mark.deep
async def test_two_that_live_and_one_that_is_killed(tmp_path: Path) -> None:
    path = tmp_path / "s.db"
    with _holding(path, 0, 2), Recorder(path) as recorder:
        with _holding(path, 2, 4):
            assert len(await recorder.taken()) == 4
            assert len(standing(path).recorders) == 3
        await attempt(recorder, trials()[2])
        assert len(await recorder.taken()) == 2
        recorder.close()
        # Those who are still there go on; nothing of theirs was tidied up.
        assert len(standing(path).recorders) == 1
        assert "s.db-wal" in _names(tmp_path)
    assert verify(path).ok
    Recorder(path).close()
    assert _names(tmp_path) == ["s.db"]


async def test_a_link_or_another_working_folder_leads_to_the_same_claims(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    monkeypatch.chdir(tmp_path / "a")
    with Recorder("s.db") as recorder:
        first, second, *_ = plan(recorder)
        await begun(recorder, first)
        (tmp_path / "b" / "link.db").symlink_to(tmp_path / "a" / "s.db")
        with Recorder(tmp_path / "b" / "link.db") as other:
            assert await other.taken() == {first.id}
            assert not await _take(other, first)
            assert await _take(other, second)
        assert standing(tmp_path / "b" / "link.db").recorders[0].running == 1
    assert _names(tmp_path / "a") == ["s.db"]
    assert _names(tmp_path / "b") == ["link.db"]


async def test_one_that_stopped_while_it_opened_the_store_is_waited_for_and_then_told_of(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("toolablate.traces.store.file.GATE_SECONDS", 0.05)
    path = tmp_path / "s.db"
    await filled(path, 1)
    with (tmp_path / "s.db-lock").open("w") as gate:
        fcntl.flock(gate, fcntl.LOCK_EX)
        before = path.read_bytes()
        with pytest.raises(StoreError, match="has stopped half-way") as caught:
            Recorder(path)
        assert caught.value.code == "locked"
        assert path.read_bytes() == before
        (tmp_path / "s.db-lock").unlink()
    with Recorder(path) as recorder:
        await attempt(recorder, plan(recorder, identity="run-2")[1])
    assert _names(tmp_path) == ["s.db"]


@pytest.mark.parametrize(
    "statement",
    ["UPDATE trials SET outcome = 'failed' WHERE key = 1", "INSERT INTO recorders (key, pid) VALUES (7, 1);"
     "INSERT INTO claims VALUES (1, 1, 7)", "INSERT INTO claims VALUES (8, 3, 7)"],
    ids=["outcome", "claim of what has ended", "claim of nobody"],
)  # fmt: skip
async def test_claims_and_outcomes_that_do_not_hold_are_damage(tmp_path: Path, statement: str) -> None:
    path = tmp_path / "s.db"
    await filled(path, 2)
    with closing(sqlite3.connect(path)) as edited:
        edited.executescript(statement)
    assert not verify(path).ok


WRITE = """
import asyncio, sys
from tests.traces.samples import WHEN, conversation, plan, trials
from toolablate.traces.records import Usage
from toolablate.traces.store import Recorder

async def main() -> None:
    with Recorder(sys.argv[1]) as recorder:
        planned = plan(recorder, trials(repeats=30), identity=sys.argv[2])

        async def work() -> None:
            for trial in planned:
                session = await recorder.begin(trial, started_at=WHEN)
                if session is not None:
                    for event in conversation(2, salt=trial.id):
                        session.record(event)
                    await session.finish("answered", 1.0, Usage())

        await asyncio.gather(*(work() for _ in range(4)))

asyncio.run(main())
"""


@pytest.mark.deep
@pytest.mark.timeout(120)
def test_ten_processes_share_a_store(tmp_path: Path) -> None:
    path = tmp_path / "s.db"
    commands = [[sys.executable, "-c", WRITE, str(path), f"run-{number}"] for number in range(10)]
    others = [subprocess.Popen(command, cwd=PROJECT, stderr=subprocess.PIPE, text=True) for command in commands]
    errors = [other.communicate(timeout=100)[1] for other in others]
    assert errors == [""] * 10
    planned = trials(repeats=30)
    with Store(path) as store:
        assert {len(store.attempts(trial.id)) for trial in planned} == {1}
        assert len(store.runs()) == 10
    assert verify(path).ok
    assert _names(tmp_path) == ["s.db"]


# A recorder is killed with SIGKILL while it writes; nothing that it called finished may be lost.


WRITE_UNTIL_KILLED = """
import asyncio, sys
from pathlib import Path
from tests.traces.samples import attempt, plan, score, trials
from toolablate.traces.store import Recorder

async def main() -> None:
    with Recorder(Path(sys.argv[1])) as recorder:
        planned = plan(recorder, trials(repeats=200), identity=sys.argv[2])
        done = recorder.finished_trials()
        missing = [trial for trial in planned if trial.id not in done]
        print("planned", flush=True)

        async def work(mine) -> None:
            for trial in mine:
                await attempt(recorder, trial, turns=3)
                print("finished", trial.id, flush=True)
                await recorder.score([score(trial)])
                print("scored", trial.id, flush=True)

        await asyncio.gather(*(work(missing[start::4]) for start in range(4)))

asyncio.run(main())
"""


def _start(path: Path, number: int) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        [sys.executable, "-c", WRITE_UNTIL_KILLED, str(path), f"run-{number}"],
        stdout=subprocess.PIPE,
        text=True,
        cwd=PROJECT,
    )


def _kill_after(process: "subprocess.Popen[str]", lines: int) -> list[list[str]]:
    """Kills it once it has said that much; returns all that it said."""
    assert process.stdout is not None
    said = [process.stdout.readline() for _ in range(lines)]
    process.send_signal(signal.SIGKILL)
    rest, _ = process.communicate(timeout=60)
    # A line that the kill cut off was never said.
    return [line.split() for line in [*said, *rest.splitlines(keepends=True)] if line.endswith("\n")]


@pytest.mark.deep
@pytest.mark.timeout(120)
def test_killed_ten_times_and_nothing_finished_is_lost(tmp_path: Path) -> None:
    path, finished, scored = tmp_path / "s.db", set[str](), set[str]()
    for number in range(10):
        with _start(path, number) as process:
            said = _kill_after(process, random.Random(number).randrange(1, 60))
        finished |= {words[1] for words in said if words[0] == "finished"}
        scored |= {words[1] for words in said if words[0] == "scored"}
        report = verify(path)
        assert report.ok, report.problems
        with Store(path) as store:
            assert finished <= store.finished_trials()
            assert scored.isdisjoint(store.unscored_trials())
    assert finished
    with Recorder(path) as recorder:
        assert finished <= recorder.finished_trials()
    report = verify(path)
    assert report.ok
    assert report.planned == len(trials(repeats=200))
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["s.db"]


OPEN = "from pathlib import Path; import sys; from toolablate.traces.store import Recorder; print(flush=True); Recorder(Path(sys.argv[1]))"


@pytest.mark.parametrize("milliseconds", [0, 1, 2, 4, 8])
def test_killed_while_it_makes_a_store_it_leaves_none_or_a_whole_one(tmp_path: Path, milliseconds: int) -> None:
    path = tmp_path / "s.db"
    with subprocess.Popen([sys.executable, "-c", OPEN, str(path)], stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()
        time.sleep(milliseconds / 1000)
        process.kill()
    assert not path.exists() or verify(path).ok
    with Recorder(path) as recorder:
        assert recorder.finished_trials() == frozenset()
    assert [entry.name for entry in tmp_path.iterdir()] == ["s.db"]


def test_what_a_crash_left_while_making_a_store_is_no_obstacle(tmp_path: Path) -> None:
    (tmp_path / "s.db-new").write_bytes(b"half a store")
    (tmp_path / "s.db-new-journal").write_bytes(b"and its journal")
    with Recorder(tmp_path / "s.db"):
        pass
    assert [entry.name for entry in tmp_path.iterdir()] == ["s.db"]


def test_a_second_driver_is_told_of_the_first_until_that_one_dies(tmp_path: Path) -> None:
    asyncio.run(filled(tmp_path / "s.db"))
    program = (
        "import os, sys; from pathlib import Path; from toolablate.traces.store import DriverLock\n"
        "with DriverLock(Path(sys.argv[1])): os.fork() or sys.stdin.read(); print(flush=True); sys.stdin.read()"
    )
    command = [sys.executable, "-c", program, tmp_path / "s.db"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as other:
        assert other.stdout is not None
        other.stdout.readline()
        with pytest.raises(StoreError, match=f"process {other.pid} on {socket.gethostname()}") as refused:
            DriverLock(tmp_path / "s.db").__enter__()
        assert refused.value.code == "driven"
        with Recorder(tmp_path / "s.db"):  # an ordinary run is nobody's rival
            other.kill()
            other.wait()
            with DriverLock(tmp_path / "s.db"):
                assert "s.db-driver" in _names(tmp_path)
    assert _names(tmp_path) == ["s.db"]
