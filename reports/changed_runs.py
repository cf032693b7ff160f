"""What came of one trial with one thing changed: the table that sentences about its cause are made of."""

from collections.abc import Iterator
from dataclasses import dataclass

from toolablate.analysis.attribution.decomposition import Scores
from toolablate.analysis.attribution.evidence import Evidence
from toolablate.analysis.attribution.levels import (
    AGAIN,
    BEFORE_CALLS,
    BOTH_OUTSETS,
    OUTSET,
    REPEATED,
    WITHOUT_TOOLS,
    Level,
    told_levels,
)
from toolablate.analysis.attribution.trace_rules import ran_out, repairable
from toolablate.reports.cause_wording import chance

AS_IT_WAS, NO_RESULT = "the result as it was", "with no result there"
IGNORING, RE_ASKED, REPEATS = (
    "told to ignore its tool results",
    "asked once more after its final reply",
    "in its other repeats",
)
REDRAWN = "with all its replies drawn again"


@dataclass(frozen=True, slots=True)
class Row:
    """Runs in which `changed` is the one difference: how many, and the sum of their scores. Of `graded` ones the mean
    is told, of others how many are right."""

    changed: str
    runs: float
    right: float
    graded: bool = False

    @property
    def share(self) -> float:
        return self.right / self.runs

    @property
    def of_others(self) -> bool:
        """Whether these are trials, and not replays of this one."""
        return self.changed.startswith((*FROM_START, REPEATS))

    @property
    def count(self) -> str:
        return f"mean score {chance(self.share)} of {self.runs}" if self.graded else f"{self.right:g} of {self.runs:g}"

    @property
    def came(self) -> str:
        return self.count if self.graded else f"{self.count} right"

    @property
    def sentence(self) -> str:
        """Without its end."""
        return f"{capital(self.changed)}, {self.said}"

    @property
    def said(self) -> str:
        if self.graded:
            return f"the mean score of {self.runs:g} runs is {chance(self.share)}"
        return f"{self.count} answers are right"


REPLAYS, TRIALS = "This trial run again, each time as it says", "Trials of this question"


def rows(evidence: Evidence) -> tuple[tuple[str, tuple[Row, ...]], ...]:
    """Nothing of what was not run. What was measured on this trial itself, then what other trials came to; each from
    the trial as it was to the question without tools."""
    others = (of_scores(changed, scores, evidence) for changed, scores in _others(evidence) if scores)
    found = (*levels_of(evidence), *_at_outset(evidence), *others)
    groups = ((title, tuple(row for row in found if row.of_others == of_others)) for title, of_others in _GROUPS)
    return tuple((title, some) for title, some in groups if some)


_GROUPS = ((REPLAYS, False), (TRIALS, True))


def _at_outset(evidence: Evidence) -> Iterator[Row]:
    """Where early answers are no levels."""
    asked, right = evidence.at_outset
    if evidence.all_runs is None and asked:
        own = evidence.trajectory is not None
        yield Row(BEFORE_CALLS if not evidence.outset else BOTH_OUTSETS if own else OUTSET, asked, right)


def levels_of(evidence: Evidence) -> list[Row]:
    """From the trial as it was to the question without tools; runs from the start come last."""
    found = (row_of(each, evidence) for levels in told_levels(evidence) for each in levels if not is_alone(each))
    return sorted(dict.fromkeys(found), key=lambda row: row.changed.startswith(FROM_START))


def is_alone(level: Level) -> bool:
    """Whether it is the trial itself, and no run to compare it with."""
    return level.what == REPEATED and level.tally.runs == 1


def of_scores(changed: str, scores: Scores, evidence: Evidence) -> Row:
    return Row(changed, len(scores), sum(scores), _graded(evidence))


def _others(evidence: Evidence) -> Iterator[tuple[str, Scores]]:
    pivotal = evidence.pivotal
    if pivotal is not None and (ran_out(evidence.signals) or repairable(evidence.signals)):
        # Those runs have the trial's own budget and faults, so that they are none of the levels.
        yield f"from event {pivotal.event} on again, {AS_IT_WAS}", pivotal.kept
        yield f"from event {pivotal.event} on, {NO_RESULT}", pivotal.without
    yield IGNORING, evidence.ignore_tools
    yield RE_ASKED, evidence.re_asked
    if evidence.all_runs is not None:
        yield REPEATS, evidence.repeats


def row_of(level: Level, evidence: Evidence) -> Row:
    return Row(_changed(level, evidence), level.tally.runs, level.tally.right, _graded(evidence))


def _changed(level: Level, evidence: Evidence) -> str:
    what = REDRAWN if level.what == AGAIN and not evidence.inputs.tools else level.what
    if level.purpose is None or level.purpose.kind not in ("rollout", "short"):
        return what
    # What spoiled the trial from outside is repaired in them as well, so that they differ in more than one thing.
    budget = ("twice the budget",) if ran_out(evidence.signals) else ()
    tools = ("tools that work",) if repairable(evidence.signals) else ()
    return f"{what}{REPAIRED_TOO}{' and '.join((*budget, *tools))}" if budget or tools else what


REPAIRED_TOO = ", and with "


def _graded(evidence: Evidence) -> bool:
    """Whether scores between right and wrong are given."""
    arms, runs = evidence.inputs.arms, evidence.all_runs
    scores = [
        evidence.inputs.score,
        *evidence.repeats,
        *arms.none,
        *arms.scaffold,
        *arms.offered,
        *arms.sham,
        *arms.placebo,
    ]
    if runs is not None:
        scores += [score for several in runs.rollouts.values() for score in several]
        scores += [*runs.last_reply, *runs.extended, *runs.repaired, *(runs.short or ())]
    return any(0 < score < 1 for score in scores)


FROM_START = ("from the start", WITHOUT_TOOLS, REPEATED)
"""How those begin of which the plan has repeats, and replays make no more."""


def capital(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}"
