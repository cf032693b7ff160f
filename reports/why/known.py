"""How the likeliest cause of a wrong trial is known: its runs, its early answers, and the event that shows it."""

from bisect import bisect_right
from collections.abc import Iterator, Sequence

from toolablate.analysis.attribution.evidence import Evidence, Explanation
from toolablate.analysis.attribution.levels import LAST_REPLY, OFFERED, REPAIRED, SCAFFOLD, WITHOUT_TOOLS
from toolablate.analysis.attribution.trace_rules import BY_CHANCE, repairable
from toolablate.analysis.pairing import RIGHT
from toolablate.reports.cause_wording import chance, distraction_name
from toolablate.reports.why.answer_source import answer_source, in_no_result
from toolablate.reports.why.causes import (
    CAUSES,
    FEW,
    NEXT_TO,
    against_chance,
    are_few,
    as_likely,
    bears_difference,
    counted_runs,
    first_of,
    intervals,
    kinds_wrong,
    mostly_wrong,
    of_kinds,
    one_change,
    pair_of,
    quoted_name,
    ranked,
    restores,
    sides,
    unchanged,
    which_are_few,
    without_tools,
)
from toolablate.reports.why.changed_runs import EARLY, IGNORING, Row, capital, is_of, levels_of, of_scores, total
from toolablate.reports.why.early_answers_against import likely_turn_at, turn_against
from toolablate.reports.why.happened import (
    Said,
    events_named,
    happened,
    last_reply,
    never_without_tools,
    noted,
    same_without_tools,
    sign_in,
)
from toolablate.reports.why.named_causes import named_shares, spoken_of
from toolablate.reports.why.other_causes import computing_part, drawn_again, first_reply_part, raised
from toolablate.reports.why.quoted import quoted
from toolablate.reports.why.turn import AT_CALLS, Turn, asked_at, right_until, turn_of
from toolablate.traces.records import Diagnosis, Mechanism
from toolablate.traces.terminal_text import one_line


def known(told: Explanation) -> Iterator[Said]:
    attribution, evidence = told.explained.attribution, told.explained.evidence
    if attribution is None:
        return
    cause, several = first_of(attribution), as_likely(named_shares(told, attribution))
    by_replay = attribution.method == "replay"
    if not by_replay:
        yield from _read(cause, evidence)
    elif not several:
        yield from _measured(cause, told)
    if cause in AT_CALLS:
        yield from _where_it_turns(cause, told)
        if never := never_without_tools(evidence):
            yield f"{never}."
    yield from _quotes(cause, told)
    if not by_replay:
        yield from (raised(each, told) for each, _ in several)
    runs = evidence.all_runs
    if evidence.score.verdict == "unparsed" and runs is not None and runs.last_reply:
        readable = len(runs.last_reply) - runs.unread
        same = ": drawing it again does not mend its form" if 2 * readable < len(runs.last_reply) else ""
        yield f"Its last reply, drawn again, was readable at once in {readable} of {len(runs.last_reply)}{same}."
    if evidence.score.verdict == "unparsed" and attribution.method == "replay":
        yield "A reply without a readable answer was asked for it once more, and counts by that in all counts."
    for diagnosis in evidence.diagnoses:
        yield from _read_by(diagnosis)


def speaks_for(cause: Mechanism, told: Explanation) -> Iterator[str]:
    """What replays say for each of several causes that are about as likely."""
    attribution = told.explained.attribution
    assert attribution is not None
    if cause != first_of(attribution):
        yield raised(cause, told)
        return
    first, *more = _measured(cause, told)
    yield f"For {quoted_name(cause)}: {first[:1].lower()}{first[1:]}"
    yield from more


def _where_it_turns(cause: Mechanism, told: Explanation) -> Iterator[str]:
    """By its early answers, where these do not speak against the cause."""
    evidence = told.explained.evidence
    turn = turn_of(evidence)
    if turn is not None and not any(turn_against(cause, told)):
        beside = _other_answers(turn, evidence)
        yield f"Asked at once after its steps, this trial turns wrong {turn.where}: {turn.counts}{beside}."
    elif near := likely_turn_at(cause, told):
        if not any(turn_against(cause, told)):
            yield f"Asked at once after its steps, this trial turns wrong, likeliest {near.where}: {near.counts}."
    elif still := right_until(happened(cause, told).event, evidence):
        yield f"{capital(still)}."


def _quotes(cause: Mechanism, told: Explanation) -> Iterator[Said]:
    """The event that shows it, and where its answer stands. What needs no tool has no such event: what a result gave is
    a sign of other causes."""
    event = happened(cause, told).event if cause != "unknown" else last_reply(told)
    # What it says tells nothing of how long it is; and its last reply stands under the verdict.
    shown = None if cause == "volume" or event == last_reply(told) else event
    if cause in BY_CHANCE:
        yield from in_no_result(told)
        return
    yield from quoted(shown, told)
    if cause not in ("volume", "unknown"):
        yield from answer_source(cause, told, quoted=shown)


def _other_answers(turn: Turn, evidence: Evidence) -> str:
    """Where early answers after it are wrong in another way than the final one."""
    own = ", ".join(evidence.score.extracted)
    after = [each for each in asked_at(evidence) if evidence.steps[each.step] >= turn.end]
    never = own and not any(own in each.options and each.options[own].mean > 0 for each in after)
    return f", none of these {one_line(own, max_chars=60)}" if never else ""


NOTABLE = 1 / 3
"""Of answers without tools, from which share on it is told that they are wrong in the same way."""

MOSTLY = 2 / 3
"""Of right runs, from which on it is said to be able to answer a question."""


def _measured(cause: Mechanism, told: Explanation) -> Iterator[str]:
    evidence = told.explained.evidence
    rows = pair_of(cause, evidence)
    if cause == "interaction" and (kinds := of_kinds(evidence)):
        yield f"{'; '.join(capital(row.told) if row is kinds[0] else row.told for row in kinds)}."
    elif cause == "own_error":
        yield from _of_own_error(evidence)
    elif cause == "sampling_noise":
        yield from _of_chance(told)
    elif not rows:
        yield "No run takes it away: it is what the other runs leave."
    elif not sides(cause, evidence)[0]:
        yield f"{'; '.join(capital(row.told) for row in rows)}."
    else:
        yield from _of_a_difference(cause, rows, told)


def _of_a_difference(cause: Mechanism, rows: list[Row], told: Explanation) -> Iterator[str]:
    """What comes of taking it away, and what chance alone does. Of few runs the sums of all stand beside the clearest
    pair."""
    evidence = told.explained.evidence
    (gone, there), shown = sides(cause, evidence), bears_difference(rows)
    if shown:
        yield _comparison(cause, rows, evidence)
    if there and total(gone).share > total(there).share:
        if not shown or min(row.runs for row in rows) < FEW:
            few = which_are_few(total(gone), total(there))
            without, with_it = (f"{total(side).came}{_interval(total(side))}" for side in (gone, there))
            how = ", with 95 % intervals" if intervals([total(gone)]) else ""
            yield from [] if shown else ["The runs that differ least do not show it."]
            yield f"All its runs together{how}: without it {without}, with it {with_it}{few}."
    elif not shown:
        yield "No run shows it: it is what the other runs leave."
    if not (shown and one_change(cause, evidence)):
        yield from _without_rival(cause, gone, there, told)
    if cause == "lock_in":
        yield from _of_calls(told)
    if (again := unchanged(evidence)) and total(again).share < RIGHT:
        whole = total(again)
        few = ", though these are few" if whole.runs < FEW else ""
        against = f"which speaks against sampling noise{few}" if against_chance(again) else "which says little"
        yield f"{capital(drawn_again(again))}, {against}."


def _interval(whole: Row) -> str:
    """` (67 to 93 %)`; empty of graded scores."""
    return "".join(f" ({100 * low:.0f} to {100 * high:.0f} %)" for low, high in intervals([whole]))


def _of_calls(told: Explanation) -> Iterator[str]:
    """How much of the probability of a lock-in is that of its calls, whatever they gave, and why."""
    attribution, evidence = told.explained.attribution, told.explained.evidence
    assert attribution is not None
    whole = dict(ranked(attribution))["lock_in"]
    if part := computing_part(told):
        ignoring = of_scores(IGNORING, evidence.ignore_tools, evidence).told
        yield (
            f"{chance(part)} of the {chance(whole)} is for turning to its code at all, whatever this gave. It counts as"
            f" {quoted_name('lock_in')}, since the answer comes back where this is set aside: {ignoring}."
        )


def _without_rival(cause: Mechanism, gone: list[Row], there: list[Row], told: Explanation) -> Iterator[str]:
    """The same sums of runs without the strongest rival, where this is at work in some of them."""
    attribution, evidence = told.explained.attribution, told.explained.evidence
    assert attribution is not None
    rivals = [each for each in spoken_of(named_shares(told, attribution)) if each not in (cause, *BY_CHANCE)]
    if not rivals:
        return
    without = sides(rivals[0], evidence)[0]
    both, left = ([row for row in side if is_of(row, without)] for side in (gone, there))
    if both and left and (len(both), len(left)) != (len(gone), len(there)):
        few = which_are_few(total(both), total(left), quoted_name(cause))
        yield (
            f"Among runs without {quoted_name(rivals[0])}: without {quoted_name(cause)} {total(both).came}, with it"
            f" {total(left).came}{few}."
        )


def _comparison(cause: Mechanism, rows: list[Row], evidence: Evidence) -> str:
    """The two kinds of runs that differ least, or that differ most in what came of them."""
    undone, *before = rows
    # What arms without tools lack beside another cause is told as the offer and the prompt.
    apart = (cause, *(() if cause in ("availability", "prompt") else ("availability", "prompt")), *BY_CHANCE)
    gone_too = [each for each in CAUSES if each not in apart and _goes_too(each, rows, evidence)]
    later = bool(before) and before[0].changed.startswith(LAST_REPLY) and _draws_earlier_replies(undone, evidence)
    alone = cause in NEXT_TO or (one_change(cause, evidence) and not later)
    closest = not any(row.is_early for row in rows) and alone
    changed = {row.changed for row in rows}
    more = ["a prohibition of calls"] if OFFERED in changed else []
    more += ["the draw of earlier replies"] if later else []
    more += [quoted_name(each) for each in gone_too] if alone else []
    more += ["what results give"] if cause == "calling" and any(row.with_other_results for row in before) else []
    if cause not in ("availability", "prompt"):
        more += ["the offer of tools"] if changed & {SCAFFOLD, WITHOUT_TOOLS} else []
        more += ["the prompt"] if WITHOUT_TOOLS in changed and evidence.signals.prompted else []
    beside = f", in which {' and '.join(more)} differ{'s' if len(more) == 1 else ''} too" if more else ""
    differs = ", in which this alone differs" if closest and not more else beside
    how = f"The clearest comparison{differs}"
    kept = f"{before[0].count} right ({_whole_name(before[0])})" if before else "this trial, which is wrong"
    decides = "" if restores(cause, evidence) else ". No single kind of run decides it"
    shows = undone.share > (before[0].share if before else 0.0)
    few = (which_are_few(rows[0], rows[1]) if before else "; these are few") if are_few(rows) else ""
    too = ", though without it most are wrong too" if undone.share < RIGHT else ""
    too = ", though with it most are right too" if before and before[0].share > RIGHT else too
    shown = f"{too}{few}" if shows else "" if decides else ", which does not show it"
    return f"{how}: without it {undone.count} right ({_whole_name(undone)}), with it {kept}{shown}{decides}."


def _draws_earlier_replies(undone: Row, evidence: Evidence) -> bool:
    """Whether runs with a change draw a reply before the last one again: they begin at a result, at the first one or
    where a tool failed."""
    began = repairable(evidence.signals)[:1] if undone.changed.startswith(REPAIRED) else []
    if undone.with_other_results and undone.changed.startswith("with "):
        began = sorted(call.event for call in evidence.signals.calls)[:1]
    return any(bisect_right(evidence.steps, event) < len(evidence.steps) - 1 for event in began)


def _goes_too(cause: Mechanism, rows: Sequence[Row], evidence: Evidence) -> bool:
    """Whether the first of two kinds of runs is without another cause, and the second is not."""
    gone = sides(cause, evidence)[0]
    return len(rows) > 1 and is_of(rows[0], gone) and not is_of(rows[1], gone)


def _whole_name(row: Row) -> str:
    """With whose runs these are."""
    return f"{row.name}, {row.asked_where}" if row.elsewhere else row.name


def _side_by_side(rows: list[Row]) -> str:
    undone, *before = rows
    if not before:
        return f"{capital(undone.told)}; with the cause still there this trial is wrong"
    return f"{capital(undone.told)}. With the cause still there ({before[0].name}): {before[0].came}"


def _of_own_error(evidence: Evidence) -> Iterator[str]:
    same = same_without_tools(evidence)
    if levels := counted_runs("own_error", evidence):
        yield f"Of the counted answers, whatever is changed, {total(levels).came}.{kinds_wrong(levels)}"
    if same:
        yield f"{same}."


def _of_chance(told: Explanation) -> Iterator[str]:
    evidence, last = told.explained.evidence, last_reply(told) or 0
    again, bare = unchanged(evidence), without_tools(evidence)
    levels = counted_runs("sampling_noise", evidence)
    if levels and not mostly_wrong(levels):
        whole = total(levels)
        can = ": it can answer the question" if whole.share >= MOSTLY else ""
        kinds = kinds_wrong(levels) if whole.share < RIGHT else ""
        yield f"Of the counted answers, whatever is changed, {whole.came}{can}.{kinds}"
    came = drawn_again(again) if again and total(again).share > RIGHT else ""
    if came:
        yield f"{capital(came)}."
    if bare is not None and bare.share > RIGHT:
        yield f"{capital(bare.told)}."
    if same := same_without_tools(evidence, least=NOTABLE):
        yield f"{same}: that needs no tool."
    yield from _of_its_first_reply(told)
    at_the_end = next((row for row in levels_of(evidence) if row.changed == f"{EARLY} {last - 1}"), None)
    if at_the_end is not None and at_the_end.share > RIGHT:
        yield f"{capital(at_the_end.told)}, in the state in which it answered."
    if not came and (not levels or mostly_wrong(levels)) and (bare is None or bare.share <= RIGHT):
        yield "Nothing shows it by itself: it is what the other causes leave."


def _of_its_first_reply(told: Explanation) -> Iterator[str]:
    attribution = told.explained.attribution
    assert attribution is not None
    if part := first_reply_part(told):
        whole = chance(dict(ranked(attribution))["sampling_noise"])
        kept = total(unchanged(told.explained.evidence))
        came = f" ({kept.bare})" if kept.runs else ""
        yield (
            f"{chance(part)} of the {whole} is chance in its first reply: its own replays keep that reply{came}, and"
            " other trials of its question draw it anew."
        )


def _read(cause: Mechanism, evidence: Evidence) -> Iterator[str]:
    """Of what was not tested: the strongest fact, and other trials where they fit it."""
    same, bare = same_without_tools(evidence), without_tools(evidence)
    if cause in BY_CHANCE:
        if bare is not None and not (same and cause == "own_error"):
            yield f"{capital(bare.told)}{': it can answer the question' if bare.share > RIGHT else ''}."
        if same and cause == "own_error":
            yield f"{same}."
        if cause == "sampling_noise" and (again := unchanged(evidence)):
            yield f"{capital('; '.join(row.told for row in again))}."
        return
    sign = sign_in(evidence)
    known = sign is not None and sign[0] == cause
    yield f"{capital(noted(sign))}." if sign and known else "Nothing in the trace shows it."
    rows = pair_of(cause, evidence)
    if len(rows) > 1 and cause != "unknown" and restores(cause, evidence):
        whole = " These differ in all that tools bring, not in this alone." if rows[0].changed == WITHOUT_TOOLS else ""
        yield f"{_side_by_side(rows)}.{whole}"


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
