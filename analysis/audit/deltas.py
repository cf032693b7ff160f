"""Whether each printed change is what its two scores give: in points, relative, or neither."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

from toolablate.analysis.audit.finding import Finding, Recomputed, figure
from toolablate.analysis.audit.interval import Interval, relative_change
from toolablate.analysis.audit.printed import Printed
from toolablate.analysis.audit.table import Column, Paper, PublishedTable, Row

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
