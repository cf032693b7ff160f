"""Why one trial went as it did, in four parts: the verdict, how it is known, what speaks against it, what would tell.

Rules, so that no sentence contradicts another, or the table of all runs:

- Every sentence is made from the same rows, early answers and probabilities as the table; none from a recorded note.
- The cause that is named is the most probable one. What needs no tool counts together, as in tables of causes.
- Of one cause there is one probability, and those of a page add to 1.
- What early answers say against a cause stands with all else that speaks against it.
- What replays of the trial measured, and what is read from the trace, are named apart.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from toolablate.analysis.attribution.evidence import Evidence, Explanation
from toolablate.analysis.attribution.levels import LAST_REPLY, WITHOUT_TOOLS
from toolablate.analysis.attribution.trace_rules import BY_CHANCE
from toolablate.analysis.pairing import RIGHT
from toolablate.reports.answer_source import answer_source, course
from toolablate.reports.cause_wording import distraction_name
from toolablate.reports.causes import (
    FEW,
    NEXT_TO,
    Shares,
    as_likely,
    counted_runs,
    deciding_rows,
    defined,
    first_of,
    how_sure,
    hundred,
    intervals,
    name_of,
    not_apart,
    of_kinds,
    one_change,
    overlap,
    quoted_name,
    restores,
    sides,
    unchanged,
    without_tools,
)
from toolablate.reports.changed_runs import Row, capital, repeats_told, replays_of
from toolablate.reports.happened import (
    Said,
    events_named,
    happened,
    last_reply,
    never_without_tools,
    noted,
    same_without_tools,
    sign_in,
)
from toolablate.reports.quoted import quoted
from toolablate.reports.run_groups import tells_form, total
from toolablate.reports.turn import AT_CALLS, Turn, asked_at, right_until, since_adopted, told_since, turn_of
from toolablate.reports.weighing import BY_STORE, HOW, Weighing, weighing
from toolablate.reports.why_against import against, drawn_again, named_shares, raised, turn_against
from toolablate.reports.would_tell import would_tell
from toolablate.traces.records import Attribution, Diagnosis, Mechanism
from toolablate.traces.terminal_text import one_line


@dataclass(frozen=True, slots=True)
class WhyPart:
    """Sentences, and the table below them: its heads, then its rows."""

    title: str
    lines: tuple[Said, ...]
    table: Sequence[tuple[str, ...]] = ()


WEIGHED = "From the runs to the probability"


def why_parts(told: Explanation) -> tuple[WhyPart, ...]:
    """Those that have something to say."""
    attribution = told.explained.attribution
    weighed = weighing(named_shares(told, attribution), told) if attribution is not None else None
    found = (
        WhyPart("Verdict", tuple(_verdict(told, weighed))),
        *([WhyPart(WEIGHED, _how(weighed, told), weighed.table)] if weighed is not None else []),
        WhyPart("How we know", tuple(_known(told))),
        WhyPart(_against_title(told), tuple(against(told))),
        WhyPart("What would tell", tuple(would_tell(told))),
    )
    return tuple(part for part in found if part.lines)


def _how(weighed: Weighing, told: Explanation) -> tuple[str, ...]:
    return (HOW, BY_STORE) if weighed.moved and told.rates.store else (HOW,)


def _against_title(told: Explanation) -> str:
    attribution = told.explained.attribution
    several = attribution is not None and as_likely(named_shares(told, attribution))
    return "What speaks against each" if several else "What speaks against it"


def in_short(told: Explanation) -> str:
    """The verdict in a few words."""
    attribution = told.explained.attribution
    if attribution is None or first_of(attribution) == "unknown":
        return next(_verdict(told, None))
    shares = named_shares(told, attribution)
    sure, name = how_sure(shares.hundredths / 100), name_of(shares.cause)
    if as_likely(shares):
        return f"Undecided{_several(shares, name_of)}."
    return f"{f'{capital(sure)} ' if sure else NONE_LIKELY}{name}: probability {shares.probability}."


NONE_LIKELY = "No cause is more likely than not; the likeliest is "


def _several(shares: Shares, naming: Callable[[Mechanism], str]) -> str:
    """Those that are as likely, with their probabilities; the two that need no tool as one, where they are so
    together."""
    named = ((shares.cause, shares.hundredths), *as_likely(shares))
    if shares.together is not None:
        needless = " or ".join(naming(each) for each, _ in named if each in BY_CHANCE)
        others = "".join(f", or {naming(each)}: {hundred(share)}" for each, share in named if each not in BY_CHANCE)
        return f": {needless}, which need no tool, together: {hundred(shares.together)}{others}"
    *some, last = (f"{naming(cause)}: {hundred(share)}" for cause, share in named)
    return f" between {', '.join(some)}, and {last}"


# What went wrong, and how sure that is.


def _verdict(told: Explanation, weighed: Weighing | None) -> Iterator[str]:
    attribution, evidence = told.explained.attribution, told.explained.evidence
    if attribution is None:
        right = evidence.score.value is not None and evidence.score.value >= RIGHT
        yield "The answer is right." if right else "The answer has no score, so no cause is looked for."
        yield from _gains(evidence)
        return
    shares = named_shares(told, attribution)
    basis = _basis(shares, told, weighed)
    if shares.cause == "unknown":
        yield (
            "The cause is not known. That it is something that the condition brings, and neither sampling noise nor the"
            f" model's own error: probability {shares.probability}{basis}."
        )
        return
    clause = happened(shares.cause, told).clause
    sure = how_sure(shares.hundredths / 100)
    if as_likely(shares):
        yield f"Undecided{_several(shares, defined)}{basis}. {capital(clause)}."
    else:
        start = f"{capital(sure)} " if sure else NONE_LIKELY
        named, sure = _named(shares, attribution, told), f"Probability {shares.probability}{basis}."
        # What needs no tool is not shown by what was called or found.
        known = f". {sure} {capital(clause)}." if shares.cause in BY_CHANCE else f": {clause}. {sure}"
        yield f"{start}{named}{known}"
    if weighed is not None and weighed.turned:
        yield weighed.turned
    yield from course(told)


def _named(shares: Shares, attribution: Attribution, told: Explanation) -> str:
    """With what no run tells it from."""
    found = not_apart(shares.cause, told.explained.evidence) if attribution.method == "replay" else ()
    # What is told with a probability of its own is defined there.
    apart = named_shares(told, attribution).named
    beside = [each for each in found if each not in apart]
    names = " or ".join(map(defined, (shares.cause, *beside)))
    return f"{names}{', which no run tells apart' if beside else ''}"


def _basis(shares: Shares, told: Explanation, weighed: Weighing | None) -> str:
    """What the probability rests on."""
    attribution, evidence = told.explained.attribution, told.explained.evidence
    assert attribution is not None
    replays = replays_of(evidence)
    several = f"{replays} replay{'' if replays == 1 else 's'}"
    if attribution.method != "replay":
        by = "by a judge" if attribution.method == "judge" else "from the trace"
        return f", a guess {by}: {f'its {several} do not test it' if replays else 'nothing was run again'}"
    form = len(evidence.re_asked) if tells_form(attribution, evidence) else 0
    counted = sum(row.runs for row in counted_runs(shares.cause, evidence)) + form
    of_form = f" ({form} of them asked once more for its form)" if form and counted > form else ""
    store = ", and from other trials of this store" if weighed and weighed.moved and told.rates.store else ""
    return f", from the {counted:g} answers counted below{of_form}{store}"


def _gains(evidence: Evidence) -> Iterator[str]:
    signals = evidence.inputs.replay.signals if evidence.inputs.replay else frozenset()
    gains = {
        "computed": "Its code computed what the model did not know.",
        "retrieved": "Its search found what the model did not know.",
        "answer_leak": "A search result had the answer beside the question.",
    }
    yield from (text for signal, text in gains.items() if signal in signals)


# How it is known.


def _known(told: Explanation) -> Iterator[Said]:
    attribution, evidence = told.explained.attribution, told.explained.evidence
    if attribution is None:
        return
    cause = first_of(attribution)
    if attribution.method == "replay":
        first, *more = _measured(cause, evidence)
        several = as_likely(named_shares(told, attribution))
        yield f"For {quoted_name(cause)}: {first[:1].lower()}{first[1:]}" if several else first
        yield from more
    else:
        yield from _read(cause, evidence)
    if (options := len(told.question.choices)) and told.question.target.kind == "choice":
        yield f"A guess among its {options} options is right 1 time in {options}."
    yield from raised(told)
    turn = turn_of(evidence)
    if turn is not None and cause in AT_CALLS and not any(turn_against(cause, told)):
        beside = f"{_unsure(turn)}{_other_answers(turn, evidence)}"
        yield f"Asked at once after its steps, this trial turns wrong {turn.where}: {turn.counts}{beside}."
    elif cause in AT_CALLS and (still := right_until(happened(cause, told).event, evidence)):
        yield f"{capital(still)}."
    if cause in AT_CALLS and (never := never_without_tools(evidence)):
        yield f"{never}."
    event = happened(cause, told).event if cause != "unknown" else last_reply(told)
    # What it says tells nothing of how long it is.
    shown = None if cause == "volume" else event
    yield from quoted(shown, told)
    if cause not in ("volume", "unknown"):
        yield from answer_source(cause, told, quoted=shown)
    if evidence.score.verdict == "unparsed" and attribution.method == "replay":
        yield "A reply without a readable answer was asked for it once more, and counts by that in all counts."
    for diagnosis in evidence.diagnoses:
        yield from _read_by(diagnosis)


def _unsure(turn: Turn) -> str:
    """Where many draws from its early answers have another place."""
    elsewhere = 100 - round(100 * turn.confidence)
    return f" (elsewhere in {elsewhere} of 100 random draws)" if turn.confidence < SURE_OF_PLACE else ""


SURE_OF_PLACE = 0.8


def _other_answers(turn: Turn, evidence: Evidence) -> str:
    """Where early answers after it are wrong in another way than the final one."""
    own = ", ".join(evidence.score.extracted)
    after = [each for each in asked_at(evidence) if evidence.steps[each.step] >= turn.end]
    never = own and not any(own in each.options and each.options[own].mean > 0 for each in after)
    return f", none of these {one_line(own, max_chars=60)}" if never else ""


def _pair(cause: Mechanism, evidence: Evidence) -> list[Row]:
    """The rows that decide it most: without the cause and with it; of the model's own error those that are wrong."""
    if cause == "own_error":
        low = [row for row in counted_runs(cause, evidence) if row.share < RIGHT]
        return sorted(low, key=lambda row: (row.changed != WITHOUT_TOOLS, -row.runs))[:MOST_LOW]
    pair = one_change(cause, evidence) or deciding_rows(cause, evidence) or ()
    return [row for row in pair if row is not None]


MOST_LOW = 4


def _measured(cause: Mechanism, evidence: Evidence) -> Iterator[str]:
    rows, (gone, there) = _pair(cause, evidence), sides(cause, evidence)
    if cause == "interaction" and (kinds := of_kinds(evidence)):
        yield f"{'; '.join(capital(row.told) if row is kinds[0] else row.told for row in kinds)}."
    elif cause == "own_error":
        yield from _of_own_error(rows, evidence)
    elif cause == "sampling_noise":
        yield from _of_chance(evidence)
    elif not rows:
        yield "No run takes it away: it is what the other rows leave."
    elif not gone:
        yield f"{'; '.join(capital(row.told) for row in rows)}."
    else:
        yield _comparison(cause, rows, evidence)
        if len(gone) + len(there) > len(rows):
            yield _sums(gone, there)


def _comparison(cause: Mechanism, rows: list[Row], evidence: Evidence) -> str:
    """The two kinds of runs that differ least, or that differ most in what came of them."""
    undone, *before = rows
    closest = not any(row.is_early for row in rows) and (cause in NEXT_TO or one_change(cause, evidence))
    how = f"The clearest comparison{', in which this alone differs' if closest else ''}"
    kept = f"{before[0].count} right ({_whole_name(before[0])})" if before else "this trial, which is wrong"
    decides = "" if restores(cause, evidence) else ". No single kind of run decides it"
    shows = undone.share > (before[0].share if before else 0.0)
    low = ", though without it most are wrong too" if undone.share < RIGHT else ""
    not_shown = decides or (low if shows else ", which does not show it")
    return f"{how}: without it {undone.count} right ({_whole_name(undone)}), with it {kept}{not_shown}."


def _whole_name(row: Row) -> str:
    """With whose runs these are."""
    return f"{row.name}, {row.asked_where}" if row.elsewhere else row.name


def _side_by_side(rows: list[Row]) -> str:
    undone, *before = rows
    if not before:
        return f"{capital(undone.told)}; with the cause still there this trial is wrong"
    return f"{capital(undone.told)}. With the cause still there ({before[0].name}): {before[0].came}"


def _sums(gone: list[Row], there: list[Row]) -> str:
    """All that is counted."""
    rows = [total(each) for each in (gone, there) if each]
    if len(rows) < 2:
        return f"In all, without this cause {rows[0].came}; with it, only this trial, which is wrong."
    found = [f"{100 * low:.0f} to {100 * high:.0f} %" for low, high in intervals(rows)]
    apart = "" if not found else f" (95 % Wilson intervals {found[0]} and {found[1]}{_apart(rows)})"
    # What is named by how usual it is, or by the trace, is not shown by these.
    shown = "In all" if rows[0].share > rows[1].share else "Its runs together do not show it"
    return f"{shown}, without this cause {rows[0].came}, with it {rows[1].came}{apart}."


def _apart(rows: list[Row]) -> str:
    return ", which overlap" if overlap(rows) else ""


def _of_own_error(low: list[Row], evidence: Evidence) -> Iterator[str]:
    same = same_without_tools(evidence)
    if levels := counted_runs("own_error", evidence):
        kinds = [row for row in levels if row.share < RIGHT]
        more = len(kinds) - len(low)
        beside = f"; and {more} more kind{'' if more == 1 else 's'}" if more > 0 else ""
        wrong = "All of these wrong" if low and not any(row.right for row in kinds) else "Mostly wrong"
        mostly = f" {wrong}: {'; '.join(row.told for row in low)}{beside}." if low else " No kind is mostly wrong."
        yield f"Of the counted answers, whatever is changed, {total(levels).came}.{mostly}"
    if same:
        yield f"{same}."
    yield from repeats_told(evidence, lambda row: row.share < RIGHT)


def _of_chance(evidence: Evidence) -> Iterator[str]:
    again, bare, since = unchanged(evidence), without_tools(evidence), since_adopted(evidence)
    if levels := counted_runs("sampling_noise", evidence):
        whole = total(levels)
        can = ": it can answer the question" if whole.share > RIGHT else ""
        yield f"Of the counted answers, whatever is changed, {whole.came}{can}."
    came = drawn_again(again) if again and total(again).share > RIGHT else ""
    if came:
        yield f"{capital(came)}."
    if since and since[1].share > RIGHT:
        yield f"{told_since(*since)}."
    if bare is not None and bare.share > RIGHT:
        yield f"{capital(bare.told)}."
    yield from repeats_told(evidence, lambda row: row.share > RIGHT)
    last = next((row for row in again if row.changed.startswith(LAST_REPLY)), None)
    if last is not None and last.runs >= FEW and last.share < RIGHT:
        yield f"If it is sampling noise, it lies before the last reply: {last.told}."


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
    rows = _pair(cause, evidence)
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
