"""The estimators of the exposure test, as functions of plain numbers."""

import math
import random
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from toolablate.analysis.pairing import Unit
from toolablate.analysis.statistics.intervals import RESAMPLES, bootstrap_interval, by_unit


@dataclass(frozen=True, slots=True)
class Figure:
    """A mean, or a difference of two, with its 95 % interval; None where the data cannot tell that."""

    value: float
    ci95: tuple[float, float] | None


def mean_of(values: Sequence[float], units: Sequence[Unit], *, seed: int = 0, resamples: int = RESAMPLES) -> Figure:
    """Over questions; the interval is by a bootstrap over independent units. Raises ValueError of no question."""
    if not values:
        raise ValueError("there is no mean of no question")
    sums, sizes = by_unit(units, values, [1.0] * len(values))
    found = bootstrap_interval(sums, sizes, seed=seed, resamples=resamples)
    return Figure(math.fsum(values) / len(values), found)


def difference_of(one: Figure, other: Figure) -> Figure:
    """`one` minus `other`, of independent questions.

    The interval is put together from those of both, lopsided as they are: the distance of its lower end is the root of
    the squared distances of the lower end of the one and the upper end of the other, and so above. Zou and Donner
    (2008), "Construction of confidence limits about effect measures: a general approach", Statistics in Medicine 27.
    """
    value = one.value - other.value
    if one.ci95 is None or other.ci95 is None:
        return Figure(value, None)
    below = math.hypot(one.value - one.ci95[0], other.ci95[1] - other.value)
    above = math.hypot(one.ci95[1] - one.value, other.value - other.ci95[0])
    return Figure(value, (value - below, value + above))


def strangers(units: Sequence[Unit], seed: int = 0) -> list[Iterator[int]] | None:
    """For each question the places of others, all of other units. The first of each is drawn by the seed, and no two
    have the same first.

    Units stand one after the other in random order; a question's strangers begin as far behind it as the largest unit
    is long. None where one unit has more than half of the questions, so that there is no such order.
    """
    members: dict[Unit, list[int]] = defaultdict(list)
    for place, unit in enumerate(units):
        members[unit].append(place)
    step = max(map(len, members.values()), default=0)
    if not units or 2 * step > len(units):
        return None
    drawn = random.Random(seed)  # noqa: S311 - an order, not a secret
    groups = list(members.values())
    drawn.shuffle(groups)
    for group in groups:
        drawn.shuffle(group)
    order = [place for group in groups for place in group]
    positions = {place: position for position, place in enumerate(order)}

    def behind(place: int) -> Iterator[int]:
        for away in range(step, len(order)):
            other = order[(positions[place] + away) % len(order)]
            if units[other] != units[place]:
                yield other

    return [behind(place) for place in range(len(units))]
