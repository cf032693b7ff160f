"""What a change in an average row can be: the change of the averages, or the mean of the rows' changes.

In points the two are one figure. Relative changes average to another one than that of the averages, and papers print
either.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction

from toolablate.analysis.audit.deltas import UNITS, Change, Delta, Unit, follows
from toolablate.analysis.audit.finding import AverageOf
from toolablate.analysis.audit.interval import Interval, mean
from toolablate.analysis.audit.printed import Printed
from toolablate.analysis.audit.table import Column


@dataclass(frozen=True, slots=True)
class Reading:
    """`within` is all that rounding allows, `value` what the printed figures give."""

    of: AverageOf
    unit: Unit
    within: Interval
    value: Fraction


@dataclass(frozen=True, slots=True)
class AverageDelta:
    """printed   the change in the average row
    score        the average score printed beside it
    rows         the deltas that it stands for
    other_base   the average that is printed for the baseline, where there is one
    """

    column: Column
    printed: Printed
    score: Printed
    rows: tuple[Delta, ...]
    other_base: Printed | None

    @property
    def base(self) -> Interval:
        return mean([delta.base.interval for delta in self.rows])

    @property
    def recomputed(self) -> Change:
        """Of the means of the rows."""
        return Change(self.base, mean([delta.score.interval for delta in self.rows]))

    @property
    def of_averages(self) -> set[Unit]:
        """The units in which it follows from the average score, by either baseline."""
        return {one.unit for one in self._of_averages() if follows(self.printed, one.within)}

    def readings(self, unit: Unit) -> list[Reading]:
        """All that it can be, where the rows' deltas are in `unit`."""
        return [*self._of_averages(), *self._of_changes(unit), *self._of_sizes(unit)]

    def found(self, unit: Unit) -> list[Reading]:
        """Those in which it follows, the nearest first; only those in `unit` where there are any."""
        found = [one for one in self.readings(unit) if follows(self.printed, one.within)]
        found.sort(key=self.distance)
        return [one for one in found if one.unit == unit] or found

    def units(self, unit: Unit) -> set[Unit]:
        return {one.unit for one in self.readings(unit) if follows(self.printed, one.within)}

    def figures(self, unit: Unit, own: Unit) -> dict[AverageOf, Fraction]:
        """What each kind of reading gives in the unit `own`: the figure that is found, else that of what is printed."""
        figures: dict[AverageOf, Fraction] = {}
        for one in (*self.found(unit), *self.readings(unit)):
            if one.unit == own:
                figures.setdefault(one.of, one.value)
        return figures

    def distance(self, one: Reading) -> Fraction:
        if self.printed.sign:
            return abs(one.value - self.printed.value)
        return abs(abs(one.value) - self.printed.size)

    def _of_averages(self) -> Iterator[Reading]:
        bases = [self.base, *([self.other_base.interval] if self.other_base else [])]
        for change in (Change(base, self.score.interval) for base in bases):
            for unit in UNITS:
                within, value = change.within(unit), change.value(unit)
                if within is not None and value is not None:
                    yield Reading("change_of_averages", unit, within, value)

    def _of_changes(self, unit: Unit) -> Iterator[Reading]:
        """As they are printed; and as the rows' scores give them, for one of them may be a slip."""
        printed = _mean_of("mean_of_changes", unit, [delta.signed for delta in self.rows])
        mixed = any(delta.units and unit not in delta.units for delta in self.rows)
        if not mixed:
            yield printed
        for each in UNITS:
            within = [change for delta in self.rows if (change := delta.change.within(each)) is not None]
            values = [value for delta in self.rows if (value := delta.change.value(each)) is not None]
            if len(within) == len(values) == len(self.rows):
                yield Reading("mean_of_changes", each, mean(within), sum(values, Fraction()) / len(values))
        if mixed:
            yield printed  # of points and percents: last, for it means little

    def _of_sizes(self, unit: Unit) -> Iterator[Reading]:
        """Where no sign or arrow tells the way of the rows' changes, and they go both ways."""
        if any(delta.printed.sign for delta in self.rows):
            return
        sizes = _mean_of("mean_of_sizes", unit, [delta.printed.interval for delta in self.rows])
        if abs(_mean_of("mean_of_changes", unit, [delta.signed for delta in self.rows]).value) != sizes.value:
            yield sizes


def _mean_of(of: AverageOf, unit: Unit, values: list[Interval]) -> Reading:
    within = mean(values)
    return Reading(of, unit, within, (within.low + within.high) / 2)
