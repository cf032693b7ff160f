"""What the trace of one trial, and its answers before any tool, say of a cause: for it or against it."""

from collections.abc import Iterator, Sequence
from typing import Literal

from toolablate.analysis.attribution.evidence import Evidence, Explanation
from toolablate.analysis.attribution.trace_rules import BY_CHANCE, sign_of
from toolablate.analysis.pairing import RIGHT
from toolablate.reports.causes import ranked
from toolablate.reports.changed_runs import IGNORING, capital, of_scores
from toolablate.reports.turn import AT_CALLS, Turn, turn_of
from toolablate.traces.records import Attribution, Mechanism
from toolablate.traces.terminal_text import one_line

BEFORE_TOOLS = (*BY_CHANCE, "availability", "prompt", "unknown")
"""What is there before any tool is called."""
NOTE_CHARS = 4_000


# What the model answered before any tool: a part of the verdict, or what supports it, or what speaks against it.


_Place = Literal["verdict", "known", "against"]


def early(told: Explanation, place: _Place) -> Iterator[str]:
    """Nothing where half of them are right, which tells nothing."""
    attribution, trajectory = told.explained.attribution, told.explained.evidence.trajectory
    first = next((each for each in trajectory.beliefs if each.step == 0), None) if trajectory else None
    if first is None:
        return
    asked, right = told.explained.evidence.at_outset
    if 2 * right == asked:
        return
    wrong = 2 * right < asked
    if _place_of(attribution, wrong=wrong) != place:
        return
    before = "wrong before any tool" if wrong else "right before any tool"
    before = capital(before if right in (0, asked) else f"mostly {before}")
    own = f"{round(first.right.mean * first.samples)} of {first.samples} here, the others in its other repeats"
    when = (
        "asked for before the first call" if told.explained.evidence.called else "asked for at once, as it made no call"
    )
    of = f" ({own})" if told.explained.evidence.outset else ""
    yield (
        f"{before}: {right:g} of {asked} early answers, {when}{of}, are right."
        f"{_so(attribution, wrong=wrong, mostly=right not in (0, asked))}"
    )


def _so(attribution: Attribution | None, *, wrong: bool, mostly: bool) -> str:
    if attribution is None:
        return ""
    if not wrong:
        return f" So the model {'mostly ' if mostly else ''}has the right answer before any call."
    by_tool = ranked(attribution)[0][0] not in BEFORE_TOOLS
    return " So the error may need no tool." if by_tool else " So no call is needed for the error."


def _place_of(attribution: Attribution | None, *, wrong: bool) -> _Place:
    if attribution is None:
        return "verdict"
    cause = ranked(attribution)[0][0]
    if cause in ("sampling_noise", "unknown"):
        return "known"
    if cause in BEFORE_TOOLS:
        return "known" if wrong else "against"
    return "against" if wrong else "known"


# Signs in the trace.


Sign = tuple[Mechanism, tuple[int, ...], str]
"""Of what it is a sign, its events, and what it says."""


def sign_in(evidence: Evidence) -> Sign | None:
    return sign_of(evidence.signals, evidence.score, evidence.inputs.arms.scaffold)


def is_late(cause: Mechanism, events: Sequence[int], evidence: Evidence) -> bool:
    """Whether a sign of what acts at calls lies after the place where early answers got worse."""
    turn = turn_of(evidence)
    return turn is not None and turn.sure and cause in AT_CALLS and min(events, default=-1) >= turn.end


def is_elsewhere(turn: Turn, attribution: Attribution) -> bool:
    """Whether early answers surely get worse, and not where a tool failed that is the likeliest cause."""
    failed = attribution.evidence if ranked(attribution)[0][0] == "tool_fault" else ()
    return turn.sure and bool(failed) and not any(turn.start <= event < turn.end for event in failed)


def ignoring(cause: Mechanism, evidence: Evidence, *, comes_back: bool) -> Iterator[str]:
    """Of what results did whether the right answer comes back once the model is told to set them aside."""
    if (
        cause in ("lock_in", "retrieval_distraction", "other_results", "interaction", "volume")
        and evidence.ignore_tools
    ):
        row = of_scores(IGNORING, evidence.ignore_tools, evidence)
        if (row.share >= RIGHT) == comes_back:
            yield f"{row.sentence}."


def same_without_tools(told: Explanation) -> Iterator[str]:
    """Where a trial without tools is wrong in the same way."""
    evidence = told.explained.evidence
    own = evidence.score.extracted
    wrong = [each.score for each in evidence.no_tools if each.score.value is not None and each.score.value < RIGHT]
    times = sum(each.extracted == own for each in wrong) if own else 0
    if times:
        often = "once" if times == 1 else f"{times} times"
        so = "" if first_of(told) in BY_CHANCE else " So the error may need no tool."
        yield f"Without tools it gave the same wrong answer {often}.{so}"


def first_of(told: Explanation) -> Mechanism:
    assert told.explained.attribution is not None
    return ranked(told.explained.attribution)[0][0]


def lines_of(events: Sequence[int], evidence: Evidence) -> list[int]:
    """The lines of a page on which events stand, each by its first event."""
    lines = (*evidence.steps, *(call.event for call in evidence.signals.calls if call.by_provider))
    return sorted({max((line for line in lines if line <= event), default=event) for event in events})


def events_named(events: Sequence[int]) -> str:
    return f"event{'' if len(events) == 1 else 's'} {', '.join(map(str, events))}"


def noted(note: str) -> str:
    """Whole: it is a sentence of ours, and what it quotes is short."""
    return one_line(note, max_chars=NOTE_CHARS)
