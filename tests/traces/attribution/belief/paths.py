"""Beliefs whose course is known, and what probes of them say."""

import numpy as np

from toolablate.analysis.attribution.belief import Probe, Trajectory, trajectory
from toolablate.analysis.statistics.intervals import Floats


def probed(path: Floats, samples: int, rng: np.random.Generator) -> Trajectory:
    """One probe after each step of a path of true shares."""
    right = rng.binomial(samples, path).tolist()
    return trajectory(Probe(step, {"A": count, "B": samples - count}, 0, count) for step, count in enumerate(right))


def falling(steps: int, fall: int, high: float, low: float) -> Floats:
    """High before the step `fall`, low from it on."""
    return np.where(np.arange(steps + 1) < fall, high, low)


def steady(steps: int, rng: np.random.Generator) -> Floats:
    return np.full(steps + 1, rng.uniform(0.05, 0.95))


def rising(steps: int, rng: np.random.Generator) -> Floats:
    low, high = sorted(rng.uniform(0.05, 0.95, 2).tolist())
    return falling(steps, int(rng.integers(1, steps + 1)), low, high)


def recovering(steps: int, rng: np.random.Generator) -> Floats:
    """Falls for one to three steps, and is back for the last three or more."""
    begins, lasts = int(rng.integers(1, steps - 4)), int(rng.integers(1, 4))
    path = np.full(steps + 1, rng.uniform(0.7, 1))
    path[begins : begins + lasts] = rng.uniform(0, 0.3)
    return path
