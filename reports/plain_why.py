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

from toolablate.analysis.answer_relation import SAID, relation_of
from toolablate.analysis.attribution.evidence import Evidence, Explanation
from toolablate.analysis.attribution.levels import WITHOUT_TOOLS
from toolablate.analysis.attribution.replay_rules import LIKELY
from toolablate.analysis.attribution.trace_rules import BY_CHANCE, expected_in
from toolablate.analysis.pairing import RIGHT
from toolablate.reports.cause_wording import distraction_name, probable
from toolablate.reports.causes import deciding_told, how_sure, named, not_apart, ranked, restores, together
from toolablate.reports.changed_runs import IGNORING, RE_ASKED, REPEATS, capital, levels_of, rows
from toolablate.reports.not_known import Said, not_known
from toolablate.reports.turn import AT_CALLS, told_turn, turn_of
from toolablate.reports.why_against import against
from toolablate.reports.why_signs import (
    Sign,
    early,
    events_named,
    first_of,
    ignoring,
    is_elsewhere,
    is_late,
    lines_of,
    noted,
    same_without_tools,
    sign_in,
)
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
        WhyPart("What speaks against it", tuple(against(told))),
        WhyPart("What is not known", tuple(not_known(told))),
    )
    return tuple(part for part in found if part.lines)


# What went wrong, and how sure that is.


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
    yield from early(told, "verdict")


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
    known, name = probable(probability), _named_together(cause, attribution, evidence)
    if cause == "unknown":
        return f"The cause is not known. That it is something of the condition, and not chance: probability {known}."
    if others and others[0][1] > probability:
        together = probable(math.fsum(share for each, share in ranked(attribution) if each in BY_CHANCE))
        names = " or ".join(named(each) for each in BY_CHANCE)
        return (
            f"{capital(names)}: probability {together} together."
            f" {capital(named(others[0][0]))} alone: {probable(others[0][1])}."
        )
    word = how_sure(probability)
    if not word:
        after = f", then {named(others[0][0])}, {probable(others[0][1])}" if others else ""
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
    return f" Chance and the model's own error need no tool: probability {probable(math.fsum(both))} together."


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


# How it is known: the runs that decide it, then what else supports it.


def _known(told: Explanation) -> Iterator[Said]:
    attribution, evidence = told.explained.attribution, told.explained.evidence
    if attribution is None:
        return
    cause = ranked(attribution)[0][0]
    together_first = attribution.method == "replay" and cause != "sampling_noise" and bool(together(cause, evidence))
    if together_first:
        yield from _of_probability(attribution, evidence)
    yield from deciding_told(attribution, evidence)
    yield from ignoring(cause, evidence, comes_back=True)
    yield from early(told, "known")
    yield from same_without_tools(told) if cause in BY_CHANCE else ()
    yield from _sign_of_it(told)
    turn = turn_of(evidence)
    if turn is not None and turn.sure and cause in AT_CALLS and not is_elsewhere(turn, attribution):
        yield told_turn(turn)
    yield from _look_at(told)
    for diagnosis in evidence.diagnoses:
        yield from _read_by(diagnosis)
    if not together_first:
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
    events = set(lines_of(attribution.evidence, evidence))
    if placed and turn is not None:
        events -= set(range(turn.start, turn.end))
    if (sign := _own_sign(told)) is not None:
        events -= {*_at_one(sign, evidence), *(sign[1] if cause == "own_error" else ())}
    if events:
        also = " also" if placed else ""
        yield f"Look{also} at {events_named(sorted(events))}."


def _own_sign(told: Explanation) -> Sign | None:
    """What the trace itself says of the cause, where that does not come too late."""
    evidence, cause, sign = told.explained.evidence, first_of(told), sign_in(told.explained.evidence)
    return sign if sign and sign[0] == cause and not is_late(cause, sign[1], evidence) else None


def _at_one(sign: Sign, evidence: Evidence) -> Sequence[int]:
    """Its event, if it has one: of several no one is what the note is of."""
    if sign[0] == "own_error":
        # What the program says stands in the reply that calls it.
        return [max((line for line in evidence.steps if line < event), default=event) for event in sign[1][:1]]
    found = lines_of(sign[1], evidence)
    return found if len(found) == 1 else ()


def _sign_of_it(told: Explanation) -> Iterator[str]:
    attribution, evidence = told.explained.attribution, told.explained.evidence
    assert attribution is not None
    cause, sign = ranked(attribution)[0][0], sign_in(evidence)
    if (own := _own_sign(told)) is not None:
        there, turn = _at_one(own, evidence), turn_of(evidence)
        earlier = turn is not None and turn.sure and cause in AT_CALLS and there and there[0] < turn.start
        at = f" ({events_named(there)}{', before early answers get worse' if earlier else ''})" if there else ""
        yield f"The trace has a sign of it: {noted(own[2])}{at}."
    elif attribution.method == "trace" and cause not in BY_CHANCE and (sign is None or sign[0] != cause):
        yield "The trace itself has no sign of a cause." if sign is None else "The trace itself has no sign of it."


def _of_probability(attribution: Attribution, evidence: Evidence) -> Iterator[str]:
    """What a probability is made of that no two counts give."""
    if attribution.method == "replay":
        if ranked(attribution)[0][0] == "format":
            yield "The probability is the share of these, drawn towards one half as they are few."
            return
        yield f"The probability weighs the runs below together{_together(attribution, evidence)}."
        if ranked(attribution)[0][0] in BY_CHANCE:
            yield (
                "Where nothing that is taken away makes it right, it is called chance if the model is right at least"
                " half the time without tools, else its own error."
            )
    elif attribution.method == "trace":
        cause, sign = ranked(attribution)[0][0], sign_in(evidence)
        how_often = "how often the model is wrong with and without tools, over all questions"
        signed, expected = sign is not None and sign[0] == cause != "sampling_noise", expected_in(attribution.note)
        if signed and not expected:
            yield "The probability is that of such a sign, set by hand."
            return
        yield f"The probability weighs {'that sign, and ' if signed else ''}{how_often}."
        if expected:
            yield (
                f"Of 100 wrong trials of questions with counts like these, about {expected} are expected to be wrong"
                " without tools as well: by chance, or by the model's own error."
            )


_ASIDE: Mapping[str, str] = {
    REPEATS: ", which are other trials",
    IGNORING: ", which asks otherwise",
    RE_ASKED: ", which asks otherwise",
}
"""Why rows of the table are not weighed."""


def _together(attribution: Attribution, evidence: Evidence) -> str:
    """Which runs these are, and what they come to."""
    cause = ranked(attribution)[0][0]
    sums, aside = together(cause, evidence), [row.changed for _, some in rows(evidence) for row in some]
    aside = [changed for changed in aside if changed not in {row.changed for row in levels_of(evidence)}]
    listed = "; ".join(f"{each}{_ASIDE.get(each, '')}" for each in aside)
    left = f" (not counted: {listed})" if aside else ""
    if len(sums) == 1:
        return f": of all {sums[0].runs:g}, {sums[0].right:g} are right{left}"
    return (
        f": of all runs {sums[0].changed} {sums[0].count} are right, of all {sums[1].changed} {sums[1].count}{left}"
        if sums
        else ""
    )


def _read_by(diagnosis: Diagnosis) -> Iterator[str]:
    judge = one_line(diagnosis.judge)
    if diagnosis.error_type is None:
        yield f"Judge {judge} gave no label: {one_line(diagnosis.reason)}"
        return
    at = f" ({events_named(diagnosis.evidence)})" if diagnosis.evidence else ""
    error = diagnosis.error_type.replace("_", " ")
    yield f"Judge {judge}: {error}{at}, a hypothesis: {one_line(diagnosis.reason)}"
    if diagnosis.distraction:
        at = f" ({events_named(diagnosis.distraction_evidence)})" if diagnosis.distraction_evidence else ""
        reason = one_line(diagnosis.distraction_reason)
        yield f"Distraction: {distraction_name(diagnosis.distraction)}{at}, a hypothesis: {reason}"
