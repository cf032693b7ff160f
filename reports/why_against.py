"""What speaks against the likeliest cause of a wrong trial: other causes, runs, early answers and signs."""

from collections.abc import Iterator

from toolablate.analysis.attribution.evidence import Evidence, Explanation
from toolablate.analysis.attribution.levels import AGAIN, BEFORE_CALLS, LAST_REPLY, REPEATED, WITHOUT_TOOLS
from toolablate.analysis.attribution.replay_rules import (
    LIKELY,
    OF_PARTS,
    ORDER,
    deciding,
    levels_without,
    taken_together,
)
from toolablate.analysis.attribution.trace_rules import BY_CHANCE
from toolablate.analysis.pairing import RIGHT
from toolablate.reports.cause_wording import probable
from toolablate.reports.causes import (
    beside,
    by_luck,
    deciding_rows,
    named,
    of_chance,
    ranked,
    repeats_of,
    restores,
    rows_of_chance,
    without_cause,
)
from toolablate.reports.changed_runs import Row, levels_of, row_of
from toolablate.reports.not_known import Said
from toolablate.reports.numbers import counted
from toolablate.reports.turn import AT_CALLS, never_fell, told_turn, turn_of
from toolablate.reports.why_signs import (
    BEFORE_TOOLS,
    early,
    events_named,
    ignoring,
    is_elsewhere,
    is_late,
    noted,
    same_without_tools,
    sign_in,
)
from toolablate.traces.records import Attribution, Mechanism

_MUCH = 0.5
"""So much more often other trials of the question are right without another cause that a page tells it."""
_POSSIBLE, MOST_OTHERS, MOST_ROWS = 0.1, 2, 5
"""Other causes are named from this probability on, and so many at most; so many kinds of runs."""


_NOTHING_TAKEN = (AGAIN, LAST_REPLY, REPEATED)
_OF_RESULTS: tuple[Mechanism, ...] = ("retrieval_distraction", "lock_in", "other_results", "interaction", "volume")


def against(told: Explanation) -> Iterator[Said]:
    attribution, evidence = told.explained.attribution, told.explained.evidence
    if attribution is None:
        return
    said = [
        *early(told, "against"),
        *_turn_against(attribution, evidence),
        *_runs_against(attribution, evidence),
        *ignoring(ranked(attribution)[0][0], evidence, comes_back=False),
        *(() if ranked(attribution)[0][0] in BY_CHANCE else same_without_tools(told)),
        *_other_causes(attribution, evidence),
        *_other_trials(attribution, evidence),
        *_trace_against(told),
    ]
    yield from said or ["No run and no sign in the trace."]
    if not said or not attribution.shares:
        yield _others_together(attribution, untold=not said)


def _others_together(attribution: Attribution, *, untold: bool) -> str:
    cause, probability = ranked(attribution)[0]
    others = "Chance" if cause == "unknown" else "Other causes together"
    likelier = ", likelier than this one" if probability < LIKELY else ""
    if untold and not attribution.shares and cause != "unknown":
        likelier += "; nothing tells which"
    return f"{others}: probability {probable(1 - probability)}{likelier}."


def _turn_against(attribution: Attribution, evidence: Evidence) -> Iterator[str]:
    """A place where early answers surely get worse, of a cause that acts at no call, or at a later event."""
    cause, turn = ranked(attribution)[0][0], turn_of(evidence)
    if turn is not None and is_elsewhere(turn, attribution):
        yield f"{told_turn(turn)} That is not where the tool failed."
    if turn is None and cause in AT_CALLS and evidence.trajectory is not None:
        yield never_fell(evidence)
    if turn is None or not turn.sure or cause in (*AT_CALLS, "unknown"):
        there = [] if turn is None else [call for call in evidence.signals.calls if turn.start <= call.event < turn.end]
        if turn is not None and turn.sure and cause in _OF_RESULTS and there and not any(call.gave for call in there):
            yield f"Where early answers get worse ({turn.where}), the call gave nothing."
        return
    later = min(attribution.evidence, default=None)
    if later is None or cause in BEFORE_TOOLS:
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
        yield f"The best runs with it are right at least as often. {beside(*runs)}."
    elif found := deciding(cause, evidence):
        lacking = (row_of(level, evidence) for level in levels_without(cause, evidence))
        # What was asked before any call is told by itself.
        decides = row_of(found[0], evidence)
        others = {row for row in lacking if row != decides and not (BEFORE_CALLS in row.changed and row.share > RIGHT)}
        low = sorted(
            (row for row in others if row.share < max(decides.share, RIGHT)),
            key=lambda row: (row.share, -row.runs, row.changed),
        )
        if low:
            listed = "; ".join(f"{row.changed}, {row.count}" for row in low[:MOST_ROWS])
            left = len(low) - MOST_ROWS
            more = f"; and {counted(left, 'more kind')}" if left > 0 else ""
            yield f"Not all other runs without it are right: {listed}{more}."


def _rows_against(cause: Mechanism, evidence: Evidence) -> Iterator[Row]:
    if cause == "own_error":
        said = rows_of_chance(cause, evidence)
        right = (row for row in without_cause(cause, evidence) if row.share >= RIGHT and row not in said)
        yield from (row for row in right if not row.changed.startswith(BEFORE_CALLS))
        return
    yield from (row for row in without_cause(cause, evidence) if row.share < RIGHT)
    # Where nothing is taken away, chance brings the right answer back at times.
    yield from (row for row in levels_of(evidence) if row.changed.startswith(_NOTHING_TAKEN) and not row.right)
    repeats = repeats_of(evidence)
    if repeats is not None and not repeats.right:
        yield repeats


def _other_causes(attribution: Attribution, evidence: Evidence) -> Iterator[str]:
    for cause, probability in _others(attribution):
        yield f"It may instead be {named(cause)}: probability {probable(probability)}.{_runs_of(cause, evidence)}"


def _others(attribution: Attribution) -> list[tuple[Mechanism, float]]:
    """Those that are told, with their probabilities."""
    return [each for each in ranked(attribution)[1:] if each[1] >= _POSSIBLE][:MOST_OTHERS]


def _runs_of(cause: Mechanism, evidence: Evidence) -> str:
    """What runs say of another cause, where they say something for it."""
    if cause == "sampling_noise" and evidence.all_runs is not None:
        return by_luck(evidence)
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
    sign = sign_in(evidence)
    if sign is not None and sign[0] == cause and is_late(cause, sign[1], evidence):
        turn = turn_of(evidence)
        assert turn is not None
        yield (
            f"The sign of it in the trace ({events_named(sign[1])}) comes after early answers got worse ({turn.where}):"
            f" {noted(sign[2])}."
        )
    for other in told.explained.hypotheses:
        if other.mechanism not in (cause, "unknown") and other.confidence >= LIKELY:
            yield _read_otherwise(other, attribution)
    if sign is not None and sign[0] not in (cause, "own_error"):
        late = ["after early answers got worse"] if is_late(sign[0], sign[1], evidence) else []
        where = ", ".join([*([events_named(sign[1])] if sign[1] else []), *late])
        at = f" ({where})" if where else ""
        tested = _tested(sign[0], attribution, evidence)
        yield f"The trace has a sign of {named(sign[0])}: {noted(sign[2])}{at}.{tested}"


def _read_otherwise(other: Attribution, attribution: Attribution) -> str:
    """Another reading, and what replays left of it."""
    by = "A judge" if other.method == "judge" else "What was known before any replay"
    shares = dict(attribution.shares) if attribution.method == "replay" else {}
    measured = f"; the replays leave it {probable(shares.get(other.mechanism, 0.0))}" if shares else ""
    return f"{by} points to {named(other.mechanism)}, a hypothesis: probability {probable(other.confidence)}{measured}."


def _tested(cause: Mechanism, attribution: Attribution, evidence: Evidence) -> str:
    """What replays say of a sign, where the page has not said it of another cause."""
    rows = deciding_rows(cause, evidence)
    if attribution.method != "replay" or rows is None or cause in [each for each, _ in _others(attribution)]:
        return ""
    told = "" if restores(cause, evidence) else " Replays do not bear it out."
    return f"{told} {beside(*rows, what='it')}."
