"""Permutation tests of paired differences, a test of two shares, and corrections for several tests at once."""

import math
from collections import Counter
from collections.abc import Sequence

import numpy as np

from toolablate.analysis.statistics.intervals import DIGITS, RESAMPLES, Floats

EXACT_POINTS = 200_000
EXACT_COINS = 1_000

FEW_BEYOND = 10
FINER = 10
BITS = 8
ROWS_AT_ONCE = 8_192


def sign_flip_p(differences: Sequence[float], *, seed: int = 0, resamples: int = RESAMPLES) -> float:
    """Two-sided p-value of the sign-flip (paired permutation) test that differences are symmetric about 0.

    `differences` are one per independent unit. They are symmetric where nothing differs and each is taken over as many
    repeats of one side as of the other; of one repeat against ten the test finds 8 % and more in null data. Exact where
    the distribution of their sum can be written out, which for right-or-wrong scores is always (it is then the exact
    McNemar test); else (b + 1) / (n + 1) from n random flips (Phipson and Smyth 2010), and from ten times as many where
    fewer than ten of these lie as far out, so that the smallest value is 1 in 100,000 by default. The second look only
    replaces what is below any level that the first could not tell, so the test stays valid. 1.0 where nothing differs.

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
    values = np.repeat([step for step, _ in steps], [count for _, count in steps])
    rng = np.random.default_rng(seed)
    beyond = _beyond(values, observed, rng, resamples)
    if beyond < FEW_BEYOND:
        more = (FINER - 1) * resamples
        beyond, resamples = beyond + _beyond(values, observed, rng, more), resamples + more
    return (beyond + 1) / (resamples + 1)


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


def _beyond(values: Floats, observed: float, rng: np.random.Generator, resamples: int) -> int:
    """How many of so many random flips have a sum as far from 0. One random byte flips eight values: what each of the
    256 bytes makes of them is looked up."""
    padded = np.concatenate([values, np.zeros(-len(values) % BITS)]).reshape(-1, BITS)
    flips = 1.0 - 2.0 * np.unpackbits(np.arange(2**BITS, dtype=np.uint8)[:, None], axis=1)
    tables = padded @ flips.T
    found = 0
    for start in range(0, resamples, ROWS_AT_ONCE):
        rows = min(ROWS_AT_ONCE, resamples - start)
        drawn = rng.integers(0, 2**BITS, size=(len(tables), rows), dtype=np.uint8)
        sums = np.zeros(rows)
        for table, flipped in zip(tables, drawn, strict=True):
            sums += table[flipped]
        found += int(np.count_nonzero(np.abs(sums) >= observed))
    return found


def fisher_p(first: tuple[int, int], second: tuple[int, int]) -> float:
    """Two-sided p-value of Fisher's exact test that two groups have the same share, each given as (those that have it,
    all of the group): the sum of all tables that are no more probable than this one. 1.0 where a group is empty.

    Source: Fisher (1935), "The logic of inductive inference", JRSS 98; two-sided as in R's `fisher.test`.
    """
    (having, size), (others_having, others) = first, second
    drawn, total = having + others_having, size + others
    if not (size and others and 0 < drawn < total):
        return 1.0
    logs = np.concatenate([[0.0], np.cumsum(np.log(np.arange(1, total + 1)))])
    found = np.arange(max(0, drawn - others), min(size, drawn) + 1)
    chances = -(logs[found] + logs[size - found] + logs[drawn - found] + logs[others - drawn + found])
    chances = np.exp(chances - chances.max())
    # As R does, since equal chances differ in their last digits.
    beyond = chances[chances <= chances[having - found[0]] * (1 + 1e-7)]
    return min(1.0, float(beyond.sum() / chances.sum()))


# P-values of several comparisons at once.


def holm(p_values: Sequence[float]) -> list[float]:
    """Each p-value corrected, in the given order, so that the chance of any false finding among all of them stays below
    the level, however they depend on each other.

    Source: Holm (1979), "A simple sequentially rejective multiple test procedure", Scandinavian Journal of Statistics.
    """
    corrected, highest = [1.0] * len(p_values), 0.0
    for rank, place in enumerate(_ascending(p_values)):
        highest = max(highest, min(1.0, (len(p_values) - rank) * p_values[place]))
        corrected[place] = highest
    return corrected


def benjamini_hochberg(p_values: Sequence[float]) -> list[float]:
    """Each p-value corrected, in the given order, so that the expected share of false findings among those below a
    level stays below that level. Proven where p-values are independent or positively dependent, as with a shared
    baseline.

    Source: Benjamini and Hochberg (1995), "Controlling the false discovery rate", JRSS B 57; Benjamini and Yekutieli
    (2001), "The control of the false discovery rate in multiple testing under dependency", Annals of Statistics 29.
    """
    corrected, lowest = [1.0] * len(p_values), 1.0
    for rank, place in reversed(list(enumerate(_ascending(p_values), start=1))):
        lowest = min(lowest, len(p_values) / rank * p_values[place])
        corrected[place] = lowest
    return corrected


def _ascending(p_values: Sequence[float]) -> list[int]:
    return sorted(range(len(p_values)), key=p_values.__getitem__)
