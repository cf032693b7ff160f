"""Whether the changes printed in the average row are those of the averages, in the unit of the rows."""

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction

from toolablate.traces.analysis.audit.deltas import UNITS, Change, Delta, Unit, deltas, follows, unit_of
from toolablate.traces.analysis.audit.finding import Finding, Recomputed, figure
from toolablate.traces.analysis.audit.interval import Interval, mean
from toolablate.traces.analysis.audit.printed import Printed
from toolablate.traces.analysis.audit.table import Column, Paper, PublishedTable, Row


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
        bases = [self.base, *([self.other_base.interval] if self.other_base else [])]
        changes = [Change(base, self.score.interval) for base in bases]
        return {one for one in UNITS for change in changes if follows(self.printed, change.within(one))}

    def units(self, unit: Unit) -> set[Unit]:
        """In which it follows, where the rows' deltas are in `unit`: from the averages, or as mean of the deltas."""
        found = self.of_averages
        of_deltas = mean([delta.signed for delta in self.rows])
        of_sizes = mean([delta.printed.interval for delta in self.rows])
        unsigned = not any(delta.printed.sign for delta in self.rows)
        if follows(self.printed, of_deltas) or (unsigned and follows(self.printed, of_sizes)):
            found.add(unit)
        return found


def check_average_deltas(paper: Paper, table: PublishedTable) -> tuple[list[Recomputed], list[Finding]]:
    row = table.summary_row
    if row is None or table.summary is None or not table.summary.means:
        return [], []
    found = [one for column in table.of_kind("delta") for one in _average(paper, table, row, column)]
    unit = _unit(deltas(paper, table), found)
    cells = [_recomputed(row, one, unit) for one in found]
    wrong = [_wrong(row, one, unit) for one in found if not one.units(unit)]
    others = [one for one in found if one.units(unit) and unit not in one.units(unit)]
    return cells, [*wrong, *([_other_unit(row, others, unit)] if others else [])]


def _unit(rows: list[Delta], found: list[AverageDelta]) -> Unit:
    """That of the rows. Where rounding lets all of them follow in both, that of the averages."""
    if any(len(delta.units) == 1 for delta in rows) or all("points" in one.of_averages for one in found):
        return unit_of(rows)
    return "relative"


def _average(paper: Paper, table: PublishedTable, row: Row, column: Column) -> Iterator[AverageDelta]:
    printed, score = table.cell(row, column.name), table.cell(row, column.of)
    rows = tuple(delta for delta in deltas(paper, table) if delta.column == column)
    if printed is not None and score is not None and rows and table.baseline is not None:
        above = paper.table(table.baseline.table).summary_row
        other = None if above is None else paper.cell(table.baseline, above.name)
        yield AverageDelta(column, printed, score, rows, other)


def _recomputed(row: Row, one: AverageDelta, unit: Unit) -> Recomputed:
    units = one.units(unit)
    reading = "both" if len(units) == 2 else units.copy().pop() if units else "neither"
    value = one.recomputed.value(unit) or Fraction(0)
    return Recomputed(row.name, one.column.name, one.printed.text, value, one.printed.decimals, unit in units, reading)


def _wrong(row: Row, one: AverageDelta, unit: Unit) -> Finding:
    decimals = max(one.printed.decimals, 1)
    bases = [("the mean of the rows' baselines", one.base)]
    if one.other_base is not None and not one.other_base.interval.meets(one.base):
        bases.append(("the average printed for the baseline", one.other_base.interval))
    told = "; ".join(
        f"from {what}, {_figure(base)}, to {one.score.text} it is {Change(base, one.score.interval).text(decimals)}"
        for what, base in bases
    )
    value = Change(one.base, one.score.interval).value(unit) or Fraction(0)
    off = float(abs(abs(value) - one.printed.size) / one.printed.unit)
    return Finding("wrong", "delta", f"printed {one.printed.text}; {told}", row.name, one.column.name, off)


def _other_unit(row: Row, others: list[AverageDelta], unit: Unit) -> Finding:
    other = "relative" if unit == "points" else "points"
    cells = "; ".join(f"{one.column.name} {one.printed.text}, {_in_unit(one, unit)}" for one in others)
    told = (
        f"deltas here are {other}, those of the rows above are {unit}. Printed, and in the"
        f" unit of the rows: {cells} (from {_figure(others[0].base)}, the mean baseline of the"
        f" {len(others[0].rows)} rows)"
    )
    off = max(
        float(abs(one.printed.size - abs(one.recomputed.value(unit) or Fraction(0))) / one.printed.unit)
        for one in others
    )
    return Finding("wrong", "units", told, row.name, off=off)


def _in_unit(one: AverageDelta, unit: Unit) -> str:
    return figure(one.recomputed.value(unit) or Fraction(0), one.printed.decimals)


def _figure(interval: Interval) -> str:
    return figure((interval.low + interval.high) / 2, 2)
