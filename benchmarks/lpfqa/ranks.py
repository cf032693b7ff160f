"""Ranks with intervals, and their correlation."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations, permutations
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from toolablate.analysis.statistics.intervals import EMPTY_CHANCE, RESAMPLES, effective_clusters, student_quantile

TOLERANCE = 10.0**-9
CELLS_AT_ONCE = 2_000_000

_NORMAL = NormalDist()

Floats = NDArray[np.float64]
RankInterval = tuple[int, int]


def competition_ranks(scores: Sequence[float]) -> list[int]:
    """1 for the highest; equal scores share the better rank, and the next lower one comes after all of them: 1, 2, 2,
    4."""
    return [1 + sum(other > score + TOLERANCE for other in scores) for score in scores]


def rank_intervals(
    sums: Sequence[Sequence[float]],
    sizes: Sequence[Sequence[float]],
    *,
    seed: int = 0,
    confidence: float = 0.95,
    resamples: int = RESAMPLES,
) -> list[RankInterval | None]:
    """Of each model the ranks that are not ruled out, as the best and the worst of them.

    `sums` and `sizes` have, for each model, its scores summed within each cluster of questions and how many these are;
    a model's score is sum(sums) / sum(sizes). One model is ruled to be above another where their difference is beyond
    `confidence` of the largest standardised deviations over all rivals of the one that is ranked, as resampled clusters
    give them: the marginal confidence sets of Mogstad, Romano, Shaikh and Wilhelm (2024), "Inference for Ranks with
    Applications to Mobility across Neighbourhoods and Academic Achievement across Countries", Review of Economic
    Studies 91. None where the data cannot tell: fewer than two clusters, or a model with so few that a resample may
    have none of its questions.

    All ranks that equally good models share were held in 94.3 % of 1,000 simulated runs at 20 questions, in 94.8 to
    95.2 % at 100 to 430, with repeats, clusters and up to twelve models; those of models that differ more often. The
    ranks that resamples themselves have (a percentile interval) hold them in less than 80 %.
    """
    total, size = (np.asarray(rows, dtype=float).T for rows in (sums, sizes))
    models = total.shape[1] if total.ndim == 2 else 0
    if models == 0 or len(total) < 2:
        return [None] * models
    drawn = _resampled(total, size, seed, resamples)
    with np.errstate(divide="ignore", invalid="ignore"):
        scores = total.sum(axis=0) / size.sum(axis=0)
    clusters = effective_clusters(size.sum(axis=1).tolist())
    # Those of which nothing is known are ruled neither above nor below; by how likely an empty resample is, not by
    # whether there was one, so that the seed does not decide.
    known = np.flatnonzero(np.mean(size == 0, axis=0) ** len(size) <= EMPTY_CHANCE).tolist()
    return [
        _interval(model, known, scores, drawn, clusters, confidence) if model in known else None
        for model in range(models)
    ]


def _resampled(total: Floats, size: Floats, seed: int, resamples: int) -> Floats:
    """Scores by resample, then model; NaN where a resample has no question of a model."""
    rng, clusters = np.random.default_rng(seed), len(total)
    at_once = max(1, CELLS_AT_ONCE // clusters)
    chunks = []
    for start in range(0, resamples, at_once):
        rows = min(at_once, resamples - start)
        places = rng.integers(0, clusters, size=(rows, clusters)) + clusters * np.arange(rows)[:, None]
        often = np.bincount(places.ravel(), minlength=rows * clusters).reshape(rows, clusters).astype(float)
        with np.errstate(divide="ignore", invalid="ignore"):
            chunks.append((often @ total) / (often @ size))
    return np.concatenate(chunks)


def _interval(
    model: int, known: list[int], scores: Floats, drawn: Floats, clusters: float, confidence: float
) -> RankInterval:
    leads = scores[model] - scores[known]
    away = (drawn[:, [model]] - drawn[:, known]) - leads
    # Where all questions say the same of a pair, its spread is not 0: one more might say the opposite.
    spread = np.maximum(away.std(axis=0, ddof=1), 2 * np.abs(leads) / (clusters + 1))
    apart = spread > TOLERANCE
    if not apart.any():
        return 1, len(scores)
    leads, away, spread = leads[apart], away[:, apart], spread[apart]
    deviations = float(np.quantile(np.max(np.abs(away) / spread, axis=1), confidence))
    beyond = _expanded(max(deviations, -_NORMAL.inv_cdf((1 - confidence) / 2)), clusters) * spread
    return 1 + int(np.sum(leads < -beyond)), len(scores) - int(np.sum(leads > beyond))


def _expanded(deviations: float, clusters: float) -> float:
    """Made larger by what a bootstrap's spread lacks where clusters are few, as intervals of means are (Hesterberg
    2015): Student's t for as rare a normal deviation, times sqrt(n / (n - 1)). Without it sets over six equal models
    held all six ranks 92.2 % of the time at 40 questions."""
    clusters = max(clusters, 2.0)
    tail = max(_NORMAL.cdf(-deviations), 1e-6)
    return -student_quantile(tail, clusters - 1) * math.sqrt(clusters / (clusters - 1))


# Whether two rankings of the same models go together.


EXACT_UP_TO = 8
"""Models of which all orders are tried: 40,320."""
DIGITS = 9


@dataclass(frozen=True, slots=True)
class Correlation:
    """`value` in [-1, 1]; None where one of the rankings has all models alike. `p_value` two-sided; None where `value`
    is, or where there are fewer than three models."""

    value: float | None
    p_value: float | None


@dataclass(frozen=True, slots=True)
class RankCorrelation:
    """Spearman's rho (1904) and Kendall's tau-b (1945), both with ties, over so many models. P-values are those of
    permutations: how often models that are shuffled go together as closely or go against each other as much. `exact`
    where all orders were tried, else from random ones: (b + 1) / (n + 1) (Phipson and Smyth 2010)."""

    models: int
    spearman: Correlation
    kendall: Correlation
    exact: bool


def rank_correlation(
    ours: Sequence[float], theirs: Sequence[float], *, seed: int = 0, resamples: int = RESAMPLES
) -> RankCorrelation:
    """Of two scores of each model."""
    one, other = (np.round(np.asarray(scores, dtype=float), DIGITS) for scores in (ours, theirs))
    exact = len(one) <= EXACT_UP_TO
    orders = _orders(len(one), exact, seed, resamples)
    return RankCorrelation(
        models=len(one),
        spearman=_tested(_spearman(one, other, orders)),
        kendall=_tested(_kendall(one, other, orders)),
        exact=exact,
    )


def _orders(models: int, exact: bool, seed: int, resamples: int) -> NDArray[np.int64]:
    """By row; the first leaves all where they are."""
    if exact:
        return np.array(list(permutations(range(models))), dtype=np.int64).reshape(-1, models)
    rng = np.random.default_rng(seed)
    kept = np.arange(models)
    return np.vstack([kept, rng.permuted(np.tile(kept, (resamples, 1)), axis=1)])


def _spearman(one: NDArray[np.float64], other: NDArray[np.float64], orders: NDArray[np.int64]) -> NDArray[np.float64]:
    """Pearson's correlation of ranks, of which equal scores have the mean of theirs."""
    left, right = (_mean_ranks(scores) for scores in (one, other))
    size = math.sqrt(float(left @ left) * float(right @ right))
    return right[orders] @ left / size if size > 0 else np.array([])


def _mean_ranks(scores: NDArray[np.float64]) -> NDArray[np.float64]:
    """Around 0."""
    away: NDArray[np.float64] = np.sign(scores[:, None] - scores[None, :]).sum(axis=1) / 2
    return away


def _kendall(one: NDArray[np.float64], other: NDArray[np.float64], orders: NDArray[np.int64]) -> NDArray[np.float64]:
    """Pairs in the same order less those in the opposite one, divided by the geometric mean of the pairs that are not
    tied in the one and in the other."""
    left, right = (np.sign(scores[:, None] - scores[None, :]) for scores in (one, other))
    size = math.sqrt(float(np.abs(left).sum()) * float(np.abs(right).sum())) / 2
    found = np.zeros(len(orders))
    for first, second in combinations(range(len(one)), 2):
        found += left[first, second] * right[orders[:, first], orders[:, second]]
    return found / size if size > 0 else np.array([])


def _tested(values: NDArray[np.float64]) -> Correlation:
    if not len(values):
        return Correlation(None, None)
    observed = float(values[0])
    if len(values) <= 2:
        return Correlation(observed, None)
    # The first order is the observed one, and counts as one of them either way.
    return Correlation(observed, float(np.mean(np.abs(values) >= abs(observed) - TOLERANCE)))
