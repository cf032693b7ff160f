"""What came of one trial with one thing changed, and of others of its question: the table that a page is made of."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from toolablate.analysis.attribution.decomposition import Scores
from toolablate.analysis.attribution.evidence import Evidence
from toolablate.analysis.attribution.levels import (
    AGAIN,
    BEFORE_CALLS,
    BOTH_OUTSETS,
    LAST_REPLY,
    OUTSET,
    REPEATED,
    SHORT_ELSEWHERE,
    SWAPPED_ELSEWHERE,
    WITHOUT_TOOLS,
    Level,
    told_levels,
)
from toolablate.analysis.attribution.trace_rules import ran_out, repairable
from toolablate.reports.cause_wording import chance

AS_IT_WAS, NO_RESULT = "the result as it was", "with no result there"
IGNORING, RE_ASKED = "told to ignore its tool results", "asked once more after its final reply"
ASKED_OTHERWISE = "asked otherwise"
REDRAWN, AFTER_FIRST = "with all its replies drawn again", "with all replies after its first result drawn again"
EARLY, BEFORE = "asked at once after event", "asked at once before any call"
REPEATS, IN_REPEATS = "its other repeats", "in its other repeats"
OUTSET_ELSEWHERE = f"{IN_REPEATS}, {BEFORE}"


@dataclass(frozen=True, slots=True)
class Row:
    """Runs in which `changed` is the one difference: how many, and the sum of their scores. Of `graded` ones the mean
    is told, of others how many are right. `elsewhere` of them are not this trial's, though the row is: before any call
    all repeats are in one state. `aside` says why they count neither for a cause nor against it, `beyond` what else
    is to be told of them beside it. `run_again` of an arm's runs were made once more by replays; `level` is its
    `Level.what`, where it is one."""

    changed: str
    runs: float
    right: float
    graded: bool = False
    elsewhere: int = 0
    aside: str = ""
    beyond: str = ""
    run_again: int = 0
    level: str = ""

    @property
    def name(self) -> str:
        return f"{self.changed}{self.beyond}"

    @property
    def keeps_first_reply(self) -> bool:
        """Whether these are replays of the trial itself, which go on after its first reply."""
        elsewhere = (*FROM_START, REPEATS, IN_REPEATS, SWAPPED_ELSEWHERE, SHORT_ELSEWHERE, BEFORE, REDRAWN)
        return not self.changed.startswith(elsewhere)

    @property
    def share(self) -> float:
        return self.right / self.runs

    @property
    def is_other_condition(self) -> bool:
        return self.changed.startswith(FROM_START)

    @property
    def is_early(self) -> bool:
        """Whether these are early answers, which stand at the steps."""
        return self.changed.startswith("asked at once")

    @property
    def count(self) -> str:
        return f"mean {chance(self.share)} of {self.runs:g}" if self.graded else f"{self.right:g} of {self.runs:g}"

    @property
    def told(self) -> str:
        """`without tools: 1 of 2 right`."""
        return f"{self.name}: {self.came}"

    @property
    def came(self) -> str:
        """`1 of 2 right`, and whose they are where these are not all of one."""
        aside = f" (not counted: {self.aside})" if self.aside else ""
        return f"{self.bare}{self._whose}{aside}"

    @property
    def bare(self) -> str:
        return f"{self.count}{'' if self.graded else ' right'}"

    @property
    def _whose(self) -> str:
        if self.changed == AS_WAS:
            others = int(self.runs) - 1
            return f" (this trial and {others} other repeat{'' if others == 1 else 's'})"
        return f" ({self.asked_where})" if self.elsewhere else ""

    @property
    def asked_where(self) -> str:
        here = f"{self.runs - self.elsewhere:g} asked in this trial, " if self.runs > self.elsewhere else "all asked "
        return f"{here}{self.elsewhere} in other repeats"


def total(rows: Sequence[Row]) -> Row:
    return Row("", sum(row.runs for row in rows), sum(row.right for row in rows), any(row.graded for row in rows))


AS_WAS = "as it was"


def uncounted(evidence: Evidence) -> list[Row]:
    """Runs that differ in more than one thing from this trial, with what else."""
    graded = _graded(evidence)
    other = "other calls, other results" if evidence.signals.calls else "they may have called tools"
    aside = other if evidence.all_runs is not None else ""
    found = [(REPEATS, evidence.repeats, aside), *_others(evidence)]
    levels = {row.changed for row in levels_of(evidence)}
    if evidence.outset and levels.isdisjoint({BEFORE, OUTSET_ELSEWHERE}):
        found.append((OUTSET_ELSEWHERE, evidence.outset, ""))
    return [Row(changed, len(scores), sum(scores), graded, aside=aside) for changed, scores, aside in found if scores]


def replays_of(evidence: Evidence) -> int:
    """How many runs of this trial itself there are, early answers among them."""
    early = sum(each.samples for each in (evidence.trajectory.beliefs if evidence.trajectory else ()))
    runs, last = evidence.all_runs, len(evidence.steps) - 1
    if runs is not None and runs.last_reply and evidence.trajectory is not None and last:
        early -= sum(each.samples for each in evidence.trajectory.beliefs if each.step == last)
    rows = [row for row in (*levels_of(evidence), *uncounted(evidence)) if not row.is_early and row.changed != AS_WAS]
    mine = [
        row
        for row in rows
        if not row.is_other_condition
        and not row.changed.startswith((REPEATS, IN_REPEATS, SWAPPED_ELSEWHERE, SHORT_ELSEWHERE))
    ]
    return early + int(sum(row.runs for row in mine))


def levels_of(evidence: Evidence) -> list[Row]:
    """What a probability is weighed from: from the trial as it was to the question without tools; other conditions
    come last."""
    found = (row_of(each, evidence) for levels in told_levels(evidence) for each in levels if not is_alone(each))
    return sorted(dict.fromkeys(found), key=lambda row: row.is_other_condition)


def is_alone(level: Level) -> bool:
    """Whether it is the trial itself, and no run to compare it with."""
    return level.what == REPEATED and level.tally.runs == 1


def of_scores(changed: str, scores: Scores, evidence: Evidence) -> Row:
    return Row(changed, len(scores), sum(scores), _graded(evidence))


def _others(evidence: Evidence) -> Iterator[tuple[str, Scores, str]]:
    pivotal = evidence.pivotal
    if pivotal is not None and (ran_out(evidence.signals) or repairable(evidence.signals)):
        # Those runs have the trial's own budget and faults, so that they are none of the levels.
        yield f"from event {pivotal.event} on again, {AS_IT_WAS}", pivotal.kept, "limit and faults still there"
        yield f"from event {pivotal.event} on, {NO_RESULT}", pivotal.without, "limit and faults still there"
    yield IGNORING, evidence.ignore_tools, ASKED_OTHERWISE
    unread = evidence.score.verdict == "unparsed"
    yield RE_ASKED, evidence.re_asked, "" if unread else "its answer could be read"


def row_of(level: Level, evidence: Evidence) -> Row:
    tally = level.tally
    row = Row(
        *(_changed(level, evidence), tally.runs, tally.right, _graded(evidence)),
        run_again=level.run_again,
        level=level.what,
    )
    if level.what == WITHOUT_TOOLS and evidence.signals.prompted and evidence.inputs.arms.scaffold:
        return replace(row, beyond=" and without this prompt")
    runs = evidence.all_runs
    if level.what == LAST_REPLY and evidence.score.verdict == "unparsed" and runs is not None and runs.last_reply:
        return replace(row, beyond=f" ({len(runs.last_reply) - runs.unread} of them readable at once)")
    if row.changed.startswith(EARLY) and ran_out(evidence.signals) and _is_before_last_reply(level, evidence):
        return replace(row, beyond=", its limit as it was")
    return replace(row, elsewhere=len(evidence.outset)) if level.what == BOTH_OUTSETS else row


def _is_before_last_reply(level: Level, evidence: Evidence) -> bool:
    return level.purpose is not None and level.purpose.step == len(evidence.steps) - 1


def _changed(level: Level, evidence: Evidence) -> str:
    if level.what in (BEFORE_CALLS, BOTH_OUTSETS):
        return BEFORE
    if level.what == OUTSET:
        return OUTSET_ELSEWHERE
    if level.what == REPEATED:
        return AS_WAS
    if level.what.startswith(BEFORE_CALLS.partition(" any")[0]):
        # A belief before an event is one after what precedes it.
        return re.sub(r".*event (\d+)", lambda found: f"{EARLY} {int(found[1]) - 1}", level.what)
    what = level.what if level.what != AGAIN else AFTER_FIRST if evidence.inputs.tools else REDRAWN
    kind = level.purpose.kind if level.purpose else ""
    # What spoiled the trial from outside is repaired in them as well, so that they differ in more than one thing.
    budget = ("twice the budget",) if ran_out(evidence.signals) and kind in ("rollout", "short", "repaired") else ()
    tools = ("tools that work",) if repairable(evidence.signals) and kind in ("rollout", "short") else ()
    return f"{what}{REPAIRED_TOO}{' and '.join((*budget, *tools))}" if budget or tools else what


REPAIRED_TOO = ", and with "
NOTHING_CHANGED = (LAST_REPLY, AFTER_FIRST, REDRAWN, AS_WAS)
"""How those begin in which only luck is drawn again."""


def _graded(evidence: Evidence) -> bool:
    """Whether scores between right and wrong are given."""
    arms, runs = evidence.inputs.arms, evidence.all_runs
    scores = [
        evidence.inputs.score,
        *evidence.repeats,
        *arms.without_tools,
        *arms.scaffold,
        *arms.offered,
        *arms.sham,
        *arms.placebo,
    ]
    if runs is not None:
        scores += [score for several in runs.rollouts.values() for score in several]
        scores += [*runs.last_reply, *runs.extended, *runs.repaired, *(runs.short or ())]
    return any(0 < score < 1 for score in scores)


FROM_START = ("in another condition", WITHOUT_TOOLS)
"""How those begin that are of no replay of this trial."""


def capital(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}"
