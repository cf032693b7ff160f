"""What speaks against the likeliest cause of a wrong trial: the other causes, and rows and signs that do not fit it."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import combinations

from toolablate.analysis.attribution.evidence import Evidence, Explanation
from toolablate.analysis.attribution.levels import EXTENDED, SHAM
from toolablate.analysis.attribution.trace_rules import BY_CHANCE, outside_signs, ran_out, unrecovered
from toolablate.analysis.pairing import RIGHT
from toolablate.reports.cause_wording import chance
from toolablate.reports.causes import (
    FEW,
    POSSIBLE,
    Shares,
    as_likely,
    deciding_rows,
    defined,
    hundred,
    one_change,
    quoted_name,
    ranked,
    same_rows,
    shares_of,
    sides,
    unchanged,
    without_tools,
)
from toolablate.reports.changed_runs import (
    AS_WAS,
    ASKED_OTHERWISE,
    BEFORE,
    IGNORING,
    RE_ASKED,
    REPEATS,
    Row,
    asked_before,
    capital,
    levels_of,
    of_scores,
    uncounted,
)
from toolablate.reports.happened import (
    OF_FORMS,
    Said,
    failed_for_a_time,
    gave_nothing,
    happened,
    named_in_reply,
    never_without_tools,
    same_without_tools,
    sign_in,
)
from toolablate.reports.run_groups import total
from toolablate.reports.turn import (
    AT_CALLS,
    asked_at,
    count,
    right_until,
    since_adopted,
    split_at,
    told_since,
    turn_of,
)
from toolablate.traces.records import Attribution, Mechanism
from toolablate.traces.terminal_text import one_line

_OF_NO_EVENT: tuple[Mechanism, ...] = ("availability", "prompt", "calling")
"""Of these the trace shows nothing."""
MOST_ROWS = 5
LEAST_LEFT = 0.03
"""What is likelier is named, of what is not told by itself."""


def against(told: Explanation) -> Iterator[Said]:
    attribution, evidence = told.explained.attribution, told.explained.evidence
    if attribution is None:
        return
    shares = named_shares(told, attribution)
    undecided = [cause for cause, _ in as_likely(shares)]
    apart = [each for each in shares.others if each[0] not in undecided]
    for cause, hundredths in apart:
        if hundredths < POSSIBLE and cause in BY_CHANCE:
            yield f"Less likely {defined(cause)}: {hundred(hundredths)}.{_raised_by(cause, told)}"
        elif hundredths < POSSIBLE:
            gone = [row.told for row in (deciding_rows(cause, evidence) or ())[:1] if row is not None]
            pair = list(_side_by_side(cause, evidence))
            clause = [] if cause in _OF_NO_EVENT else [f"in the trace {happened(cause, told).clause}"]
            said = ". ".join(map(capital, (*clause, *(pair or gone)))) or "No row tests it apart"
            yield f"Less likely {defined(cause)}: {hundred(hundredths)}. {said}."
        else:
            yield f"It may be {defined(cause)}: {hundred(hundredths)}.{_raised_by(cause, told)}"
    found = [line for cause in (shares.cause, *undecided) for line in _misfits(cause, undecided, told, shares)]
    signs = list(_signs_of_others(told, shares))
    yield from found if found or apart or signs else ["Nothing found."]
    yield from _rest(attribution, shares, evidence)
    if signs:
        yield f"The trace has signs of causes that are less likely: {'; and '.join(signs)}."
    yield from _on_the_same_rows(shares, evidence)


def raised(told: Explanation) -> Iterator[str]:
    """What speaks for each that is as likely as the first."""
    attribution = told.explained.attribution
    assert attribution is not None
    evidence = told.explained.evidence
    for cause, _ in as_likely(named_shares(told, attribution)):
        again, bare = unchanged(evidence), without_tools(evidence)
        drawn = cause == "sampling_noise" and again and total(again).share < RIGHT
        if drawn or (cause == "own_error" and (bare is None or bare.share >= RIGHT)):
            yield f"For {quoted_name(cause)}: nothing shows it by itself; it is what the other causes leave."
            continue
        yield f"For {quoted_name(cause)}:{_raised_by(cause, told, capitals=False)}"


def _misfits(cause: Mechanism, undecided: Sequence[Mechanism], told: Explanation, shares: Shares) -> Iterator[str]:
    """Rows and early answers that do not fit a cause, also where they are told of another one that they fit."""
    attribution, evidence = told.explained.attribution, told.explained.evidence
    assert attribution is not None
    rows = _rows_against(cause, attribution, told)
    rows += [*_ignoring(cause, evidence), *_repeats_against(cause, attribution, evidence)]
    early = list(_early_answers_against(cause, told))
    # Early answers before any call are a row as well.
    rows = [row for row in rows if not (early and row.changed == BEFORE)]
    again = unchanged(evidence) if cause == "sampling_noise" else []
    texts = [drawn_again(again)] if again and total(again).share < RIGHT else []
    texts += [row.told for row in rows]
    more = f"; and {len(texts) - MOST_ROWS} more" if len(texts) > MOST_ROWS else ""
    if texts:
        yield f"Rows that do not fit {quoted_name(cause)}: {'; '.join(texts[:MOST_ROWS])}{more}."
    if half := _half_right(cause, evidence):
        yield f"Rows that are half right and fit neither way: {'; '.join(row.told for row in half)}."
    if cause == shares.cause:
        yield from _answers_without_tools(cause, shares, evidence)
    # Of several that are as likely each line says of which it speaks.
    yield from (f"Against {quoted_name(cause)}: {each[:1].lower()}{each[1:]}" if undecided else each for each in early)


def _on_the_same_rows(shares: Shares, evidence: Evidence) -> Iterator[str]:
    """Causes of the page that the same runs take away."""
    for one, other in combinations(shares.named, 2):
        if same_rows(one, other, evidence):
            yield (
                f"{quoted_name(one)} and {quoted_name(other)} rest on the same rows. How common each is in this store"
                " decides between them."
            )


def _rest(attribution: Attribution, shares: Shares, evidence: Evidence) -> Iterator[str]:
    if shares.rest:
        which = "All others together" if shares.others else "All other causes together"
        named = shares.named
        left = [(each, share) for each, share in ranked(attribution) if each not in named and share >= LEAST_LEFT]
        most = ""
        # That what was found misled it is no name for what acts where nothing was found.
        if left and not gave_nothing(left[0][0], evidence):
            most = f"; the likeliest of them is {defined(left[0][0])}, {chance(min(left[0][1], shares.rest / 100))}"
        if 200 * attribution.shares.get("unknown", 0.0) > shares.rest and "unknown" not in named:
            most = " (mostly something that the condition brings, of which there is no sign)"
        yield f"{which}: {hundred(shares.rest)}{most}."


def _answers_without_tools(cause: Mechanism, shares: Shares, evidence: Evidence) -> Iterator[str]:
    """Where trials without tools answer otherwise than they would if it were so."""
    if cause not in BY_CHANCE and "own_error" not in shares.named and (same := same_without_tools(evidence)):
        yield f"{same}, so the error may have nothing to do with tools."
    elif cause == "own_error" and not _said_at_once(evidence) and (never := never_without_tools(evidence)):
        yield f"{never}."


def _said_at_once(evidence: Evidence) -> bool:
    """Whether an early answer of this trial before any call is its answer."""
    own = ", ".join(evidence.score.extracted)
    return any(each.step == 0 and own in each.options and each.options[own].mean > 0 for each in asked_at(evidence))


def _signs_of_others(told: Explanation, shares: Shares) -> Iterator[str]:
    """What stands in the trace of causes that have no probability of their own on the page."""
    evidence = told.explained.evidence
    adopted = evidence.signals.adoption
    if adopted is not None and adopted.is_new:
        cause = OF_FORMS[adopted.form]
        if cause not in shares.named and "interaction" not in shares.named:
            pair = "".join(f"; {each}" for each in _side_by_side(cause, evidence))
            yield f"of {quoted_name(cause)}, as {happened(cause, told).clause}{pair}"
    if "tool_fault" not in shares.named:
        left = unrecovered(evidence.signals.troubles)
        if failed := happened("tool_fault", told).clause if left else failed_for_a_time(evidence):
            yield f"of {quoted_name('tool_fault')}, as {failed}"
    if "budget" not in shares.named and ran_out(evidence.signals):
        more = [row.told for row in levels_of(evidence) if row.changed == EXTENDED]
        yield f"of {quoted_name('budget')}, as {'; '.join((happened('budget', told).clause, *more))}"


def _early_answers_against(cause: Mechanism, told: Explanation) -> Iterator[str]:
    """Where answers that were asked for at once do not fit a cause."""
    evidence = told.explained.evidence
    asked, right = evidence.at_outset
    others = len(evidence.outset)
    whose = f" ({Row(BEFORE, asked, right, elsewhere=others).asked_where})" if others else ""
    outset = f"Before any call {right:g} of {asked} early answers are right{whose}"
    if cause not in (*BY_CHANCE, "availability", "prompt", "unknown") and 2 * right < asked:
        yield f"{outset}: {'it may not have known the answer' if cause == 'format' else 'the error may need no call'}."
    own = [each for each in asked_at(evidence) if each.step == 0]
    if own and cause in (*AT_CALLS, "budget") and _said_at_once(evidence):
        answer = ", ".join(evidence.score.extracted)
        said = sum(round(each.options[answer].mean * each.samples) for each in own if answer in each.options)
        times = f"{said} of {count(own).asked} early answers"
        yield f"It gave its wrong answer, {one_line(answer, max_chars=60)}, before any call too: {times}."
    if cause == "own_error" and 2 * right > asked:
        yield f"{outset}."
    elif cause == "own_error" and own and count(own).share > RIGHT:
        yield f"In this trial {count(own)} early answers before any call are right."
    yield from _wrong_before(cause, told)
    named = named_in_reply(told) if cause == "format" and evidence.score.verdict == "unparsed" else None
    if named and not named[1]:
        yield f"Its last reply names “{named[0]}”, which would be wrong in any form."
    since = since_adopted(evidence) if cause == "sampling_noise" and turn_of(evidence) is None else None
    if since and since[1].share < RIGHT:
        yield f"{told_since(*since)}."
    yield from turn_against(cause, told)


def turn_against(cause: Mechanism, told: Explanation) -> Iterator[str]:
    evidence, attribution = told.explained.evidence, told.explained.attribution
    turn, beliefs = turn_of(evidence), asked_at(evidence)
    if cause in AT_CALLS and right_until(happened(cause, told).event, evidence):
        return
    event = happened(cause, told).event
    asked_after = len(beliefs) > 1 and (event is None or evidence.steps[beliefs[-1].step] > event)
    if turn is None and cause in AT_CALLS and asked_after:
        before, after = (None, count(beliefs)) if event is None else split_at(event, evidence)
        where = "in all" if event is None else f"from event {event} on"
        up_to = f"; before it: {before} right" if before else ""
        yield f"Early answers turn wrong at no clear place; {where}: {after} right{up_to}."
    if turn is None or attribution is None:
        return
    there = [call for call in evidence.signals.calls if turn.holds(call.event)]
    at, event = f"Early answers turn wrong {turn.where} ({turn.counts})", happened(cause, told).event
    if cause in _BEFORE_CALLS:
        yield from [f"{at}, where a call gave its result."] if there else []
    elif cause in ("budget", "format"):
        gave = [quoted_name(OF_FORMS[call.form]) for call in there if call.gave][-1:]
        fits = "".join(f"; {name} would explain that" for name in gave)
        yield from [f"{at}, before its last reply{fits}."] if turn.end <= (event or turn.end) else []
    elif cause == "tool_fault":
        failed = any(turn.holds(each) for each in attribution.evidence)
        yield from [] if failed else [f"{at}, where no tool failed."]
    elif cause in _OF_RESULTS and not any(call.gave for call in there):
        yield f"{at}, {'where a call gave nothing' if there else 'before any result of that call'}."
    elif cause in _OF_RESULTS and event is not None and event >= turn.end:
        yield f"{at}, and what is named here came later (event {event})."


_BEFORE_CALLS: tuple[Mechanism, ...] = (*BY_CHANCE, "availability", "prompt")
_OF_RESULTS: tuple[Mechanism, ...] = ("lock_in", "retrieval_distraction", "other_results", "interaction", "volume")


def _repeats_against(cause: Mechanism, attribution: Attribution, evidence: Evidence) -> list[Row]:
    """Other repeats have the same tools and the same prompt, whatever they called."""
    row = next((row for row in uncounted(evidence) if row.changed == REPEATS), None)
    if row is None or attribution.method != "replay":
        return []
    shared = cause in ("availability", "prompt", "own_error") and row.share > RIGHT
    return [row] if shared or (cause == "sampling_noise" and row.share < RIGHT) else []


def _ignoring(cause: Mechanism, evidence: Evidence) -> list[Row]:
    """Answers that were to set the results aside, where they come out otherwise than they would if it were so."""
    if not evidence.ignore_tools:
        return []
    row = of_scores(IGNORING, evidence.ignore_tools, evidence)
    back = row.share > RIGHT
    return [replace(row, aside=ASKED_OTHERWISE)] if back == (cause == "own_error") and cause in _TOLD_BY_IT else []


_TOLD_BY_IT: tuple[Mechanism, ...] = ("own_error", "lock_in", "retrieval_distraction", "other_results", "interaction")


def named_shares(told: Explanation, attribution: Attribution) -> Shares:
    """With causes that the trace has a sign of."""
    evidence = told.explained.evidence
    sign = sign_in(evidence)
    signs: set[Mechanism] = {*outside_signs(evidence.signals, evidence.score), *([sign[0]] if sign else [])}
    also = {each for each in signs if attribution.shares.get(each, 0.0) >= LEAST_LEFT}
    # None that is likelier is left to the rest.
    least = min((attribution.shares[each] for each in also), default=1.0)
    also |= {each for each, share in attribution.shares.items() if share >= least}
    return shares_of(attribution, sorted(also - {"own_error", "unknown"}) if attribution.shares else ())


def _raised_by(cause: Mechanism, told: Explanation, *, capitals: bool = True) -> str:
    """The rows and signs for it, as a sentence or as the rest of one."""
    evidence = told.explained.evidence
    said: list[str] = []
    sign = sign_in(evidence)
    if cause == "sampling_noise":
        said += _of_chance(evidence)
    elif cause == "own_error":
        bare, same = without_tools(evidence), same_without_tools(evidence)
        if same or bare is not None:
            said.append(same or (_of_bare(bare) if bare else ""))
    else:
        said += _side_by_side(cause, evidence)
        if cause == "tool_fault":
            said += [f"{row.told}, which is neither" for row in levels_of(evidence) if row.changed == SHAM]
        adopted = evidence.signals.adoption
        gave = adopted is not None and adopted.is_new and OF_FORMS[adopted.form] == cause
        shown = cause in outside_signs(evidence.signals, evidence.score) or (sign is not None and sign[0] == cause)
        if shown or gave:
            said.append(happened(cause, told).clause)
        if cause == "format" and evidence.re_asked:
            said.append(of_scores(RE_ASKED, evidence.re_asked, evidence).told)
        if cause in AT_CALLS and (still := right_until(happened(cause, told).event, evidence)):
            said.append(still)
    listed = "; ".join(said) or "no row tests it apart"
    return f" {capital(listed) if capitals else listed[:1].lower() + listed[1:]}."


def _of_bare(bare: Row) -> str:
    """What trials without tools say of the model's own error."""
    if bare.share == RIGHT:
        return f"{bare.told}, which points neither way"
    return f"though {bare.told}" if bare.share > RIGHT else bare.told


def _side_by_side(cause: Mechanism, evidence: Evidence) -> Iterator[str]:
    """The clearest pair; the sums of all runs stand in the table of probabilities."""
    rows = [row for row in one_change(cause, evidence) or deciding_rows(cause, evidence) or () if row is not None]
    if len(rows) > 1:
        without, there = (f"{row.count} right ({row.name})" for row in rows)
        yield f"without it {without}, with it {there}"


def _of_chance(evidence: Evidence) -> Iterator[str]:
    again, bare = unchanged(evidence), without_tools(evidence)
    if again:
        whole = total(again)
        against = f"which speaks against sampling noise{', though these are few' if whole.runs < FEW else ''}"
        points = against if whole.share < RIGHT else "which points neither way" if whole.share == RIGHT else ""
        yield f"{drawn_again(again)}{f', {points}' if points else ''}"
    elif bare is not None and bare.share > RIGHT:
        yield f"{bare.told}, so it can answer the question"


def drawn_again(rows: list[Row]) -> str:
    """`drawn again: 2 of 8 right (with its last reply drawn again 1 of 3; ...)`."""
    if len(rows) == 1:
        return rows[0].told
    return f"drawn again: {total(rows).came} ({'; '.join(f'{row.name}: {row.count}' for row in rows)})"


def _rows_against(cause: Mechanism, attribution: Attribution, told: Explanation) -> list[Row]:
    """Weighed rows that are as they would not be if it were so."""
    evidence = told.explained.evidence
    levels = levels_of(evidence)
    if cause == "own_error":
        return [row for row in levels if row.share > RIGHT]
    if cause == "sampling_noise":
        # Those in which luck alone is drawn again are told together, on the side that they are on.
        again = unchanged(evidence)
        return [row for row in levels if row.share < RIGHT and row.changed != AS_WAS and row not in again]
    if cause == "format" and evidence.re_asked:
        return [row for row in unchanged(evidence) if row.share > RIGHT]
    if cause == "unknown":
        return []
    if attribution.method != "replay":
        bare = without_tools(evidence)
        return [bare] if bare is not None and bare.share < RIGHT else []
    gone, there = sides(cause, evidence)
    low, high = [row for row in gone if row.share < RIGHT], [row for row in there if row.share > RIGHT]
    at = happened(cause, told).event if cause in AT_CALLS else None
    # What was answered before an event says nothing of what the event did; and what is told for it, as right more
    # often than with it, is not told against it too.
    pair = one_change(cause, evidence) or deciding_rows(cause, evidence)
    shown = pair[:1] if pair and pair[0].share > (pair[1].share if pair[1] else 0.0) else ()
    found = [row for row in (*low, *high) if not asked_before(row, at) and row not in shown]
    return sorted(found, key=lambda row: -row.runs)


def _half_right(cause: Mechanism, evidence: Evidence) -> list[Row]:
    if cause not in BY_CHANCE:
        return []
    # Those in which luck alone is drawn again are told together.
    apart = unchanged(evidence) if cause == "sampling_noise" else []
    rows = [row for row in levels_of(evidence) if row.share == RIGHT and row.changed != AS_WAS]
    return [row for row in rows if row not in apart]


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
