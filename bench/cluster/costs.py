"""What trials on a cluster cost beside trials here: CPU, time added to a request, and what more workers do."""

import statistics
import sys
import tempfile
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from bench.cluster.nodes import Nodes, is_idle_worker, processes_of
from bench.kernels.load import TICK, Key, processes
from bench.runner.flight import filled
from bench.runner.harnesses import Command, Job, Ours
from bench.runner.processes import Served, run_measured
from bench.runner.server import Watch
from bench.runner.work import TOOL_CALLS, write_items

KERNELS = 2
"""Places of each worker."""
_WAVES = 3
"""Trials that each place has, one after the other."""
_REQUESTS = TOOL_CALLS + 1
_SLOW_SECONDS = 2.0
_MOST_SECONDS = 900.0
_LOOK_SECONDS = 0.2


@dataclass(slots=True)
class Costs:
    """Seconds of CPU of a trial with four tools, `here` and on a cluster: of its `driver`, `in_all` of driver and
    workers, and of Ray's `services`. Seconds between a reply and the next request. `rates` are requests per second by
    workers, once places are full."""

    here: float = 0.0
    driver: float = 0.0
    in_all: float = 0.0
    services: float = 0.0
    pause_here: float = 0.0
    pause_there: float = 0.0
    rates: dict[int, float] = field(default_factory=dict)


@dataclass(slots=True)
class Bench:
    """`folder` is where stores are kept meanwhile."""

    nodes: Nodes
    served: Served
    folder: Path
    say: Callable[[str], None]
    _runs: int = 0

    def measure(self, trials: int, alone: int) -> Costs:
        """CPU of so many trials, 64 in flight; pauses of so many, one after the other."""
        there = self.nodes.address
        costs = Costs()
        costs.here, _, _ = self.cpu("none", trials)
        costs.driver, costs.in_all, costs.services = self.cpu(there, trials)
        costs.pause_here = _pause(self.adding("none", alone, 1)[0])
        costs.pause_there = _pause(self.adding(there, alone, 1)[0])
        self.say(f"reply to request: {costs.pause_here * 1000:.1f} ms here, {costs.pause_there * 1000:.1f} there")
        for workers in (1, 4):
            costs.rates[workers] = self.coding(workers)
            self.say(f"{workers} workers: {costs.rates[workers]:.2f} requests/s")
        return costs

    def cpu(self, cluster: str, trials: int) -> tuple[float, float, float]:
        """Seconds for one trial more: of the command, of it and the workers, of Ray's services."""
        one, many = self.adding(cluster, 1, 64), self.adding(cluster, trials, 64)
        driver, in_all, services = ((many[place] - one[place]) / (trials - 1) for place in (1, 2, 3))
        said = f"{driver * 1000:.2f} ms of the driver's CPU a trial, {in_all * 1000:.2f} in all"
        self.say(f"{cluster}: {said}, and {services * 1000:.2f} of Ray's services")
        return driver, in_all, services

    def adding(self, cluster: str, trials: int, in_flight: int) -> tuple[Watch, float, float, float]:
        """What the server saw; the CPU of the command, of it and the workers, and of Ray's services meanwhile."""
        key = self._key()
        with tempfile.TemporaryDirectory(prefix=f"{key}-", dir=self.folder) as name:
            job = Job("four-tools", trials, self.served.url(key), in_flight, Path(name))
            arguments = [*Ours().prepare(job).arguments, "--cluster", cluster]
            looking = _Ticks(self.nodes.folder)
            used = run_measured(Command(arguments, self.nodes.env), job.folder, _MOST_SECONDS)
            in_all, services = looking.end()
            Ours().check(job)
        return self.served.watch(key), used.cpu, in_all, services

    def coding(self, workers: int) -> float:
        """Requests per second once all places for kernels are full, until the first is empty for good."""
        key, places = self._key(), workers * KERNELS
        with tempfile.TemporaryDirectory(prefix=f"{key}-", dir=self.folder) as name:
            folder = Path(name)
            write_coding(
                folder,
                self.served.url(key, _SLOW_SECONDS),
                trials=places * _WAVES,
                in_flight=places,
                cluster=f"workers = {workers}\nkernels = {KERNELS}",
            )
            arguments = [*run_coding(folder), "--cluster", self.nodes.address]
            run_measured(Command(arguments, self.nodes.env), folder, _MOST_SECONDS)
        return _rate_when_full(self.served.watch(key), places)

    def _key(self) -> str:
        self._runs += 1
        return f"cluster{self._runs}"


def write_coding(folder: Path, url: str, *, trials: int, in_flight: int, cluster: str) -> None:
    """A plan of trials with four calls of `python` each."""
    write_items(folder / "items.jsonl", "four-tools", trials)
    (folder / "plan.toml").write_text(
        f"sandbox = {{ backend = 'bubblewrap' }}\n[cluster]\n{cluster}\n[questions]\nfile = 'items.jsonl'\n"
        f"[[conditions]]\nname = 'python'\ntools = ['python']\n"
        f"[[models]]\nprovider = 'openai'\nname = 'served'\nconcurrency = {in_flight}\nendpoint = '{url}'\n"
        # A reply may be held back.
        f"timeout_seconds = 600\n",
        encoding="utf-8",
    )


def run_coding(folder: Path) -> list[str]:
    store = str(folder / "store.sqlite")
    return [sys.executable, "-m", "toolablate", "run", str(folder / "plan.toml"), "--store", store]


def _pause(watch: Watch) -> float:
    """Between a reply and the next request of the same trial, where there is one trial at a time."""
    pauses = [came - left for left, came in zip(watch.left, watch.came[1:], strict=False)]
    return statistics.median(pause for number, pause in enumerate(pauses, 1) if number % _REQUESTS)


def _rate_when_full(watch: Watch, places: int) -> float:
    """Full is when three quarters of the requests are out: the other trials run code. The last trials are left out."""
    full, left = filled(watch, places * 3 // 4), sorted(watch.left)
    end = left[-_REQUESTS * places]
    if full is None or full >= end:
        return 0.0
    return sum(full < at <= end for at in left) / (end - full)


class _Ticks:
    """Adds up the CPU of all that was started with a cluster's variables. Services are what is there before."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._ours: dict[Key, bool] = {}
        self._ticks: dict[Key, int] = {}
        self._over = threading.Event()
        self._look()
        self._before = {key: ticks for key, ticks in self._ticks.items() if not is_idle_worker(key)}
        self._looking = threading.Thread(target=self._run, daemon=True)
        self._looking.start()

    def end(self) -> tuple[float, float]:
        self._over.set()
        self._looking.join()
        self._look()
        services = sum(self._ticks[key] - ticks for key, ticks in self._before.items())
        work = sum(ticks for key, ticks in self._ticks.items() if key not in self._before)
        return work * TICK, services * TICK

    def _run(self) -> None:
        while not self._over.wait(_LOOK_SECONDS):
            self._look()

    def _look(self) -> None:
        seen = {each.key: each for each in processes().values()}
        if any(key not in self._ours for key in seen):
            ours = set(processes_of(self._folder))
            self._ours = {key: key[0] in ours for key in seen}
        self._ticks.update((key, each.ticks) for key, each in seen.items() if self._ours[key])
