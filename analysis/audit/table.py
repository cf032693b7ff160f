"""Published tables: what is printed in them, and what they say that their figures are."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal

from toolablate.analysis.audit.interval import Interval
from toolablate.analysis.audit.printed import Printed

Kind = Literal["score", "delta", "rank", "share"]
RuleKind = Literal["sum", "mean", "copy"]


@dataclass(frozen=True, slots=True)
class Place:
    """A column, of a table of the same paper."""

    table: str
    column: str


@dataclass(frozen=True, slots=True)
class Column:
    """`of` is the column that a delta, a rank or a share belongs to; empty for a score."""

    name: str
    kind: Kind = "score"
    of: str = ""


@dataclass(frozen=True, slots=True)
class Row:
    name: str
    cells: tuple[Printed | None, ...]


@dataclass(frozen=True, slots=True)
class Rule:
    """What the table says of a column: that in each row it is the sum or the mean of others, or a copy of another.

    weights   of the columns in a mean; empty for a plain one
    total     what stands in place of a column where a sum is known, such as 100
    """

    kind: RuleKind
    result: Place
    of: tuple[Place, ...]
    weights: tuple[int, ...] = ()
    total: int | None = None


@dataclass(frozen=True, slots=True)
class Summary:
    """The row that sums up those above it.

    means      whether it averages them; else it adds them up
    largest    columns of which it gives the largest value; `smallest`: the smallest
    weights    columns of which it gives the mean, by the column that weighs it
    """

    row: str
    means: bool
    largest: frozenset[str] = frozenset()
    smallest: frozenset[str] = frozenset()
    weights: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class PublishedTable:
    """baseline    the column that deltas are changes from
    questions      how many each score is a share of, by column; a column that is not in it has an unknown number
    repeats        how many runs a score is the mean of
    """

    name: str
    caption: str
    columns: tuple[Column, ...]
    rows: tuple[Row, ...]
    summary: Summary | None = None
    baseline: Place | None = None
    rules: tuple[Rule, ...] = ()
    questions: Mapping[str, int] = field(default_factory=dict)
    repeats: int = 1

    @cached_property
    def body(self) -> tuple[Row, ...]:
        """The rows without the one that sums up."""
        return tuple(row for row in self.rows if self.summary is None or row.name != self.summary.row)

    @property
    def summary_row(self) -> Row | None:
        return next((row for row in self.rows if self.summary is not None and row.name == self.summary.row), None)

    @cached_property
    def by_name(self) -> Mapping[str, Row]:
        """The rows by their names, whose case does not matter."""
        return {row.name.casefold(): row for row in self.rows}

    @property
    def scores(self) -> tuple[Column, ...]:
        return tuple(column for column in self.columns if column.kind == "score")

    def of_kind(self, kind: Kind) -> Iterator[Column]:
        return (column for column in self.columns if column.kind == kind)

    def cell(self, row: Row, column: str) -> Printed | None:
        return next((cell for known, cell in zip(self.columns, row.cells, strict=True) if known.name == column), None)

    def printed_in(self, column: str) -> list[tuple[Row, Printed]]:
        """The cells of the body that are not empty."""
        cells = ((row, self.cell(row, column)) for row in self.body)
        return [(row, cell) for row, cell in cells if cell is not None]


@dataclass(frozen=True, slots=True)
class Paper:
    source: str
    tables: tuple[PublishedTable, ...]

    def table(self, name: str) -> PublishedTable:
        return next(table for table in self.tables if table.name == name)

    def cell(self, place: Place, row: str) -> Printed | None:
        """Of the row that has the same name, whatever its case."""
        table = self.table(place.table)
        found = table.by_name.get(row.casefold())
        return None if found is None else table.cell(found, place.column)

    def interval(self, place: Place, row: str) -> Interval | None:
        cell = self.cell(place, row)
        return None if cell is None else cell.interval
