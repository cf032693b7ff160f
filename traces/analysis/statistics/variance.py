"""Where the spread of paired differences comes from: chance within a question's repeats, and true differences between
questions.

Source: the usual method-of-moments components of a random effects model; Miller (2024), "Adding Error Bars to Evals: A
Statistical Approach to Language Model Evaluations", sections 3 to 5, for scores of models and for clusters.
"""

import math
from collections import defaultdict
from collections.abc import Hashable, Sequence
from dataclasses import dataclass

Scores = Sequence[float]
"""The scores of one question's repeats, in [0, 1]."""


@dataclass(frozen=True, slots=True)
class Components:
    """Unbiased components of the variance of paired differences, in squared shares.

    questions, clusters          that they rest on; questions without a shared source are clusters of one
    repeats                      the fewest and the most scores of a question under one condition
    total                        the variance over questions of the observed difference, at these repeats
    within_before, within_after  the mean variance of one trial's score around its question's mean, under the baseline
                                 and under the condition; None where questions have one score each
    between                      the variance over questions of the true difference; None likewise
    clustered                    the same for a mean over clusters: `between` times their design effect; equal to it
                                 where no cluster holds two questions
    cut                          `between` or `clustered` came out below 0, by chance, and is shown as 0
    """

    questions: int
    clusters: int
    repeats: tuple[int, int]
    total: float
    within_before: float | None
    within_after: float | None
    between: float | None
    clustered: float | None
    cut: bool


def variance_components(
    before: Sequence[Scores], after: Sequence[Scores], units: Sequence[Hashable]
) -> Components | None:
    """Of the questions scored at least twice under both conditions; of all, without parting within from between, where
    no two independent questions are. None where there are fewer than two independent questions.

    The components are unbiased where clusters are of one size, and nearly so where they are not (`clustered` rests on
    the variance of a ratio). Raises ValueError where a question has no score.
    """
    rows = list(zip(before, after, units, strict=True))
    often = [row for row in rows if len(row[0]) > 1 and len(row[1]) > 1]
    if len({unit for _, _, unit in often}) > 1:
        rows = often
    if len({unit for _, _, unit in rows}) < 2:
        return None
    if any(not old or not new for old, new, _ in rows):
        raise ValueError("a question without a score has no difference")
    differences = [_mean(new) - _mean(old) for old, new, _ in rows]
    apart, together = _of_mean(differences, range(len(rows))), _of_mean(differences, [unit for _, _, unit in rows])
    within = [_noise([row[0] for row in rows]), _noise([row[1] for row in rows])] if rows is often else None
    between = apart - sum(noise for _, noise in within) if within else None
    clustered = together - sum(noise for _, noise in within) if within else None
    sizes = [len(scores) for old, new, _ in rows for scores in (old, new)]
    return Components(
        questions=len(rows),
        clusters=len({unit for _, _, unit in rows}),
        repeats=(min(sizes), max(sizes)),
        total=together,
        within_before=within[0][0] if within else None,
        within_after=within[1][0] if within else None,
        between=None if between is None else max(0.0, between),
        clustered=None if clustered is None else max(0.0, clustered),
        cut=any(part is not None and part < 0 for part in (between, clustered)),
    )


def design_effect(units: Sequence[Hashable]) -> float:
    """By how much clusters raise the variance of a mean, at worst: where all questions of a cluster share one true
    difference. The mean size of the cluster that a question is in (Kish 1965, "Survey Sampling"); 1.0 where none is
    shared."""
    sizes: dict[Hashable, int] = defaultdict(int)
    for unit in units:
        sizes[unit] += 1
    return sum(size**2 for size in sizes.values()) / len(units)


def _of_mean(differences: Sequence[float], units: Sequence[Hashable]) -> float:
    """The variance of the mean difference, times the questions: that of cluster totals around their size's share."""
    mean = _mean(differences)
    totals: dict[Hashable, list[float]] = defaultdict(list)
    for difference, unit in zip(differences, units, strict=True):
        totals[unit].append(difference - mean)
    squares = math.fsum(math.fsum(away) ** 2 for away in totals.values())
    return squares * len(totals) / (len(totals) - 1) / len(differences)


def _noise(arm: Sequence[Scores]) -> tuple[float, float]:
    """The mean variance of one trial's score, and of a question's mean over its repeats."""
    of_one = [_variance(scores) for scores in arm]
    of_mean = [variance / len(scores) for variance, scores in zip(of_one, arm, strict=True)]
    return _mean(of_one), _mean(of_mean)


def _variance(scores: Scores) -> float:
    mean = _mean(scores)
    return math.fsum((score - mean) ** 2 for score in scores) / (len(scores) - 1)


def _mean(values: Scores) -> float:
    return math.fsum(values) / len(values)
