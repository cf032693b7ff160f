"""How probable each answer is after each step of a trace, by asking for it there several times."""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import pairwise
from statistics import NormalDist

_NORMAL = NormalDist()


@dataclass(frozen=True, slots=True)
class Probe:
    """Answers asked for after a step (0: before the first), each drawn for itself.

    options     how many samples gave each answer, of those that could be read
    unreadable  samples from which no answer could be read
    right       samples that are right, by the scorer that scores the trial
    """

    step: int
    options: Mapping[str, int]
    unreadable: int
    right: int

    def __post_init__(self) -> None:
        read = sum(self.options.values())
        if min([self.step, self.unreadable, self.right, *self.options.values()]) < 0 or self.right > read:
            raise ValueError(f"step {self.step}: {self.right} right of {read} samples that could be read")
        if not self.samples:
            raise ValueError(f"step {self.step}: a probe has at least one sample")

    @property
    def samples(self) -> int:
        return sum(self.options.values()) + self.unreadable


@dataclass(frozen=True, slots=True)
class Share:
    """A share of samples, with its 95 % interval (Wilson)."""

    mean: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Belief:
    """After one step: the share of samples for each answer, for none that could be read, and of right ones.

    Shares of `options` and `unreadable` sum to 1. What cannot be read is not right, as in the scores of trials.
    """

    step: int
    samples: int
    options: Mapping[str, Share]
    unreadable: Share
    right: Share


@dataclass(frozen=True, slots=True)
class Change:
    """How much the share of right answers rises between two neighbouring probed steps."""

    after: int
    step: int
    difference: float


@dataclass(frozen=True, slots=True)
class Trajectory:
    """Beliefs by step, ascending; steps that were not probed are not among them."""

    beliefs: tuple[Belief, ...]

    @property
    def changes(self) -> tuple[Change, ...]:
        """Their sum is the last share of right answers less the first."""
        return tuple(Change(old.step, new.step, new.right.mean - old.right.mean) for old, new in pairwise(self.beliefs))


def trajectory(probes: Iterable[Probe]) -> Trajectory:
    """Of probes in any order; an answer that no sample gave at some step has a share of 0 there.

    Raises ValueError where there is none, or two of one step.
    """
    by_step = sorted(probes, key=lambda probe: probe.step)
    if not by_step:
        raise ValueError("a trajectory has at least one probe")
    if any(old.step == new.step for old, new in pairwise(by_step)):
        raise ValueError("two probes of one step: add up their counts")
    names = sorted({name for probe in by_step for name in probe.options})
    return Trajectory(tuple(_belief(probe, names) for probe in by_step))


def share(count: int, samples: int, *, confidence: float = 0.95) -> Share:
    """With the interval of Wilson (1927), "Probable inference, the law of succession, and statistical inference", JASA
    22: the shares that a score test would not reject. It never leaves [0, 1], and says something where all samples are
    alike, as they mostly are at the ends of a trace."""
    z = _NORMAL.inv_cdf((1 + confidence) / 2)
    mean, room = count / samples, z * z / samples
    centre = (mean + room / 2) / (1 + room)
    half = z * math.sqrt(mean * (1 - mean) / samples + room / (4 * samples)) / (1 + room)
    # At the ends the formula gives 0 and 1 but for the last bit.
    low, high = (0.0 if not count else centre - half), (1.0 if count == samples else centre + half)
    return Share(mean, low, high)


def _belief(probe: Probe, names: Iterable[str]) -> Belief:
    return Belief(
        step=probe.step,
        samples=probe.samples,
        options={name: share(probe.options.get(name, 0), probe.samples) for name in names},
        unreadable=share(probe.unreadable, probe.samples),
        right=share(probe.right, probe.samples),
    )
