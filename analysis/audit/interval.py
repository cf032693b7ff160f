"""Exact arithmetic on what rounded figures can stand for."""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction


@dataclass(frozen=True, slots=True)
class Interval:
    """All values from `low` to `high`, both included: whichever way a half was rounded is allowed for."""

    low: Fraction
    high: Fraction

    def __add__(self, other: "Interval") -> "Interval":
        return Interval(self.low + other.low, self.high + other.high)

    def __sub__(self, other: "Interval") -> "Interval":
        return Interval(self.low - other.high, self.high - other.low)

    def __neg__(self) -> "Interval":
        return Interval(-self.high, -self.low)

    def times(self, factor: Fraction | int) -> "Interval":
        """`factor` is 0 or more."""
        return Interval(self.low * factor, self.high * factor)

    def meets(self, other: "Interval") -> bool:
        return self.low <= other.high and other.low <= self.high


def exactly(value: Fraction | int) -> Interval:
    return Interval(Fraction(value), Fraction(value))


def mean(values: Sequence[Interval], weights: Sequence[Fraction] | None = None) -> Interval:
    """The mean of one or more intervals, by positive weights that are known exactly."""
    weights = weights or [Fraction(1)] * len(values)
    return total([value.times(weight) for value, weight in zip(values, weights, strict=True)]).times(
        1 / sum(weights, Fraction())
    )


def total(values: Sequence[Interval]) -> Interval:
    return Interval(sum((value.low for value in values), Fraction()), sum((value.high for value in values), Fraction()))


def relative_change(base: Interval, value: Interval) -> Interval | None:
    """In percent of a positive base; None where the base may be 0 or less."""
    if base.low <= 0:
        return None
    ratios = [ratio for edge in (value.low, value.high) for ratio in (edge / base.low, edge / base.high)]
    return Interval(100 * (min(ratios) - 1), 100 * (max(ratios) - 1))
