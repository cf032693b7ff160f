"""Bounds of a share that hold for any number of samples."""

import math
from functools import lru_cache

HALVINGS = 40
"""Until a bound is known to far more digits than matter."""


@lru_cache(maxsize=4096)
def lower_bound(right: int, samples: int, error: float) -> float:
    """Below the true share but for a chance of `error`: the smallest share of which so many right have at least that
    chance. Clopper and Pearson (1934), "The use of confidence or fiducial limits illustrated in the case of the
    binomial", Biometrika 26."""
    if not right:
        return 0.0
    low, high = 0.0, right / samples
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        low, high = (middle, high) if _at_least(right, samples, middle) < error else (low, middle)
    return low


def upper_bound(right: int, samples: int, error: float) -> float:
    """Above the true share but for a chance of `error`."""
    return 1 - lower_bound(samples - right, samples, error)


def _at_least(right: int, samples: int, share: float) -> float:
    return math.fsum(
        math.comb(samples, count) * share**count * (1 - share) ** (samples - count)
        for count in range(right, samples + 1)
    )
