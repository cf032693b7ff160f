"""All runs of one trial and of others of its question: without its likeliest cause, with it, and not counted."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from toolablate.analysis.attribution.evidence import Evidence, Explanation
from toolablate.analysis.attribution.levels import LAST_REPLY, WITHOUT_TOOLS
from toolablate.analysis.attribution.replay_rules import OTHER_ANSWERS
from toolablate.analysis.attribution.trace_rules import BY_CHANCE
from toolablate.reports.cause_wording import without_tools
from toolablate.reports.causes import as_likely, counted_runs, first_of, name_of, sides, tells_form
from toolablate.reports.changed_runs import (
    AFTER_FIRST,
    AS_WAS,
    EARLY,
    RE_ASKED,
    Row,
    asked_before,
    by_calls,
    is_of,
    levels_of,
    total,
    uncounted,
)
from toolablate.reports.happened import happened
from toolablate.reports.named_causes import named_shares
from toolablate.reports.numbers import counted as number_of
from toolablate.reports.turn import AT_CALLS, asked_at, count, redrawn_answers
from toolablate.traces.records import Mechanism

COUNTED, NOT_COUNTED, NO_CAUSE = "Counted", "Not counted", "Other runs"
OF_THE_TURN = "Only for where it turns wrong"
WITHOUT, WITH = "Without", "With"
FORM = "Asked for its form"


class RunLine(NamedTuple):
    """What was changed, how many are right, and how likely the verdict would be without them; empty where they do not
    count for it."""

    name: str
    came: str
    without: str = ""


@dataclass(frozen=True, slots=True)
class RunGroup:
    """`total` is empty where its rows are not added up."""

    title: str
    rows: tuple[RunLine, ...]
    total: str = ""

    @property
    def heading(self) -> str:
        """`Without “computational lock-in”: 35 of 37 right`."""
        return f"{self.title}: {self.total}" if self.total else self.title


@dataclass(frozen=True, slots=True)
class _Beside:
    """What a line says beside its name: the rows that are without each of other causes, and by `Row.level` how likely
    the verdict would be without them."""

    others: Mapping[Mechanism, Sequence[Row]] = field(default_factory=dict)
    weights: Mapping[str, str] = field(default_factory=dict)


def run_groups(told: Explanation, causes: Sequence[Mechanism], weights: Mapping[str, str]) -> Iterator[RunGroup]:
    """Those that have rows: what was changed, how many are right, which of the `causes` each is without, and of
    `weights`, by `Row.level`, its own."""
    evidence, attribution = told.explained.evidence, told.explained.attribution
    counted: list[Row] = []
    beside = _Beside()
    if attribution is not None and attribution.method == "replay":
        # What no run takes away is set beside one that is as likely, and for which the same runs count.
        first, *rivals = [first_of(attribution), *(cause for cause, _ in as_likely(named_shares(told, attribution)))]
        whole = {*counted_runs(first, evidence)}
        same = [each for each in rivals if sides(each, evidence)[0] and {*counted_runs(each, evidence)} == whole]
        cause = first if sides(first, evidence)[0] else next(iter(same), first)
        gone, there = sides(cause, evidence)
        counted = counted_runs(cause, evidence)
        others = {each: sides(each, evidence)[0] for each in causes if each not in (cause, *BY_CHANCE)}
        beside = _Beside(others, weights)
        if gone:
            yield from _groups(f"{WITHOUT} “{name_of(cause)}”", gone, evidence, beside)
            yield from _groups(f"{WITH} “{name_of(cause)}”", _not_all_kept(there, cause, told), evidence, beside)
        else:
            of_others = f"{COUNTED} for the other causes" if tells_form(attribution, evidence) else COUNTED
            yield from _groups(of_others, counted, evidence, beside)
    left = uncounted(evidence)
    if attribution is not None and tells_form(attribution, evidence):
        yield from _group(FORM, [row for row in left if row.changed == RE_ASKED], evidence, _Beside())
        left = [row for row in left if row.changed != RE_ASKED]
    rest = [row for row in levels_of(evidence) if row not in counted and row.changed != AS_WAS]
    rows = (
        *(_beside(row, evidence, _Beside({}, weights)) for row in left),
        *(_beside(row, evidence, beside) for row in rest),
    )
    if rows:
        yield RunGroup(NOT_COUNTED if counted else NO_CAUSE, rows)
    if asked := tuple(_beside(row, evidence, _Beside({}, weights)) for row in at_other_steps(evidence)):
        yield RunGroup(OF_THE_TURN, asked)


def at_other_steps(evidence: Evidence) -> Iterator[Row]:
    """Early answers that stand at no row: they count by where they turn wrong alone."""
    counted = {row.changed for row in levels_of(evidence)}
    steps = [each for each in asked_at(evidence) if each.step and _row_at(evidence.steps[each.step]) not in counted]
    if steps:
        found = count(steps)
        yield Row("asked at once after other events", found.asked, found.right, level=OTHER_ANSWERS)


def _row_at(event: int) -> str:
    return f"{EARLY} {event - 1}"


def _groups(title: str, rows: Sequence[Row], evidence: Evidence, beside: _Beside) -> Iterator[RunGroup]:
    """Of a trial that called tools, runs without any call differ in more than others: they are added up apart."""
    kinds = by_calls(rows)
    if evidence.signals.calls and all(kinds):
        for each, which in zip(kinds, (CALLING, BARE), strict=True):
            yield from _group(f"{title}{which}", each, evidence, beside)
    else:
        yield from _group(title, rows, evidence, beside)


CALLING, BARE = ", with calls", ", without any call"


def _group(title: str, rows: Sequence[Row], evidence: Evidence, beside: _Beside) -> Iterator[RunGroup]:
    """Each row says which other causes it is without, so that their sums can be made from it as well."""
    if rows:
        yield RunGroup(title, tuple(_beside(row, evidence, beside) for row in rows), total(rows).came)


def _beside(row: Row, evidence: Evidence, beside: _Beside) -> RunLine:
    """A row with the other causes that it is without, and its weight."""
    told = _told(row, evidence)
    lacks = [name_of(each) for each, without in beside.others.items() if is_of(row, without)]
    name = f"{told.name}; without {' and '.join(lacks)}" if lacks else told.name
    return RunLine(name, told.came, beside.weights.get(row.level, ""))


def _not_all_kept(there: Sequence[Row], cause: Mechanism, told: Explanation) -> list[Row]:
    """Of runs that keep the first result alone, what they need not have of the cause."""
    if cause in ("availability", "prompt"):
        return [replace(row, beyond=f"{row.beyond}{_NOTHING_CALLED}") if row.is_early else row for row in there]
    at, calls = happened(cause, told).event, sorted(call.event for call in told.explained.evidence.signals.calls)
    if at is None or cause not in AT_CALLS or not calls or at <= calls[0]:
        return list(there)
    short = f" (counted as with it, though it keeps the first result alone: what came at event {at} may not come again)"
    early = f" (before event {at})"
    kept = (replace(row, beyond=f"{row.beyond}{early}") if asked_before(row, at) else row for row in there)
    return [replace(row, beyond=short) if row.changed.startswith(AFTER_FIRST) else row for row in kept]


_NOTHING_CALLED = ", with its tools and prompt there"


def _told(row: Row, evidence: Evidence) -> RunLine:
    """What was changed, with what trials without tools answered, whose runs these are, and why they do not count."""
    answered = f": {next(without_tools(evidence)).partition(': ')[2]}" if row.changed == WITHOUT_TOOLS else ""
    drawn, came = redrawn_answers(evidence) if row.changed == LAST_REPLY else (0, "")
    if came and drawn == row.runs:
        answered = f": {came}"
    elsewhere = f" ({row.asked_where})" if row.elsewhere else ""
    own = number_of(round(row.runs - row.run_again), "trial")
    again = f" ({own}, {number_of(row.run_again, 'more run')})" if row.run_again else ""
    return RunLine(f"{row.name}{answered}{elsewhere}{again}{f' ({row.aside})' if row.aside else ''}", row.count)
