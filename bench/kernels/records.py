"""What was measured, and what is said of it."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

Measure = Literal[
    "first",  # ms from start() to the reply to 1+1
    "imports",  # ms from start() to the end of a first cell that imports the scientific stack
    "stop",  # ms of stop()
    "during_stop",  # ms from start() to the reply to 1+1 while another kernel is being stopped
    "cpu",  # CPU ms of one start, 1+1 and stop
    "cpu_imports",  # the same with the imports
    "rate",  # kernels per second: start, 1+1, stop
    "rate_imports",  # kernels per second: start, imports, stop
    "pss_kernel",  # MB of one idle kernel
    "pss_guard",  # MB, per kernel, of the processes that belong to one kernel alone
    "pss_shared",  # MB of the processes that all kernels of a way share
    "idle",  # CPU ms per second of one idle kernel with its guard, of all that is not foreign divided by the kernels
    "programs",  # TAT-QA programs per second, one kernel each
]

QUIET_CORES = 0.12
"""Up to this foreign load a sample counts as taken on a quiet machine."""

PLAIN = "plain-tcp"
"""What everything is compared with: ipykernel as jupyter_client starts it by default."""


@dataclass(frozen=True, slots=True)
class Sample:
    """One measurement. `foreign` is the CPU load of processes that are not ours meanwhile, in cores; `many` is how many
    kernels were busy (rates) or lived (memory) at once."""

    way: str
    measure: Measure
    value: float
    foreign: float
    many: int = 1


@dataclass(frozen=True, slots=True)
class Failed:
    """A measurement that could not be made: never a figure."""

    way: str
    measure: str
    reason: str


@dataclass(frozen=True, slots=True)
class Summary:
    """Median, 10th and 90th percentile; `quiet` of the `count` samples were taken on a quiet machine."""

    median: float
    low: float
    high: float
    count: int
    quiet: int


@dataclass(frozen=True, slots=True)
class Row:
    """Kernels one after the other, and what they left behind: `left` names what grew, by how much."""

    way: str
    kernels: int
    seconds: float
    first_tenth_ms: float
    last_tenth_ms: float
    left: dict[str, int]
    foreign: float


@dataclass(frozen=True, slots=True)
class Step:
    """One function on the way from a kernel's start to its end, seen from the host: it was first called `at_ms` after
    the start, and all its `calls` for one kernel took `ms` (medians)."""

    way: str
    name: str
    calls: float
    at_ms: float
    ms: float


@dataclass(frozen=True, slots=True)
class Programs:
    """A sample of TAT-QA's programs. `differing` are those whose result is not the reference way's, by question id."""

    way: str
    programs: int
    seconds: float
    raised: int
    differing: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class WholeExample:
    """`toolablate run examples/tatqa/plan.toml`, from the command to its end."""

    seconds: float
    programs: int
    foreign: float


@dataclass(frozen=True, slots=True)
class Report:
    """All of one run of the benchmark; `machine` holds its cores, kernel and versions."""

    machine: dict[str, str]
    default: str
    samples: tuple[Sample, ...] = ()
    failed: tuple[Failed, ...] = ()
    rows: tuple[Row, ...] = ()
    steps: tuple[Step, ...] = ()
    programs: tuple[Programs, ...] = ()
    whole_example: WholeExample | None = None

    def of(self, way: str, measure: Measure, many: int | None = None) -> Summary | None:
        return summarize(
            each
            for each in self.samples
            if each.way == way and each.measure == measure and (many is None or each.many == many)
        )

    def best_rate(self, way: str, measure: Measure) -> tuple[Summary, int] | None:
        """The best median over all concurrencies, and that concurrency."""
        found = {each.many for each in self.samples if each.way == way and each.measure == measure}
        rates = [(summary, many) for many in found if (summary := self.of(way, measure, many))]
        return max(rates, key=lambda rate: rate[0].median, default=None)


def summarize(samples: Iterable[Sample]) -> Summary | None:
    taken: Sequence[Sample] = tuple(samples)
    if not taken:
        return None
    low, median, high = np.percentile([each.value for each in taken], [10, 50, 90])
    quiet = sum(each.foreign <= QUIET_CORES for each in taken)
    return Summary(float(median), float(low), float(high), len(taken), quiet)
