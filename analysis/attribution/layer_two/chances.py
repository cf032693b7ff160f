"""Chances of being right at the levels of a chain, of which neighbours are mostly the same."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations, pairwise

import numpy as np
from numpy.typing import NDArray

from toolablate.analysis.statistics.numerals import Floats

PRIOR = 0.5
"""Both parameters of the beta distribution that a chance has before anything is seen (Jeffreys)."""

DRAWS = 400


@dataclass(frozen=True, slots=True)
class Tally:
    """Runs at one level, and the sum of their scores, each in [0, 1]."""

    runs: int
    right: float


def drawn_chances(tallies: Sequence[Tally], changes: Sequence[float], *, draws: int = DRAWS, seed: int = 0) -> Floats:
    """Draws from what is known of the levels' chances, draws x levels.

    `changes` are the probabilities in (0, 1) that a level differs from the one before it, before anything is seen, one
    for each level but the first; levels between two changes have one chance, and their runs are pooled. So a few runs
    by chance make no difference, and one that is there is seen by the runs of all levels on both sides: a product
    partition model (Barry and Hartigan 1993, "A Bayesian analysis for change point problems", JASA 88), with
    beta-binomial levels and, for so few of them, every partition weighed.
    """
    pairs, owners, begins = _partitions(len(tallies))
    runs = np.array([0.0, *np.cumsum([each.runs for each in tallies])])
    right = np.array([0.0, *np.cumsum([each.right for each in tallies])])
    good = right[pairs[:, 1]] - right[pairs[:, 0]] + PRIOR
    bad = runs[pairs[:, 1]] - runs[pairs[:, 0]] - good + 2 * PRIOR
    # Every run of levels but the first follows a change.
    before = np.array([0.0, *(math.log(change / (1 - change)) for change in changes)])
    worth = _log_beta(good, bad) - _log_beta(PRIOR, PRIOR) + before[pairs[:, 0]]
    likely = (worth[owners] * begins).sum(axis=1)
    weights = np.exp(likely - likely.max())
    rng = np.random.default_rng(seed)
    chosen = rng.choice(len(weights), size=draws, p=weights / weights.sum())
    chances = rng.beta(good, bad, size=(draws, len(pairs)))
    return np.take_along_axis(chances, owners[chosen], axis=1)


@lru_cache(maxsize=32)
def _partitions(levels: int) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.bool_]]:
    """Runs of neighbouring levels as begin and end; then, of every way to cut the chain into such runs, the run that
    each level belongs to, and whether one begins there."""
    pairs = list(combinations(range(levels + 1), 2))
    places = {pair: place for place, pair in enumerate(pairs)}
    numbers = np.arange(2 ** (levels - 1))[:, None]
    cut = (numbers >> np.arange(levels - 1)) & 1
    begins = np.hstack([np.ones((len(numbers), 1), dtype=bool), cut.astype(bool)])
    owners = [
        [places[begin, end] for begin, end in pairwise(ends) for _ in range(begin, end)]
        for ends in ([*np.flatnonzero(row).tolist(), levels] for row in begins)
    ]
    return np.array(pairs), np.array(owners), begins


def _log_beta(first: Floats | float, second: Floats | float) -> Floats:
    log_gamma = np.vectorize(math.lgamma, otypes=[float])
    found: Floats = log_gamma(first) + log_gamma(second) - log_gamma(np.add(first, second))
    return found
