"""A binary search for the step at which a belief falls, and what it costs."""

import math
from collections import defaultdict
from collections.abc import Generator, Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

import numpy as np

HALVINGS = 40
"""Until a bound is known to far more digits than matter."""


@lru_cache(maxsize=4096)
def lower_bound(right: int, samples: int, error: float) -> float:
    """Below the true share but for a chance of `error`: the smallest share of which so many right have at least that
    chance. Clopper and Pearson (1934), "The use of confidence or fiducial limits illustrated in the case of the
    binomial", Biometrika 26."""
    if not right:
        return 0.0
    low, high = 0.0, right / samples
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        low, high = (middle, high) if _at_least(right, samples, middle) < error else (low, middle)
    return low


def upper_bound(right: int, samples: int, error: float) -> float:
    """Above the true share but for a chance of `error`."""
    return 1 - lower_bound(samples - right, samples, error)


def _at_least(right: int, samples: int, share: float) -> float:
    return math.fsum(
        math.comb(samples, count) * share**count * (1 - share) ** (samples - count)
        for count in range(right, samples + 1)
    )


# Finding the step at which a belief falls without probing every step.


Verdict = Literal["found", "no_fall", "not_monotone", "undecided"]


@dataclass(frozen=True, slots=True)
class Search:
    """For a fall of at least `tau` among the steps 0 .. `steps`.

    error  chance, at most, that a single fall is put at another step, or called no fall or not monotone
    batch  samples that are asked for at once; more than one saves waiting and costs some samples
    most   samples of one step at most; where they do not decide, nothing is decided
    """

    steps: int
    tau: float = 0.5
    error: float = 0.05
    batch: int = 4
    most: int = 64

    def __post_init__(self) -> None:
        if self.steps < 1 or not 0 < self.tau <= 1 or not 0 < self.error < 1 or not 1 <= self.batch <= self.most:
            raise ValueError(f"a search has steps, a tau and an error in (0, 1], and batches up to its most: {self}")

    @property
    def halvings(self) -> int:
        """Steps that a bisection looks at between the ends, at most."""
        return math.ceil(math.log2(self.steps))

    @property
    def comparisons(self) -> int:
        """Tests of one step, at most: bisection, and a look on either side of what it finds."""
        return 3 * self.halvings


@dataclass(frozen=True, slots=True)
class Ask:
    """Wants `samples` answers after `step`; is to be sent how many of these are right."""

    step: int
    samples: int


@dataclass(frozen=True, slots=True)
class Found:
    """What a search came to.

    verdict      `found`: the belief is high at `after` and low at `step`, the next one. `no_fall`: the last step is not
                 tau below the first. `not_monotone`: it falls there, and `seen_at` it is low before the fall or high
                 after it. `undecided`: if it falls, then somewhere after `after` and by `step`
    probed       steps that were asked for
    samples      and all their samples
    """

    verdict: Verdict
    after: int | None
    step: int | None
    seen_at: int | None
    probed: int
    samples: int


class _Counts:
    """Samples so far, by step."""

    def __init__(self) -> None:
        self.right: dict[int, int] = defaultdict(int)
        self.samples: dict[int, int] = defaultdict(int)

    def ask(self, step: int, samples: int) -> Generator[Ask, int, None]:
        right = yield Ask(step, samples)
        if not 0 <= right <= samples:
            raise ValueError(f"step {step}: {right} right of {samples} samples")
        self.right[step] += right
        self.samples[step] += samples

    def found(
        self, verdict: Verdict, after: int | None = None, step: int | None = None, seen_at: int | None = None
    ) -> Found:
        return Found(verdict, after, step, seen_at, len(self.samples), sum(self.samples.values()))


def search(plan: Search) -> Generator[Ask, int, Found]:
    """Asks for probes, is sent how many samples were right, and returns what was found.

    The ends come first: both are probed with twice as many samples each time, until the bound under the first lies
    tau / 4 above the bound over the last. Each step between is then tested for being like the one or like the other by
    Wald's sequential test, which has that error for whatever lies beyond these bounds (Wald 1945, "Sequential tests of
    statistical hypotheses", Annals of Mathematical Statistics 16; held at any look by Ville's inequality). Half of the
    error is for the bounds, at all their looks; the other half for all tests of steps.

    What a bisection finds is a fall, whether or not there are others. So steps at 1, 3, 7 ... from its two sides are
    tested too. A recovery that is shorter than these distances can go unseen.
    """
    seen = _Counts()
    bounds = yield from _ends(plan, seen)
    if bounds == "no_fall":
        return seen.found("no_fall")
    if bounds == "undecided":
        return seen.found("undecided", 0, plan.steps)
    after, step = 0, plan.steps
    while step - after > 1:
        middle = (after + step) // 2
        high = yield from _is_high(plan, seen, middle, bounds)
        if high is None:
            return seen.found("undecided", after, step)
        after, step = (middle, step) if high else (after, middle)
    for other in _around(after, step, plan.steps):
        if other not in seen.samples:
            high = yield from _is_high(plan, seen, other, bounds)
            if high is not None and high != (other <= after):
                return seen.found("not_monotone", after, step, other)
    return seen.found("found", after, step)


def _ends(plan: Search, seen: _Counts) -> Generator[Ask, int, tuple[float, float] | Literal["no_fall", "undecided"]]:
    """A share that the first step is above, and one that the last is below, where these are far enough apart."""
    looks = math.ceil(math.log2(plan.most / plan.batch)) + 1
    # Four bounds at each look: two that part the ends, and two that say that they are not apart.
    error = plan.error / 2 / (4 * looks)
    ends = (0, plan.steps)
    for look in range(looks):
        wanted = min(plan.batch * 2**look, plan.most)
        for end in ends:
            yield from seen.ask(end, wanted - seen.samples[end])
        first, last = ((seen.right[end], seen.samples[end], error) for end in ends)
        if upper_bound(*first) - lower_bound(*last) < plan.tau:
            return "no_fall"
        if lower_bound(*first) - upper_bound(*last) >= plan.tau / 4:
            return lower_bound(*first), upper_bound(*last)
    return "undecided"


def _is_high(plan: Search, seen: _Counts, step: int, bounds: tuple[float, float]) -> Generator[Ask, int, bool | None]:
    """Whether a step is like the first rather than the last; None where its samples do not tell."""
    high, low = bounds
    enough = math.log(2 * plan.comparisons / plan.error)
    for_right, for_wrong = math.log(high / low), math.log((1 - high) / (1 - low))
    while seen.samples[step] < plan.most:
        yield from seen.ask(step, min(plan.batch, plan.most - seen.samples[step]))
        right = seen.right[step]
        likelier = right * for_right + (seen.samples[step] - right) * for_wrong
        if abs(likelier) >= enough:
            return likelier > 0
    return None


def _around(after: int, step: int, steps: int) -> Iterator[int]:
    """Steps on both sides of a fall, in growing distance, without the ends."""
    for power in range(1, steps.bit_length()):
        away = 2**power - 1
        if after - away > 0:
            yield after - away
        if step + away < steps:
            yield step + away


# What finding a fall takes, before anything is asked.


RUNS = 200


@dataclass(frozen=True, slots=True)
class Cost:
    """Steps to be probed and samples in all; expected ones are means over where the fall may be."""

    probes_at_most: int
    probes_expected: float
    samples_at_most: int
    samples_expected: float


def search_cost(plan: Search, *, high: float = 0.9, low: float = 0.1, seed: int = 0) -> Cost:
    """Of a search where the belief falls once, from `high` to `low`, at any step alike: expected ones by simulation of
    the search itself. Where nothing falls it is the ends that cost, and less."""
    rng = np.random.default_rng(seed)
    falls = rng.integers(1, plan.steps + 1, size=RUNS)
    found = [_simulated(plan, int(fall), high, low, rng) for fall in falls]
    probes = min(2 + plan.comparisons, plan.steps + 1)
    return Cost(
        probes_at_most=probes,
        probes_expected=float(np.mean([each.probed for each in found])),
        samples_at_most=probes * plan.most,
        samples_expected=float(np.mean([each.samples for each in found])),
    )


def _simulated(plan: Search, fall: int, high: float, low: float, rng: np.random.Generator) -> Found:
    asking = search(plan)
    wanted = next(asking)
    while True:
        right = rng.binomial(wanted.samples, high if wanted.step < fall else low)
        try:
            wanted = asking.send(int(right))
        except StopIteration as ended:
            found: Found = ended.value
            return found
