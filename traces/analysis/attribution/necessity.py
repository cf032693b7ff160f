"""How likely something is to be what made a trial wrong, by how often trials with it and without it are right."""

from collections.abc import Sequence
from functools import lru_cache

import numpy as np

from toolablate.traces.analysis.pairing import RIGHT

PRIOR = 0.5
"""Both parameters of the beta distribution that a chance has before anything is seen (Jeffreys)."""

_DRAWS = 2_000


def necessity(without: Sequence[float], beside: Sequence[float]) -> float:
    """Of scores of trials without it, and with it. (q - p) / (1 - p) for chances p with it and q without it, and 0
    where that is below (Pearl 1999; Tian and Pearl 2000: see `layer_two.blame`), averaged over what so few trials let
    be known of both."""
    return _necessity(_right(without), len(without), _right(beside), len(beside))


@lru_cache(maxsize=4096)
def _necessity(right: int, trials: int, right_beside: int, trials_beside: int) -> float:
    rng = np.random.default_rng(0)
    without = rng.beta(right + PRIOR, trials - right + PRIOR, _DRAWS)
    beside = rng.beta(right_beside + PRIOR, trials_beside - right_beside + PRIOR, _DRAWS)
    return float(np.mean(np.maximum(0.0, without - beside) / (1 - beside)))


def _right(scores: Sequence[float]) -> int:
    return sum(score >= RIGHT for score in scores)
