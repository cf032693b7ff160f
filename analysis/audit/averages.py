"""Whether the row that sums up is the mean, sum, largest or smallest of the rows above it."""

from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import combinations

from toolablate.analysis.audit.finding import Finding, Recomputed, figure
from toolablate.analysis.audit.interval import Interval, mean, total
from toolablate.analysis.audit.printed import Printed
from toolablate.analysis.audit.table import Column, PublishedTable, Row, Summary

MANY = 60
"""Rows, beyond which some two to leave out give nearly any average."""
FEW = 3


def check_summary(table: PublishedTable) -> tuple[list[Recomputed], list[Finding]]:
    row, summary = table.summary_row, table.summary
    cells: list[Recomputed] = []
    findings: list[Finding] = []
    if row is None or summary is None:
        return cells, findings
    for column in table.scores:
        printed, values = table.cell(row, column.name), table.printed_in(column.name)
        if printed is None or not values:
            continue
        within = _within(table, summary, column.name, values)
        if within is None:
            continue
        decimals = printed.decimals
        value = (within.low + within.high) / 2
        follows = within.meets(printed.interval)
        cells.append(Recomputed(row.name, column.name, printed.text, value, decimals, follows))
        if not follows:
            findings.append(_wrong(table, summary, column, printed, value))
    return cells, findings


def _within(
    table: PublishedTable, summary: Summary, column: str, values: Sequence[tuple[Row, Printed]]
) -> Interval | None:
    cells = [cell for _, cell in values]
    if column in summary.largest:
        return Interval(max(cell.counted.low for cell in cells), max(cell.counted.high for cell in cells))
    if column in summary.smallest:
        return Interval(min(cell.counted.low for cell in cells), min(cell.counted.high for cell in cells))
    if column in summary.weights:
        weights = [table.cell(row, summary.weights[column]) for row, _ in values]
        known = [(cell.interval, weight.value) for cell, weight in zip(cells, weights, strict=True) if weight]
        weighed = sum(weight for _, weight in known) > 0
        return mean([interval for interval, _ in known], [weight for _, weight in known]) if weighed else None
    if summary.means:
        return mean([cell.interval for cell in cells])
    return total([cell.counted for cell in cells])


def _wrong(table: PublishedTable, summary: Summary, column: Column, printed: Printed, value: Fraction) -> Finding:
    recomputed = figure(value, printed.decimals)
    told = f"printed {printed.text}; {_what(table, summary, column.name)} {recomputed}"
    if summary.means:
        told += f". {_instead(table, column.name, printed)}".rstrip(" .") + "."
    off = float(abs(printed.value - value) / printed.unit)
    return Finding("wrong", "average" if summary.means else "total", told, summary.row, column.name, off)


def _what(table: PublishedTable, summary: Summary, column: str) -> str:
    if column in summary.largest:
        return "the largest of the rows is"
    if column in summary.smallest:
        return "the smallest of the rows is"
    if column in summary.weights:
        return f"the rows' mean by {summary.weights[column]} is"
    count = len(table.printed_in(column))
    return f"the mean of the {count} rows is" if summary.means else f"the {count} rows add up to"


def _instead(table: PublishedTable, column: str, printed: Printed) -> str:
    """What else gives the printed average: that of another column, or of fewer rows."""
    row = table.summary_row
    copied = [
        other.name
        for other in table.scores
        if other.name != column and row is not None and (cell := table.cell(row, other.name))
        if cell.text == printed.text
    ]
    if copied:
        return f"{printed.text} is the average printed for {', '.join(copied)}."
    values = table.printed_in(column)
    sets = list(_sets(values, printed)) if len(values) <= MANY else []
    if not sets:
        return "Nor is it the mean without any one or two of them." if len(values) <= MANY else ""
    few = " or ".join(" and ".join(names) for names in sets[:FEW])
    return f"It would be the mean without {few}{' or others' if len(sets) > FEW else ''}."


def _sets(values: Sequence[tuple[Row, Printed]], printed: Printed) -> Iterator[list[str]]:
    """The rows to leave out, the fewest that do."""
    whole = total([cell.interval for _, cell in values])
    for count in range(1, min(2, len(values) - 1) + 1):
        found = False
        for gone in combinations(values, count):
            out = total([cell.interval for _, cell in gone])
            left = Interval(whole.low - out.low, whole.high - out.high).times(Fraction(1, len(values) - count))
            if left.meets(printed.interval):
                found = True
                yield [row.name for row, _ in gone]
        if found:
            return
