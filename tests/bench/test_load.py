import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from bench.kernels.load import Key, Meter, Process, Reading, between, foreign_ticks, idle, processes

BUSY_SECONDS = 1.0
COUNTED = BUSY_SECONDS / 2
"""What is counted or forgotten is all of it. Linux samples the machine's time and measures a process's own, so that with
others at work their difference is off by some ticks."""

SPIN = f"import time\nwhile time.process_time() < {BUSY_SECONDS}: pass\n"


def test_what_a_child_of_ours_uses_is_ours_also_when_it_has_gone() -> None:
    meter = Meter()
    before = meter.read()
    subprocess.run([sys.executable, "-c", SPIN], check=True)
    assert between(before, meter.read()).ours >= COUNTED


@pytest.fixture
def stranger(tmp_path: Path) -> Iterator[Path]:
    """Spins once its file is there, writes another one, and waits: an orphan, and so no descendant of ours."""
    start, done = tmp_path / "start", tmp_path / "done"
    program = (
        f"import os, time, pathlib\nif os.fork(): os._exit(0)\nos.setsid()\nprint(os.getpid(), flush=True)\nos.close(1)\n"
        f"while not pathlib.Path({str(start)!r}).exists(): time.sleep(0.01)\n{SPIN}"
        f"pathlib.Path({str(done)!r}).touch()\ntime.sleep(60)"
    )
    said = subprocess.run([sys.executable, "-c", program], check=True, stdout=subprocess.PIPE, text=True).stdout
    yield tmp_path
    os.kill(int(said), signal.SIGKILL)


def test_what_a_stranger_uses_is_foreign(stranger: Path) -> None:
    meter = Meter()
    before = meter.read()
    (stranger / "start").touch()
    while not (stranger / "done").exists():
        time.sleep(0.02)
    assert between(before, meter.read()).foreign >= COUNTED


def test_a_process_may_have_any_name(tmp_path: Path) -> None:
    program = tmp_path / "a) R (1 2"
    shutil.copy(shutil.which("sleep") or "/bin/sleep", program)
    with subprocess.Popen([program, "60"]) as child:
        seen = processes()[child.pid]
        child.kill()
    assert (seen.name, seen.parent) == (program.name, os.getpid())


PARENT = Process(10, 1, "parent", started=0, ticks=5, reaped=100)
CHILD = Process(11, 10, "child", started=0, ticks=70, reaped=0)
INIT = Process(1, 0, "init", started=0, ticks=9, reaped=1000)


def _after(process: Process, ticks: int, reaped: int) -> Process:
    return Process(process.pid, process.parent, process.name, process.started, process.ticks + ticks, reaped)


@pytest.mark.parametrize(
    ("before", "after", "ticks"),
    [
        pytest.param([PARENT], [_after(PARENT, 3, 100)], 3, id="its own work"),
        pytest.param([PARENT, CHILD], [_after(PARENT, 3, 100 + 72)], 5, id="a child is reaped"),
        pytest.param([PARENT], [_after(PARENT, 0, 130)], 30, id="a child comes and goes"),
        pytest.param([PARENT, CHILD], [_after(PARENT, 4, 100)], 4, id="a child is reaped by nobody"),
        pytest.param([INIT, PARENT, CHILD], [_after(INIT, 2, 5000)], 2, id="a tree is reaped by process 1"),
        pytest.param([PARENT], [PARENT, Process(10, 1, "later", 99, 6, 1)], 7, id="a number is used again"),
        pytest.param([PARENT, CHILD], [], 0, id="all are gone"),
    ],
)
def test_foreign_work(before: list[Process], after: list[Process], ticks: int) -> None:
    now = {each.key: each for each in after}
    assert foreign_ticks({each.key: each for each in before}, now, now.keys()) == ticks


def test_what_is_ours_is_not_foreign() -> None:
    before, after = {each.key: each for each in (PARENT, CHILD)}, {PARENT.key: _after(PARENT, 3, 170), INIT.key: INIT}
    assert foreign_ticks(before, after, {INIT.key}) == INIT.ticks


def test_a_load_is_what_lies_between_two_readings() -> None:
    before, after = Reading(1.0, 10.0, 2.0, 0.5), Reading(3.0, 13.0, 3.0, 0.75)
    load = between(before, after)
    assert (load.ours, load.foreign, load.foreign_cores) == (1.75, 1.0, 0.5)


A, B = (1, 0), (2, 0)


@pytest.mark.parametrize(
    ("looks", "idle_now"),
    [
        pytest.param([{A: 5, B: 5}] * 6, True, id="nothing happens"),
        pytest.param([{A: 5}] * 5, False, id="not looked for long enough"),
        pytest.param([{A: 5 + each // 3} for each in range(6)], True, id="a wake-up now and then"),
        pytest.param([{A: 5 + each // 3, B: 5 + each // 2} for each in range(6)], True, id="wake-ups of several"),
        pytest.param([{A: 5 + each} for each in range(6)], False, id="work"),
        pytest.param([{A: 5, B: 5 + each} for each in range(6)], False, id="work by one of them"),
        pytest.param([{A: 5, B: 5}] * 5 + [{A: 5}], False, id="one has just ended"),
        pytest.param([{A: 5}] * 5 + [{A: 5, B: 0}], False, id="one has just begun"),
        pytest.param([{A: 5}] * 5 + [{B: 5}], False, id="one has replaced another"),
    ],
)
def test_when_our_processes_are_idle(looks: list[dict[Key, int]], idle_now: bool) -> None:
    assert idle(looks) is idle_now
