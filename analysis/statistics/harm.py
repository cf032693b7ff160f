"""How many questions a condition harms or helps, and how many flip by chance, as far as repeats can tell."""

import math
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from toolablate.analysis.statistics.intervals import (
    RESAMPLES,
    Floats,
    Interval,
    bootstrap_intervals,
    by_unit,
    effective_clusters,
    jackknife_standard_error,
    student_quantile,
)

Repeats = Sequence[bool]


def flips_between_runs(before: Sequence[Repeats], after: Sequence[Repeats]) -> float:
    """How many questions one run of the first condition gets right and one run of the second gets wrong, expected over
    the choice of the two runs: the sum over questions of p (1 - r), unbiased. With one repeat each it is a count."""
    return math.fsum(_share(old) * (1 - _share(new)) for old, new in zip(before, after, strict=True))


def noise_flips(repeats: Sequence[Repeats]) -> float | None:
    """How many questions flip from right to wrong between two runs of one condition, by chance alone: the sum over
    questions of p (1 - p), unbiased from the pairs of different repeats. None where a question has fewer than two."""
    if any(len(drawn) < 2 for drawn in repeats) or not repeats:
        return None
    return math.fsum(sum(drawn) * (len(drawn) - sum(drawn)) / (len(drawn) * (len(drawn) - 1)) for drawn in repeats)


def _share(drawn: Repeats) -> float:
    return sum(drawn) / len(drawn)


KINDS_KEPT = 16_384

ESTIMATED_WAYS = 3
"""Ways to take a bound that chance has a part in: by question, and one branch for all (or for all but some)."""

FEW_SELECTED = 20.0
"""Selected questions that are worth fewer than this have no interval: in simulations of fair coins in two repeats, the
worst shape, it would cover 88 % to 93 % of truths where they are worth 10 to 18, 93.8 % at 22, 94.6 % at 36."""

Ways = tuple[float, ...]
"""What one question adds to a bound, by each way to take it."""


@dataclass(frozen=True, slots=True)
class Bounds:
    """Between what shares of trials, in [0, 1], the truth lies.

    low, high   in expectation never above the lower bound, never below the upper one; chance may put `low` a little
                under 0, which means nothing
    ci95        covers both bounds in 95 % of studies, and holds these two (but for a `low` under 0); None where the
                data cannot tell (fewer than two independent questions, or all alike)
    """

    low: float
    high: float
    ci95: tuple[float, float] | None


@dataclass(frozen=True, slots=True)
class Harm:
    """The shares of trials `harmed` (right under the baseline, wrong under the condition) and `helped`, the reverse."""

    harmed: Bounds
    helped: Bounds


@dataclass(frozen=True, slots=True)
class QuestionEffect:
    """What the halves of one question's repeats say of each other, averaged over all ways to halve them.

    looked_harmed, looked_helped   in what share of them one half looks harmed (less often right under the condition
                                   than under the baseline), or helped
    harmed, helped                 the difference condition - baseline in the other half, counted where the first looks
                                   so and 0 elsewhere: divided by that share, an unbiased effect
    """

    looked_harmed: float
    looked_helped: float
    harmed: float
    helped: float


@dataclass(frozen=True, slots=True)
class Selected:
    """Questions chosen by one half of their repeats, with their effect in the other.

    questions   how many look so in one half (the mean over all ways to halve the repeats, hence no whole number)
    effect      their mean difference condition - baseline in the other half, in [-1, 1]; None where none looks so
    ci95        its 95 % interval; None where fewer are selected than FEW_SELECTED equal ones
    """

    questions: float
    effect: float | None
    ci95: tuple[float, float] | None


@dataclass(frozen=True, slots=True)
class SelectedEffects:
    """Of the questions that look `harmed`, or `helped`, how much of it another half of the repeats confirms."""

    harmed: Selected
    helped: Selected


def harm_bounds(
    before: Sequence[Repeats],
    after: Sequence[Repeats],
    units: Sequence[Hashable],
    *,
    seed: int = 0,
    resamples: int = RESAMPLES,
) -> Harm | None:
    """Bounds to the shares of trials harmed and helped, with intervals from a bootstrap over independent units.

    `before` and `after` have the repeats of each question under the baseline and under the condition, `units` the
    cluster of each. None where there is nothing, or a question has fewer than two repeats on either side. An interval
    ends where the innermost of those by each way to take a bound ends, at a level corrected for their number
    (Bonferroni); a bound that lies beyond it is drawn in to where it ends.
    """
    if not _can_be_halved(before, after):
        return None
    found = [_halved(*_counts(old), *_counts(new)) for old, new in zip(before, after, strict=True)]
    sides = (
        ([each.least_harmed() for each in found], [(each.most_harmed, each.p, 1 - each.r) for each in found]),
        ([each.least_helped() for each in found], [(each.most_helped, each.r, 1 - each.p) for each in found]),
    )
    columns = [column for side in sides for ways in side for column in zip(*ways, strict=True)]
    *sums, sizes = by_unit(units, *columns, [1.0] * len(found))
    intervals = iter(
        bootstrap_intervals(
            [(column, sizes) for column in sums],
            seed=seed,
            confidence=1 - 0.05 / ESTIMATED_WAYS,
            resamples=resamples,
        )
    )
    half = _half_of(units, seed)

    def bounds(low: Sequence[Ways], high: Sequence[Ways]) -> Bounds:
        ends = [[next(intervals) for _ in ways[0]] for ways in (low, high)]
        return _bounds(_sharpest(low, half, max), _sharpest(high, half, min), *ends)

    return Harm(harmed=bounds(*sides[0]), helped=bounds(*sides[1]))


def question_effects(before: Sequence[Repeats], after: Sequence[Repeats]) -> list[QuestionEffect] | None:
    """The cross-fitted effect of each question; None where one has fewer than two repeats on either side, or there is
    none."""
    if not _can_be_halved(before, after):
        return None
    return [_halved(*_counts(old), *_counts(new)).effect for old, new in zip(before, after, strict=True)]


def selected_effects(effects: Sequence[QuestionEffect], units: Sequence[Hashable]) -> SelectedEffects:
    """What becomes of the questions that look harmed, or helped, where the other half of their repeats is asked; with
    an interval by the jackknife over independent units and Student's t, with one degree of freedom fewer than the
    selected questions are worth equal ones (a bootstrap covers as little as 63 % where few are selected)."""
    return SelectedEffects(
        harmed=_selected([each.harmed for each in effects], [each.looked_harmed for each in effects], units),
        helped=_selected([each.helped for each in effects], [each.looked_helped for each in effects], units),
    )


def _can_be_halved(before: Sequence[Repeats], after: Sequence[Repeats]) -> bool:
    return bool(before) and all(len(drawn) >= 2 for arm in (before, after) for drawn in arm)


def _counts(drawn: Repeats) -> tuple[int, int]:
    return sum(map(bool, drawn)), len(drawn)


def _half_of(units: Sequence[Hashable], seed: int) -> list[bool]:
    """Whether each question is in the first of two halves, that no cluster is in both of."""
    distinct = list(dict.fromkeys(units))
    first = np.random.default_rng(seed).permutation(len(distinct)) < len(distinct) // 2
    halves = dict(zip(distinct, first.tolist(), strict=True))
    return [halves[unit] for unit in units]


def _sharpest(ways: Sequence[Ways], half: Sequence[bool], best: Callable[[Sequence[float]], float]) -> list[float]:
    """Of each question what the way comes to that is best by the sum over the other half of the questions."""
    taken = {}
    for side in (True, False):
        sums = [math.fsum(figures) for figures in zip(*_of_other(ways, half, side), strict=True)]
        taken[side] = sums.index(best(sums)) if sums else 0
    return [each[taken[side]] for each, side in zip(ways, half, strict=True)]


def _of_other(ways: Sequence[Ways], half: Sequence[bool], side: bool) -> list[Ways]:
    return [each for each, own in zip(ways, half, strict=True) if own is not side]


@dataclass(frozen=True, slots=True)
class _Halved:
    """One question: `p` and `r` of all its repeats, and what their halves say."""

    p: float
    r: float
    effect: QuestionEffect
    most_harmed: float
    most_helped: float

    def least_harmed(self) -> Ways:
        """Where it looks harmed, where it does not look helped, whatever it looks like, and never."""
        return -self.effect.harmed, self.p - self.r + self.effect.helped, self.p - self.r, 0.0

    def least_helped(self) -> Ways:
        return self.effect.helped, self.r - self.p - self.effect.harmed, self.r - self.p, 0.0


@lru_cache(maxsize=KINDS_KEPT)
def _halved(right: int, of: int, right_after: int, of_after: int) -> _Halved:
    """The mean over all ways to halve the repeats, for which it is enough to know how many were right."""
    ways = [(of // 2, of_after // 2), (of - of // 2, of_after - of_after // 2)]
    figures = np.mean([_split(right, of, right_after, of_after, *way) for way in ways], axis=0)
    effect = QuestionEffect(*map(float, figures[:4]))
    return _Halved(right / of, right_after / of_after, effect, float(figures[4]), float(figures[5]))


def _split(right: int, of: int, right_after: int, of_after: int, first: int, first_after: int) -> Floats:
    """Looked harmed, looked helped, effect where harmed, effect where helped, most harmed, most helped: decided on
    `first` and `first_after` drawn repeats, estimated on the rest."""
    chances, seen, p = _drawn(right, of, first)
    chances_after, seen_after, r = _drawn(right_after, of_after, first_after)
    weights = np.outer(chances, chances_after)
    # Whole numbers, so that a tie is one.
    old, new = np.meshgrid(seen * first_after, seen_after * first, indexing="ij")
    effect = r[None, :] - p[:, None]
    harmed, helped = weights * (new < old), weights * (new > old)
    high = 0.5 + 0.5 * np.sign(old + new - first * first_after)  # p + r > 1; a tie says nothing for either branch
    most_harmed = weights * (high * (1 - r[None, :]) + (1 - high) * p[:, None])
    most_helped = weights * (high * (1 - p[:, None]) + (1 - high) * r[None, :])
    figures = (harmed, helped, harmed * effect, helped * effect, most_harmed, most_helped)
    return np.array([figure.sum() for figure in figures])


def _drawn(right: int, of: int, first: int) -> tuple[Floats, Floats, Floats]:
    """Of each number of right ones that `first` drawn repeats can hold: its chance, itself, and the share of right
    ones among the rest (hypergeometric)."""
    seen = range(max(0, first - (of - right)), min(right, first) + 1)
    ways = math.comb(of, first)
    chances = [math.comb(right, number) * math.comb(of - right, first - number) / ways for number in seen]
    rest = [(right - number) / (of - first) for number in seen]
    return np.array(chances), np.array(seen, dtype=float), np.array(rest)


def _bounds(
    lows: Sequence[float],
    highs: Sequence[float],
    bottoms: Sequence[Interval | None],
    tops: Sequence[Interval | None],
) -> Bounds:
    low, high = math.fsum(lows) / len(lows), math.fsum(highs) / len(highs)
    uppers = [interval[1] for interval in tops if interval is not None]
    # A bound that shows no spread does not tell its error; the other ways' would be far from it.
    if len(set(highs)) == 1 or not uppers:
        return Bounds(low, high, None)
    bottom, top = max((interval[0] for interval in bottoms if interval is not None), default=0.0), min(uppers)
    low, high = max(low, bottom), min(high, top)
    return Bounds(low, high, (max(0.0, bottom), min(1.0, top)))


def _selected(effects: Sequence[float], looked: Sequence[float], units: Sequence[Hashable]) -> Selected:
    count = math.fsum(looked)
    if not count:
        return Selected(0.0, None, None)
    effect = math.fsum(effects) / count
    sums, sizes = by_unit(units, effects, looked)
    worth, error = effective_clusters(sizes), jackknife_standard_error(sums, sizes)
    if worth < FEW_SELECTED or not error:
        return Selected(count, effect, None)
    reach = student_quantile(0.975, worth - 1) * error
    return Selected(count, effect, (max(-1.0, effect - reach), min(1.0, effect + reach)))
