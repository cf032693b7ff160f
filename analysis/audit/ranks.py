"""Whether printed ranks and shares are those of the column that they stand behind."""

from fractions import Fraction

from toolablate.analysis.audit.finding import Finding, Recomputed, figure
from toolablate.analysis.audit.interval import Interval, total
from toolablate.analysis.audit.table import PublishedTable


def check_ranks(table: PublishedTable) -> tuple[list[Recomputed], list[Finding]]:
    """The largest score is first; equal ones share the better rank or, as rounding may hide a difference, do not."""
    cells: list[Recomputed] = []
    findings: list[Finding] = []
    for column in table.of_kind("rank"):
        scores = table.printed_in(column.of)
        for row, score in scores:
            printed = table.cell(row, column.name)
            if printed is None:
                continue
            best = 1 + sum(other.interval.low >= score.interval.high for _, other in scores)
            worst = sum(other.interval.high > score.interval.low for _, other in scores)
            rank = 1 + sum(other.value > score.value for _, other in scores)
            follows = best <= printed.value <= worst
            cells.append(Recomputed(row.name, column.name, printed.text, Fraction(rank), 0, follows))
            if not follows:
                told = f"printed {printed.text}; by {column.of} {score.text} it is {rank}"
                off = float(abs(printed.value - rank))
                findings.append(Finding("wrong", "rank", told, row.name, column.name, off))
    return cells, findings


def check_shares(table: PublishedTable) -> tuple[list[Recomputed], list[Finding]]:
    """Shares are percents of the row of totals, or of the sum of the rows where there is none."""
    cells: list[Recomputed] = []
    findings: list[Finding] = []
    for column in table.of_kind("share"):
        whole = _whole(table, column.of)
        for row in table.rows:
            part, printed = table.cell(row, column.of), table.cell(row, column.name)
            if part is None or printed is None or whole is None or whole.low <= 0:
                continue
            counted = part.counted
            within = Interval(100 * counted.low / whole.high, 100 * counted.high / whole.low)
            value = 100 * part.value / ((whole.low + whole.high) / 2)
            follows = within.meets(printed.interval)
            cells.append(Recomputed(row.name, column.name, printed.text, value, printed.decimals, follows))
            if not follows:
                told = f"printed {printed.text}; {part.text} of {figure(whole.low, 0)} is"
                told = f"{told} {figure(value, printed.decimals)} %"
                off = float(abs(printed.value - value) / printed.unit)
                findings.append(Finding("wrong", "share", told, row.name, column.name, off))
    return cells, findings


def _whole(table: PublishedTable, column: str) -> Interval | None:
    row = table.summary_row
    if row is not None and table.summary is not None and not table.summary.means:
        printed = table.cell(row, column)
        return None if printed is None else printed.counted
    parts = [cell.counted for _, cell in table.printed_in(column)]
    return total(parts) if parts else None
