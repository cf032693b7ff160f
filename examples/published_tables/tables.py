"""A published table, its printed numbers as the intervals that they were rounded from, and what is found in it."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import Literal


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


# One figure of a published table, as it is printed.


Sign = Literal[-1, 0, 1]

EMPTY = frozenset(["-", "–", "—", "−", "/", "--", "---", "n/a", "N/A", "NA"])
_SIGNS: dict[str, Sign] = {"+": 1, "↑": 1, "▲": 1, "-": -1, "–": -1, "−": -1, "↓": -1, "▼": -1}
_FIGURE = re.compile(
    r"(?P<open>\()?(?P<sign>[-–−+]?)(?P<before>[↑▲↓▼]?)"
    r"(?P<whole>[0-9]{1,3}(?:,[0-9]{3}){1,4}|[0-9]{0,15})(?:\.(?P<decimals>[0-9]{1,12}))?"
    r"(?:±(?:[0-9]{1,15}(?:\.[0-9]{1,12})?|\.[0-9]{1,12}))?"
    r"(?P<percent>%?)(?P<after>[↑▲↓▼]?)(?(open)\))"
)


@dataclass(frozen=True, slots=True)
class Printed:
    """text       as it stands in the table
    size          without its sign
    decimals      how many digits are printed behind the point
    sign          of a plus, minus or arrow; 0 where there is none
    percent       whether a percent sign follows
    """

    text: str
    size: Fraction
    decimals: int
    sign: Sign
    percent: bool

    @property
    def value(self) -> Fraction:
        return -self.size if self.sign < 0 else self.size

    @property
    def unit(self) -> Fraction:
        """The worth of the last printed digit."""
        return Fraction(1, 10**self.decimals)

    @property
    def interval(self) -> Interval:
        """What rounds to this."""
        return Interval(self.value - self.unit / 2, self.value + self.unit / 2)

    @property
    def counted(self) -> Interval:
        """The same where figures without decimals are counts, which are not rounded."""
        return self.interval if self.decimals else exactly(self.value)


def printed(text: str) -> Printed:
    """Reads `35.89`, `10,606`, `2.89%↓`, `-4.5`, `(+0.3)`, and `35.9±0.4` without its spread.

    Raises ValueError that says what is wrong.
    """
    match = _FIGURE.fullmatch(text)
    if match is None or not (match["whole"] or match["decimals"]):
        raise ValueError("is no figure")
    marks = [match["sign"], match["before"], match["after"]]
    signs = {_SIGNS[mark] for mark in marks if mark}
    if len(signs) > 1:
        raise ValueError("has a sign and an arrow that say different things")
    decimals = match["decimals"] or ""
    size = Fraction(int(match["whole"].replace(",", "") + decimals or "0"), 10 ** len(decimals))
    return Printed(text, size, len(decimals), signs.pop() if signs else 0, bool(match["percent"]))


# Published tables: what is printed in them, and what they say that their figures are.


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


# What an audit says of a table.


Level = Literal["wrong", "remark", "fact"]
AverageOf = Literal["change_of_averages", "mean_of_changes", "mean_of_sizes"]
FindingKind = Literal[
    "average",
    "average_of",
    "copy",
    "delta",
    "equal",
    "granularity",
    "mean",
    "percent_sign",
    "rank",
    "share",
    "sign",
    "sum",
    "total",
    "unchecked",
    "units",
]


@dataclass(frozen=True, slots=True)
class Finding:
    """level      `wrong`: does not follow, whatever was rounded; `remark`: follows, and misleads or is remarkable;
                  `fact`: what the figures imply, of which there may be a harmless reason
    row, column   where; empty where it is about several
    off           how far a wrong figure is from the recomputed one, in units of its last printed digit
    """

    level: Level
    kind: FindingKind
    text: str
    row: str = ""
    column: str = ""
    off: float = 0.0


@dataclass(frozen=True, slots=True)
class Recomputed:
    """One cell that other cells give.

    printed      as it stands
    value        recomputed from the printed figures; `decimals`: to how many digits it is worth showing
    follows      whether the printed figure can be it, within what was rounded
    reading      of a delta: the unit in which it follows; empty for any other. With `follows` False `value` is in this
                 unit, which is not that of the other deltas
    average_of   of a delta in an average row: what it is read as; several where rounding leaves that open
    readings     of such a delta: what each reading gives, in the unit of `value`
    """

    row: str
    column: str
    printed: str
    value: Fraction
    decimals: int
    follows: bool
    reading: Literal["points", "relative", "both", "neither", ""] = ""
    average_of: tuple[AverageOf, ...] = ()
    readings: Mapping[AverageOf, Fraction] = field(default_factory=dict)

    @property
    def text(self) -> str:
        return figure(self.value, self.decimals)


def figure(value: Fraction, decimals: int) -> str:
    """Rounded to so many decimals, a half away from zero as in most papers, with a true minus."""
    scaled = abs(value) * 10**decimals
    digits = f"{int(scaled + Fraction(1, 2)):0{decimals + 1}d}"
    text = f"{digits[:-decimals]}.{digits[-decimals:]}" if decimals else digits
    return f"\N{MINUS SIGN}{text}" if value < 0 and int(digits) else text
