"""Intervals of figures that are no mean, by the bootstrap that means have."""

import math
from collections.abc import Callable, Sequence

from toolablate.analysis.statistics import RESAMPLES, bootstrap_interval

Figures = tuple[float, ...]


def jackknifed_interval(
    figure: Callable[[Figures], float | None],
    units: Sequence[Figures],
    sizes: Sequence[float],
    *,
    seed: int = 0,
    resamples: int = RESAMPLES,
) -> tuple[float, float] | None:
    """The 95 % interval of a `figure` of sums over independent units, each with its own figures and its size.

    What is drawn are the units' pseudo-values, whose mean is the figure but for its bias: for n in all and a unit of
    size m, n times the figure less n - m times that without the unit, over m (Busing, Meijer and van der Leeden 1999,
    "Delete-m Jackknife for Unequal m", Statistics and Computing 9). None where the figure is None with or without some
    unit, or the units say nothing of how much it varies.
    """
    sums = tuple(map(math.fsum, zip(*units, strict=True)))
    known = figure(sums) if units else None
    if known is None:
        return None
    without = {each: figure(tuple(all_of - own for all_of, own in zip(sums, each, strict=True))) for each in set(units)}
    total, values = math.fsum(sizes), []
    for each, size in zip(units, sizes, strict=True):
        left = without[each]
        if left is None:
            return None
        values.append(total * known - (total - size) * left)
    return bootstrap_interval(values, sizes, seed=seed, resamples=resamples)
