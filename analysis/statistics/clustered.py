"""Independent clusters: what a figure sums to in each, what they are worth, and the standard error of a mean."""

import math
from collections import defaultdict
from collections.abc import Hashable, Sequence

import numpy as np


def by_unit(units: Sequence[Hashable], *columns: Sequence[float]) -> tuple[list[float], ...]:
    """Of each column of figures the sums by unit; units come as they first appear."""
    places: dict[Hashable, list[int]] = defaultdict(list)
    for place, unit in enumerate(units):
        places[unit].append(place)
    return tuple([math.fsum([column[place] for place in unit]) for unit in places.values()] for column in columns)


def effective_clusters(sizes: Sequence[float]) -> float:
    """How many clusters of one size a mean over these rests on: sum(m)^2 / sum(m^2), their number where all are alike
    (Kish 1965, "Survey Sampling"); 0.0 of none."""
    squares = math.fsum(size * size for size in sizes)
    return math.fsum(sizes) ** 2 / squares if squares else 0.0


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


def jackknife_standard_error(sums: Sequence[float], sizes: Sequence[float]) -> float | None:
    """The same by leaving out one cluster at a time, which is a little larger where few or unequal clusters carry the
    mean: sqrt((G - 1) / G * sum((mean without it - mean of these)^2)). None for fewer than two clusters that have a
    size. Source: Efron and Stein (1981), "The jackknife estimate of variance", Annals of Statistics 9.
    """
    total, size = np.asarray(sums, dtype=float), np.asarray(sizes, dtype=float)
    total, size = total[size > 0], size[size > 0]
    if len(size) < 2:
        return None
    means = (total.sum() - total) / (size.sum() - size)
    return float(np.sqrt((len(size) - 1) / len(size) * np.sum((means - means.mean()) ** 2)))
