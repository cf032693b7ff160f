"""Early answers that do not fit a cause: wrong before it, right after it, or turning at another place."""

from collections.abc import Iterator, Sequence

from toolablate.analysis.attribution.evidence import Evidence, Explanation
from toolablate.analysis.attribution.replay_rules import calls_are_lock_in
from toolablate.analysis.attribution.signals.signal_types import CallSeen
from toolablate.analysis.attribution.trace_rules import BY_CHANCE
from toolablate.analysis.pairing import RIGHT
from toolablate.reports.why.causes import with_chance
from toolablate.reports.why.changed_runs import BEFORE, Row
from toolablate.reports.why.happened import OF_FORMS, happened, named_in_reply, own_events
from toolablate.reports.why.turn import (
    AT_CALLS,
    Turn,
    asked_at,
    count,
    first_said,
    likely_turn,
    right_until,
    split_at,
    turn_of,
    unsure_turn,
)
from toolablate.traces.records import Mechanism
from toolablate.traces.terminal_text import one_line

_BEFORE_CALLS: tuple[Mechanism, ...] = (*BY_CHANCE, "availability", "prompt")
NEEDS_NO_CALL = "the error may need no call"
OF_RESULTS: tuple[Mechanism, ...] = ("lock_in", "retrieval_distraction", "other_results", "interaction", "volume")


def early_answers_against(cause: Mechanism, told: Explanation) -> Iterator[str]:
    """Where answers that were asked for at once do not fit a cause."""
    evidence = told.explained.evidence
    asked, right = evidence.at_outset
    others = len(evidence.outset)
    whose = f" ({Row(BEFORE, asked, right, elsewhere=others).asked_where})" if others else ""
    outset = f"Before any call {right:g} of {asked} early answers are right{whose}"
    if cause not in (*BY_CHANCE, "availability", "prompt", "unknown") and 2 * right < asked:
        yield f"{outset}: {'it may not have known the answer' if cause == 'format' else NEEDS_NO_CALL}."
    own = [each for each in asked_at(evidence) if each.step == 0]
    yield from _said_before(cause, told)
    if cause == "own_error" and 2 * right > asked:
        yield f"{outset}."
    elif cause == "own_error" and own and count(own).share > RIGHT:
        yield f"In this trial {count(own)} early answers before any call are right."
    yield from _wrong_before(cause, told)
    yield from _said_since_a_result(cause, told)
    named = named_in_reply(told) if cause == "format" and evidence.score.verdict == "unparsed" else None
    if named and not named[1]:
        yield f"Its last reply names “{named[0]}”, which would be wrong in any form."
    yield from turn_against(cause, told)


def _said_before(cause: Mechanism, told: Explanation) -> Iterator[str]:
    """That early answers before any call, or else before the event that is blamed, are its wrong answer already."""
    if cause not in (*AT_CALLS, "budget"):
        return
    evidence, at = told.explained.evidence, happened(cause, told).event if cause in AT_CALLS else None
    answer, asked = ", ".join(evidence.score.extracted), asked_at(evidence)
    at_once = [each for each in asked if each.step == 0]
    earlier = [] if at is None else [each for each in asked if each.step == 0 or evidence.steps[each.step] <= at]
    # Where it turned before that event says more.
    earlier = [] if any(turn_against(cause, told)) else earlier
    for steps, when, least in ((at_once, "before any call too", 0.0), (earlier, f"before event {at} already", OFTEN)):
        said = sum(round(each.options[answer].mean * each.samples) for each in steps if answer in each.options)
        if said and said >= least * count(steps).asked:
            times = f"{said} of {count(steps).asked} early answers"
            yield f"It gave its wrong answer, {one_line(answer, max_chars=60)}, {when}: {times}."
            return


OFTEN = 0.25
"""Of early answers before an event. Fewer that are the wrong answer already say little."""


def _said_since_a_result(cause: Mechanism, told: Explanation) -> Iterator[str]:
    """That early answers are its wrong answer only since a result that is none of this cause's."""
    evidence = told.explained.evidence
    found = first_said(evidence)
    if found is None or cause in ("interaction", "format", "unknown", "volume"):
        return
    place, answer = found
    forms = {OF_FORMS[call.form] for call in _calls_within(place, evidence, gave=True)}
    if len(forms) == 1 and cause not in forms:
        (rival,) = forms
        yield (
            f"No early answer before event {place.start} is {one_line(answer, max_chars=60)} (0 of"
            f" {place.before.asked}), and {place.after} from then on: {with_chance(rival, told)} would explain"
            " that."
        )


def turn_against(cause: Mechanism, told: Explanation) -> Iterator[str]:
    """Where early answers turn wrong at another place than the cause could make them."""
    evidence = told.explained.evidence
    if cause in AT_CALLS and right_until(happened(cause, told).event, evidence):
        return
    turn = turn_of(evidence)
    if turn is None:
        yield from _unsure_turn_against(cause, told)
    elif told.explained.attribution is not None:
        yield from _sure_turn_against(cause, turn, told)


def _unsure_turn_against(cause: Mechanism, told: Explanation) -> Iterator[str]:
    evidence, beliefs = told.explained.evidence, asked_at(told.explained.evidence)
    if cause in _BEFORE_CALLS:
        if likely := likely_turn(evidence, None):
            yield f"Early answers turn wrong, likeliest {likely.where} ({likely.counts})."
        elif (place := unsure_turn(evidence)) and place.before.share > RIGHT > place.after.share:
            yield f"Early answers turn wrong at no clear place; likeliest {place.where}: {place.counts}."
        return
    event, near = happened(cause, told).event, likely_turn_at(cause, told)
    asked_after = len(beliefs) > 1 and (event is None or evidence.steps[beliefs[-1].step] > event)
    if cause in AT_CALLS and asked_after and near is None:
        yield _at_no_clear_place(event, evidence)
    elif (
        cause == "calling" and near and _calls_within(near, evidence, gave=True) and _right_after_calls(near, evidence)
    ):
        where = f"Early answers turn wrong, likeliest {near.where} ({near.counts})"
        yield f"{where}, at a result; {_BY_NUMBER}"
    elif (
        cause in OF_RESULTS
        and near is not None
        and not _calls_within(near, evidence, gave=True)
        and not (cause == "lock_in" and calls_are_lock_in(evidence))
    ):
        yield f"Early answers turn wrong, likeliest {near.where}, before any result of that call ({near.counts})."


def likely_turn_at(cause: Mechanism, told: Explanation) -> Turn | None:
    """The likeliest place, where it is not known, if it holds the event of the cause, or the result of its code."""
    near = (likely_turn(told.explained.evidence, each) for each in own_events(cause, told) or [None])
    return next((each for each in near if each is not None), None)


def _sure_turn_against(cause: Mechanism, turn: Turn, told: Explanation) -> Iterator[str]:
    evidence = told.explained.evidence
    there, gave = (_calls_within(turn, evidence, gave=each) for each in (False, True))
    at, own = f"Early answers turn wrong {turn.where} ({turn.counts})", own_events(cause, told)
    if cause in _BEFORE_CALLS:
        yield f"{at}{f', where a call gave {_ITS_RESULT[bool(gave)]}' if there else ''}."
    elif cause in ("budget", "format"):
        known = any(_said_since_a_result(cause, told))
        rivals = [] if known else [OF_FORMS[call.form] for call in gave[-1:]]
        fits = "".join(f"; {with_chance(each, told)} would explain that" for each in rivals)
        yield from [f"{at}, before its last reply{fits}."] if turn.end <= (own[0] if own else turn.end) else []
    elif cause == "calling" and gave and _right_after_calls(turn, evidence):
        yield f"{at}, at a result; {_BY_NUMBER}"
    elif cause == "tool_fault":
        failed = any(turn.holds(each.event) and each.kind != "exception" for each in evidence.signals.troubles)
        own_code = any(turn.holds(each.event) for each in evidence.signals.troubles)
        which = "only its own code failed" if own_code else "no tool failed"
        yield from [] if failed else [f"{at}, where {which}."]
    elif cause in OF_RESULTS:
        late = f", and the event that shows it came later (event {own[0]})" if own and own[0] >= turn.end else ""
        none = ", where a call gave nothing" if there else ", before any result of that call"
        by_calls = cause == "lock_in" and calls_are_lock_in(evidence)
        where = late if gave else "" if by_calls else none
        yield from [f"{at}{where}."] if where else []


_ITS_RESULT = ("nothing", "its result")
_BY_NUMBER = (
    "after the calls before it early answers were still mostly right. As the cause, calls would act by how many they"
    " are."
)


def _calls_within(turn: Turn, evidence: Evidence, *, gave: bool) -> Sequence[CallSeen]:
    """Those that gave something, or all."""
    return [call for call in evidence.signals.calls if turn.holds(call.event) and (call.gave or not gave)]


def _right_after_calls(turn: Turn, evidence: Evidence) -> bool:
    """Whether early answers after the first call, and before the turn, are mostly right."""
    between = [each for each in asked_at(evidence) if each.step and evidence.steps[each.step] <= turn.start]
    return bool(between) and count(between).share > RIGHT


def _at_no_clear_place(event: int | None, evidence: Evidence) -> str:
    first = evidence.steps[0] if event is None else event
    before, after = split_at(first, evidence)
    where = "after its first call" if event is None else f"from event {event} on"
    up_to = f"; before it: {before} right" if before else ""
    if after is not None and after.share > RIGHT:
        return f"Early answers are still mostly right {where}: {after}{up_to}."
    if near := likely_turn(evidence, None):
        named = "" if event is None else f", and the event that shows it is event {event}"
        return f"Early answers turn wrong, likeliest {near.where}{named}: {near.counts}."
    if place := unsure_turn(evidence):
        return f"Early answers turn wrong at no clear place; likeliest {place.where}: {place.counts}."
    return f"Early answers turn wrong at no clear place; {where}: {after} right{up_to}."


def said_at_once(evidence: Evidence) -> bool:
    """Whether an early answer of this trial before any call is its answer."""
    own = ", ".join(evidence.score.extracted)
    return any(each.step == 0 and own in each.options and each.options[own].mean > 0 for each in asked_at(evidence))


def _wrong_before(cause: Mechanism, told: Explanation) -> Iterator[str]:
    """Early answers between the first call and a blamed event that are wrong already."""
    evidence, at = told.explained.evidence, happened(cause, told).event
    if cause not in AT_CALLS or at is None:
        return
    earlier = [each for each in asked_at(evidence) if each.step and evidence.steps[each.step] <= at]
    if earlier and count(earlier[-1:]).share < RIGHT and not any(turn_against(cause, told)):
        step = earlier[-1].step
        yield (
            f"It was mostly wrong before event {at} already: {count(earlier[-1:])} right, asked at once after event"
            f" {evidence.steps[step] - 1}."
        )
