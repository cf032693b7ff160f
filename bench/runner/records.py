"""What was measured."""

import statistics
from collections.abc import Callable
from dataclasses import dataclass

from bench.runner.work import Kind

OURS, INSPECT, CLIENT, GRAPH, SAVED_GRAPH = "toolablate", "inspect", "client", "graph", "graph+sqlite"

QUIET_CORES = 0.12
"""Up to this foreign load a run counts as taken on a quiet machine."""


@dataclass(frozen=True, slots=True)
class Sample:
    """One run of one harness, as a command of its own, from its start to its end. Seconds; `cpu` is of the process and
    of all below it that it has waited for, in user and in system mode. `peak_mb` is the most that the process had in
    memory; `traces` is the size in bytes of what it keeps on disk, None for a harness that keeps nothing. `foreign` is
    other people's load meanwhile, in cores."""

    harness: str
    kind: Kind
    trials: int
    wall: float
    cpu: float
    peak_mb: float
    traces: int | None
    connections: int
    foreign: float


@dataclass(frozen=True, slots=True)
class Flight:
    """Trials of one call each, `wanted` in flight at once, against a server that takes `latency` seconds to reply.

    The ideal is `wanted / latency` trials per second. `whole` is the share of it from the first request to the last
    reply, with what the slow start and the last trials cost. `steady` is the share of the places that were taken, on
    average, from the moment at which all of them first were (`filled` seconds after the first request) to the last
    request: with a fixed latency that is the share of the ideal rate. None, both, where they never all were.

    Memory: `before_mb` when the first request came, `peak_mb` at most, `alone_mb` at most in a run of the same plan
    with one trial at a time and no latency, which holds all that does not come from many being in flight.
    """

    harness: str
    wanted: int
    latency: float
    trials: int
    most: int
    wall: float
    cpu: float
    whole: float
    steady: float | None
    filled: float | None
    before_mb: float
    peak_mb: float
    alone_mb: float
    foreign: float

    @property
    def kilobytes(self) -> float:
        """Of memory for each trial in flight."""
        return (self.peak_mb - self.before_mb) * 1000 / self.wanted

    @property
    def kilobytes_beside_alone(self) -> float:
        return (self.peak_mb - self.alone_mb) * 1000 / self.wanted


@dataclass(frozen=True, slots=True)
class Failed:
    """A run that gives no figure: it failed, or not every trial was answered and right."""

    harness: str
    what: str
    reason: str


@dataclass(frozen=True, slots=True)
class Report:
    """All of one run of the benchmark. `samples` with one trial are what each harness takes to start."""

    machine: dict[str, str]
    in_flight: int
    samples: tuple[Sample, ...]
    flights: tuple[Flight, ...]
    failed: tuple[Failed, ...]

    def of(self, harness: str, kind: Kind, *, start: bool = False) -> tuple[Sample, ...]:
        """The whole runs, or those of one trial."""
        return tuple(
            each
            for each in self.samples
            if each.harness == harness and each.kind == kind and (each.trials == 1) == start
        )

    def median(self, harness: str, kind: Kind, figure: Callable[[Sample], float]) -> float | None:
        taken = [figure(each) for each in self.of(harness, kind)]
        return statistics.median(taken) if taken else None

    def marginal(self, harness: str, kind: Kind, figure: Callable[[Sample], float]) -> float | None:
        """What one trial more adds to a figure of the whole command: the starting is taken off."""
        whole, start = self.of(harness, kind), self.of(harness, kind, start=True)
        if not whole or not start:
            return None
        more = statistics.median(map(figure, whole)) - statistics.median(map(figure, start))
        return more / (whole[0].trials - 1)
