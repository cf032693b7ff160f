"""One run of the benchmark, part after part."""

import argparse
import itertools
import os
import platform
import random
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from bench.kernels.load import Load, Meter, between
from bench.runner.flight import filled, most_at_once, occupied
from bench.runner.harnesses import Harness, Inspect, Job, NotRightError
from bench.runner.processes import EndedBadlyError, Served, Usage, run_measured, serving
from bench.runner.records import SAVED_GRAPH, Failed, Flight, Report, Sample
from bench.runner.server import Watch
from bench.runner.work import KINDS, TOOL_CALLS, Kind

Say = Callable[[str], None]

_PACKAGES = ("openai", "langgraph", "httpx2", "pydantic")
_REST_SECONDS = 1.0


@dataclass(frozen=True, slots=True)
class _Run:
    usage: Usage
    traces: int | None
    watch: Watch
    load: Load


@dataclass
class Bench:
    """What all parts of one run share. Every command has an empty folder of its own, below `place`."""

    options: argparse.Namespace
    served: Served
    say: Say
    place: Path
    meter: Meter = field(default_factory=Meter)
    samples: list[Sample] = field(default_factory=list)
    flights: list[Flight] = field(default_factory=list)
    failed: list[Failed] = field(default_factory=list)
    _numbers: Iterator[int] = field(default_factory=itertools.count)

    def compare(self, harnesses: Sequence[Harness]) -> None:
        """Every round has each harness once with one trial and once with all of them, in random order. Before the
        first, each runs unmeasured, or its first start would compile what it imports."""
        for harness in harnesses if self.options.rounds else ():
            for kind in KINDS:
                if kind == "four-tools" or harness.name != SAVED_GRAPH:
                    self._run(harness, f"first start, {kind}", kind, 1, self.options.concurrency, 0.0)
        for number in range(1, self.options.rounds + 1):
            jobs = [
                (harness, kind, trials)
                for harness in harnesses
                for kind in KINDS
                for trials in (1, self.options.trials)
                if kind == "four-tools" or harness.name != SAVED_GRAPH
            ]
            for harness, kind, trials in random.sample(jobs, len(jobs)):
                self._sample(f"{number}/{self.options.rounds}", harness, kind, trials)

    def fly(self, harnesses: Sequence[Harness]) -> None:
        """Many in flight against a slow server."""
        for harness in harnesses:
            many, latency = self.options.in_flight, self.options.latency
            what = f"{many} in flight"
            run = self._run(harness, what, "one-call", self.options.flight_trials, many, latency)
            alone = self._run(harness, "one at a time", "one-call", self.options.flight_trials, 1, 0.0)
            if run is None or alone is None:
                continue
            found = _flight(harness.name, many, latency, run, alone)
            self.flights.append(found)
            steady = "never filled" if found.steady is None else f"steady {found.steady:.1%}"
            self.say(f"flight  {harness.name}: whole {found.whole:.1%}, {steady}, {found.kilobytes:.0f} kB each")

    def _sample(self, number: str, harness: Harness, kind: Kind, trials: int) -> None:
        run = self._run(harness, f"{trials} x {kind}", kind, trials, self.options.concurrency, 0.0)
        if run is None:
            return
        usage, foreign, connections = run.usage, run.load.foreign_cores, run.watch.connections
        sample = Sample(
            harness.name, kind, trials, usage.wall, usage.cpu, usage.peak_mb, run.traces, connections, foreign
        )
        self.samples.append(sample)
        each = f"{usage.cpu / trials * 1000:.2f} ms of CPU and {trials / usage.wall:.1f} per second"
        self.say(f"{number}  {harness.name}: {trials} x {kind}: {each} (foreign load {foreign:.2f})")

    def _run(self, harness: Harness, what: str, kind: Kind, trials: int, in_flight: int, latency: float) -> _Run | None:
        key = f"run{next(self._numbers)}"
        with tempfile.TemporaryDirectory(prefix=f"{key}-", dir=self.place) as folder:
            job = Job(kind, trials, self.served.url(key, latency), in_flight, Path(folder))
            command = harness.prepare(job)
            before = self.meter.read()
            try:
                usage = run_measured(command, job.folder, self.options.seconds)
                load = between(before, self.meter.read())
                harness.check(job)
                watch = self.served.watch(key)
                _require_requests(watch, kind, trials)
            except (EndedBadlyError, NotRightError) as error:
                self.failed.append(Failed(harness.name, what, str(error)))
                self.say(f"FAILED  {harness.name}: {what}: {error}")
                return None
            return _Run(usage, harness.traces(job), watch, load)


def measure(options: argparse.Namespace, harnesses: Sequence[Harness], say: Say) -> Report:
    """All parts that `options` ask for."""
    with serving() as served, _place(options.folder) as place:
        bench = Bench(options, served, say, place)
        machine = _machine(bench.meter, harnesses)
        bench.compare(harnesses)
        if options.in_flight:
            named = options.flight_ways.split(",")
            bench.fly([harness for harness in harnesses if harness.name in named])
    return Report(machine, options.concurrency, tuple(bench.samples), tuple(bench.flights), tuple(bench.failed))


def _require_requests(watch: Watch, kind: Kind, trials: int) -> None:
    """A harness that asks less has not done the work, and one that asks more has done some of it twice."""
    wanted = trials * (1 if kind == "one-call" else TOOL_CALLS + 1)
    if len(watch.left) != wanted or watch.refused:
        raise NotRightError(
            f"{len(watch.left)} requests were made, {watch.refused} of them wrong; {wanted} were wanted"
        )


def _flight(name: str, wanted: int, latency: float, run: _Run, alone: _Run) -> Flight:
    watch, usage = run.watch, run.usage
    trials, first = len(watch.left), watch.came[0]
    full = filled(watch, wanted)
    return Flight(
        harness=name,
        wanted=wanted,
        latency=latency,
        trials=trials,
        most=most_at_once(watch),
        wall=usage.wall,
        cpu=usage.cpu,
        whole=trials / (max(watch.left) - first) / (wanted / latency),
        steady=None if full is None else occupied(watch, full, watch.came[-1]) / wanted,
        filled=None if full is None else full - first,
        before_mb=usage.memory_at(first),
        peak_mb=usage.peak_mb,
        alone_mb=alone.usage.peak_mb,
        foreign=run.load.foreign_cores,
    )


@contextmanager
def _place(folder: Path | None) -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="bench-runner-", dir=folder) as name:
        yield Path(name)


def _machine(meter: Meter, harnesses: Sequence[Harness]) -> dict[str, str]:
    before = meter.read()
    time.sleep(_REST_SECONDS)
    rest = between(before, meter.read())
    inspects = [harness for harness in harnesses if isinstance(harness, Inspect)]
    return {
        "cores": str(os.cpu_count()),
        "processor": _processor(),
        "linux": platform.release(),
        "python": platform.python_version(),
        **{name: _version(name) for name in _PACKAGES},
        "inspect_ai": inspects[0].version() if inspects else "not measured",
        "foreign load at rest": f"{rest.foreign_cores:.2f}",
    }


def _processor() -> str:
    lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    names = (line.split(":", 1)[1].strip() for line in lines if line.startswith("model name"))
    return next(names, platform.machine())


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "none"
