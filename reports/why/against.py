"""What speaks against the likeliest cause of a wrong trial, and for and against several that are about as likely: rows,
early answers and signs."""

from collections.abc import Iterator, Sequence

from toolablate.analysis.attribution.evidence import Evidence, Explanation
from toolablate.analysis.attribution.levels import LAST_REPLY, OFFERED
from toolablate.analysis.attribution.replay_rules import calls_are_lock_in
from toolablate.analysis.attribution.trace_rules import BY_CHANCE
from toolablate.analysis.pairing import RIGHT
from toolablate.reports.why.answer_source import result_with_answer, right_there, shows, stands_in, unsourced
from toolablate.reports.why.causes import (
    Shares,
    are_few,
    as_likely,
    bears_difference,
    counted_runs,
    do_not_show,
    kinds_wrong,
    mostly_wrong,
    name_of,
    not_apart,
    pair_of,
    quoted_name,
    sides,
    unchanged,
    which_are_few,
    without_tools,
)
from toolablate.reports.why.changed_runs import (
    AS_WAS,
    ASKED_OTHERWISE,
    BEFORE,
    IGNORING,
    REPEATS,
    Row,
    by_calls,
    is_of,
    levels_of,
    of_scores,
    total,
    uncounted,
)
from toolablate.reports.why.early_answers_against import NEEDS_NO_CALL, OF_RESULTS, early_answers_against, said_at_once
from toolablate.reports.why.happened import Said, never_without_tools, same_without_tools
from toolablate.reports.why.known import speaks_for
from toolablate.reports.why.named_causes import named_shares, spoken_of
from toolablate.reports.why.other_causes import (
    NOT_SHOWN,
    TOO_FEW,
    side_by_side,
    told_chance,
)
from toolablate.reports.why.rests_on import WithoutRuns, speaking_against, speaking_for, told_with
from toolablate.reports.why.turn import AT_CALLS, right_until
from toolablate.traces.records import Attribution, Mechanism

WITHOUT_THESE = ", with its probability without these"
MOST_ROWS, MOST_OF_EACH = 5, 2
"""Of one cause, and of each of several that are about as likely."""


def against(told: Explanation, rests: Sequence[WithoutRuns]) -> Iterator[Said]:
    attribution, evidence = told.explained.attribution, told.explained.evidence
    if attribution is None:
        return
    shares = named_shares(told, attribution)
    undecided = [cause for cause, _ in as_likely(shares)]
    several = (shares.cause, *undecided)
    by_replay = attribution.method == "replay"
    found: list[Said] = []
    for cause in several:
        found += speaks_for(cause, told) if undecided and by_replay else ()
        found += _misfits(cause, undecided, told, shares, rests)
    if not undecided:
        found += unshown_by_its_pair(shares.cause, attribution, evidence)
    right = right_there(told) if shares.cause in ("own_error", *OF_RESULTS) else ""
    found += [*([f"{right}."] if right else []), *_answer_in_a_result(told, shares)]
    found += [line for cause in several for line in unsourced(cause, told)]
    beside = [each for each in not_apart(shares.cause, evidence) if each not in shares.named]
    if beside and attribution.method == "replay":
        listed = " and ".join(f"{name_of(each)} ({told_chance(attribution.shares.get(each, 0.0))})" for each in beside)
        found.append(f"The runs that decide it are without {listed} too.")
    found = found or [*_stragglers(shares.cause, attribution, evidence)]
    yield from found or ["Nothing found."]
    if found and not undecided and (outweighing := speaking_for(shares.cause, rests, shares.hundredths)):
        yield f"What outweighs it{WITHOUT_THESE}: {told_with(outweighing, shares.cause)}."


def _stragglers(cause: Mechanism, attribution: Attribution, evidence: Evidence) -> Iterator[str]:
    """Where nothing else speaks against a cause, the kinds of run that came out otherwise than most."""
    gone, there = sides(cause, evidence)
    if attribution.method != "replay" or cause == "own_error":
        return
    if cause == "sampling_noise":
        rows = [row for row in unchanged(evidence) if row.share < RIGHT]
    else:
        rows = [row for row in there if row.share >= RIGHT] + [row for row in gone if row.share < RIGHT]
    # What is told for it is not told against it too.
    if rows := [row for row in rows if row not in pair_of(cause, evidence)]:
        yield f"Little: {'; '.join(row.told for row in rows[:MOST_ROWS])}."


def _misfits(
    cause: Mechanism,
    undecided: Sequence[Mechanism],
    told: Explanation,
    shares: Shares,
    rests: Sequence[WithoutRuns],
) -> Iterator[str]:
    """Rows and early answers that do not fit a cause, also where they are told of another one that they fit."""
    attribution, evidence = told.explained.attribution, told.explained.evidence
    assert attribution is not None
    # What is told for it, as right more often than with it, is not told against it too.
    pair = pair_of(cause, evidence)
    told_for = cause not in BY_CHANCE and (bears_difference(pair) or pair[0].share <= pair[1].share)
    shown = pair if told_for else []
    likely = dict([(shares.cause, shares.hundredths), *shares.others])[cause]
    weighed = [
        each
        for each in speaking_against(cause, rests, likely)
        if each.row not in shown and _is_otherwise(each.row, cause, evidence)
    ]
    rows = [each.row for each in weighed] or _rows_against(cause, attribution, evidence)
    early = list(early_answers_against(cause, told))
    # Early answers before any call are a row as well.
    of_all = [line for each in (shares.cause, *undecided) for line in early_answers_against(each, told)]
    told_early = any("before any call" in each.lower() for each in of_all)
    rows = [row for row in rows if not (told_early and row.changed == BEFORE)]
    rows += _uncounted_against(cause, attribution, evidence)
    likely_without = {each.row: f" ({each.chance(cause)})" for each in weighed}
    most = MOST_OF_EACH if undecided else MOST_ROWS
    texts = [f"{row.told}{likely_without.get(row, '')}" for row in rows]
    more = f"; and {len(texts) - most} more" if len(texts) > most else ""
    if texts:
        how = WITHOUT_THESE if weighed else ""
        yield f"Runs that speak against {quoted_name(cause)}{how}: {'; '.join(texts[:most])}{more}."
    yield from (
        f"Against {quoted_name(cause)}, though not counted ({ASKED_OTHERWISE}): {row.told}."
        for row in _ignoring(cause, evidence)
    )
    if cause == "sampling_noise":
        yield from _fewer_with_calls(evidence)
    if attribution.method == "replay":
        # Of several what speaks for each has the sums.
        yield from () if undecided else _among_calls(cause, evidence)
        yield from _counted_against_chance(cause, evidence)
    if cause == shares.cause:
        yield from _answers_without_tools(cause, shares, evidence)
    if any(each.row.changed == BEFORE for each in speaking_for(cause, rests, likely)):
        # As what was there before it turned they speak for it all the same.
        early = [
            each.replace(NEEDS_NO_CALL, f"{NEEDS_NO_CALL}, though later answers are right less often yet")
            for each in early
        ]
    # Of several that are as likely each line says of which it speaks.
    yield from (f"Against {quoted_name(cause)}: {each[:1].lower()}{each[1:]}" if undecided else each for each in early)


def _is_otherwise(row: Row, cause: Mechanism, evidence: Evidence) -> bool:
    """Whether its counts go against a cause too: what weighs against it by what they say of others has its place in the
    table of runs. Of sampling noise both do: wrong draws, and what is right only where something is taken away."""
    if cause == "sampling_noise":
        return True
    gone = cause != "own_error" and is_of(row, sides(cause, evidence)[0])
    return row.share <= RIGHT if gone else row.share >= RIGHT


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
        few = which_are_few(pair[0], pair[1]) if are_few(pair) else ""
        named_with_it = cause == "lock_in" and calls_are_lock_in(evidence)
        too = "" if named_with_it else f", which {of_calling(evidence)} would explain too"
        yield (
            f"All runs with calls together {do_not_show(pair)} {quoted_name(cause)}: without it {pair[0].came}, with it"
            f" {pair[1].came}{few}. Runs without any call are mostly right, {total(bare).count}{too}."
        )


def of_calling(evidence: Evidence) -> str:
    """What what its calls did, whatever they gave, is called."""
    return quoted_name("lock_in" if calls_are_lock_in(evidence) else "calling")


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
            f" {pair[1].count}, which {of_calling(evidence)} would explain."
        )


def _answer_in_a_result(told: Explanation, shares: Shares) -> Iterator[str]:
    """That a result has its answer, where that is a sign of another cause, and whether early answers were right until
    then."""
    at, signals = result_with_answer(told), told.explained.evidence.signals
    cause = None if at is None else shows(at, told)
    as_good = [each for each, _ in as_likely(shares)]
    if at is None or cause is None or cause in as_good or shares.cause in (cause, "interaction", "format", "unknown"):
        return
    # What it took up is told with the other causes.
    took_up = signals.adoption is not None and signals.adoption.is_new
    if took_up and cause in spoken_of(shares):
        return
    pair = [] if took_up or cause in spoken_of(shares) else [*side_by_side(cause, told.explained.evidence)]
    still = right_until(at, told.explained.evidence)
    if still or not took_up:
        said = [f"{stands_in(at, told)}, a sign of {quoted_name(cause)}", *pair, *([still] if still else [])]
        whose = f"Against {quoted_name(shares.cause)}: " if as_good else ""
        told_of = "; ".join(said)
        yield f"{whose}{told_of[:1].lower() + told_of[1:] if whose else told_of}."


def _answers_without_tools(cause: Mechanism, shares: Shares, evidence: Evidence) -> Iterator[str]:
    """Where trials without tools answer otherwise than they would if it were so."""
    if cause not in BY_CHANCE and "own_error" not in shares.named:
        if same := same_without_tools(evidence):
            yield f"{same}, so the error may have nothing to do with tools."
        elif few := same_without_tools(evidence, least=0.0):
            yield f"{few}."
    elif cause in BY_CHANCE and not said_at_once(evidence) and (never := never_without_tools(evidence)):
        yield f"{never}."


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
    return [row] if cause in misfits else []


_BY_RESULTS: tuple[Mechanism, ...] = ("lock_in", "retrieval_distraction", "other_results", "interaction")
_NOT_BY_RESULTS: tuple[Mechanism, ...] = ("own_error", "volume", "calling", "tool_fault", "budget")


def unshown_by_its_pair(cause: Mechanism, attribution: Attribution, evidence: Evidence) -> Iterator[str]:
    """That the runs which differ least do not bear a difference; nothing where they do."""
    rows = _nearest_pair(cause, evidence)
    if attribution.method == "replay" and cause not in BY_CHANCE and not bears_difference(rows):
        said = next(side_by_side(cause, evidence, rows)).replace(NOT_SHOWN, "").replace(TOO_FEW, "")
        yield f"The runs that differ least {do_not_show(rows)} {quoted_name(cause)}: {said}."


def _nearest_pair(cause: Mechanism, evidence: Evidence) -> list[Row]:
    """The clearest pair; of calls, where that is of runs without tools and does not show it, those that still had the
    offer and the prompt."""
    rows = pair_of(cause, evidence)
    offered = [row for row in sides(cause, evidence)[0] if row.changed in (OFFERED, BEFORE)]
    if cause != "calling" or len(rows) < 2 or not offered or bears_difference(rows):
        return rows
    return [max(offered, key=lambda row: row.runs), *rows[1:]]


def _some_readable(row: Row, evidence: Evidence) -> bool:
    """Of redraws of a last reply whose form was lost: half of them at least."""
    runs = evidence.all_runs
    return row.changed == LAST_REPLY and runs is not None and 2 * runs.unread <= len(runs.last_reply)


def _rows_against(cause: Mechanism, attribution: Attribution, evidence: Evidence) -> list[Row]:
    """Where no run is weighed for it, those that are as they would not be if it were so."""
    if cause == "format" and evidence.re_asked:
        # Of these, too, what could not be read was asked for once more: what is wrong has a wrong answer.
        return [row for row in unchanged(evidence) if row.share <= RIGHT or _some_readable(row, evidence)]
    if attribution.method == "replay" or cause == "unknown":
        return []
    if cause in BY_CHANCE:
        rows = [row for row in levels_of(evidence) if row.changed != AS_WAS]
        return [row for row in rows if (row.share > RIGHT if cause == "own_error" else row.share < RIGHT)]
    bare = without_tools(evidence)
    return [bare] if bare is not None and bare.share < RIGHT else []
