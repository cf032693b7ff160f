"""Why one trial went as it did, in four short parts: what went wrong and how sure that is; how it is known; what speaks
against it; what is not known, and the command that would tell.

Every sentence is made of the numbers that stand in the table below it (`rows`) and of the probabilities of causes:
- The cause that is named is the most probable one. Chance and the model's own error need no tool, and count together.
- The word for how sure it is depends on its probability alone (`WORDS`); under .5 there is none.
- "because of" stands only where runs without the cause are right more often than any in which it is at work.
- "Wrong before any tool" stands where under half of the early answers before the first call are right, and only there.
- A cause that is read from the trace is called a hypothesis.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from toolablate.analysis.attribution.decomposition import Term, points
from toolablate.analysis.attribution.evidence import Evidence, Explanation
from toolablate.analysis.attribution.levels import AGAIN, WITHOUT_TOOLS, Level, told_levels
from toolablate.analysis.attribution.replay_rules import LIKELY, deciding
from toolablate.analysis.attribution.report import mechanism_name
from toolablate.analysis.attribution.trace_rules import BY_CHANCE, sign_of
from toolablate.analysis.pairing import RIGHT
from toolablate.reports.cause_wording import chance, distraction_name
from toolablate.reports.causes import (
    beside,
    decided,
    deciding_rows,
    how_sure,
    named,
    ranked,
    restores,
    without_cause,
)
from toolablate.reports.changed_runs import (
    IGNORING,
    Row,
    capital,
    levels_of,
    of_scores,
    row_of,
)
from toolablate.reports.not_known import Said, not_known
from toolablate.reports.numbers import signed
from toolablate.traces.records import Attribution, Diagnosis, Distraction, Mechanism
from toolablate.traces.terminal_text import one_line


@dataclass(frozen=True, slots=True)
class WhyPart:
    title: str
    lines: tuple[Said, ...]


def why_parts(told: Explanation) -> tuple[WhyPart, ...]:
    """Those that have something to say."""
    found = (
        WhyPart("What went wrong" if told.explained.attribution else "In short", tuple(_verdict(told))),
        WhyPart("How this is known", tuple(_known(told))),
        WhyPart("What speaks against it", tuple(_against(told))),
        WhyPart("What is not known", tuple(not_known(told))),
    )
    return tuple(part for part in found if part.lines)


# What went wrong, and how sure that is.


_BEFORE_TOOLS = (*BY_CHANCE, "availability", "prompt", "unknown")
"""What is there before any tool is called."""
_HOW: Mapping[Distraction, str] = {
    "misleading_adoption": "it adopted what misleads",
    "existence_as_norm": "it took what exists for what is right",
    "over_engineering": "it built a simple answer up into an elaborate one",
}


def _verdict(told: Explanation) -> Iterator[str]:
    attribution, evidence = told.explained.attribution, told.explained.evidence
    if attribution is None:
        right = evidence.score.value is not None and evidence.score.value >= RIGHT
        yield "The answer is right." if right else "The answer has no score, so no cause is looked for."
        yield from _gains(evidence)
        yield from (f"{row.sentence}." for row in levels_of(evidence) if row.changed == WITHOUT_TOOLS)
    else:
        yield _headline(attribution, evidence)
        if attribution.method != "replay":
            read = "a judge read it so" if attribution.method == "judge" else "it is read from the trace and the scores"
            if ranked(attribution)[0][0] != "unknown":
                yield f"This is a hypothesis: {read}."
            yield "This trial itself has not been run again with a change."
        yield from _how_distracted(attribution)
    yield from _early(told, "verdict")


def _headline(attribution: Attribution, evidence: Evidence) -> str:
    (cause, probability), *others = ranked(attribution)
    known = chance(probability)
    if cause == "unknown":
        return f"The cause is not known. The probability that it is more than chance: {known}."
    if others and others[0][1] > probability:
        together = chance(math.fsum(share for each, share in ranked(attribution) if each in BY_CHANCE))
        names = " or ".join(named(each) for each in BY_CHANCE)
        return (
            f"{capital(names)}: probability {together} together."
            f" {capital(named(others[0][0]))} alone: {chance(others[0][1])}."
        )
    word = how_sure(probability)
    if not word:
        after = f", then {named(others[0][0])}, {chance(others[0][1])}" if others else ""
        return f"No cause is more likely than not. The likeliest is {named(cause)}: probability {known}{after}."
    if attribution.method == "replay" and cause not in BY_CHANCE:
        if restores(cause, evidence):
            return f"{capital(word)} wrong because of {named(cause)}: probability {known}."
        return f"The likeliest cause is {named(cause)}: probability {known}. No run shows it by itself."
    return f"{capital(word)} {named(cause)}: probability {known}."


def _how_distracted(attribution: Attribution) -> Iterator[str]:
    how = attribution.distraction
    if how is not None and ranked(attribution)[0][0] == "retrieval_distraction":
        yield f"How, by the words of results and reply: {_HOW[how]} ({distraction_name(how)})."


def _gains(evidence: Evidence) -> Iterator[str]:
    signals = evidence.inputs.replay.signals if evidence.inputs.replay else frozenset()
    gains = {
        "computed": "Its code computed what the model did not know.",
        "retrieved": "Its search found what the model did not know.",
        "answer_leak": "A search result had the answer beside the question.",
    }
    yield from (text for signal, text in gains.items() if signal in signals)


# What the model answered before any tool: a part of the verdict, or what supports it, or what speaks against it.


_Place = Literal["verdict", "known", "against"]


def _early(told: Explanation, place: _Place) -> Iterator[str]:
    beliefs = told.explained.evidence.trajectory.beliefs if told.explained.evidence.trajectory else ()
    first = next((each for each in beliefs if each.step == 0), None)
    if first is None or _place_of(told.explained.attribution, wrong=first.right.mean < RIGHT) != place:
        return
    right = round(first.right.mean * first.samples)
    asked = f"{right} of {first.samples} early answers, asked for before the first call, are right"
    before = "Wrong" if first.right.mean < RIGHT else "Right" if first.right.mean > RIGHT else "Half right"
    yield f"{before} before any tool: {asked}."


def _place_of(attribution: Attribution | None, *, wrong: bool) -> _Place:
    if attribution is None:
        return "verdict"
    cause = ranked(attribution)[0][0]
    if cause in ("sampling_noise", "unknown"):
        return "verdict" if wrong else "known"
    if cause in _BEFORE_TOOLS:
        return "verdict" if wrong else "against"
    return "against" if wrong else "known"


# How it is known: the runs that decide it, then what else supports it.


NOTE_CHARS = 4_000


def _known(told: Explanation) -> Iterator[Said]:
    attribution, evidence = told.explained.attribution, told.explained.evidence
    if attribution is None:
        return
    cause = ranked(attribution)[0][0]
    sign = sign_of(evidence.signals, evidence.score, evidence.inputs.arms.scaffold)
    deciding_runs = tuple(decided(cause, evidence))
    yield from deciding_runs
    if attribution.method == "trace" and cause in BY_CHANCE:
        yield "The probability of chance comes from how often trials without tools are wrong, over all questions."
    elif not deciding_runs and attribution.method == "replay":
        yield "No single kind of run decides it: all runs in the table below weigh in."
    yield from _ignoring(cause, evidence, comes_back=True)
    yield from _early(told, "known")
    if evidence.flip is not None:
        start, end = evidence.steps[evidence.flip.after], evidence.steps[evidence.flip.step] - 1
        where = f"at event {start}" if start == end else f"in events {start} to {end}"
        yield f"The turn is most likely {where}, by early answers and by what this cause would do."
    if sign is not None and sign[0] == cause:
        yield f"The trace has a sign of it: {_note(sign[2])}."
    elif attribution.method == "trace" and cause not in BY_CHANCE:
        yield "The trace itself has no sign of a cause." if sign is None else "The trace itself has no sign of it."
    if attribution.evidence:
        yield f"Look at {_events(attribution.evidence)}."
    for diagnosis in evidence.diagnoses:
        yield from _read_by(diagnosis)


def _ignoring(cause: Mechanism, evidence: Evidence, *, comes_back: bool) -> Iterator[str]:
    """Of a computation whether the right answer comes back once the model is told to set it aside."""
    if cause == "lock_in" and evidence.ignore_tools:
        row = of_scores(IGNORING, evidence.ignore_tools, evidence)
        if (row.share >= RIGHT) == comes_back:
            yield f"{row.sentence}."


def _read_by(diagnosis: Diagnosis) -> Iterator[str]:
    judge = one_line(diagnosis.judge)
    if diagnosis.error_type is None:
        yield f"Judge {judge} gave no label: {one_line(diagnosis.reason)}"
        return
    at = f" ({_events(diagnosis.evidence)})" if diagnosis.evidence else ""
    error = diagnosis.error_type.replace("_", " ")
    yield f"Judge {judge}: {error}{at}, a hypothesis: {one_line(diagnosis.reason)}"
    if diagnosis.distraction:
        at = f" ({_events(diagnosis.distraction_evidence)})" if diagnosis.distraction_evidence else ""
        reason = one_line(diagnosis.distraction_reason)
        yield f"Distraction: {distraction_name(diagnosis.distraction)}{at}, a hypothesis: {reason}"


# What speaks against it.


_POSSIBLE, MOST_OTHERS = 0.1, 2
"""Other causes are named from this probability on, and so many at most."""
_MUCH = 50.0
"""Points of one trial from which on a term contradicts another cause: half of a right answer."""
_TERMS: Mapping[Term, frozenset[Mechanism]] = {
    "format": frozenset({"format"}),
    "budget": frozenset({"budget"}),
    "tool_fault": frozenset({"tool_fault"}),
    "content": frozenset({"retrieval_distraction", "lock_in", "other_results", "interaction", "calling"}),
    "volume": frozenset({"volume"}),
    "calling": frozenset({"calling", "lock_in"}),
    "availability": frozenset({"availability", "prompt"}),
    "prompt": frozenset({"availability", "prompt"}),
}
"""Causes that a trial may have whose points are these. Use and sampling noise contradict none."""


def _against(told: Explanation) -> Iterator[Said]:
    attribution, evidence = told.explained.attribution, told.explained.evidence
    if attribution is None:
        return
    said = [
        *_early(told, "against"),
        *_runs_against(attribution, evidence),
        *_ignoring(ranked(attribution)[0][0], evidence, comes_back=False),
        *_other_causes(attribution, evidence),
        *_trace_against(told),
        *_points_against(attribution, evidence),
    ]
    yield from said or [_nothing_against(attribution)]


def _nothing_against(attribution: Attribution) -> str:
    cause, probability = ranked(attribution)[0]
    rest = "Chance" if cause == "unknown" else "Other causes together"
    return f"No run and no sign that was found. {rest}: {chance(1 - probability)}."


def _runs_against(attribution: Attribution, evidence: Evidence) -> Iterator[str]:
    cause = ranked(attribution)[0][0]
    if cause in BY_CHANCE:
        against = [row for row in without_cause(cause, evidence) if (row.share >= RIGHT) != (cause == "sampling_noise")]
        if cause == "sampling_noise":
            against += [row for row in levels_of(evidence) if row.changed.startswith(AGAIN) and not row.right]
        yield from (f"{row.sentence}." for row in against)
        return
    runs, found = deciding_rows(cause, evidence), deciding(cause, evidence)
    if runs and not restores(cause, evidence):
        yield f"Runs without it are right no more often. {beside(*runs)}"
    elif found:
        worst = min(_after(found[0], evidence), key=lambda row: row.share, default=None)
        if worst is not None and worst.share < min(RIGHT, found[0].share):
            yield f"Not all runs without it are right: {worst.changed}, {worst.count}."


def _after(undone: Level, evidence: Evidence) -> Iterator[Row]:
    """Levels after one, at which its cause is gone as well."""
    for levels in told_levels(evidence):
        if undone in levels:
            yield from (row_of(level, evidence) for level in levels[levels.index(undone) + 1 :])


def _other_causes(attribution: Attribution, evidence: Evidence) -> Iterator[str]:
    _, *others = ranked(attribution)
    for cause, probability in [each for each in others if each[1] >= _POSSIBLE][:MOST_OTHERS]:
        runs = next(decided(cause, evidence), "") if restores(cause, evidence) else ""
        yield f"It may instead be {named(cause)}: probability {chance(probability)}.{f' {runs}' if runs else ''}"


def _trace_against(told: Explanation) -> Iterator[str]:
    attribution, evidence = told.explained.attribution, told.explained.evidence
    assert attribution is not None
    cause = ranked(attribution)[0][0]
    sign = sign_of(evidence.signals, evidence.score, evidence.inputs.arms.scaffold)
    for other in told.explained.hypotheses:
        if other.mechanism not in (cause, "unknown") and other.confidence >= LIKELY:
            why = f": {_note(sign[2])}" if sign and sign[0] == other.mechanism else ""
            by = "A judge" if other.method == "judge" else "The trace alone"
            yield f"{by} points to {named(other.mechanism)}, probability {chance(other.confidence)}{why}."
    if attribution.method != "replay" and sign and sign[0] not in (cause, "own_error"):
        yield f"The trace has a sign of {named(sign[0])}: {_note(sign[2])} ({_events(sign[1])})."


def _points_against(attribution: Attribution, evidence: Evidence) -> Iterator[str]:
    """The trial's largest loss in the decomposition, where that is of another cause."""
    if attribution.method != "replay":
        return
    losses = {name: value for name, value in points(evidence.inputs).items() if name in _TERMS}
    name, value = min(losses.items(), key=lambda each: each[1], default=("content", 0.0))
    if value <= -_MUCH and ranked(attribution)[0][0] not in _TERMS[name]:
        likely = max(attribution.shares.get(each, 0.0) for each in _TERMS[name])
        improbable = f" All runs together make that improbable: {chance(likely)}." if likely < _POSSIBLE else ""
        yield f"Its largest loss with a known cause is {mechanism_name(name)}, {signed(value)} points.{improbable}"


def _events(events: Sequence[int]) -> str:
    return f"event{'' if len(events) == 1 else 's'} {', '.join(map(str, events))}"


def _note(note: str) -> str:
    """Whole: it is a sentence of ours, and what it quotes is short."""
    return one_line(note, max_chars=NOTE_CHARS)
