"""Why one trial went as it did, in four short parts: what went wrong and how sure that is; how it is known; what speaks
against it; what is not known, and the command that would tell.

Every sentence is made of the numbers that stand in the table below it (`rows`) and of the probabilities of causes:
- The cause that is named is the most probable one.
- The word for how sure it is depends on its probability alone (`WORDS`); under .5 there is none.
- "because of" stands only where runs without the cause are right more often than any in which it is at work.
- "Wrong before any tool" stands where under half of the early answers before the first call are right, and only there.
- A cause that is read from the trace is called a hypothesis.
"""

import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from toolablate.analysis.attribution.belief import share
from toolablate.analysis.attribution.decomposition import Term, points
from toolablate.analysis.attribution.evidence import Evidence, Explanation
from toolablate.analysis.attribution.levels import AGAIN, REPEATED, WITHOUT_TOOLS, Level, swapped_results, told_levels
from toolablate.analysis.attribution.replay_rules import LIKELY, deciding, taken_together
from toolablate.analysis.attribution.report import mechanism_name
from toolablate.analysis.attribution.trace_rules import sign_of
from toolablate.analysis.pairing import RIGHT
from toolablate.reports.cause_wording import chance, distraction_name
from toolablate.reports.changed_runs import (
    FROM_START,
    IGNORING,
    RE_ASKED,
    REPAIRED_TOO,
    Row,
    capital,
    levels_of,
    of_scores,
    row_of,
)
from toolablate.reports.numbers import signed
from toolablate.traces.records import Attribution, Diagnosis, Distraction, Mechanism, ReplayDesign
from toolablate.traces.terminal_text import ID_CHARS, one_line


@dataclass(frozen=True, slots=True)
class Apart:
    """A line that stands apart from the sentences around it: a command, or what is quoted."""

    text: str


Said = str | Apart


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
        WhyPart("What is not known", tuple(_unknown(told))),
    )
    return tuple(part for part in found if part.lines)


# What went wrong, and how sure that is.


WORDS: tuple[tuple[float, str], ...] = ((0.95, "almost certainly"), (0.8, "very likely"), (LIKELY, "probably"))
"""How sure a cause is called, from which probability on."""

CAUSES: Mapping[Mechanism, str] = {
    "retrieval_distraction": "what its search found",
    "lock_in": "its computation",
    "other_results": "what its other tools gave",
    "interaction": "the results of two kinds of tools together",
    "volume": "the length of its results, whatever they say",
    "calling": "its calls, whatever they return",
    "availability": "the offer of tools",
    "prompt": "the words of the condition's prompt",
    "budget": "a limit that ended it",
    "tool_fault": "a tool that failed",
    "format": "the form of its answer",
    "sampling_noise": "chance",
    "own_error": "the model's own error, which needs no tool",
    "unknown": "something else than chance",
}
_BY_ITSELF = ("sampling_noise", "own_error")
"""What needs no tool."""
_BEFORE_TOOLS = (*_BY_ITSELF, "availability", "prompt", "unknown")
"""What is there before any tool is called."""
_HOW: Mapping[Distraction, str] = {
    "misleading_adoption": "it adopted what misleads",
    "existence_as_norm": "it took what exists for what is right",
    "over_engineering": "it built a simple answer up into an elaborate one",
}


def how_sure(probability: float) -> str:
    """Empty under .5."""
    return next((word for least, word in WORDS if probability >= least), "")


def ranked(attribution: Attribution) -> list[tuple[Mechanism, float]]:
    """Causes with their probabilities, the most probable first."""
    found = dict(attribution.shares) or {attribution.mechanism: attribution.confidence}
    return sorted(found.items(), key=lambda each: (-each[1], each[0] != attribution.mechanism))


def named(cause: Mechanism) -> str:
    """`its computation (computational lock-in)`."""
    name, plain = mechanism_name(cause), CAUSES[cause]
    return plain if cause in ("own_error", "unknown") else f"{plain} ({name})"


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
            yield f"This is a hypothesis: {read}. No run of this trial with one thing changed has tested it."
        yield from _how_distracted(attribution)
    yield from _early(told, "verdict")


def _headline(attribution: Attribution, evidence: Evidence) -> str:
    (cause, probability), *others = ranked(attribution)
    known = chance(probability)
    if cause == "unknown":
        return f"The cause is not known. The probability that it is more than chance: {known}."
    word = how_sure(probability)
    if not word:
        after = f", then {named(others[0][0])}, {chance(others[0][1])}" if others else ""
        return f"No cause is more likely than not. The likeliest is {named(cause)}: probability {known}{after}."
    if attribution.method == "replay" and cause not in _BY_ITSELF:
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


def restores(cause: Mechanism, evidence: Evidence) -> bool:
    """Whether runs without a cause are right more often than any in which it is at work."""
    found = _deciding(cause, evidence)
    return found is not None and found[0].share > (found[1].share if found[1] else 0.0)


def _deciding(cause: Mechanism, evidence: Evidence) -> tuple[Row, Row | None] | None:
    """Runs without a cause, and those with it that are right most often, where there are any. None where no runs are
    without it."""
    if cause == "format" and evidence.re_asked:
        return of_scores(RE_ASKED, evidence.re_asked, evidence), None
    if cause == "interaction":
        again = next((row for row in levels_of(evidence) if row.changed.startswith(AGAIN)), None)
        both = _of_kinds(evidence)
        return (both[-1], again) if both else None
    found = deciding(cause, evidence)
    return None if found is None else (row_of(found[0], evidence), found[1] and row_of(found[1], evidence))


def _of_kinds(evidence: Evidence) -> tuple[Row, ...]:
    """Of two kinds of tools the runs without the results of each, then of both; nothing where one is missing."""
    kinds, levels = sorted(evidence.inputs.tools), levels_of(evidence)
    if len(kinds) != 2:
        return ()
    starts = [swapped_results(each) for each in (kinds[:1], kinds[1:], kinds)]
    found = [row for start in starts for row in levels if row.changed.partition(REPAIRED_TOO)[0] == start]
    return tuple(found) if len(found) == len(starts) else ()


def _known(told: Explanation) -> Iterator[Said]:
    attribution, evidence = told.explained.attribution, told.explained.evidence
    if attribution is None:
        return
    cause = ranked(attribution)[0][0]
    sign = sign_of(evidence.signals, evidence.score, evidence.inputs.arms.scaffold)
    decided = tuple(_decided(cause, evidence))
    yield from decided
    if attribution.method == "trace" and cause in _BY_ITSELF:
        yield "The probability is that such a trial is wrong without tools as well, over all questions of the store."
    elif not decided and attribution.method == "replay":
        yield "No single kind of run decides it: all runs in the table below weigh in."
    if cause == "lock_in" and evidence.ignore_tools:
        yield f"{of_scores(IGNORING, evidence.ignore_tools, evidence).sentence}."
    yield from _early(told, "known")
    if evidence.flip is not None:
        start, end = evidence.steps[evidence.flip.after], evidence.steps[evidence.flip.step] - 1
        where = f"at event {start}" if start == end else f"in events {start} to {end}"
        yield f"Answers that were asked for along the way turn wrong for good {where}."
    if sign is not None and sign[0] == cause:
        points_there = "points there too" if attribution.method == "replay" else "has a sign of it"
        yield f"The trace {points_there}: {_note(sign[2])}."
    elif attribution.method == "trace" and cause not in _BY_ITSELF:
        yield "The trace itself has no sign of a cause." if sign is None else "The trace itself has no sign of it."
    if attribution.evidence:
        yield f"Look at {_events(attribution.evidence)}."
    for diagnosis in evidence.diagnoses:
        yield from _read_by(diagnosis)


def _decided(cause: Mechanism, evidence: Evidence) -> Iterator[str]:
    """The runs that decide it, where they do."""
    found = _deciding(cause, evidence)
    if cause in _BY_ITSELF:
        rows = [row for row in _without_cause(cause, evidence) if (row.share >= RIGHT) == (cause == "sampling_noise")]
        undone = [found[0]] if found and restores(cause, evidence) else []
        yield from (f"{row.sentence}." for row in dict.fromkeys((*undone, *rows)))
    elif cause == "unknown":
        rows = {row.changed: row for row in levels_of(evidence)}
        if WITHOUT_TOOLS in rows and REPEATED in rows:
            yield _beside(rows[WITHOUT_TOOLS], rows[REPEATED])
    elif found and restores(cause, evidence):
        if cause == "interaction":
            yield from (f"{row.sentence}." for row in _of_kinds(evidence)[:-1])
        yield _beside(*found)


def _beside(undone: Row, before: Row | None) -> str:
    return f"{undone.sentence}{f'; {before.changed}, {before.count}' if before else ''}."


def _without_cause(cause: Mechanism, evidence: Evidence) -> Iterator[Row]:
    """Of what needs no tool: the question without tools, and for an error of the model's own the best of all others."""
    levels = levels_of(evidence)
    without = [row for row in levels if row.changed == WITHOUT_TOOLS]
    yield from without
    others = [row for row in levels if row not in without]
    if cause == "own_error" and others:
        yield max(others, key=lambda row: (row.share, row.runs))


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
        *_other_causes(attribution, evidence),
        *_trace_against(told),
        *_points_against(attribution, evidence),
    ]
    yield from said or ["Nothing that was tried." if attribution.method == "replay" else "Nothing that is known."]


def _runs_against(attribution: Attribution, evidence: Evidence) -> Iterator[str]:
    cause = ranked(attribution)[0][0]
    if cause in _BY_ITSELF:
        against = [
            row for row in _without_cause(cause, evidence) if (row.share >= RIGHT) != (cause == "sampling_noise")
        ]
        if cause == "sampling_noise":
            against += [row for row in levels_of(evidence) if row.changed.startswith(AGAIN) and not row.right]
        yield from (f"{row.sentence}." for row in against)
        return
    runs, found = _deciding(cause, evidence), deciding(cause, evidence)
    if runs and not restores(cause, evidence):
        yield f"Runs without it are right no more often. {_beside(*runs)}"
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
        runs = next(_decided(cause, evidence), "") if restores(cause, evidence) else ""
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
        yield f"In points of the score its largest loss is {mechanism_name(name)}, {signed(value)}.{improbable}"


# What is not known, and the command that would tell.


_FEW = 8
"""Under so many runs chance is named."""


def _unknown(told: Explanation) -> Iterator[Said]:
    attribution, evidence = told.explained.attribution, told.explained.evidence
    if len(evidence.no_tools) < 2:
        known = "nothing" if not evidence.no_tools else "one trial alone"
        yield f"How often the model is right without tools: there is {known}. Raise `repeats` in the plan, then:"
        yield Apart("toolablate run PLAN")
    if told.provider in _NEVER_ASKED:
        yield f"What runs with one thing changed would show: {_NEVER_ASKED[told.provider]}."
        if attribution is not None and not evidence.diagnoses:
            yield "What a judge would read in the trace (name one of a plan):"
            yield Apart(f"toolablate attribute {_store(told)} --judge NAME --plan PLAN")
        return
    if evidence.inputs.replay is None:
        yield from _unreplayed(told)
    elif attribution is not None:
        yield from _few_runs(attribution, told)
    if attribution is not None:
        yield from _not_apart(attribution, evidence)
        if not evidence.diagnoses and (asks := _for_judges(attribution)):
            yield f"{asks}, as a judge reads it (name one of the plan):"
            yield Apart(f"toolablate attribute {_store(told)} --judge NAME")


def _for_judges(attribution: Attribution) -> str:
    cause = ranked(attribution)[0][0]
    if cause == "retrieval_distraction" and attribution.distraction is None:
        return "How the search misled it"
    return "What kind of error it is" if cause in ("own_error", "unknown") else ""


_NEVER_ASKED: Mapping[str, str] = {
    "scripted": "the model is scripted, and its replies never change",
    "imported": "the trial is from another program's log, and its model cannot be asked again",
}
_USUAL: Mapping[str, object] = {
    "failures": 1.0, "successes": 0.3, "samples": 2, "rollouts": 2, "steps": "search", "precision": 0.8, "seed": 0,
}  # fmt: skip
"""What `attribute --replay` does unless it is told otherwise."""


def _unreplayed(told: Explanation) -> Iterator[Said]:
    evidence = told.explained.evidence
    wrong = (evidence.score.value or 0.0) < RIGHT
    if evidence.trajectory is not None:
        yield "What runs with one thing changed would show: some are missing, or it is not in the sample of last time."
    else:
        yield "What runs with one thing changed would show: there are none yet."
    yield Apart(_replaying(told, **({"failures": 1.0} if wrong else {"successes": 1.0})))
    calls = [call.event for call in evidence.signals.calls]
    if wrong and calls and evidence.trajectory is None:
        attribution = told.explained.attribution
        pointed = [event for event in attribution.evidence if event in calls] if attribution else []
        yield f"Or of this trial alone, without the result at event {(pointed or calls)[-1]}:"
        again = f"toolablate replay {_store(told)} {trial_of(told)} --from {(pointed or calls)[-1]}"
        yield Apart(f"{again} --swap null --repeats 8")


def _few_runs(attribution: Attribution, told: Explanation) -> Iterator[Said]:
    evidence, cause = told.explained.evidence, ranked(attribution)[0][0]
    rows = [row for row in _deciding(cause, evidence) or () if row is not None]
    if cause in _BY_ITSELF:
        rows += _without_cause(cause, evidence)
    few = [row for row in dict.fromkeys(rows) if row.runs < _FEW]
    if not few:
        return
    if few[0].graded:
        yield f"How much of this is chance: {few[0].changed}, there are {few[0].runs:g} runs."
    else:
        spread = ", and ".join(_spread(row) for row in {row.count: row for row in few}.values())
        yield f"How much of this is chance. {spread} (95 % intervals)."
    if all(row.changed.startswith(FROM_START) for row in few):
        yield "Raise `repeats` in the plan, then:"
        yield Apart("toolablate run PLAN")
    else:
        yield "More runs:"
        yield Apart(_replaying(told, samples=_FEW, rollouts=_FEW))


def _spread(row: Row) -> str:
    of = share(round(row.right), row.runs)
    return f"{row.count} fits any share from {chance(of.low)} to {chance(of.high)}"


def _not_apart(attribution: Attribution, evidence: Evidence) -> Iterator[Said]:
    """What the deciding runs take away together."""
    cause = ranked(attribution)[0][0]
    beside = [each for each in taken_together(cause, evidence) if each not in (cause, *_BY_ITSELF)]
    if beside and cause not in _BY_ITSELF:
        yield f"Whether it is {named(cause)} or {' or '.join(map(named, beside))}: no run takes away one alone."
        if "prompt" in (cause, *beside) and not evidence.inputs.arms.scaffold:
            yield "Add the condition 'scaffold' (the prompt without tools) to the plan, then:"
        else:
            yield 'Add its arms to the ladder of the plan (`arms = ["offered", "sham", "placebo"]`), then:'
        yield Apart("toolablate run PLAN")


def _replaying(told: Explanation, **changed: float) -> str:
    """The command, with the options of the sample that was asked for last where they are not the usual ones."""
    design, options = told.design or ReplayDesign(), []
    for name, usual in _USUAL.items():
        kept = getattr(design, name) if told.design else usual
        value = max(kept, changed[name]) if name in changed else kept
        if value != usual:
            options.append(f" --{name} {value:g}" if isinstance(value, int | float) else f" --{name} {value}")
    if told.design is not None and design.each_result:
        options.append(" --each-result")
    condition = shlex.quote(one_line(told.explained.evidence.condition))
    return f"toolablate attribute {_store(told)} --replay --condition {condition}{''.join(options)}"


def _store(told: Explanation) -> str:
    return shlex.quote(told.store)


def trial_of(told: Explanation) -> str:
    return told.explained.evidence.signals.trial[:ID_CHARS]


def trace_command(told: Explanation) -> Apart:
    return Apart(f"toolablate show {_store(told)} {trial_of(told)}")


def _events(events: Sequence[int]) -> str:
    return f"event{'' if len(events) == 1 else 's'} {', '.join(map(str, events))}"


def _note(note: str) -> str:
    """Whole: it is a sentence of ours, and what it quotes is short."""
    return one_line(note, max_chars=NOTE_CHARS)
