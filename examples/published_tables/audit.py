"""Checks a published table: changes, averages, sums, ranks, shares, repeated cells, and how many questions fit."""

import json
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import combinations
from math import ceil, comb, floor

from examples.published_tables.changes import check_average_deltas, check_deltas
from examples.published_tables.tables import (
    Column,
    Finding,
    Interval,
    Level,
    Paper,
    Place,
    Printed,
    PublishedTable,
    Recomputed,
    Row,
    Rule,
    Summary,
    exactly,
    figure,
    mean,
    printed,
    total,
)

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


# Whether a score in percent can be the share of right answers to so many questions.


NEAR = 0.1
"""How far from the number that is told others are looked for: the share of it."""
COUNTS_SHOWN = 4
BY_CHANCE = 0.05
"""Another number of questions is told of where chance would allow so many scores more seldom than this."""


@dataclass(frozen=True, slots=True)
class Fit:
    """How many of a column's scores a number of questions allows."""

    questions: int
    possible: int


def possible(score: Printed, answers: int) -> bool:
    """Whether some number of right answers out of so many, in percent, rounds to the score."""
    within = score.interval
    return ceil(within.low * answers / 100) <= floor(within.high * answers / 100)


def best_fits(scores: Sequence[Printed], questions: int, repeats: int) -> list[Fit]:
    """Numbers of questions near the one told that allow the most scores.

    None where those are no more than the one told allows, or than chance would make of scores that are none of them.
    """
    reach = max(2, round(NEAR * questions))
    fits = [_fit(scores, number, repeats) for number in range(max(1, questions - reach), questions + reach + 1)]
    most = max(fit.possible for fit in fits)
    if most <= _fit(scores, questions, repeats).possible or _chance(scores, most, questions * repeats) > BY_CHANCE:
        return []
    return sorted((fit for fit in fits if fit.possible == most), key=lambda fit: abs(fit.questions - questions))


def check_granularity(table: PublishedTable) -> list[Finding]:
    """Facts, not errors: failed or excluded questions, partial credit and repeats are all harmless reasons."""
    findings = []
    for column in table.scores:
        questions = table.questions.get(column.name)
        if questions is None:
            continue
        cells = table.printed_in(column.name)
        odd = [(row.name, cell) for row, cell in cells if not possible(cell, questions * table.repeats)]
        if odd:
            scores = [cell for _, cell in cells]
            text = _told(odd, scores, questions, table.repeats)
            findings.append(Finding("fact", "granularity", text, column=column.name))
    return findings


def _told(odd: Sequence[tuple[str, Printed]], scores: Sequence[Printed], questions: int, repeats: int) -> str:
    runs = "in one run" if repeats == 1 else f"in {repeats} runs"
    listed = ", ".join(f"{name} {cell.text}" for name, cell in odd[:COUNTS_SHOWN])
    more = f" and {len(odd) - COUNTS_SHOWN} more" if len(odd) > COUNTS_SHOWN else ""
    told = f"{len(odd)} of {len(scores)} scores cannot be a share of {questions} questions {runs}: {listed}{more}"
    fits = best_fits(scores, questions, repeats)
    if not fits:
        return told
    numbers = " or ".join(str(fit.questions) for fit in fits[:COUNTS_SHOWN])
    others = " or others" if len(fits) > COUNTS_SHOWN else ""
    return f"{told}. With {numbers}{others}, {fits[0].possible} of {len(scores)} can"


def _fit(scores: Sequence[Printed], questions: int, repeats: int) -> Fit:
    return Fit(questions, sum(possible(score, questions * repeats) for score in scores))


def _chance(scores: Sequence[Printed], possible_ones: int, answers: int) -> float:
    """At most, that some number near the one told allows so many scores that have nothing to do with it.

    Equal scores are one: they are allowed together.
    """
    distinct = {score.text: score for score in scores}
    possible_ones -= len(scores) - len(distinct)
    scores = list(distinct.values())
    share = min(1.0, max(float(score.unit) for score in scores) * answers / 100)
    count, tried = len(scores), 2 * NEAR * answers
    tail = sum(comb(count, k) * share**k * (1 - share) ** (count - k) for k in range(possible_ones, count + 1))
    return tail * tried


# Whether printed ranks and shares are those of the column that they stand behind.


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


# Cells that are equal to those of another row or column, where chance hardly makes them so.


REPEATED_BY_CHANCE = 0.5
"""Coincidences that a table may be expected to have by chance before they are not worth telling."""
NUMBERS = {2: "both cells", 3: "all three cells", 4: "all four cells", 5: "all five cells", 6: "all six cells"}


def check_repeated(table: PublishedTable) -> list[Finding]:
    """Rows that share every score but the baseline, and scores that a row has in two columns."""
    return [*_equal_rows(table), *_columns(table)]


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


def _equal_rows(table: PublishedTable) -> Iterator[Finding]:
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
    if expected > REPEATED_BY_CHANCE:
        return
    for one, other in combinations(_changing(table), 2):
        for row in table.body:
            first, second = table.cell(row, one), table.cell(row, other)
            if first is not None and second is not None and first.text == second.text:
                text = f"{first.text} in {one} and in {other}; by chance {expected:.1g} such pairs are to be expected"
                yield Finding("remark", "equal", f"{text} in this table", row.name)


# Whether columns are the sums, means or copies of others that their table says they are.


SHOWN = 3


def check_rules(paper: Paper, table: PublishedTable) -> tuple[list[Recomputed], list[Finding]]:
    cells: list[Recomputed] = []
    findings: list[Finding] = []
    for rule in table.rules:
        found = [one for row in _rows(table, rule) for one in _recomputed(paper, table, row, rule)]
        cells += found
        wrong = [one for one in found if not one.follows]
        if wrong:
            findings.append(_wrong_rule(table, rule, wrong, len(found)))
    return cells, findings


def _rows(table: PublishedTable, rule: Rule) -> tuple[Row, ...]:
    # Sums hold in the row of totals as well; a mean of averages that are wrong would be told of twice.
    return table.rows if rule.kind == "sum" else table.body


def _recomputed(paper: Paper, table: PublishedTable, row: Row, rule: Rule) -> Iterator[Recomputed]:
    cell = paper.cell(rule.result, row.name)
    of = [paper.cell(place, row.name) for place in rule.of]
    known = [cell for cell in of if cell is not None]
    if (cell is None and rule.total is None) or not known or (rule.kind != "sum" and len(known) < len(of)):
        return
    within = _within_rule(rule, known)
    stands = exactly(rule.total or 0) if cell is None else cell.interval
    decimals = cell.decimals if cell and rule.kind != "copy" else max(one.decimals for one in known)
    text = str(rule.total) if cell is None else cell.text
    value = (within.low + within.high) / 2
    yield Recomputed(row.name, _column(table, rule), text, value, decimals, within.meets(stands))


def _within_rule(rule: Rule, cells: list[Printed]) -> Interval:
    match rule.kind:
        case "sum":
            return total([cell.counted for cell in cells])
        case "copy":
            return cells[0].interval
        case "mean":
            weights = [Fraction(weight) for weight in rule.weights] or None
            return mean([cell.interval for cell in cells], weights)


def _column(table: PublishedTable, rule: Rule) -> str:
    return rule.result.column if rule.result.table == table.name else _place(table, rule.result)


def _place(table: PublishedTable, place: Place) -> str:
    return place.column if place.table == table.name else f"{place.column} of table {place.table}"


def _wrong_rule(table: PublishedTable, rule: Rule, wrong: list[Recomputed], checked: int) -> Finding:
    worst = sorted(wrong, key=_off, reverse=True)
    rows = "; ".join(f"{one.row} printed {one.printed}, {_other(rule)} {one.text}" for one in worst[:SHOWN])
    more = f"; and {len(worst) - SHOWN} more" if len(worst) > SHOWN else ""
    text = f"not {_said(table, rule)} in {len(wrong)} of {checked} rows: {rows}{more}"
    row = worst[0].row if len(wrong) == 1 else ""
    return Finding("wrong", rule.kind, text, row, _column(table, rule), _off(worst[0]))


def _other(rule: Rule) -> str:
    return "there" if rule.kind == "copy" else "recomputed"


def _off(one: Recomputed) -> float:
    stands = printed(one.printed)
    return float(abs(stands.size - abs(one.value)) / stands.unit)


def _said(table: PublishedTable, rule: Rule) -> str:
    names = [_place(table, place) for place in rule.of]
    if rule.kind == "copy":
        return f"what is printed in {names[0]}"
    joined = " + ".join(names) if rule.kind == "sum" else ", ".join(names)
    if rule.kind == "sum":
        return joined
    weights = f" weighted by {', '.join(map(str, rule.weights))}" if rule.weights else ""
    return f"the mean of {joined}{weights}"


# All checks of all tables of a paper.


LEVELS: tuple[Level, ...] = ("wrong", "remark", "fact")


@dataclass(frozen=True)
class TableAudit:
    """`recomputed` has the cells that others give, several times where several rules are on one cell; `findings` are
    worst first."""

    table: PublishedTable
    recomputed: tuple[Recomputed, ...]
    findings: tuple[Finding, ...]

    @property
    def ok(self) -> bool:
        return not any(finding.level == "wrong" for finding in self.findings)

    def cell(self, row: str, column: str) -> Recomputed | None:
        """What one cell was recomputed to: by the rule that it breaks, where it breaks one."""
        return self._cells.get((row, column))

    @cached_property
    def _cells(self) -> Mapping[tuple[str, str], Recomputed]:
        cells: dict[tuple[str, str], Recomputed] = {}
        for one in sorted(self.recomputed, key=lambda one: one.follows):
            cells.setdefault((one.row, one.column), one)
        return cells


@dataclass(frozen=True, slots=True)
class Audit:
    source: str
    tables: tuple[TableAudit, ...]

    @property
    def ok(self) -> bool:
        return all(table.ok for table in self.tables)


def audit(paper: Paper) -> Audit:
    return Audit(paper.source, tuple(_table(paper, table) for table in paper.tables))


def audit_json(found: Audit) -> str:
    """Per table its name, the recomputed cells and the findings; `ok` is whether all figures follow. A change in an
    average row says in `average_of` what it is read as, and in `readings` what each reading gives."""
    tables = [
        {
            "table": one.table.name,
            "caption": one.table.caption,
            "ok": one.ok,
            "recomputed": [
                {
                    "row": cell.row,
                    "column": cell.column,
                    "printed": cell.printed,
                    "recomputed": float(cell.value),
                    "follows": cell.follows,
                    "reading": cell.reading or None,
                    "average_of": list(cell.average_of) or None,
                    "readings": {of: float(value) for of, value in cell.readings.items()} or None,
                }
                for cell in one.recomputed
            ],
            "findings": [
                {
                    "level": finding.level,
                    "kind": finding.kind,
                    "row": finding.row,
                    "column": finding.column,
                    "text": finding.text,
                }
                for finding in one.findings
            ],
        }
        for one in found.tables
    ]
    return json.dumps({"source": found.source, "ok": found.ok, "tables": tables}, ensure_ascii=False, indent=2)


def _table(paper: Paper, table: PublishedTable) -> TableAudit:
    checks = (
        check_deltas(paper, table),
        check_average_deltas(paper, table),
        check_summary(table),
        check_rules(paper, table),
        check_ranks(table),
        check_shares(table),
    )
    findings = [finding for _, found in checks for finding in found]
    findings += [*check_repeated(table), *check_granularity(table)]
    findings.sort(key=lambda finding: (LEVELS.index(finding.level), -finding.off))
    return TableAudit(table, tuple(cell for cells, _ in checks for cell in cells), tuple(findings))
