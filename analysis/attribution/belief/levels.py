"""The levels that a belief goes through: a row of right and wrong samples cut where it changes."""

import math
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from toolablate.analysis.statistics.numerals import Floats

Cuts = list[int]
"""Where levels begin, as places in the row, the first at 0; and its length."""


def cuts(right: NDArray[np.int64], samples: NDArray[np.int64]) -> Iterator[Cuts]:
    """Of each row of `right` (rows x places, counts among `samples` of each place) the cuts whose levels explain it
    best: binomial log-likelihood, less 1 + log(places) for every cut.

    That is what the best of so many cuts gains by chance, and about one more, so that a belief that stays what it is
    gets a cut in about one row of twenty. Exact by dynamic programming over the end of the last level: Jackson et al.
    (2005), "An algorithm for optimal partitioning of data on an interval", IEEE Signal Processing Letters 12.
    """
    places = len(samples)
    penalty = 1 + math.log(places)
    rights = np.concatenate([np.zeros((len(right), 1)), np.cumsum(right, axis=1)], axis=1)
    drawn = np.concatenate([[0], np.cumsum(samples)])
    best = np.zeros((len(right), places + 1))
    begins = np.zeros((len(right), places + 1), dtype=np.int64)
    for end in range(1, places + 1):
        level = _likelihood(rights[:, [end]] - rights[:, :end], drawn[end] - drawn[:end])
        worth = best[:, :end] + level - penalty
        begins[:, end] = worth.argmax(axis=1)
        best[:, end] = worth.max(axis=1)
    return (_traced(row) for row in begins.tolist())


def _likelihood(right: Floats, samples: NDArray[np.int64]) -> Floats:
    """Of so many right among so many samples, at the share that makes them most likely."""
    likely = np.zeros_like(right)
    for count in (right, samples - right):
        likely += count * np.log(np.where(count > 0, count / samples, 1.0))
    return likely


def _traced(begins: list[int]) -> Cuts:
    found = [len(begins) - 1]
    while found[-1] > 0:
        found.append(begins[found[-1]])
    return found[::-1]
