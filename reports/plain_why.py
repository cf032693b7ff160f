"""Why one trial went as it did, in four short parts: what went wrong and how sure that is; how it is known; what speaks
against it; what is not known, and the command that would tell.

Every sentence is made of the numbers that stand in the table below it (`rows`) and of the probabilities of causes:
- The cause that is named is the most probable one. Chance and the model's own error need no tool, and count together.
- The word for how sure it is depends on its probability alone (`WORDS`); under .5 there is none.
- "because of" stands only where runs without the cause are right more often than any in which it is at work. Both
  counts stand in one sentence, and the next one says whether their intervals overlap: nothing is "decided" by counts.
- Of one cause there is one probability. Where the trace alone said otherwise, it is told what the replays left of it.
- What no run tells apart is named together.
- An event is named to look at only where the page has a line for it.
- "Wrong before any tool" stands where under half of the early answers before the first call are right, and only there.
- What replays of the trial measured, what other trials of its question came to, and what is read from the trace (a
  hypothesis) are named apart.
- A place where early answers get worse is an inference, and is told with what it is made from.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from toolablate.analysis.answer_relation import SAID, relation_of
from toolablate.analysis.attribution.evidence import Evidence, Explanation
from toolablate.analysis.attribution.levels import AGAIN, REPEATED, WITHOUT_TOOLS
from toolablate.analysis.attribution.replay_rules import (
    LIKELY,
    OF_PARTS,
    ORDER,
    deciding,
    levels_without,
    taken_together,
)
from toolablate.analysis.attribution.trace_rules import BY_CHANCE, sign_of
from toolablate.analysis.pairing import RIGHT
from toolablate.reports.cause_wording import chance, distraction_name
from toolablate.reports.causes import (
    beside,
    deciding_rows,
    deciding_told,
    how_sure,
    named,
    not_apart,
    of_chance,
    ranked,
    repeats_of,
    restores,
    rows_of_chance,
    without_cause,
)
from toolablate.reports.changed_runs import (
    BEFORE_CALLS,
    IGNORING,
    Row,
    capital,
    levels_of,
    of_scores,
    row_of,
)
from toolablate.reports.not_known import Said, not_known
from toolablate.reports.turn import AT_CALLS, told_turn, turn_of
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
        yield _basis(attribution)
        yield from _how_distracted(attribution)
        yield from _related(told)
    yield from _early(told, "verdict")


_TELLING = ("sign", "scale", "rounding", "unit", "off_by_one", "close", "wording", "part", "more")
"""Relations of a wrong answer to the right one that say what went wrong."""


def _related(told: Explanation) -> Iterator[str]:
    relation = relation_of(told.question, told.explained.evidence.score, "")
    if relation in _TELLING:
        yield f"Its answer beside the right one: {SAID[relation]}."


def _basis(attribution: Attribution) -> str:
    if attribution.method == "replay":
        return "Measured by replays: runs with something changed, counted below."
    not_run = "This trial itself has not been run again with a change"
    if ranked(attribution)[0][0] == "unknown":
        return f"Not measured. {not_run}."
    read = "a judge read it so" if attribution.method == "judge" else "it is read from the trace and from other trials"
    return f"A hypothesis, not measured: {read}. {not_run}."


def _headline(attribution: Attribution, evidence: Evidence) -> str:
    (cause, probability), *others = ranked(attribution)
    known, name = chance(probability), _named_together(cause, attribution, evidence)
    if cause == "unknown":
        return f"The cause is not known. That it is something of the condition, and not chance: probability {known}."
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
        return (
            f"No cause is more likely than not. The likeliest is {name}: probability {known}{after}."
            f"{_without_tools_alike(attribution)}"
        )
    if attribution.method == "replay" and cause not in BY_CHANCE and restores(cause, evidence):
        return f"{capital(word)} wrong because of {name}: probability {known}."
    return f"{capital(word)} {name}: probability {known}."


def _named_together(cause: Mechanism, attribution: Attribution, evidence: Evidence) -> str:
    """With what no run tells it from; a sign in the trace tells what calls did from what is there before any."""
    beside = not_apart(cause, evidence)
    if not beside or (attribution.method != "replay" and not {cause, *beside} <= {"availability", "prompt"}):
        return named(cause)
    return f"{' or '.join(map(named, (cause, *beside)))}, which no run tells apart"


def _without_tools_alike(attribution: Attribution) -> str:
    """Of two causes that need no tool, where they are likely together and neither is alone."""
    shares = dict(ranked(attribution))
    both = [shares[each] for each in BY_CHANCE if each in shares]
    if len(both) < 2 or math.fsum(both) < LIKELY:
        return ""
    return f" Chance and the model's own error need no tool: probability {chance(math.fsum(both))} together."


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
    """Nothing where half of them are right, which tells nothing."""
    attribution, trajectory = told.explained.attribution, told.explained.evidence.trajectory
    first = next((each for each in trajectory.beliefs if each.step == 0), None) if trajectory else None
    if first is None or first.right.mean == RIGHT:
        return
    wrong = first.right.mean < RIGHT
    if _place_of(attribution, wrong=wrong) != place:
        return
    before = "wrong before any tool" if wrong else "right before any tool"
    before = capital(before if first.right.mean in (0.0, 1.0) else f"mostly {before}")
    right = round(first.right.mean * first.samples)
    yield (
        f"{before}: {right} of {first.samples} early answers, asked for before the first call, are right."
        f"{_so(attribution, wrong=wrong)}"
    )


def _so(attribution: Attribution | None, *, wrong: bool) -> str:
    if attribution is None:
        return ""
    if not wrong:
        return " So the model had the right answer before its first call."
    by_tool = ranked(attribution)[0][0] not in _BEFORE_TOOLS
    return " So the error may need no tool." if by_tool else " So no call is needed for the error."


def _place_of(attribution: Attribution | None, *, wrong: bool) -> _Place:
    if attribution is None:
        return "verdict"
    cause = ranked(attribution)[0][0]
    if cause in ("sampling_noise", "unknown"):
        return "known"
    if cause in _BEFORE_TOOLS:
        return "known" if wrong else "against"
    return "against" if wrong else "known"


# How it is known: the runs that decide it, then what else supports it.


NOTE_CHARS = 4_000


def _known(told: Explanation) -> Iterator[Said]:
    attribution, evidence = told.explained.attribution, told.explained.evidence
    if attribution is None:
        return
    cause = ranked(attribution)[0][0]
    yield from deciding_told(attribution, evidence)
    yield from _ignoring(cause, evidence, comes_back=True)
    yield from _early(told, "known")
    yield from _sign_of_it(told)
    turn = turn_of(evidence)
    if turn is not None and turn.sure and cause in AT_CALLS:
        yield told_turn(turn)
    yield from _look_at(told)
    for diagnosis in evidence.diagnoses:
        yield from _read_by(diagnosis)
    yield from _of_probability(attribution, evidence)


def _look_at(told: Explanation) -> Iterator[str]:
    """Where it went wrong, if the place of the turn has not said it: lines of the page, each by its first event."""
    attribution, evidence = told.explained.attribution, told.explained.evidence
    assert attribution is not None
    cause, turn = ranked(attribution)[0][0], turn_of(evidence)
    placed = cause in AT_CALLS and evidence.trajectory is not None
    if placed and (turn is None or not turn.sure):
        # What is not known says so.
        return
    lines = (*evidence.steps, *(call.event for call in evidence.signals.calls if call.by_provider))
    events = {max((line for line in lines if line <= event), default=event) for event in attribution.evidence}
    if placed and turn is not None:
        events -= set(range(turn.start, turn.end))
    if events:
        yield f"Look at {_events(sorted(events))}."


def _sign_of_it(told: Explanation) -> Iterator[str]:
    """What the trace itself says of the cause, where that does not come too late."""
    attribution, evidence = told.explained.attribution, told.explained.evidence
    assert attribution is not None
    cause, sign = ranked(attribution)[0][0], _sign(evidence)
    if sign is not None and sign[0] == cause and not _late(cause, sign[1], evidence):
        yield f"The trace has a sign of it: {_note(sign[2])}."
    elif attribution.method == "trace" and cause not in BY_CHANCE and (sign is None or sign[0] != cause):
        yield "The trace itself has no sign of a cause." if sign is None else "The trace itself has no sign of it."


def _sign(evidence: Evidence) -> tuple[Mechanism, tuple[int, ...], str] | None:
    return sign_of(evidence.signals, evidence.score, evidence.inputs.arms.scaffold)


def _late(cause: Mechanism, events: Sequence[int], evidence: Evidence) -> bool:
    """Whether a sign of what acts at calls lies after the place where early answers got worse."""
    turn = turn_of(evidence)
    return turn is not None and turn.sure and cause in AT_CALLS and min(events, default=-1) >= turn.end


def _of_probability(attribution: Attribution, evidence: Evidence) -> Iterator[str]:
    """What a probability is made of that no two counts give."""
    if attribution.method == "replay":
        yield "The probability weighs all runs of the table below: few runs weigh little."
    elif attribution.method == "trace":
        cause, sign = ranked(attribution)[0][0], _sign(evidence)
        how_often = "how often the model is wrong with and without tools, over all questions"
        signed = sign is not None and sign[0] == cause and cause not in (*BY_CHANCE, "unknown")
        yield f"The probability weighs {'that sign, and ' if signed else ''}{how_often}."


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


_MUCH = 0.5
"""So much more often other trials of the question are right without another cause that a page tells it."""
_POSSIBLE, MOST_OTHERS = 0.1, 2
"""Other causes are named from this probability on, and so many at most."""


def _against(told: Explanation) -> Iterator[Said]:
    attribution, evidence = told.explained.attribution, told.explained.evidence
    if attribution is None:
        return
    said = [
        *_early(told, "against"),
        *_turn_against(attribution, evidence),
        *_runs_against(attribution, evidence),
        *_ignoring(ranked(attribution)[0][0], evidence, comes_back=False),
        *_other_causes(attribution, evidence),
        *_other_trials(attribution, evidence),
        *_trace_against(told),
    ]
    yield from said or [_nothing_against(attribution)]


def _nothing_against(attribution: Attribution) -> str:
    cause, probability = ranked(attribution)[0]
    others = "Chance" if cause == "unknown" else "Other causes together"
    likelier = ", and likelier than this one" if probability < LIKELY else ""
    return f"No run and no sign of the trace. {others}: probability {chance(1 - probability)}{likelier}."


def _turn_against(attribution: Attribution, evidence: Evidence) -> Iterator[str]:
    """A place where early answers surely get worse, of a cause that acts at no call, or at a later event."""
    cause, turn = ranked(attribution)[0][0], turn_of(evidence)
    if turn is None or not turn.sure or cause in (*AT_CALLS, "unknown"):
        return
    later = min(attribution.evidence, default=None)
    if later is None or cause in _BEFORE_TOOLS:
        yield f"{told_turn(turn)} What happens there may be the cause."
    elif turn.start < later:
        yield f"{told_turn(turn)} That is earlier than this cause."


def _runs_against(attribution: Attribution, evidence: Evidence) -> Iterator[str]:
    cause = ranked(attribution)[0][0]
    if cause in BY_CHANCE:
        yield from (f"{row.sentence}." for row in _rows_against(cause, evidence))
        return
    runs = deciding_rows(cause, evidence)
    if runs and not restores(cause, evidence):
        yield f"Runs without it are right no more often. {beside(*runs)}."
    elif found := deciding(cause, evidence):
        lacking = (row_of(level, evidence) for level in levels_without(cause, evidence))
        # What was asked before any call is told by itself.
        others = (row for row in lacking if row.changed != BEFORE_CALLS)
        worst = min(others, key=lambda row: row.share, default=None)
        if worst is not None and worst.share < min(RIGHT, found[0].share):
            yield f"Not all runs without it are right: {worst.changed}, {worst.count}."


def _rows_against(cause: Mechanism, evidence: Evidence) -> Iterator[Row]:
    if cause == "own_error":
        said = rows_of_chance(cause, evidence)
        right = (row for row in without_cause(cause, evidence) if row.share >= RIGHT and row not in said)
        yield from (row for row in right if not row.changed.startswith(BEFORE_CALLS))
        return
    yield from (row for row in without_cause(cause, evidence) if row.share < RIGHT)
    yield from (row for row in levels_of(evidence) if row.changed.startswith(AGAIN) and not row.right)
    repeats = repeats_of(evidence)
    if repeats is not None and not repeats.right:
        yield repeats


def _other_causes(attribution: Attribution, evidence: Evidence) -> Iterator[str]:
    for cause, probability in _others(attribution):
        yield f"It may instead be {named(cause)}: probability {chance(probability)}.{_runs_of(cause, evidence)}"


def _others(attribution: Attribution) -> list[tuple[Mechanism, float]]:
    """Those that are told, with their probabilities."""
    return [each for each in ranked(attribution)[1:] if each[1] >= _POSSIBLE][:MOST_OTHERS]


def _runs_of(cause: Mechanism, evidence: Evidence) -> str:
    """What runs say of another cause, where they say something for it."""
    if cause in BY_CHANCE:
        found = next(of_chance(cause, evidence), "")
        return f" {found}" if found else ""
    rows = deciding_rows(cause, evidence)
    return f" {beside(*rows, what='it')}." if rows and restores(cause, evidence) else ""


def _other_trials(attribution: Attribution, evidence: Evidence) -> Iterator[str]:
    """Of a trial that was not replayed the other cause that its question's other trials show most."""
    if attribution.method == "replay":
        return
    cause, kinds = ranked(attribution)[0][0], evidence.inputs.tools
    beside_it = {cause, *taken_together(cause, evidence)}
    causes = {*(OF_PARTS[kind] for kind in kinds if len(kinds) == 1), "volume", "calling", "availability", "prompt"}
    shown: list[tuple[Mechanism, Row, Row]] = []
    for each in ORDER:
        undone, before = (deciding_rows(each, evidence) if each in causes - beside_it else None) or (None, None)
        # What all of a condition adds is no one cause.
        whole = undone and before and (undone.changed, before.changed) == (WITHOUT_TOOLS, REPEATED)
        if undone and before and not whole and undone.share - before.share >= _MUCH:
            shown.append((each, undone, before))
    if shown:
        other, undone, before = max(shown, key=lambda each: (each[1].share - each[2].share, each[1].share))
        yield f"Other trials fit {named(other)} as well. {beside(undone, before, what='it')}."


def _trace_against(told: Explanation) -> Iterator[str]:
    attribution, evidence = told.explained.attribution, told.explained.evidence
    assert attribution is not None
    (cause, _), *_ = ranked(attribution)
    sign = _sign(evidence)
    if sign is not None and sign[0] == cause and _late(cause, sign[1], evidence):
        turn = turn_of(evidence)
        assert turn is not None
        yield (
            f"The sign of it in the trace ({_events(sign[1])}) comes after early answers got worse ({turn.where}):"
            f" {_note(sign[2])}."
        )
    for other in told.explained.hypotheses:
        if other.mechanism not in (cause, "unknown") and other.confidence >= LIKELY:
            yield _read_otherwise(other, attribution)
    if sign is not None and sign[0] not in (cause, "own_error"):
        late = ["after early answers got worse"] if _late(sign[0], sign[1], evidence) else []
        where = ", ".join([*([_events(sign[1])] if sign[1] else []), *late])
        at = f" ({where})" if where else ""
        tested = _tested(sign[0], attribution, evidence)
        yield f"The trace has a sign of {named(sign[0])}: {_note(sign[2])}{at}.{tested}"


def _read_otherwise(other: Attribution, attribution: Attribution) -> str:
    """Another reading, and what replays left of it."""
    by = "A judge" if other.method == "judge" else "The trace alone"
    shares = dict(attribution.shares) if attribution.method == "replay" else {}
    measured = f"; the replays leave it {chance(shares.get(other.mechanism, 0.0))}" if shares else ""
    return f"{by} points to {named(other.mechanism)}, a hypothesis: probability {chance(other.confidence)}{measured}."


def _tested(cause: Mechanism, attribution: Attribution, evidence: Evidence) -> str:
    """What replays say of a sign, where the page has not said it of another cause."""
    rows = deciding_rows(cause, evidence)
    if attribution.method != "replay" or rows is None or cause in [each for each, _ in _others(attribution)]:
        return ""
    if restores(cause, evidence):
        return f" {beside(*rows, what='it')}."
    return f" Replays do not bear it out: {rows[0].changed}, {rows[0].count} right."


def _events(events: Sequence[int]) -> str:
    return f"event{'' if len(events) == 1 else 's'} {', '.join(map(str, events))}"


def _note(note: str) -> str:
    """Whole: it is a sentence of ours, and what it quotes is short."""
    return one_line(note, max_chars=NOTE_CHARS)
