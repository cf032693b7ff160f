"""How often runs are right at each of a chain of levels, where a chance mostly stays and sometimes changes."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations, pairwise

import numpy as np
from numpy.typing import NDArray

from toolablate.analysis.attribution.sequential import HIGH, LOW, log_beta
from toolablate.analysis.statistics.intervals import Floats

FIRST_LOW = 0.85
"""How likely the first level of a wrong trial is low, before anything is seen."""

DRAWS = 400


@dataclass(frozen=True, slots=True)
class LevelTally:
    """Runs at one level, and the sum of their scores, each in [0, 1]; forced answers are less than a run each."""

    runs: float
    right: float


def drawn_chances(
    tallies: Sequence[LevelTally],
    changes: Sequence[float],
    *,
    first_low: float = FIRST_LOW,
    draws: int = DRAWS,
    seed: int = 0,
) -> Floats:
    """Draws from what is known of the levels' chances, draws x levels.

    `changes` are the probabilities in (0, 1) that a level differs from the one before it, before anything is seen, one
    for each level but the first; levels between two changes have one chance, and their runs are pooled. So a few runs
    by chance make no difference, and one that is there is seen by the runs of all levels on both sides: a product
    partition model (Barry and Hartigan 1993, "A Bayesian analysis for change point problems", JASA 88), with
    beta-binomial levels and, for so few of them, every partition weighed. A change goes from mostly wrong to mostly
    right or back (`LOW`, `HIGH`): one of any size would be fitted to noise.
    """
    paths, fits = paths_of(len(tallies)), fits_of(tuple(tallies))
    rng = np.random.default_rng(seed)
    chosen = rng.choice(len(paths.owners), size=draws, p=path_weights(paths, fits, changes, first_low))
    chances = rng.beta(fits.good, fits.bad, size=(draws, *fits.good.shape))
    found: Floats = chances[np.arange(draws)[:, None], paths.states[chosen], paths.owners[chosen]]
    return found


def changed(tallies: Sequence[LevelTally], changes: Sequence[float]) -> Floats:
    """The probability that each level but the first differs from the one before it, by the same model."""
    paths = paths_of(len(tallies))
    found: Floats = (path_weights(paths, fits_of(tuple(tallies)), changes)[:, None] * paths.begins).sum(axis=0)[1:]
    return found


def low_or_changed(tallies: Sequence[LevelTally], chances: Sequence[float]) -> Floats:
    """The probability that the first level is low, then those of `changed`; `chances` begin with that of the first to
    be low, before anything is seen."""
    paths = paths_of(len(tallies))
    weights = path_weights(paths, fits_of(tuple(tallies)), chances[1:], chances[0])
    found: Floats = (weights[:, None] * np.column_stack([paths.states[:, 0] == 0, paths.begins[:, 1:]])).sum(axis=0)
    return found


@dataclass(frozen=True, slots=True)
class Paths:
    """Every way to cut a chain of levels into runs of one chance each, twice: the first run is low, or high.

    pairs   runs of neighbouring levels, as begin and end
    owners  of each path and level the number of its pair
    begins  whether one begins there
    states  whether it is high
    """

    pairs: NDArray[np.int64]
    owners: NDArray[np.int64]
    begins: NDArray[np.bool_]
    states: NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Fits:
    """Of low and high, and each run of levels: its beta distribution, and how well that fits its runs."""

    good: Floats
    bad: Floats
    worth: Floats


def path_weights(paths: Paths, fits: Fits, changes: Sequence[float], first_low: float = FIRST_LOW) -> Floats:
    # Every run of levels but the first follows a change.
    before = np.array([0.0, *(math.log(change / (1 - change)) for change in changes)])
    worth = fits.worth[paths.states, paths.owners] + before[paths.pairs[:, 0]][paths.owners]
    likely = (worth * paths.begins).sum(axis=1) + np.log(np.where(paths.states[:, 0] == 0, first_low, 1 - first_low))
    weights = np.exp(likely - likely.max())
    found: Floats = weights / weights.sum()
    return found


@lru_cache(maxsize=32)
def paths_of(levels: int) -> Paths:
    pairs = list(combinations(range(levels + 1), 2))
    places = {pair: place for place, pair in enumerate(pairs)}
    numbers = np.arange(2 ** (levels - 1))[:, None]
    cut = (numbers >> np.arange(levels - 1)) & 1
    begins = np.hstack([np.ones((len(numbers), 1), dtype=bool), cut.astype(bool)])
    owners = [
        [places[begin, end] for begin, end in pairwise(ends) for _ in range(begin, end)]
        for ends in ([*np.flatnonzero(row).tolist(), levels] for row in begins)
    ]
    of_runs = np.cumsum(begins, axis=1) - 1
    return Paths(
        np.array(pairs),
        np.vstack([owners, owners]),
        np.vstack([begins, begins]),
        np.vstack([of_runs % 2, (of_runs + 1) % 2]),
    )


@lru_cache(maxsize=4096)
def fits_of(tallies: tuple[LevelTally, ...]) -> Fits:
    pairs = paths_of(len(tallies)).pairs
    runs = np.array([0.0, *np.cumsum([each.runs for each in tallies])])
    right = np.array([0.0, *np.cumsum([each.right for each in tallies])])
    number, good = runs[pairs[:, 1]] - runs[pairs[:, 0]], right[pairs[:, 1]] - right[pairs[:, 0]]
    goods, bads = (
        np.array([count + prior[part] for prior in (LOW, HIGH)]) for part, count in enumerate((good, number - good))
    )
    worth = log_beta(goods, bads) - np.array([[log_beta(*prior)] for prior in (LOW, HIGH)])
    return Fits(goods, bads, worth)
