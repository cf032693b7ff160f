"""The standard error of a mean over independent clusters."""

from collections.abc import Sequence

import numpy as np


def clustered_standard_error(sums: Sequence[float], sizes: Sequence[float]) -> float | None:
    """Of sum(sums) / sum(sizes), by how far each cluster's sum lies from what the mean gives it:
    sqrt(G / (G - 1) * sum((sums - mean * sizes)^2)) / sum(sizes) for G clusters.

    With clusters of one it is the ordinary standard error. None for fewer than two clusters. Source: Liang and Zeger
    (1986), "Longitudinal data analysis using generalized linear models", Biometrika 73; with the usual G / (G - 1).
    """
    if len(sums) < 2:
        return None
    total, size = np.asarray(sums, dtype=float), np.asarray(sizes, dtype=float)
    away = total - total.sum() / size.sum() * size
    return float(np.sqrt(len(sums) / (len(sums) - 1) * (away @ away)) / size.sum())
