"""What a paired difference is worth: a bootstrap interval and a sign-flip test over independent clusters."""

import math
from collections import Counter
from collections.abc import Callable, Sequence
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

RESAMPLES = 10_000
EXACT_POINTS = 200_000
EXACT_COINS = 1_000
CELLS_AT_ONCE = 2_000_000
MULTINOMIAL_COST = 8
"""A multinomial draw of one kind costs about as much as drawing this many clusters."""

# Differences that are equal on paper differ in the last bits; a score in [0, 1] has no meaning beyond this digit.
DIGITS = 12

_NORMAL = NormalDist()

Floats = NDArray[np.float64]


def bootstrap_interval(
    sums: Sequence[float],
    sizes: Sequence[int],
    *,
    seed: int = 0,
    confidence: float = 0.95,
    resamples: int = RESAMPLES,
) -> tuple[float, float] | None:
    """A bias-corrected and accelerated (BCa) bootstrap interval of a mean difference, by resampling clusters.

    `sums` are the differences summed within each cluster, `sizes` how many differences each holds; the mean is
    sum(sums) / sum(sizes). Questions that stand alone are clusters of one. Efron (1987), "Better bootstrap confidence
    intervals", JASA 82. None where the data give no idea of the spread: fewer than two clusters, or all alike.
    """
    groups = Counter((round(total, DIGITS), size) for total, size in zip(sums, sizes, strict=True))
    clusters = sum(groups.values())
    if clusters < 2 or len({total / size for total, size in groups}) < 2:
        return None
    kinds = sorted(groups)
    total = np.array([kind[0] for kind in kinds])
    size = np.array([kind[1] for kind in kinds], dtype=float)
    count = np.array([groups[kind] for kind in kinds])
    observed = float(count @ total / (count @ size))
    means = _resampled_means(total, size, count, np.random.default_rng(seed), resamples)
    low, high = _bca_levels(means, observed, _jackknife_acceleration(total, size, count), confidence)
    return float(np.quantile(means, low)), float(np.quantile(means, high))


def _resampled_means(
    total: Floats, size: Floats, count: NDArray[np.int64], rng: np.random.Generator, resamples: int
) -> Floats:
    clusters = int(count.sum())
    if len(count) * MULTINOMIAL_COST < clusters:
        # How often each kind of cluster is drawn is multinomial, which is the same as drawing clusters one by one and
        # costs as much as there are kinds: three, where scores are right or wrong.
        def draw(rows: int) -> Floats:
            drawn = rng.multinomial(clusters, count / clusters, size=rows)
            means: Floats = (drawn @ total) / (drawn @ size)
            return means

        return _in_chunks(draw, resamples, len(count))
    totals, sizes = np.repeat(total, count), np.repeat(size, count)

    def draw_each(rows: int) -> Floats:
        drawn = rng.integers(0, clusters, size=(rows, clusters))
        means: Floats = totals[drawn].sum(axis=1) / sizes[drawn].sum(axis=1)
        return means

    return _in_chunks(draw_each, resamples, clusters)


def _in_chunks(draw: Callable[[int], Floats], rows: int, width: int) -> Floats:
    at_once = max(1, CELLS_AT_ONCE // width)
    return np.concatenate([draw(min(at_once, rows - start)) for start in range(0, rows, at_once)])


def _jackknife_acceleration(total: Floats, size: Floats, count: NDArray[np.int64]) -> float:
    left_total, left_size = count @ total - total, count @ size - size
    means = left_total / left_size
    away = np.average(means, weights=count) - means
    spread = float(count @ away**2)
    return float(count @ away**3) / (6 * spread**1.5) if spread > 0 else 0.0


def _bca_levels(means: Floats, observed: float, acceleration: float, confidence: float) -> tuple[float, float]:
    tolerance = 10.0**-DIGITS
    below = float(np.mean(means < observed - tolerance))
    at = float(np.mean(np.abs(means - observed) <= tolerance))
    # Half of the ties count as below; kept off 0 and 1, where the normal quantile is infinite.
    share = min(max(below + at / 2, 0.5 / len(means)), 1 - 0.5 / len(means))
    bias = _NORMAL.inv_cdf(share)
    tail = _NORMAL.inv_cdf((1 - confidence) / 2)
    low, high = (_NORMAL.cdf(bias + (bias + normal) / (1 - acceleration * (bias + normal))) for normal in (tail, -tail))
    return low, high


def sign_flip_p(differences: Sequence[float], *, seed: int = 0, resamples: int = RESAMPLES) -> float:
    """Two-sided p-value of the sign-flip (paired permutation) test that differences are symmetric about 0.

    `differences` are one per independent unit. Exact where the distribution of their sum can be written out, which for
    right-or-wrong scores is always (it is then the exact McNemar test); else (b + 1) / (n + 1) from random flips
    (Phipson and Smyth 2010). 1.0 where nothing differs.
    """
    sizes = Counter(abs(round(value, DIGITS)) for value in differences)
    del sizes[0.0]
    if not sizes:
        return 1.0
    steps = sorted(sizes.items())
    observed = abs(math.fsum(differences)) - 10.0**-9
    if math.prod(count + 1 for _, count in steps) <= EXACT_POINTS:
        return _exact_p(steps, observed)
    return _random_p(steps, observed, np.random.default_rng(seed), resamples)


def _chances(count: int) -> Floats:
    """How probable 0 .. `count` heads of so many fair coins are."""
    if count > EXACT_COINS:
        from scipy.stats import binom  # a quarter of a second to import, which few need

        far: Floats = binom.pmf(np.arange(count + 1), count, 0.5)
        return far
    return np.array([math.comb(count, heads) / 2**count for heads in range(count + 1)])


def _exact_p(steps: list[tuple[float, int]], observed: float) -> float:
    sums, chances = np.zeros(1), np.ones(1)
    for step, count in steps:
        plus = np.arange(count + 1)
        sums = np.add.outer(sums, step * (2 * plus - count)).ravel()
        chances = np.multiply.outer(chances, _chances(count)).ravel()
    return min(1.0, float(chances[np.abs(sums) >= observed].sum()))


def _random_p(steps: list[tuple[float, int]], observed: float, rng: np.random.Generator, resamples: int) -> float:
    step = np.array([step for step, _ in steps])
    count = np.array([count for _, count in steps])
    at_once = max(1, CELLS_AT_ONCE // len(count))
    beyond = 0
    for start in range(0, resamples, at_once):
        plus = rng.binomial(count, 0.5, size=(min(at_once, resamples - start), len(count)))
        beyond += int(np.count_nonzero(np.abs((2 * plus - count) @ step) >= observed))
    return (beyond + 1) / (resamples + 1)
