"""Where a trial's early answers turn wrong, in the counts of its steps."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from toolablate.analysis.attribution.belief import BeliefFlip, EarlyAnswers
from toolablate.analysis.attribution.evidence import Evidence, EvidenceOutline
from toolablate.analysis.pairing import RIGHT, mean
from toolablate.traces.records import Attribution, Mechanism
from toolablate.traces.terminal_text import one_line

SURE = 0.8
"""From this share of resamples on a place counts as known."""
LEAST_FALL = 0.3
"""Of the share of right early answers; less is no turn."""

LEAST_ASKED = 8
"""Early answers before a turn, of which only half are right."""

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


def turn_of(evidence: EvidenceOutline) -> Turn | None:
    """Where they are mostly right before it and mostly wrong after it; None where no such place is known."""
    found = unsure_turn(evidence)
    return found if found is not None and found.confidence >= SURE and not _is_guess(found) else None


def likely_turn(evidence: EvidenceOutline, event: int | None) -> Turn | None:
    """The likeliest place, where it is not known, if it holds this event; None is any place."""
    found = unsure_turn(evidence)
    if found is None or found.confidence >= SURE or _is_guess(found):
        return None
    return found if event is None or found.holds(event) else None


def _is_guess(found: Turn) -> bool:
    """Whether half are right before it, of few."""
    return found.before.share == RIGHT and found.before.asked < LEAST_ASKED


def unsure_turn(evidence: EvidenceOutline) -> Turn | None:
    """Where they fall most, however sure the place is; None where that is no turn from right to wrong for good."""
    flip, beliefs = evidence.flip, asked_at(evidence)
    if flip is None or not beliefs:
        return None
    before, after = ([each for each in beliefs if (each.step <= flip.after) == earlier] for earlier in (True, False))
    if not before or not after:
        return None
    steps = evidence.steps
    turn = Turn(steps[flip.after], steps[flip.step], count(before), count(after), flip.confidence)
    fell = turn.before.share >= RIGHT > turn.after.share and turn.before.share - turn.after.share >= LEAST_FALL
    if evidence.last_reply and mean(evidence.last_reply) > RIGHT:
        # What is mostly right again before its last reply did not turn wrong for good.
        return None
    return turn if fell else None


def as_told(found: Attribution, evidence: EvidenceOutline) -> Attribution:
    """With the event at which the trial's page says that it turned wrong, for lists; None where it says none."""
    turn = turn_of(evidence)
    return found.model_copy(update={"turned_at": None if turn is None else turn.start})


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
    return f"{last} early answers {where}, the last that were asked for, are right: it went wrong after that"


def right_before(evidence: Evidence) -> int:
    """The event before which early answers were mostly right for the last time: what came before it had not made the
    trial wrong. 0 where none were."""
    right = [each for each in asked_at(evidence) if count([each]).share > RIGHT]
    return evidence.steps[right[-1].step] if right else 0


def first_said(evidence: Evidence) -> tuple[Turn, str] | None:
    """Where early answers begin to be the final one, which none before is, with these counts of them in place of right
    ones, and this answer. None of fewer than `LEAST_SAID` on either side, or where fewer than half are afterwards."""
    own, beliefs = ", ".join(evidence.score.extracted), asked_at(evidence)
    said = [round(each.options[own].mean * each.samples) if own in each.options else 0 for each in beliefs]
    at = next((place for place, times in enumerate(said) if times), 0)
    before, after = (
        Count(sum(times), sum(each.samples for each in some))
        for times, some in ((said[:at], beliefs[:at]), (said[at:], beliefs[at:]))
    )
    if min(before.asked, after.asked) < LEAST_SAID or after.share < RIGHT:
        return None
    return Turn(evidence.steps[beliefs[at - 1].step], evidence.steps[beliefs[at].step], before, after, 1.0), own


LEAST_SAID = 4


def split_at(event: int, evidence: Evidence) -> tuple[Count | None, Count | None]:
    """Early answers up to an event, and after it; None where there are none."""
    beliefs = asked_at(evidence)
    parts = ([each for each in beliefs if (evidence.steps[each.step] > event) == later] for later in (False, True))
    before, after = (count(part) if part else None for part in parts)
    return before, after


def asked_at(evidence: EvidenceOutline) -> Sequence[EarlyAnswers]:
    """Early answers by their steps, without those that are the last reply drawn again."""
    beliefs = evidence.trajectory.beliefs if evidence.trajectory else ()
    last = last_reply_step(evidence)
    return [each for each in beliefs if each.step != last]


def last_reply_step(evidence: EvidenceOutline) -> int | None:
    """The step whose answers are the last reply drawn again; None where these were asked for as all others, or it is
    the only reply."""
    return (len(evidence.steps) - 1 or None) if evidence.last_reply else None


def count(some: Sequence[EarlyAnswers]) -> Count:
    return Count(sum(round(each.right.mean * each.samples) for each in some), sum(each.samples for each in some))


MOST_SAID = 4
NO_ANSWER = "(none)"


def said_there(belief: EarlyAnswers) -> Iterator[str]:
    """What was said and how often, the most frequent first."""
    said = sorted(((each.mean, name) for name, each in belief.options.items() if each.mean), key=lambda each: -each[0])
    if belief.unreadable.mean:
        said.append((belief.unreadable.mean, NO_ANSWER))
    for share, name in said[:MOST_SAID]:
        yield one_line(f"{name} ({round(share * belief.samples)})" if len(said) > 1 else name)
    if more := round(math.fsum(share for share, _ in said[MOST_SAID:]) * belief.samples):
        yield f"others ({more})"


def redrawn_answers(evidence: Evidence) -> tuple[int, str]:
    """How often the last reply was drawn again for its answer, and what came: `D (2), A (1)`; 0 where it was not."""
    redrawn, beliefs = last_reply_step(evidence), evidence.trajectory.beliefs if evidence.trajectory else ()
    found = next((each for each in beliefs if redrawn and each.step == redrawn), None)
    return (0, "") if found is None else (found.samples, ", ".join(said_there(found)))
