"""What speaks against the likeliest cause of a wrong trial, or against each of several that are about as likely, beside
the table of its runs: early answers, what its trace shows, and answers that are not counted."""

from collections.abc import Iterator, Sequence

from toolablate.analysis.attribution.evidence import Evidence, Explanation
from toolablate.analysis.attribution.replay_rules import calls_are_lock_in
from toolablate.analysis.attribution.trace_rules import BY_CHANCE, ran_out, unrecovered
from toolablate.analysis.pairing import RIGHT
from toolablate.reports.why.answer_source import result_with_answer, right_there, shows, stands_in, unsourced
from toolablate.reports.why.causes import (
    LEAST_TOLD,
    Shares,
    as_likely,
    quoted_name,
    ranked,
    with_chance,
    without_tools,
)
from toolablate.reports.why.changed_runs import (
    AS_WAS,
    ASKED_OTHERWISE,
    BEFORE,
    IGNORING,
    Row,
    capital,
    levels_of,
    of_scores,
)
from toolablate.reports.why.early_answers_against import OF_RESULTS, early_answers_against, said_at_once
from toolablate.reports.why.happened import (
    Said,
    failed_for_a_time,
    happened,
    never_without_tools,
    same_without_tools,
)
from toolablate.reports.why.named_causes import named_shares
from toolablate.reports.why.rests_on import MINUS, WithoutRuns, speaking_against
from toolablate.reports.why.turn import right_until
from toolablate.traces.records import Attribution, Mechanism

NOTHING = "Nothing that counts."


def against(told: Explanation, rests: Sequence[WithoutRuns]) -> Iterator[Said]:
    attribution = told.explained.attribution
    if attribution is None:
        return
    shares = named_shares(told, attribution)
    several = [shares.cause, *(cause for cause, _ in as_likely(shares))]
    found: list[Said] = []
    for cause in several:
        # Of several that are as likely each line says of which it speaks.
        whose = f"Against {quoted_name(cause)}: " if len(several) > 1 else ""
        lines = [*_misfits(cause, told, shares, rests)] or ([NOTHING] if whose else [])
        found += (f"{whose}{line[:1].lower()}{line[1:]}" if whose else line for line in lines)
    right = right_there(told) if shares.cause in ("own_error", *OF_RESULTS) else ""
    found += [f"{right}."] if right else []
    found += [line for cause in several for line in unsourced(cause, told)]
    found += _signs_of_others(told, attribution, several)
    yield from found or [NOTHING]


def _misfits(cause: Mechanism, told: Explanation, shares: Shares, rests: Sequence[WithoutRuns]) -> Iterator[str]:
    attribution, evidence = told.explained.attribution, told.explained.evidence
    assert attribution is not None
    early = list(early_answers_against(cause, told))
    # Early answers before any call are a row as well.
    told_early = any(line.startswith("Before any call") for line in early)
    rows = [row for row in _rows_against(cause, attribution, evidence) if not (told_early and row.changed == BEFORE)]
    if rows:
        yield f"{capital('; '.join(row.told for row in rows))}."
    found, marked = speaking_against(told, cause, rests) if attribution.method == "replay" else ([], False)
    if found := [row for row in found if not (told_early and row.changed == BEFORE)]:
        how = ("" if as_likely(shares) else f" ({MINUS})") if marked else ", by their counts alone"
        yield f"Runs of the table{how}: {'; '.join(row.told for row in found)}."
    yield from (f"Though not counted ({ASKED_OTHERWISE}), {row.told}." for row in _ignoring(cause, evidence))
    runs = evidence.all_runs
    if cause == "format" and runs is not None and runs.last_reply and 2 * runs.unread <= len(runs.last_reply):
        readable = len(runs.last_reply) - runs.unread
        yield f"{readable} of {len(runs.last_reply)} draws of its last reply could be read at once."
    if cause == "sampling_noise" and runs is not None and runs.last_reply and 2 * runs.unread > len(runs.last_reply):
        readable = len(runs.last_reply) - runs.unread
        yield (
            f"Only {readable} of {len(runs.last_reply)} draws of its last reply could be read at once: chance does not"
            " explain the missing form."
        )
    if cause == shares.cause:
        yield from _answers_without_tools(cause, shares, evidence)
    yield from early


def _signs_of_others(told: Explanation, attribution: Attribution, several: list[Mechanism]) -> Iterator[str]:
    """What stands in the trace of causes that the verdict does not name first, with their probabilities."""
    evidence, first = told.explained.evidence, several[0]
    chances = dict(ranked(attribution))

    def sign(cause: Mechanism) -> str:
        return f", a sign of {with_chance(cause, told)}"

    at = result_with_answer(told)
    cause = None if at is None else shows(at, told)
    if at is not None and cause is not None and cause not in several and first not in _NOT_OF_ANSWERS:
        still = right_until(at, evidence)
        yield f"{stands_in(at, told)}{sign(cause)}{f'; {still}' if still else ''}."
    if "tool_fault" not in several:
        if unrecovered(evidence.signals.troubles):
            yield f"{capital(happened('tool_fault', told).clause)}{sign('tool_fault')}."
        elif (passing := failed_for_a_time(evidence)) and chances.get("tool_fault", 0.0) >= LEAST_TOLD:
            yield f"{capital(passing)}, and worked again{sign('tool_fault')}."
    if "budget" not in several and ran_out(evidence.signals):
        yield f"{capital(happened('budget', told).clause)}{sign('budget')}."


_NOT_OF_ANSWERS: tuple[Mechanism, ...] = ("interaction", "format", "unknown")
"""Causes that a result with the final answer says nothing against."""


def _answers_without_tools(cause: Mechanism, shares: Shares, evidence: Evidence) -> Iterator[str]:
    """Where trials without tools answer otherwise than they would if it were so."""
    if cause not in BY_CHANCE and "own_error" not in shares.named:
        if same := same_without_tools(evidence):
            yield f"{same}, so the error may have nothing to do with tools."
        elif few := same_without_tools(evidence, least=0.0):
            yield f"{few}."
    elif cause in BY_CHANCE and not said_at_once(evidence) and (never := never_without_tools(evidence)):
        yield f"{never}."


def _ignoring(cause: Mechanism, evidence: Evidence) -> list[Row]:
    """Answers that were to set the results aside, where they come out otherwise than they would if it were so."""
    if not evidence.ignore_tools or (cause == "lock_in" and calls_are_lock_in(evidence)):
        return []
    row = of_scores(IGNORING, evidence.ignore_tools, evidence)
    return [row] if cause in (_NOT_BY_RESULTS if row.share > RIGHT else _BY_RESULTS) else []


_BY_RESULTS: tuple[Mechanism, ...] = ("lock_in", "retrieval_distraction", "other_results", "interaction")
_NOT_BY_RESULTS: tuple[Mechanism, ...] = ("own_error", "volume", "calling", "tool_fault", "budget")


def _rows_against(cause: Mechanism, attribution: Attribution, evidence: Evidence) -> list[Row]:
    """Where no run is weighed for it, those that are as they would not be if it were so."""
    if attribution.method == "replay" or cause == "unknown":
        return []
    if cause in BY_CHANCE:
        rows = [row for row in levels_of(evidence) if row.changed != AS_WAS]
        return [row for row in rows if (row.share > RIGHT if cause == "own_error" else row.share < RIGHT)]
    bare = without_tools(evidence)
    return [bare] if bare is not None and bare.share < RIGHT else []
