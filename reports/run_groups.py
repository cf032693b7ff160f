"""All runs of one trial and of others of its question: without its likeliest cause, with it, and not counted."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from toolablate.analysis.attribution.evidence import Evidence, Explanation
from toolablate.analysis.attribution.levels import WITHOUT_TOOLS
from toolablate.reports.cause_wording import without_tools
from toolablate.reports.causes import as_likely, counted_runs, first_of, name_of, shares_of, sides
from toolablate.reports.changed_runs import (
    AFTER_FIRST,
    AS_WAS,
    EARLY,
    RE_ASKED,
    Row,
    asked_before,
    levels_of,
    uncounted,
)
from toolablate.reports.happened import happened
from toolablate.reports.turn import AT_CALLS, asked_at, count
from toolablate.traces.records import Attribution, Mechanism

COUNTED, NOT_COUNTED, NO_CAUSE = "Counted", "Not counted", "Other runs"
WITHOUT, WITH = "Without", "With"
FORM = "Asked for its form"


@dataclass(frozen=True, slots=True)
class RunGroup:
    """`total` is empty where its rows are not added up."""

    title: str
    rows: tuple[tuple[str, str], ...]
    total: str = ""

    @property
    def heading(self) -> str:
        """`Without “computational lock-in”: 35 of 37 right`."""
        return f"{self.title}: {self.total}" if self.total else self.title


def run_groups(told: Explanation) -> Iterator[RunGroup]:
    """Those that have rows: what was changed, and how many are right."""
    evidence, attribution = told.explained.evidence, told.explained.attribution
    counted: list[Row] = []
    if attribution is not None and attribution.method == "replay":
        # What no run takes away is set beside one that is as likely, and for which the same runs count.
        first, *rivals = [first_of(attribution), *(cause for cause, _ in as_likely(shares_of(attribution)))]
        whole = {*counted_runs(first, evidence)}
        same = [each for each in rivals if sides(each, evidence)[0] and {*counted_runs(each, evidence)} == whole]
        cause = first if sides(first, evidence)[0] else next(iter(same), first)
        gone, there = sides(cause, evidence)
        counted = counted_runs(cause, evidence)
        if gone:
            yield from _group(f"{WITHOUT} “{name_of(cause)}”", gone, evidence)
            yield from _group(f"{WITH} “{name_of(cause)}”", _not_all_kept(there, cause, told), evidence)
        else:
            yield from _group(COUNTED, counted, evidence)
    others = uncounted(evidence)
    if attribution is not None and tells_form(attribution, evidence):
        yield from _group(FORM, [row for row in others if row.changed == RE_ASKED], evidence)
        others = [row for row in others if row.changed != RE_ASKED]
    rest = [row for row in levels_of(evidence) if row not in counted and row.changed != AS_WAS]
    if counted:
        rest = [replace(row, aside="neither with the cause nor without it") for row in rest]
    rows = tuple(_told(row, evidence) for row in (*others, *_at_other_steps(evidence), *rest))
    if rows:
        yield RunGroup(NOT_COUNTED if counted else NO_CAUSE, rows)


def tells_form(attribution: Attribution, evidence: Evidence) -> bool:
    """Whether answers that were asked for once more are what the form of the answer is weighed from."""
    weighed = attribution.method == "replay" and "format" in attribution.shares
    return weighed and bool(evidence.re_asked) and evidence.score.verdict == "unparsed"


def _at_other_steps(evidence: Evidence) -> Iterator[Row]:
    """Early answers that stand at no row."""
    counted = {row.changed for row in levels_of(evidence)}
    steps = [each for each in asked_at(evidence) if each.step and _row_at(evidence.steps[each.step]) not in counted]
    if steps:
        found = count(steps)
        yield Row("asked at once after other events", found.asked, found.right, aside="told at its steps")


def _row_at(event: int) -> str:
    return f"{EARLY} {event - 1}"


def _group(title: str, rows: Sequence[Row], evidence: Evidence) -> Iterator[RunGroup]:
    if rows:
        yield RunGroup(title, tuple(_told(row, evidence) for row in rows), total(rows).came)


def _not_all_kept(there: Sequence[Row], cause: Mechanism, told: Explanation) -> list[Row]:
    """Of runs that keep the first result alone, what they need not have of the cause."""
    if cause in ("availability", "prompt"):
        return [replace(row, beyond=_NOTHING_CALLED) if row.is_early else row for row in there]
    at, calls = happened(cause, told).event, sorted(call.event for call in told.explained.evidence.signals.calls)
    if at is None or cause not in AT_CALLS or not calls or at <= calls[0]:
        return list(there)
    short = f" (counted as with it, though what came at event {at} need not come again)"
    early = f" (before event {at})"
    kept = (replace(row, beyond=early) if asked_before(row, at) else row for row in there)
    return [replace(row, beyond=short) if row.changed.startswith(AFTER_FIRST) else row for row in kept]


_NOTHING_CALLED = ", with its tools and prompt there"


def total(rows: Sequence[Row]) -> Row:
    return Row("", sum(row.runs for row in rows), sum(row.right for row in rows), any(row.graded for row in rows))


def _told(row: Row, evidence: Evidence) -> tuple[str, str]:
    """What was changed, with what trials without tools answered, whose runs these are, and why they do not count."""
    answered = f": {next(without_tools(evidence)).partition(': ')[2]}" if row.changed == WITHOUT_TOOLS else ""
    elsewhere = f" ({row.asked_where})" if row.elsewhere else ""
    own = row.runs - row.run_again
    trials = f"{own:g} trial{'' if own == 1 else 's'} and {row.run_again} of them run again"
    again = f" ({row.runs:g} answers: {trials})" if row.run_again else ""
    return f"{row.name}{answered}{elsewhere}{again}{f' ({row.aside})' if row.aside else ''}", row.count
