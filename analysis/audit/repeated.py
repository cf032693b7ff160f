"""Cells that are equal to those of another row or column, where chance hardly makes them so."""

from collections import defaultdict
from collections.abc import Iterator
from fractions import Fraction
from itertools import combinations

from toolablate.analysis.audit.finding import Finding
from toolablate.analysis.audit.table import PublishedTable, Row

BY_CHANCE = 0.5
"""Coincidences that a table may be expected to have by chance before they are not worth telling."""
NUMBERS = {2: "both cells", 3: "all three cells", 4: "all four cells", 5: "all five cells", 6: "all six cells"}


def check_repeated(table: PublishedTable) -> list[Finding]:
    """Rows that share every score but the baseline, and scores that a row has in two columns."""
    return [*_rows(table), *_columns(table)]


def expected_coincidences(table: PublishedTable) -> float:
    """How many rows would have the same score in two columns by chance.

    As if scores were spread evenly over the range that the table has, in steps of what is printed or, where the number
    of questions is known, of one right answer.
    """
    expected = 0.0
    for one, other in combinations(_changing(table), 2):
        cells = [cell for column in (one, other) for _, cell in table.printed_in(column)]
        values = [cell.value for cell in cells]
        spread = max(values) - min(values) if values else Fraction(0)
        if not spread:
            continue
        step = max(*(cell.unit for cell in cells), *(_step(table, column) for column in (one, other)))
        both = sum(table.cell(row, one) is not None and table.cell(row, other) is not None for row in table.body)
        expected += both * min(1.0, float(step / spread))
    return expected


def _step(table: PublishedTable, column: str) -> Fraction:
    questions = table.questions.get(column)
    return Fraction(100, questions * table.repeats) if questions else Fraction(0)


def _changing(table: PublishedTable) -> list[str]:
    """The scores that are not the baseline, rounded to at least one decimal: counts are equal too easily."""
    own = table.baseline.column if table.baseline is not None and table.baseline.table == table.name else ""
    names = [column.name for column in table.scores if column.name != own]
    return [name for name in names if any(cell.decimals for _, cell in table.printed_in(name))]


def _rows(table: PublishedTable) -> Iterator[Finding]:
    scores = _changing(table)
    if len(scores) < 2:
        return
    same: dict[tuple[str, ...], list[Row]] = defaultdict(list)
    for row in table.body:
        cells = [cell.text for name in scores if (cell := table.cell(row, name)) is not None]
        if len(cells) == len(scores):
            same[tuple(cells)].append(row)
    for first, *others in same.values():
        for row in others:
            equal = [*scores, *_equal_deltas(table, first, row)]
            count = NUMBERS.get(len(equal), f"all {len(equal)} cells")
            text = f"equal to {row.name}'s in {count} ({', '.join(_texts(table, row, equal))})"
            yield Finding("remark", "equal", text, first.name)


def _equal_deltas(table: PublishedTable, one: Row, other: Row) -> list[str]:
    names = [column.name for column in table.of_kind("delta")]
    pairs = [(name, table.cell(one, name), table.cell(other, name)) for name in names]
    return [name for name, first, second in pairs if first and second and first.text == second.text]


def _texts(table: PublishedTable, row: Row, names: list[str]) -> list[str]:
    order = [column.name for column in table.columns if column.name in names]
    return [f"{name} {cell.text}" for name in order if (cell := table.cell(row, name)) is not None]


def _columns(table: PublishedTable) -> Iterator[Finding]:
    expected = expected_coincidences(table)
    if expected > BY_CHANCE:
        return
    for one, other in combinations(_changing(table), 2):
        for row in table.body:
            first, second = table.cell(row, one), table.cell(row, other)
            if first is not None and second is not None and first.text == second.text:
                text = f"{first.text} in {one} and in {other}; by chance {expected:.1g} such pairs are to be expected"
                yield Finding("remark", "equal", f"{text} in this table", row.name)
