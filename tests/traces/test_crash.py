"""A recorder is killed with SIGKILL while it writes; nothing that it called finished may be lost."""

import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from tests.traces.samples import trials

from toolablate.traces.store import Recorder, Store, verify

PROJECT = Path(__file__).parents[2]

WRITE = """
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
        [sys.executable, "-c", WRITE, str(path), f"run-{number}"], stdout=subprocess.PIPE, text=True, cwd=PROJECT
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
