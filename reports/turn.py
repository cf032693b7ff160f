"""Where a trial's early answers turn wrong, in the counts of its steps."""

from collections.abc import Sequence
from dataclasses import dataclass

from toolablate.analysis.attribution.belief import BeliefFlip, EarlyAnswers
from toolablate.analysis.attribution.evidence import Evidence
from toolablate.analysis.pairing import RIGHT
from toolablate.traces.records import Mechanism

SURE = 0.5
"""From this share of resamples on a place counts as known."""
LEAST_FALL = 0.3
"""Of the share of right early answers; less is no turn."""

AT_CALLS: frozenset[Mechanism] = frozenset(
    {"retrieval_distraction", "lock_in", "other_results", "interaction", "volume", "calling", "tool_fault"}
)
"""Causes that act at a call or its result, so that early answers are right before it and wrong after it."""


@dataclass(frozen=True, slots=True)
class Count:
    """Right early answers, of all that were asked for."""

    right: int
    asked: int

    def __str__(self) -> str:
        return f"{self.right} of {self.asked}"

    @property
    def share(self) -> float:
        return self.right / self.asked


@dataclass(frozen=True, slots=True)
class Turn:
    """
    start, end     its first event, and the first after it
    before, after  all early answers before `start`, and from `end` on
    confidence     the same place in so many resamples of the answers
    """

    start: int
    end: int
    before: Count
    after: Count
    confidence: float

    @property
    def where(self) -> str:
        one = self.end - self.start == 1
        return f"at event {self.start}" if one else f"between events {self.start} and {self.end - 1}"

    def holds(self, event: int) -> bool:
        return self.start <= event < self.end

    @property
    def counts(self) -> str:
        return f"{self.before} right before it, {self.after} after it"


def turn_of(evidence: Evidence) -> Turn | None:
    """Where they are mostly right before it and mostly wrong after it; None where no such place is known."""
    flip, beliefs = evidence.flip, asked_at(evidence)
    if flip is None or not beliefs:
        return None
    before, after = ([each for each in beliefs if (each.step <= flip.after) == earlier] for earlier in (True, False))
    if not before or not after:
        return None
    steps = evidence.steps
    turn = Turn(steps[flip.after], steps[flip.step], count(before), count(after), flip.confidence)
    fell = turn.before.share >= RIGHT > turn.after.share and turn.before.share - turn.after.share >= LEAST_FALL
    return turn if fell and turn.confidence >= SURE else None


def told_flip(evidence: Evidence) -> BeliefFlip | None:
    """Where marks and figures show a fall: the one place of which sentences and tables speak, or None."""
    return evidence.flip if turn_of(evidence) is not None else None


def right_until(event: int | None, evidence: Evidence) -> str:
    """That early answers are mostly right as far as they were asked for, and none was after the event; else empty."""
    beliefs = asked_at(evidence)
    if event is None or not beliefs or evidence.steps[beliefs[-1].step] > event:
        return ""
    last = count(beliefs[-1:])
    if last.share <= RIGHT:
        return ""
    step = beliefs[-1].step
    where = f"after event {evidence.steps[step] - 1}" if step else "before any call"
    return f"{last} early answers {where}, the last that were asked for, are right"


def right_before(evidence: Evidence) -> int:
    """The event before which early answers were mostly right for the last time: what came before it had not made the
    trial wrong. 0 where none were."""
    right = [each for each in asked_at(evidence) if count([each]).share > RIGHT]
    return evidence.steps[right[-1].step] if right else 0


def split_at(event: int, evidence: Evidence) -> tuple[Count | None, Count | None]:
    """Early answers up to an event, and after it; None where there are none."""
    beliefs = asked_at(evidence)
    parts = ([each for each in beliefs if (evidence.steps[each.step] > event) == later] for later in (False, True))
    before, after = (count(part) if part else None for part in parts)
    return before, after


def since_adopted(evidence: Evidence) -> tuple[int, Count] | None:
    """The first result that has the final answer, and early answers after it; None where there are none."""
    adopted = evidence.signals.adoption
    if adopted is None or adopted.in_question:
        return None
    after = split_at(adopted.event, evidence)[1]
    return None if after is None else (adopted.event, after)


def told_since(event: int, after: Count) -> str:
    return f"Asked at once after event {event}, whose result has its answer: {after} right"


def asked_at(evidence: Evidence) -> Sequence[EarlyAnswers]:
    """Early answers by their steps, without those that are the last reply drawn again."""
    beliefs = evidence.trajectory.beliefs if evidence.trajectory else ()
    last = last_reply_step(evidence)
    return [each for each in beliefs if each.step != last]


def last_reply_step(evidence: Evidence) -> int | None:
    """The step whose answers are the last reply drawn again; None where these were asked for as all others, or it is
    the only reply."""
    runs = evidence.all_runs
    return (len(evidence.steps) - 1 or None) if runs is not None and runs.last_reply else None


def count(some: Sequence[EarlyAnswers]) -> Count:
    return Count(sum(round(each.right.mean * each.samples) for each in some), sum(each.samples for each in some))
