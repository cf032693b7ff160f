"""A permutation test of paired differences."""

import math
from collections import Counter
from collections.abc import Sequence

import numpy as np

from toolablate.traces.analysis.statistics.numerals import CELLS_AT_ONCE, DIGITS, RESAMPLES, Floats

EXACT_POINTS = 200_000
EXACT_COINS = 1_000


def sign_flip_p(differences: Sequence[float], *, seed: int = 0, resamples: int = RESAMPLES) -> float:
    """Two-sided p-value of the sign-flip (paired permutation) test that differences are symmetric about 0.

    `differences` are one per independent unit. Exact where the distribution of their sum can be written out, which for
    right-or-wrong scores is always (it is then the exact McNemar test); else (b + 1) / (n + 1) from random flips
    (Phipson and Smyth 2010). 1.0 where nothing differs.

    Single runs of right-or-wrong scores take few values, so that the exact test finds an effect in null data less often
    than the level of 5 % says: with 430 questions of which 10 % differ 3.5 % of the time, of which 30 % differ 4.1 %,
    with 100 questions of which 20 % differ 2.9 %. With repeats and graded scores it is close to the level.
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
