"""How fast a store is read: whole commands as a user calls them, and single traces."""

import os
import random
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from toolablate.traces.store import Store

TIMES = 5
TRACES = 200
PROGRAM = [sys.executable, "-m", "toolablate"]


@dataclass(frozen=True, slots=True)
class Figure:
    """Median and largest, by the clock and (`cpu`) of processor time, with what is aimed at, all in milliseconds."""

    what: str
    median: float
    largest: float
    cpu: float
    aim: float

    @property
    def met(self) -> bool:
        return self.median <= self.aim


def measure(plan: Path, store: Path, *, left: int) -> list[Figure]:
    """The plan has `left` trials to run yet, which the first command runs; then all others read the same store."""
    found = [_command(f"run, {left} trials left", ["run", str(plan), "--store", str(store)], 3000, times=1)]
    found.append(_command("run, nothing left", ["run", str(plan), "--store", str(store)], 3000))
    found.append(_command("status", ["status", str(store)], 300))
    found.append(_command("compare", ["compare", str(store)], 3000))
    with Store(store) as opened:
        trials = sorted(opened.finished_trials())
        chosen = random.Random(0).choices(trials, k=TRACES)
        found.append(_figure("one trace", [_timed(lambda trial=trial: opened.trace(trial)) for trial in chosen], 20))
    return found


def _command(what: str, arguments: list[str], aim: float, *, times: int = TIMES) -> Figure:
    def call() -> None:
        subprocess.run([*PROGRAM, *arguments], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    return _figure(what, [_timed(call) for _ in range(times)], aim)


def _timed(call: Callable[[], object]) -> tuple[float, float]:
    began, used = time.perf_counter(), _cpu()
    call()
    return 1000 * (time.perf_counter() - began), 1000 * (_cpu() - used)


def _figure(what: str, times: list[tuple[float, float]], aim: float) -> Figure:
    clock, cpu = [each for each, _ in times], [each for _, each in times]
    return Figure(what, statistics.median(clock), max(clock), statistics.median(cpu), aim)


def _cpu() -> float:
    """Of this process and its children that have ended."""
    return sum(
        used.ru_utime + used.ru_stime
        for used in map(resource.getrusage, (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    )


def load() -> str:
    return f"load of the machine: {os.getloadavg()[0]:.1f} of {os.cpu_count()} cores"
