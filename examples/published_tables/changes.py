"""Whether printed changes, and those of averages, follow from the scores: in points or relative."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

from examples.published_tables.tables import (
    AverageOf,
    Column,
    Finding,
    Interval,
    Level,
    Paper,
    Printed,
    PublishedTable,
    Recomputed,
    Row,
    figure,
    mean,
    relative_change,
)

Unit = Literal["points", "relative"]
UNITS: tuple[Unit, ...] = ("points", "relative")
MANY = 60
"""Rows, of whose baselines beyond that some give nearly any change."""
SAID = {"points": " points", "relative": " %"}


@dataclass(frozen=True, slots=True)
class Change:
    """From `base` to `score`, both exact or rounded. `relative` is None where the base may be 0 or less."""

    base: Interval
    score: Interval

    def within(self, unit: Unit) -> Interval | None:
        return self.score - self.base if unit == "points" else relative_change(self.base, self.score)

    def value(self, unit: Unit) -> Fraction | None:
        """From the middles, which are what was printed."""
        base, score = _middle(self.base), _middle(self.score)
        if unit == "points":
            return score - base
        return 100 * (score - base) / base if base > 0 else None

    def text(self, decimals: int) -> str:
        values = ((self.value(unit), SAID[unit]) for unit in UNITS)
        return ", ".join(f"{figure(value, decimals)}{said}" for value, said in values if value is not None)


@dataclass(frozen=True, slots=True)
class Delta:
    """One printed change beside what it is a change of."""

    row: Row
    column: Column
    printed: Printed
    base: Printed
    score: Printed

    @property
    def change(self) -> Change:
        return Change(self.base.interval, self.score.interval)

    @property
    def units(self) -> tuple[Unit, ...]:
        """In which it follows."""
        return tuple(unit for unit in UNITS if follows(self.printed, self.change.within(unit)))

    @property
    def signed(self) -> Interval:
        """The printed change; one without sign or arrow goes the way that the scores go, or both where they may."""
        within = self.change.within("points")
        if self.printed.sign or within is None or within.low >= 0:
            return self.printed.interval
        turned = -self.printed.interval
        return turned if within.high <= 0 else Interval(turned.low, self.printed.interval.high)

    @property
    def turned(self) -> tuple[Unit, ...]:
        """In which it would follow if its sign or arrow were the other one."""
        if not self.printed.sign:
            return ()
        turned = -self.printed.interval
        found = ((unit, self.change.within(unit)) for unit in UNITS)
        return tuple(unit for unit, within in found if within is not None and turned.meets(within))


def follows(printed: Printed, actual: Interval | None) -> bool:
    """Within what was rounded; a figure without sign or arrow tells the size of a change only."""
    if actual is None:
        return False
    return printed.interval.meets(actual) or (not printed.sign and printed.interval.meets(-actual))


def deltas(paper: Paper, table: PublishedTable) -> list[Delta]:
    """Those of the rows, without the one that sums up; only where both scores are printed."""
    found = []
    for column in table.of_kind("delta"):
        for row, printed in table.printed_in(column.name):
            base = None if table.baseline is None else paper.cell(table.baseline, row.name)
            score = table.cell(row, column.of)
            if base is not None and score is not None:
                found.append(Delta(row, column, printed, base, score))
    return found


def unit_of(found: Sequence[Delta]) -> Unit:
    """That in which most deltas follow and the other unit would not do."""
    counts = Counter(delta.units[0] for delta in found if len(delta.units) == 1)
    return "relative" if counts["relative"] > counts["points"] else "points"


def check_deltas(paper: Paper, table: PublishedTable) -> tuple[list[Recomputed], list[Finding]]:
    found = deltas(paper, table)
    unit = unit_of(found)
    cells = [_recomputed(delta, unit) for delta in found]
    wrong = [delta for delta in found if not delta.units]
    turned = _all_turned(found)
    findings = [_wrong(paper, table, delta, unit) for delta in wrong if delta not in turned]
    return cells, [*findings, *_turned(turned), *_mixed(found, unit), *_percent_signs(found), *_unchecked(table, found)]


def _recomputed(delta: Delta, unit: Unit) -> Recomputed:
    units = delta.units
    own = units[0] if len(units) == 1 else unit
    value = delta.change.value(own) or Fraction(0)
    reading = "both" if len(units) == 2 else units[0] if units else "neither"
    follows_all = bool(units) and (unit in units)
    return Recomputed(
        delta.row.name, delta.column.name, delta.printed.text, value, delta.printed.decimals, follows_all, reading
    )


def _wrong(paper: Paper, table: PublishedTable, delta: Delta, unit: Unit) -> Finding:
    decimals = max(delta.printed.decimals, 1)
    told = f"printed {delta.printed.text}; from {delta.base.text} to {delta.score.text} it is "
    place = delta.row.name, delta.column.name
    if delta.turned:
        told += f"{delta.change.text(decimals)}: the sign or arrow is the wrong way round"
        return Finding("wrong", "sign", told, *place, _off(delta, delta.turned[0]))
    told += f"{delta.change.text(decimals)}. {_instead(paper, table, delta, unit)}"
    return Finding("wrong", "delta", told, *place, _off(delta, unit))


def _off(delta: Delta, unit: Unit) -> float:
    value = delta.change.value(unit) or Fraction(0)
    return float(abs(_meant(delta, value) - value) / delta.printed.unit)


def _meant(delta: Delta, value: Fraction) -> Fraction:
    """The printed change; one without sign or arrow goes the way that the scores go."""
    return delta.printed.value if delta.printed.sign or value > 0 else -delta.printed.size


def _instead(paper: Paper, table: PublishedTable, delta: Delta, unit: Unit) -> str:
    """Which other baseline or score would give what is printed."""
    printed = _meant(delta, delta.change.value(unit) or Fraction(0))
    base, score = delta.base.value, delta.score.value
    if unit == "relative":
        if printed <= -100:
            return "No baseline gives that."
        other_base, other_score = score / (1 + printed / 100), base * (1 + printed / 100)
    else:
        other_base, other_score = score - printed, base + printed
    text = figure(other_base, delta.base.decimals)
    owners = _with_baseline(paper, table, delta, unit)
    owned = f" ({', '.join(owners)})" if owners else ""
    return (
        f"It would follow from a baseline of {text}{owned} or a score of {figure(other_score, delta.score.decimals)}."
    )


def _with_baseline(paper: Paper, table: PublishedTable, delta: Delta, unit: Unit) -> list[str]:
    """Other rows by whose baseline the printed figure would follow."""
    if len(table.rows) > MANY:
        return []
    return [
        f"{row.name} has {base.text}"
        for row in table.body
        if row.name != delta.row.name
        and table.baseline is not None
        and (base := paper.cell(table.baseline, row.name))
        and follows(delta.printed, Change(base.interval, delta.score.interval).within(unit))
    ]


def _all_turned(found: Sequence[Delta]) -> Sequence[Delta]:
    """All deltas whose way is told, where each goes against its scores; nothing where only some do, or one."""
    told = [delta for delta in found if bool(delta.turned) != bool(delta.units and delta.printed.sign)]
    return told if len(told) > 1 and all(delta.turned for delta in told) else ()


def _turned(turned: Sequence[Delta]) -> Iterator[Finding]:
    if turned:
        told = (
            f"each of {len(turned)} signs or arrows is the wrong way round, as if changes were the baseline minus the"
            f" score; such as {_example(turned[0])}"
        )
        off = max(_off(delta, delta.turned[0]) for delta in turned)
        yield Finding("wrong", "sign", told, off=off)


def _mixed(found: Sequence[Delta], unit: Unit) -> Iterator[Finding]:
    others = [delta for delta in found if delta.units and unit not in delta.units]
    if others:
        own = sum(unit in delta.units for delta in found)
        other: Unit = "points" if unit == "relative" else "relative"
        places = "; ".join(f"{delta.row.name}, {delta.column.name}: {delta.printed.text}" for delta in others)
        told = f"{_counted(own)} {_unit(unit)}, {_counted(len(others))} {_unit(other)}: {places}"
        yield Finding("wrong", "units", told)


def _percent_signs(found: Sequence[Delta]) -> Iterator[Finding]:
    marked = [delta for delta in found if delta.printed.percent and delta.units == ("points",)]
    if marked:
        told = f"{_counted(len(marked))} points and printed with a percent sign, such as {_example(marked[0])}"
        yield Finding("remark", "percent_sign", told)


def _unchecked(table: PublishedTable, found: Sequence[Delta]) -> Iterator[Finding]:
    known = {(delta.row.name, delta.column.name) for delta in found}
    for column in table.of_kind("delta"):
        missing = [row.name for row, _ in table.printed_in(column.name) if (row.name, column.name) not in known]
        if missing:
            told = f"no baseline or no score is printed for {', '.join(missing)}, so the change cannot be checked"
            yield Finding("fact", "unchecked", told, column=column.name)


def _example(delta: Delta) -> str:
    return f"{delta.row.name}'s {delta.printed.text} from {delta.base.text} to {delta.score.text}"


def _counted(number: int) -> str:
    return "1 delta is" if number == 1 else f"{number} deltas are"


def _unit(unit: Unit) -> str:
    return "in points" if unit == "points" else "relative"


def _middle(interval: Interval) -> Fraction:
    return (interval.low + interval.high) / 2


# What a change in an average row can be: the change of the averages, or the mean of the rows' changes.


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


# Whether the changes in the average row are those of the averages or the mean of the rows', and in the rows' unit.


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
    unit = _average_unit(deltas(paper, table), found)
    cells = [_recomputed_average(row, one, unit) for one in found]
    wrong = [_wrong_average(row, one, unit) for one in found if not one.units(unit)]
    others = [one for one in found if one.units(unit) and unit not in one.units(unit)]
    read = [finding for one in found for finding in _read_as(row, one, unit)]
    return cells, [*wrong, *([_other_unit(row, others, unit)] if others else []), *read]


def _average_unit(rows: list[Delta], found: list[AverageDelta]) -> Unit:
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


def _recomputed_average(row: Row, one: AverageDelta, unit: Unit) -> Recomputed:
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


def _wrong_average(row: Row, one: AverageDelta, unit: Unit) -> Finding:
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
