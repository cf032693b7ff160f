"""Where a trial's early answers turn wrong, in the counts of its steps, and from what that place is inferred."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from toolablate.analysis.attribution.belief import EarlyAnswers
from toolablate.analysis.attribution.evidence import Evidence
from toolablate.analysis.pairing import RIGHT
from toolablate.traces.records import Attribution, Mechanism

SURE = 0.5
"""From this share of resamples on a place is told as the likeliest; under it the page says that it is not known."""

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
    gap            the events between which nobody asked, where that is more than the turn itself
    redrawn        whether all that come after are its last reply drawn again
    confidence     the same place in so many resamples of the answers
    """

    start: int
    end: int
    before: Count
    after: Count
    gap: tuple[int, int] | None
    confidence: float
    redrawn: bool = False

    @property
    def where(self) -> str:
        return f"at event {self.start}" if self.end - self.start == 1 else f"in events {self.start} to {self.end - 1}"

    @property
    def sure(self) -> bool:
        return self.confidence >= SURE and self.after.share < RIGHT

    @property
    def resamples(self) -> str:
        return f"{100 * self.confidence:.0f} of 100 random draws from the early answers"


def turn_of(evidence: Evidence) -> Turn | None:
    """None where no early answers were asked for, or they do not get worse."""
    flip, beliefs = evidence.flip, evidence.trajectory.beliefs if evidence.trajectory else ()
    if flip is None or not beliefs:
        return None
    before, after = ([each for each in beliefs if (each.step <= flip.after) == earlier] for earlier in (True, False))
    if not before or not after:
        return None
    steps = evidence.steps
    last, first = before[-1].step, after[0].step
    gap = None if (last, first) == (flip.after, flip.step) else (steps[last], steps[first] - 1)
    redrawn = len(after) == 1 and first == last_reply_step(evidence)
    return Turn(steps[flip.after], steps[flip.step], _count(before), _count(after), gap, flip.confidence, redrawn)


def last_reply_step(evidence: Evidence) -> int | None:
    """The step whose answers are the last reply drawn again; None where these were asked for as all others."""
    runs = evidence.all_runs
    return len(evidence.steps) - 1 if runs is not None and runs.last_reply else None


def _count(some: Sequence[EarlyAnswers]) -> Count:
    return Count(sum(round(each.right.mean * each.samples) for each in some), sum(each.samples for each in some))


def told_turn(turn: Turn) -> str:
    redrawn = " (its last reply drawn again)" if turn.redrawn else ""
    return (
        f"Early answers get worse most likely {turn.where}, a place that is inferred (see below): before it"
        f" {turn.before} are right, after it {turn.after}{redrawn}."
    )


def inferred(turn: Turn, attribution: Attribution | None, evidence: Evidence) -> Iterator[str]:
    """The place, its counts, and what the place rests on."""
    no_place = "" if turn.sure else "Early answers show no one place where they get worse for good. "
    yield (
        f"{no_place}Early answers get worse most likely {turn.where}: before it {turn.before} are right, after it"
        f" {turn.after}."
    )
    rests_on, adopted, later = ["from these answers"], evidence.signals.adoption, ""
    if attribution is not None and attribution.method == "replay":
        rests_on.append("from how probable each cause is")
        if adopted is not None and not adopted.in_question:
            if turn.start <= adopted.event < turn.end:
                rests_on.append("from its final answer, which is first there")
            elif adopted.event >= turn.end:
                later = f" Its answer is in no result before event {adopted.event}."
    gap = (
        "" if turn.gap is None else f" No early answers were asked for between events {turn.gap[0]} and {turn.gap[1]}."
    )
    *others, last = rests_on
    listed = f"{', '.join(others)} and {last}" if others else last
    yield f"The place is inferred {listed}.{gap}{later}"


def never_fell(evidence: Evidence) -> str:
    assert evidence.trajectory is not None
    beliefs = evidence.trajectory.beliefs
    first, last = beliefs[0].right.mean, beliefs[-1].right.mean
    counts = [f"{round(each.right.mean * each.samples)} of {each.samples}" for each in (beliefs[0], beliefs[-1])]
    if len(beliefs) == 1:
        return f"Early answers before any call: {counts[0]} right."
    ends = f"{counts[0]} right before any call, {counts[1]} before the final reply"
    only = "" if len(beliefs) > 2 else ", and no others were asked for"
    if not any(each.right.mean for each in beliefs):
        return f"Early answers are never right{only}."
    if last >= first:
        return f"Early answers do not get worse: {ends}{only}."
    return f"Early answers show no clear fall: {ends}{only}."
