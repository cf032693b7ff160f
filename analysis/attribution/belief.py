"""Early-answer distributions (beliefs): how likely each answer is after each step, and where the right one falls."""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from toolablate.analysis.statistics.intervals import Floats, wilson_interval
from toolablate.traces.records import Event, ModelCall, ToolCall


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
class EarlyAnswers:
    """After one step: the share of samples for each answer, for none that could be read, and of right ones.

    Shares of `options` and `unreadable` sum to 1. What cannot be read is not right, as in the scores of trials.
    """

    step: int
    samples: int
    options: Mapping[str, Share]
    unreadable: Share
    right: Share


@dataclass(frozen=True, slots=True)
class Trajectory:
    """Beliefs by step, ascending; steps that were not probed are not among them."""

    beliefs: tuple[EarlyAnswers, ...]


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
    """With Wilson's interval, which says something where all samples are alike, as they mostly are at the ends of a
    trace."""
    mean = count / samples
    return Share(mean, *wilson_interval(mean, samples, confidence=confidence))


def _belief(probe: Probe, names: Iterable[str]) -> EarlyAnswers:
    return EarlyAnswers(
        step=probe.step,
        samples=probe.samples,
        options={name: share(probe.options.get(name, 0), probe.samples) for name in names},
        unreadable=share(probe.unreadable, probe.samples),
        right=share(probe.right, probe.samples),
    )


# The levels that a belief goes through: a row of right and wrong samples cut where it changes.


Cuts = list[int]
"""Where levels begin, as places in the row, the first at 0; and its length."""


def cuts(right: NDArray[np.int64], samples: NDArray[np.int64]) -> Iterator[Cuts]:
    """Of each row of `right` (rows x places, counts among `samples` of each place) the cuts whose levels explain it
    best: binomial log-likelihood, less 1 + log(places) for every cut.

    That is what the best of so many cuts gains by chance, and about one more, so that a belief that stays what it is
    gets a cut in about one row of twenty. Exact by dynamic programming over the end of the last level: Jackson et al.
    (2005), "An algorithm for optimal partitioning of data on an interval", IEEE Signal Processing Letters 12.
    """
    places = len(samples)
    penalty = 1 + math.log(places)
    rights = np.concatenate([np.zeros((len(right), 1)), np.cumsum(right, axis=1)], axis=1)
    drawn = np.concatenate([[0], np.cumsum(samples)])
    best = np.zeros((len(right), places + 1))
    begins = np.zeros((len(right), places + 1), dtype=np.int64)
    for end in range(1, places + 1):
        level = _likelihood(rights[:, [end]] - rights[:, :end], drawn[end] - drawn[:end])
        worth = best[:, :end] + level - penalty
        begins[:, end] = worth.argmax(axis=1)
        best[:, end] = worth.max(axis=1)
    return (_traced(row) for row in begins.tolist())


def _likelihood(right: Floats, samples: NDArray[np.int64]) -> Floats:
    """Of so many right among so many samples, at the share that makes them most likely."""
    likely = np.zeros_like(right)
    for count in (right, samples - right):
        likely += count * np.log(np.where(count > 0, count / samples, 1.0))
    return likely


def _traced(begins: list[int]) -> Cuts:
    found = [len(begins) - 1]
    while found[-1] > 0:
        found.append(begins[found[-1]])
    return found[::-1]


# The step at which a belief in the right answer falls and never comes back.


RESAMPLES = 500
TOLERANCE = 10.0**-9


@dataclass(frozen=True, slots=True)
class BeliefFlip:
    """Where the belief turned.

    step        the first probed step after the fall, and `after` the last before it: where steps between them were not
                probed, the fall is somewhere there
    before      the level of the share of right answers up to the fall, and `level` right after it
    confidence  share of resamples of the probes' samples in which it is at the same step; a resample is noisier than
                the probes, so that the step is right more often than this says
    """

    after: int
    step: int
    before: float
    level: float
    confidence: float


def flip_step(found: Trajectory, tau: float, *, seed: int = 0, resamples: int = RESAMPLES) -> BeliefFlip | None:
    """The first fall of at least `tau` that never recovers; None where there is none.

    Single shares of few samples fall and rise by chance: of a belief that stays what it is, the shares of four samples
    a step fall by .2 for good in seven trajectories of ten. So the rule is put to levels, which are pooled over the
    steps that they last (`cuts`): the fall is between two neighbouring levels, the first at least `tau` above
    the second, and every later level lies at least tau / 2 below the one before the fall. Half, because a belief that
    came back more than half of the way would be called another one by no one; and no more than half, because noise in
    both levels must not undo a fall of `tau` that is one. Neighbouring levels differ by more than chance, which keeps
    a fall from being found where none is, and misses those that so few samples cannot show.

    By simulation over twelve steps: a belief that stays or rises has a flip in at most 4 % (tau of .2 to .5). A fall of
    tau + .2 is found at its very step, for tau = .2, .3, .5, in 37, 56, 82 % with four samples a step; in 65, 81, 96 %
    with eight; in 89, 96, 99 % with sixteen; in 97 % and more with thirty-two. A belief that falls for one to three
    steps and recovers is called a flip in 13, 8, 2 % with four samples, in 7, 2, 0 % with sixteen. One that slides down
    over many steps has no such step, but its levels look like stairs: the flip is then at one of them, with a low
    confidence. Raises ValueError where tau is not in (0, 1].
    """
    if not 0 < tau <= 1:
        raise ValueError(f"tau is a fall of a share, above 0 and at most 1; found {tau}")
    samples = np.array([belief.samples for belief in found.beliefs])
    shares = np.array([belief.right.mean for belief in found.beliefs])
    right = np.rint(shares * samples).astype(np.int64)
    (levels,) = cuts(right[None], samples)
    place = _fall(right, samples, levels, tau)
    if place is None:
        return None
    drawn = np.random.default_rng(seed).binomial(samples, shares, size=(resamples, len(samples)))
    again = [_fall(row, samples, each, tau) for row, each in zip(drawn, cuts(drawn, samples), strict=True)]
    heights = dict(zip(levels, _heights(right, samples, levels), strict=False))
    return BeliefFlip(
        after=found.beliefs[place - 1].step,
        step=found.beliefs[place].step,
        before=heights[levels[levels.index(place) - 1]],
        level=heights[place],
        confidence=again.count(place) / resamples,
    )


def _fall(right: NDArray[np.int64], samples: NDArray[np.int64], levels: Cuts, tau: float) -> int | None:
    """The place at which the level after it begins."""
    heights = _heights(right, samples, levels)
    for number, (before, after) in enumerate(pairwise(heights), start=1):
        if before - after >= tau - TOLERANCE and max(heights[number:]) <= before - tau / 2 + TOLERANCE:
            return levels[number]
    return None


def _heights(right: NDArray[np.int64], samples: NDArray[np.int64], levels: Cuts) -> list[float]:
    return [float(right[begin:end].sum() / samples[begin:end].sum()) for begin, end in pairwise(levels)]


# The steps of a trial, at which a model can be asked what it would answer now.


def _is_result(event: Event) -> bool:
    return isinstance(event, ToolCall) and not event.by_provider


def belief_steps(conversation: Sequence[Event]) -> tuple[int, ...]:
    """Events before which the belief can have changed, by their indices: every request that was answered, and the first
    tool call after each. So between two neighbours lies either one reply of the model, with the calls that it makes, or
    the results of these. Before the first the model knows the question alone, before the last all but its own final
    reasoning. What the provider's own tools gave is a part of the reply, and stands before it.
    """
    asked = [index for index, event in enumerate(conversation) if isinstance(event, ModelCall)]
    called = [index for index, event in enumerate(conversation) if _is_result(event)]
    ends = [*asked[1:], len(conversation)] if asked else []
    first = (
        next((call for call in called if start < call < end), None) for start, end in zip(asked, ends, strict=True)
    )
    requests = (reply_began(conversation, index) for index in asked)
    return tuple(sorted({*requests, *(index for index in first if index is not None)}))


def reply_began(conversation: Sequence[Event], reply: int) -> int:
    """The first of the calls that the provider made within a reply, by its event; without any the reply itself."""
    while reply and isinstance(made := conversation[reply - 1], ToolCall) and made.by_provider:
        reply -= 1
    return reply
