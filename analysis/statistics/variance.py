"""Where the spread of paired differences comes from, and the smallest effect that a paired design can detect."""

import math
from collections import defaultdict
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np

from toolablate.analysis.statistics.intervals import CELLS_AT_ONCE, Floats, by_unit

Scores = Sequence[float]
"""The scores of one question's repeats, in [0, 1]."""

MOST_WITHIN = 0.25
"""The largest variance that scores in [0, 1] can have."""

FEW_REPEATED = 10
"""With fewer questions that have repeats, these say nothing of the others that have none."""

VARIANCE_RESAMPLES = 1_000


@dataclass(frozen=True, slots=True)
class Components:
    """Components of the variance of paired differences, in squared shares.

    questions, clusters          that they rest on; questions without a shared source are clusters of one
    repeated                     questions with two or more scores, under that condition which has fewer of them
    repeats                      the fewest and the most scores of a question under one condition
    total                        the variance over questions of the observed difference, at these repeats
    within_before, within_after  the mean variance of one trial's score around its question's mean, under the baseline
                                 and under the condition, at most .25; None where too few questions have repeats
    between                      the variance over questions of the true difference; None likewise
    clustered                    the same for a mean over clusters: `between` times their design effect; equal to it
                                 where no cluster holds two questions
    cut                          `between` or `clustered` came out below 0, by chance, and is shown as 0
    """

    questions: int
    clusters: int
    repeated: int
    repeats: tuple[int, int]
    total: float
    within_before: float | None
    within_after: float | None
    between: float | None
    clustered: float | None
    cut: bool


@dataclass(frozen=True, slots=True)
class Resampled:
    """The same had other independent questions been asked, a row for each bootstrap resample: `total`, and where the
    components can be parted `clustered` and `within`, the mean of both conditions."""

    total: Floats
    clustered: Floats | None
    within: Floats | None


def variance_components(
    before: Sequence[Scores], after: Sequence[Scores], units: Sequence[Hashable]
) -> Components | None:
    """Of all questions, of which those with one score are taken to vary within as the others do, on average. Nothing
    parts within from between where fewer than ten questions, and not all of them, have repeats under both conditions.
    None where there are fewer than two independent questions.

    But for what is cut, the components are unbiased where clusters are of one size, and nearly so where they are not
    (`clustered` rests on the variance of a ratio). Raises ValueError where a question has no score.
    """
    if any(not old or not new for old, new in zip(before, after, strict=True)):
        raise ValueError("a question without a score has no difference")
    if len(set(units)) < 2:
        return None
    sums = _sums(before, after, units)
    found = _components(sums.sum(axis=1, keepdims=True), sums.shape[1])
    repeated = int(min(sums[_REPEATED].sum(axis=1)))
    parted = _parted(repeated, len(before))
    within = [float(each[0]) if parted else None for each in found.within]
    between, clustered = (float(each[0]) for each in (found.between, found.clustered))
    sizes = [len(scores) for both in zip(before, after, strict=True) for scores in both]
    return Components(
        questions=len(before),
        clusters=sums.shape[1],
        repeated=repeated,
        repeats=(min(sizes), max(sizes)),
        total=float(found.total[0]),
        within_before=within[0],
        within_after=within[1],
        between=max(0.0, between) if parted else None,
        clustered=max(0.0, clustered) if parted else None,
        cut=parted and min(between, clustered) < 0,
    )


def resampled_components(
    before: Sequence[Scores],
    after: Sequence[Scores],
    units: Sequence[Hashable],
    *,
    seed: int = 0,
    resamples: int = VARIANCE_RESAMPLES,
) -> Resampled:
    """Of questions of which `variance_components` can say something; by drawing independent units with replacement."""
    sums = _sums(before, after, units)
    count = sums.shape[1]
    rng = np.random.default_rng(seed)
    at_once = max(1, CELLS_AT_ONCE // count)
    drawn = [sums @ _drawn(count, min(at_once, resamples - start), rng) for start in range(0, resamples, at_once)]
    found = _components(np.concatenate(drawn, axis=1), count)
    # A sample of a sample varies less than the sample does, by one in its number.
    wider = count / (count - 1)
    if not _parted(int(min(sums[_REPEATED].sum(axis=1))), len(before)):
        return Resampled(found.total * wider, None, None)
    clustered = np.maximum(0.0, found.total * wider - (found.total - found.clustered))
    return Resampled(found.total * wider, clustered, (found.within[0] + found.within[1]) / 2)


def design_effect(units: Sequence[Hashable]) -> float:
    """By how much clusters raise the variance of a mean, at worst: where all questions of a cluster share one true
    difference. The mean size of the cluster that a question is in (Kish 1965, "Survey Sampling"); 1.0 where none is
    shared."""
    sizes: dict[Hashable, int] = defaultdict(int)
    for unit in units:
        sizes[unit] += 1
    return sum(size**2 for size in sizes.values()) / len(units)


_QUESTIONS, _DIFFERENCES, _SQUARES, _TOTALS, _PRODUCTS, _SIZES = range(6)
_REPEATED, _VARIANCES, _NOISE = slice(6, 8), slice(8, 10), slice(10, 12)


def _sums(before: Sequence[Scores], after: Sequence[Scores], units: Sequence[Hashable]) -> Floats:
    """What the components are made of, a column for each unit: how many questions, the sum of their differences and of
    their squares; of the unit its sum squared, times its size, and its size squared; under each condition how many
    questions have repeats, the sum of their variances and that of the variances of their means."""
    differences = [_mean(new) - _mean(old) for old, new in zip(before, after, strict=True)]
    repeated, variances, noise = [], [], []
    for arm in (before, after):
        repeated.append([float(len(scores) > 1) for scores in arm])
        variances.append([_variance(scores) for scores in arm])
        noise.append([variance / len(scores) for variance, scores in zip(variances[-1], arm, strict=True)])
    of_question = ([1.0] * len(before), differences, [away**2 for away in differences])
    size, total, *others = map(np.array, by_unit(units, *of_question, *repeated, *variances, *noise))
    return np.array([size, total, others[0], total**2, total * size, size**2, *others[1:]])


def _drawn(units: int, times: int, rng: np.random.Generator) -> Floats:
    """How often each unit is drawn, a column for each of so many resamples."""
    places = rng.integers(0, units, size=(times, units)) + units * np.arange(times)[:, None]
    return np.bincount(places.ravel(), minlength=times * units).reshape(times, units).T.astype(float)


@dataclass(frozen=True, slots=True)
class _Found:
    total: Floats
    between: Floats
    clustered: Floats
    within: tuple[Floats, Floats]


def _components(sums: Floats, units: int) -> _Found:
    """Of each column of sums over so many units; not a number where it has no repeats."""
    questions = sums[_QUESTIONS]
    mean = sums[_DIFFERENCES] / questions
    apart = (sums[_SQUARES] - mean**2 * questions) / (questions - 1)
    squares = sums[_TOTALS] - 2 * mean * sums[_PRODUCTS] + mean**2 * sums[_SIZES]
    together = np.maximum(0.0, squares) * units / (units - 1) / questions
    repeated, variances = sums[_REPEATED], sums[_VARIANCES]
    with np.errstate(divide="ignore", invalid="ignore"):
        seen = variances / repeated
        within = np.minimum(MOST_WITHIN, seen)
        own = sums[_NOISE] * np.where(seen > 0, within / seen, 1.0)
    noise = ((own + within * (questions - repeated)) / questions).sum(axis=0)
    return _Found(together, apart - noise, together - noise, (within[0], within[1]))


def _parted(repeated: int, questions: int) -> bool:
    return repeated >= min(FEW_REPEATED, questions)


def _variance(scores: Scores) -> float:
    if len(scores) < 2:
        return 0.0
    mean = _mean(scores)
    return math.fsum((score - mean) ** 2 for score in scores) / (len(scores) - 1)


def _mean(values: Scores) -> float:
    return math.fsum(values) / len(values)


# The smallest effect that a paired design can see.


_NORMAL = NormalDist()

# What is a whole number on paper is not raised to the next for its last bits.
_ROUNDING = 1e-9

MOST_REPEATS = 1_000
"""Where more are needed, it is questions that are lacking."""


def detectable(standard_error: float, *, alpha: float = 0.05, power: float = 0.8) -> float:
    """The true difference that a two-sided test at level `alpha` finds with probability `power`, in the unit of the
    standard error. The chance to find it with the wrong sign (about one in
    a million by default) is left out, as is usual. Where the test is exact for right-or-wrong scores, at one repeat, it
    stays below its level and finds this a little less often: 77 % for 80 % in simulation of 430 questions."""
    return (_NORMAL.inv_cdf(power) - _NORMAL.inv_cdf(alpha / 2)) * standard_error


def smallest_p(units: int) -> float:
    """The smallest two-sided p-value that a sign-flip test of so many independent units can have: all of them differ,
    in one direction. Where it is not below a level, no effect is found there, however large."""
    return min(1.0, 2.0 ** (1 - units))


def paired_standard_error(questions: float, between: float, within: float, repeats: int) -> float:
    """Of a mean paired difference: sqrt((between + 2 within / repeats) / questions).

    `between` is the variance over questions of the true difference, times the design effect where questions share
    clusters; `within` the mean variance of one trial's score around its question's mean, the mean of both conditions.
    """
    return math.sqrt((between + 2 * within / repeats) / questions)


def questions_needed(
    effect: float, between: float, within: float, repeats: int, *, alpha: float = 0.05, power: float = 0.8
) -> int:
    """The fewest questions with which `effect` is detectable at so many repeats."""
    return math.ceil(
        (detectable(paired_standard_error(1, between, within, repeats), alpha=alpha, power=power) / effect) ** 2
    )


def repeats_needed(
    effect: float, between: float, within: float, questions: float, *, alpha: float = 0.05, power: float = 0.8
) -> int | None:
    """The fewest repeats with which `effect` is detectable on so many questions; None where more than 1,000 are not
    enough, since repeats do not lessen what differs between questions."""
    room = questions * (effect / detectable(1.0, alpha=alpha, power=power)) ** 2 - between
    if room * MOST_REPEATS * (1 + _ROUNDING) < 2 * within or room <= 0:
        return None
    return min(MOST_REPEATS, max(1, math.ceil(2 * within / room - _ROUNDING)))
