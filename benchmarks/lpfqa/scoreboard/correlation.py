"""Whether two rankings of the same models go together."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations, permutations

import numpy as np
from numpy.typing import NDArray

from toolablate.analysis.statistics.intervals import RESAMPLES

EXACT_UP_TO = 8
"""Models of which all orders are tried: 40,320."""
TOLERANCE = 10.0**-9
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
