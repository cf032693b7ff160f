"""Whether the changes in the average row are those of the averages or the mean of the rows', and in the rows' unit."""

from collections.abc import Iterator
from fractions import Fraction

from toolablate.analysis.audit.average_readings import AverageDelta
from toolablate.analysis.audit.deltas import SAID, Change, Delta, Unit, deltas, unit_of
from toolablate.analysis.audit.finding import AverageOf, Finding, Level, Recomputed, figure
from toolablate.analysis.audit.interval import Interval
from toolablate.analysis.audit.table import Column, Paper, PublishedTable, Row

AVERAGE_OF: dict[AverageOf, str] = {
    "change_of_averages": "change of the averages",
    "mean_of_changes": "mean of the rows' changes",
    "mean_of_sizes": "mean of the sizes of the rows' changes",
}


def check_average_deltas(paper: Paper, table: PublishedTable) -> tuple[list[Recomputed], list[Finding]]:
    row = table.summary_row
    if row is None or table.summary is None or not table.summary.means:
        return [], []
    found = [one for column in table.of_kind("delta") for one in _average(paper, table, row, column)]
    unit = _unit(deltas(paper, table), found)
    cells = [_recomputed(row, one, unit) for one in found]
    wrong = [_wrong(row, one, unit) for one in found if not one.units(unit)]
    others = [one for one in found if one.units(unit) and unit not in one.units(unit)]
    read = [finding for one in found for finding in _read_as(row, one, unit)]
    return cells, [*wrong, *([_other_unit(row, others, unit)] if others else []), *read]


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
    units, found = one.units(unit), one.found(unit)
    reading = "both" if len(units) == 2 else units.copy().pop() if units else "neither"
    own = found[0].unit if found else unit
    value = found[0].value if found else one.recomputed.value(unit) or Fraction(0)
    return Recomputed(
        row.name,
        one.column.name,
        one.printed.text,
        value,
        one.printed.decimals,
        unit in units,
        reading,
        tuple(dict.fromkeys(each.of for each in found)),
        one.figures(unit, own),
    )


def _read_as(row: Row, one: AverageDelta, unit: Unit) -> Iterator[Finding]:
    """Which of the figures that a reader may take it for it is, where only one of them is what is printed."""
    found = one.found(unit)
    if len({each.of for each in found}) != 1:
        return
    of, own = found[0].of, found[0].unit
    decimals = max(one.printed.decimals, 1)
    told = [
        f"{AVERAGE_OF[other]}: {figure(value, decimals)}{SAID[own]}"
        for other, value in one.figures(unit, own).items()
        if other != of
    ]
    own_figure = f"{AVERAGE_OF[of]}: {figure(found[0].value, decimals)}{SAID[own]}"
    text = f"printed {one.printed.text}, read as the {'; '.join([own_figure, *told])}"
    level: Level = "fact" if of == "change_of_averages" else "remark"
    yield Finding(level, "average_of", text, row.name, one.column.name)


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
    changes = one.figures(unit, unit).get("mean_of_changes")
    if unit == "relative" and changes is not None:
        told += f". The mean of the rows' changes is {figure(changes, decimals)}{SAID[unit]}"
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
