"""Whether columns are the sums, means or copies of others that their table says they are."""

from collections.abc import Iterator
from fractions import Fraction

from toolablate.analysis.audit.finding import Finding, Recomputed
from toolablate.analysis.audit.interval import Interval, exactly, mean, total
from toolablate.analysis.audit.printed import Printed, printed
from toolablate.analysis.audit.table import Paper, Place, PublishedTable, Row, Rule

SHOWN = 3


def check_rules(paper: Paper, table: PublishedTable) -> tuple[list[Recomputed], list[Finding]]:
    cells: list[Recomputed] = []
    findings: list[Finding] = []
    for rule in table.rules:
        found = [one for row in _rows(table, rule) for one in _recomputed(paper, table, row, rule)]
        cells += found
        wrong = [one for one in found if not one.follows]
        if wrong:
            findings.append(_wrong(table, rule, wrong, len(found)))
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
    within = _within(rule, known)
    stands = exactly(rule.total or 0) if cell is None else cell.interval
    decimals = cell.decimals if cell and rule.kind != "copy" else max(one.decimals for one in known)
    text = str(rule.total) if cell is None else cell.text
    value = (within.low + within.high) / 2
    yield Recomputed(row.name, _column(table, rule), text, value, decimals, within.meets(stands))


def _within(rule: Rule, cells: list[Printed]) -> Interval:
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


def _wrong(table: PublishedTable, rule: Rule, wrong: list[Recomputed], checked: int) -> Finding:
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
