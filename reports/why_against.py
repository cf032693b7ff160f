"""What speaks against the likeliest cause of a wrong trial: the other causes, and rows and signs that do not fit it."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import combinations

from toolablate.analysis.attribution.evidence import Evidence, Explanation
from toolablate.analysis.attribution.levels import EXTENDED, LAST_REPLY, OFFERED
from toolablate.analysis.attribution.replay_rules import calls_are_lock_in
from toolablate.analysis.attribution.trace_rules import BY_CHANCE, outside_signs, ran_out, unrecovered
from toolablate.analysis.pairing import RIGHT
from toolablate.reports.answer_source import result_with_answer, right_there, shows, stands_in, unsourced
from toolablate.reports.cause_wording import chance
from toolablate.reports.causes import (
    FEW,
    POSSIBLE,
    Shares,
    against_chance,
    are_few,
    as_likely,
    bears_difference,
    counted_runs,
    defined,
    first_of,
    hundred,
    kinds_wrong,
    mostly_wrong,
    not_apart,
    pair_of,
    quoted_name,
    same_rows,
    sides,
    unchanged,
    which_are_few,
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
from toolablate.reports.early_answers_against import (
    OF_RESULTS,
    early_answers_against,
    said_at_once,
    turn_against,
)
from toolablate.reports.happened import (
    OF_FORMS,
    Said,
    failed_for_a_time,
    happened,
    never_without_tools,
    same_without_tools,
    sign_in,
)
from toolablate.reports.named_causes import named_shares, spoken_of
from toolablate.reports.run_groups import by_calls, total
from toolablate.reports.turn import (
    AT_CALLS,
    right_until,
)
from toolablate.reports.weighing import all_others
from toolablate.traces.records import Attribution, Mechanism

MOST_ROWS = 5
LEAST_TOLD = 0.01
"""Of the probability of a cause."""
LEAST_RUNS = 3
"""Of a kind of run half of which are right, from which on this speaks against what was taken away: one of two does
not."""


def against(told: Explanation) -> Iterator[Said]:
    attribution, evidence = told.explained.attribution, told.explained.evidence
    if attribution is None:
        return
    shares = named_shares(told, attribution)
    undecided = [cause for cause, _ in as_likely(shares)]
    # Those that are less likely have their line in the table of probabilities.
    least = POSSIBLE if attribution.method == "replay" else 0
    apart = [each for each in shares.others if each[0] not in undecided and each[1] >= least]
    for cause, hundredths in apart:
        turned = "".join(
            f" Against {quoted_name(cause)}: {each[:1].lower()}{each[1:]}" for each in turn_against(cause, told)
        )
        yield f"It may be {defined(cause)}: {hundred(hundredths)}.{_raised_by(cause, told)}{turned}"
    several = (shares.cause, *undecided)
    found: list[Said] = [line for cause in several for line in _misfits(cause, undecided, told, shares)]
    signs = list(_signs_of_others(told, shares))
    unshown = list(unshown_by_its_pair(shares.cause, attribution, evidence))
    right = right_there(told) if shares.cause in ("own_error", *OF_RESULTS) else ""
    found += [*unshown, *([f"{right}."] if right else []), *_answer_in_a_result(told, shares)]
    found += [line for cause in several for line in unsourced(cause, told)]
    yield from found if found or apart or signs else ["Nothing found."]
    if shares.rest and (attribution.method != "replay" or shares.cause == "unknown"):
        # Elsewhere it is a line of the table of probabilities.
        yield f"{capital(all_others(attribution, shares.named, shares.rest, evidence))}: {hundred(shares.rest)}."
    if signs:
        yield f"The trace has signs of causes that are less likely: {'; and '.join(signs)}."
    yield from _on_the_same_rows(shares, evidence)
    beside = [each for each in not_apart(shares.cause, evidence) if each not in shares.named]
    if beside and attribution.method == "replay":
        yield f"The runs that decide it are without {' and '.join(map(quoted_name, beside))} too."


def raised(told: Explanation) -> Iterator[str]:
    """What speaks for each that is as likely as the first."""
    attribution = told.explained.attribution
    assert attribution is not None
    evidence = told.explained.evidence
    for cause, _ in as_likely(named_shares(told, attribution)):
        again, bare = unchanged(evidence), without_tools(evidence)
        drawn = cause == "sampling_noise" and again and total(again).share < RIGHT
        if drawn or (cause == "own_error" and (bare is None or bare.share >= RIGHT)):
            yield _left_over(cause, attribution, evidence)
            continue
        yield f"For {quoted_name(cause)}:{_raised_by(cause, told, capitals=False)}"


def _left_over(cause: Mechanism, attribution: Attribution, evidence: Evidence) -> str:
    levels = counted_runs(cause, evidence)
    if cause == "own_error" and levels and total(levels).share < RIGHT:
        return f"For {quoted_name(cause)}: of the counted answers {total(levels).came}.{kinds_wrong(levels)}"
    left = "" if cause == "own_error" else _wrong_without(attribution, evidence)
    reason = left or "it is what the other causes leave"
    return f"For {quoted_name(cause)}: nothing shows it by itself; {reason}."


def _misfits(cause: Mechanism, undecided: Sequence[Mechanism], told: Explanation, shares: Shares) -> Iterator[str]:
    """Rows and early answers that do not fit a cause, also where they are told of another one that they fit."""
    attribution, evidence = told.explained.attribution, told.explained.evidence
    assert attribution is not None
    rows = _rows_against(cause, attribution, told)
    rows += _ignoring(cause, evidence)
    early = list(early_answers_against(cause, told))
    # Early answers before any call are a row as well.
    rows = [row for row in rows if not (early and row.changed == BEFORE)]
    again = unchanged(evidence) if cause == "sampling_noise" else []
    texts = [drawn_again(again)] if again and against_chance(again) else []
    rows += _uncounted_against(cause, attribution, evidence)
    texts += [row.told for row in sorted(rows, key=lambda row: -row.runs)]
    more = f"; and {len(texts) - MOST_ROWS} more" if len(texts) > MOST_ROWS else ""
    if texts:
        yield f"Rows that do not fit {quoted_name(cause)}: {'; '.join(texts[:MOST_ROWS])}{more}."
    if cause == "sampling_noise":
        yield from _fewer_with_calls(evidence)
    if attribution.method == "replay":
        yield from _among_calls(cause, evidence)
        yield from _counted_against_chance(cause, evidence)
    if cause == shares.cause:
        yield from _answers_without_tools(cause, shares, evidence)
    # Of several that are as likely each line says of which it speaks.
    yield from (f"Against {quoted_name(cause)}: {each[:1].lower()}{each[1:]}" if undecided else each for each in early)


def _among_calls(cause: Mechanism, evidence: Evidence) -> Iterator[str]:
    """Where those runs without a cause are right that made no call, what those with calls say."""
    gone, there = sides(cause, evidence)
    if cause not in (*AT_CALLS, "budget") or cause == "calling" or not there:
        return
    called, bare = by_calls(gone)
    if not called or not bare or total(bare).share <= RIGHT:
        return
    pair = [total(called), total(there)]
    if not bears_difference(pair) and bears_difference([total(gone), total(there)]):
        few = which_are_few(*pair) if are_few(pair) else ""
        named_with_it = cause == "lock_in" and calls_are_lock_in(evidence)
        too = "" if named_with_it else f", which {quoted_name('calling')} would explain too"
        yield (
            f"All runs with calls together do not show {quoted_name(cause)}: without it {pair[0].came}, with it"
            f" {pair[1].came}{few}. Runs without any call are mostly right, {total(bare).count}{too}."
        )


def _counted_against_chance(cause: Mechanism, evidence: Evidence) -> Iterator[str]:
    """What all counted answers say against chance."""
    levels = counted_runs(cause, evidence) if cause == "sampling_noise" else []
    if mostly_wrong(levels):
        whole = f"of the counted answers, whatever is changed, {total(levels).came}.{kinds_wrong(levels)}"
        yield f"Against {quoted_name(cause)}: {whole}"


def _fewer_with_calls(evidence: Evidence) -> Iterator[str]:
    """Where runs without any call are mostly right and those with calls mostly wrong, which is no luck."""
    called, bare = by_calls(counted_runs("sampling_noise", evidence))
    if not (evidence.called and called and bare):
        return
    pair = [total(bare), total(called)]
    if pair[0].share > RIGHT > pair[1].share and bears_difference(pair):
        yield (
            f"Against {quoted_name('sampling_noise')}: without any call {pair[0].count} are right, with calls"
            f" {pair[1].count}, which {quoted_name('calling')} would explain."
        )


def _answer_in_a_result(told: Explanation, shares: Shares) -> Iterator[str]:
    """That a result has its answer, where that is a sign of another cause, and whether early answers were right until
    then."""
    at, signals = result_with_answer(told), told.explained.evidence.signals
    cause = None if at is None else shows(at, told)
    as_good = [each for each, _ in as_likely(shares)]
    if at is None or cause is None or cause in as_good or shares.cause in (cause, "interaction", "format", "unknown"):
        return
    # What it took up is told with the signs of less likely causes.
    among_signs = cause not in spoken_of(shares) and signals.adoption is not None and signals.adoption.is_new
    pair = [] if among_signs or cause in spoken_of(shares) else [*_side_by_side(cause, told.explained.evidence)]
    still = right_until(at, told.explained.evidence)
    if still or not among_signs:
        said = [f"{stands_in(at, told)}, a sign of {quoted_name(cause)}", *pair, *([still] if still else [])]
        whose = f"Against {quoted_name(shares.cause)}: " if as_good else ""
        told_of = "; ".join(said)
        yield f"{whose}{told_of[:1].lower() + told_of[1:] if whose else told_of}."


def _on_the_same_rows(shares: Shares, evidence: Evidence) -> Iterator[str]:
    """Causes of the page that the same runs take away."""
    for one, other in combinations(shares.named, 2):
        if same_rows(one, other, evidence):
            both = f"{quoted_name(one)} and {quoted_name(other)}"
            yield f"{both} rest on the same rows. Only how common each is in this store tells them apart."


def _answers_without_tools(cause: Mechanism, shares: Shares, evidence: Evidence) -> Iterator[str]:
    """Where trials without tools answer otherwise than they would if it were so."""
    if cause not in BY_CHANCE and "own_error" not in shares.named:
        if same := same_without_tools(evidence):
            yield f"{same}, so the error may have nothing to do with tools."
        elif few := same_without_tools(evidence, least=0.0):
            yield f"{few}."
    elif cause in BY_CHANCE and not said_at_once(evidence) and (never := never_without_tools(evidence)):
        yield f"{never}."


def _signs_of_others(told: Explanation, shares: Shares) -> Iterator[str]:
    """What stands in the trace of causes of which no sentence of the page speaks."""
    evidence, attribution = told.explained.evidence, told.explained.attribution
    adopted = evidence.signals.adoption
    # By trace each that is named has a line of its own, however improbable.
    by_replay = attribution is not None and attribution.method == "replay"
    known = spoken_of(shares) if by_replay else list(shares.named)

    def sign(cause: Mechanism, what: str, *more: str) -> str:
        likely = ""
        if attribution is not None and by_replay:
            share = attribution.shares.get(cause, 0.0)
            likely = f": {chance(share)}" if share >= LEAST_TOLD else f": under {chance(LEAST_TOLD)}"
        return "; ".join((f"of {defined(cause)}{likely}, as {what}", *more))

    # What a reply without a readable answer took up may be right.
    if adopted is not None and adopted.is_new and evidence.score.verdict != "unparsed":
        cause = OF_FORMS[adopted.form]
        if cause not in known and "interaction" not in known:
            yield sign(cause, happened(cause, told).clause, *_side_by_side(cause, evidence))
    if "tool_fault" not in known:
        left = unrecovered(evidence.signals.troubles)
        if failed := happened("tool_fault", told).clause if left else failed_for_a_time(evidence):
            yield sign("tool_fault", failed, *(_side_by_side("tool_fault", evidence) if left else ["it worked again"]))
    if "budget" not in known and ran_out(evidence.signals):
        more = [row.told for row in levels_of(evidence) if row.changed == EXTENDED]
        yield sign("budget", happened("budget", told).clause, *more)


def _uncounted_against(cause: Mechanism, attribution: Attribution, evidence: Evidence) -> list[Row]:
    """Other repeats that are mostly right though the cause is there from the start. One run says nothing."""
    if attribution.method != "replay" or cause not in ("availability", "prompt"):
        return []
    return [row for row in uncounted(evidence) if row.changed == REPEATS and row.share > RIGHT and row.runs > 1]


def _ignoring(cause: Mechanism, evidence: Evidence) -> list[Row]:
    """Answers that were to set the results aside, where they come out otherwise than they would if it were so."""
    if not evidence.ignore_tools:
        return []
    row = of_scores(IGNORING, evidence.ignore_tools, evidence)
    if cause == "lock_in" and calls_are_lock_in(evidence):
        return []
    misfits = _NOT_BY_RESULTS if row.share > RIGHT else _BY_RESULTS
    return [replace(row, aside=ASKED_OTHERWISE)] if cause in misfits else []


_BY_RESULTS: tuple[Mechanism, ...] = ("lock_in", "retrieval_distraction", "other_results", "interaction")
_NOT_BY_RESULTS: tuple[Mechanism, ...] = ("own_error", "volume", "calling", "tool_fault", "budget")


def _raised_by(cause: Mechanism, told: Explanation, *, capitals: bool = True) -> str:
    """The rows and signs for it, as a sentence or as the rest of one."""
    evidence = told.explained.evidence
    said: list[str] = []
    sign = sign_in(evidence)
    if cause == "sampling_noise":
        said += _of_chance(told)
    elif cause == "own_error":
        bare, same = without_tools(evidence), same_without_tools(evidence)
        if same or bare is not None:
            said.append(same or (_of_bare(bare) if bare else ""))
    else:
        said += _side_by_side(cause, evidence)
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


def unshown_by_its_pair(cause: Mechanism, attribution: Attribution, evidence: Evidence) -> Iterator[str]:
    """That the runs which differ least do not bear a difference; nothing where they do."""
    rows = _nearest_pair(cause, evidence)
    if attribution.method == "replay" and cause not in BY_CHANCE and not bears_difference(rows):
        said = next(_side_by_side(cause, evidence, rows)).replace(NOT_SHOWN, "").replace(TOO_FEW, "")
        yield f"The runs that differ least do not show {quoted_name(cause)}: {said}."


def _nearest_pair(cause: Mechanism, evidence: Evidence) -> list[Row]:
    """The clearest pair; of calls, where that is of runs without tools and does not show it, those that still had the
    offer and the prompt."""
    rows = pair_of(cause, evidence)
    offered = [row for row in sides(cause, evidence)[0] if row.changed in (OFFERED, BEFORE)]
    if cause != "calling" or len(rows) < 2 or not offered or bears_difference(rows):
        return rows
    return [max(offered, key=lambda row: row.runs), *rows[1:]]


def _side_by_side(cause: Mechanism, evidence: Evidence, rows: Sequence[Row] = ()) -> Iterator[str]:
    """The clearest pair, or these `rows`, and the sums of all runs where they are few."""
    rows = rows or pair_of(cause, evidence)
    if len(rows) > 1:
        without, there = (f"{row.count} right ({row.name})" for row in rows)
        few = ", though these are few" if are_few(rows) else ""
        shown = few if bears_difference(rows) else TOO_FEW if rows[0].share > rows[1].share else NOT_SHOWN
        gone, with_it = sides(cause, evidence)
        whole = f"; of all its runs without it {total(gone).count}, with it {total(with_it).count}" if few else ""
        yield f"without it {without}, with it {there}{shown}{whole if gone and with_it else ''}"


def _of_chance(told: Explanation) -> Iterator[str]:
    """What draws again say against it stands with what is known of the likeliest cause."""
    evidence, attribution = told.explained.evidence, told.explained.attribution
    again, bare = unchanged(evidence), without_tools(evidence)
    if again and total(again).share >= RIGHT:
        yield f"{drawn_again(again)}{', which points neither way' if total(again).share == RIGHT else ''}"
    elif again and attribution is not None and as_likely(named_shares(told, attribution)):
        yield f"{drawn_again(again)}, which {'speaks against it' if against_chance(again) else 'says little'}"
    elif attribution is not None and (left := _wrong_without(attribution, evidence)):
        yield left
    elif again and attribution is not None and attribution.method == "replay":
        yield f"it is what the other causes leave, though {drawn_again(again)}"
    elif bare is not None and bare.share > RIGHT:
        yield f"{bare.told}, so it can answer the question"


def _some_readable(row: Row, evidence: Evidence) -> bool:
    """Of redraws of a last reply whose form was lost."""
    runs = evidence.all_runs
    return row.changed == LAST_REPLY and runs is not None and runs.unread < len(runs.last_reply)


def _wrong_without(attribution: Attribution, evidence: Evidence) -> str:
    """What leaves room for chance beside the likeliest cause: wrong ones without it too, or few runs; else empty."""
    cause = first_of(attribution)
    gone, there = (total(side) for side in sides(cause, evidence))
    if attribution.method != "replay" or gone.graded or not gone.runs:
        return ""
    if wrong := gone.runs - gone.right:
        return f"without {quoted_name(cause)} {wrong:g} of {gone.runs:g} {'is' if wrong == 1 else 'are'} wrong too"
    if gone.runs >= FEW or (there.runs and bears_difference([gone, there])):
        return ""
    return f"without {quoted_name(cause)} {gone.came}; so few do not rule chance out"


NOT_SHOWN, TOO_FEW = ", which does not show it", ", too few to show it"


def drawn_again(rows: list[Row]) -> str:
    """`with its last reply drawn again: 2 of 8 right`, or the sum of such rows."""
    return rows[0].told if len(rows) == 1 else f"drawn again, all such rows together: {total(rows).came}"


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
        # Of these, too, what could not be read was asked for once more: what is wrong has a wrong answer.
        return [row for row in unchanged(evidence) if row.share <= RIGHT or _some_readable(row, evidence)]
    if cause == "unknown":
        return []
    if attribution.method != "replay":
        bare = without_tools(evidence)
        return [bare] if bare is not None and bare.share < RIGHT else []
    gone, there = sides(cause, evidence)
    # One of two says nothing.
    low = [row for row in gone if row.share < RIGHT or (row.share == RIGHT and row.runs >= LEAST_RUNS)]
    high = [row for row in there if row.share > RIGHT]
    at = happened(cause, told).event if cause in AT_CALLS else None
    # What was answered before an event says nothing of what the event did; and what is told for it, as right more
    # often than with it, is not told against it too.
    pair = pair_of(cause, evidence)
    told_as_pair = bears_difference(pair) or pair[0].share <= pair[1].share
    shown = pair[: 1 if cause == "interaction" else 2] if told_as_pair else []
    found = [row for row in (*low, *high) if not asked_before(row, at) and row not in shown]
    return sorted(found, key=lambda row: -row.runs)
