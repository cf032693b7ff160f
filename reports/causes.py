"""Causes of a wrong trial in plain words, how sure each is, and the runs that decide it."""

import math
from collections.abc import Iterator, Mapping, Sequence

from toolablate.analysis.attribution.belief import share
from toolablate.analysis.attribution.evidence import Evidence, shown_chars
from toolablate.analysis.attribution.levels import (
    AGAIN,
    BEFORE_CALLS,
    EXTENDED,
    LAST_REPLY,
    OFFERED,
    OUTSET,
    PLACEBO,
    REPAIRED,
    REPEATED,
    SHAM,
    WITHOUT_TOOLS,
    swapped_results,
)
from toolablate.analysis.attribution.replay_rules import LIKELY, deciding, levels_without, taken_together
from toolablate.analysis.attribution.report import mechanism_name
from toolablate.analysis.attribution.trace_rules import BY_CHANCE
from toolablate.analysis.pairing import RIGHT
from toolablate.reports.cause_wording import chance
from toolablate.reports.changed_runs import (
    RE_ASKED,
    REDRAWN,
    REPAIRED_TOO,
    REPEATS,
    Row,
    is_alone,
    levels_of,
    of_scores,
    row_of,
)
from toolablate.traces.records import Attribution, Mechanism

FEW = 8
"""Fewer runs of a kind are called few."""

WORDS: tuple[tuple[float, str], ...] = (
    (0.95, "almost certainly"),
    (0.8, "very likely"),
    (0.6, "probably"),
    (LIKELY, "more likely than not"),
)
"""How sure a cause is called, from which probability on."""

CAUSES: Mapping[Mechanism, str] = {
    "retrieval_distraction": "what its search found",
    "lock_in": "its computation",
    "other_results": "what its other tools gave",
    "interaction": "the results of two kinds of tools together",
    "volume": "the length of its results, whatever they say",
    "calling": "calling tools at all, whatever they return",
    "availability": "the offer of tools",
    "prompt": "the words of the condition's prompt",
    "budget": "a limit that ended it",
    "tool_fault": "a tool that failed",
    "format": "the form of its answer",
    "sampling_noise": "chance",
    "own_error": "the model's own error, which needs no tool",
    "unknown": "something else than chance",
}


def how_sure(probability: float) -> str:
    """Empty under .5."""
    return next((word for least, word in WORDS if probability >= least), "")


def ranked(attribution: Attribution) -> list[tuple[Mechanism, float]]:
    """Causes with their probabilities, the most probable first; before it what needs no tool, where it is attributed to
    that and both its names outweigh any other cause together."""
    found = dict(attribution.shares) or {attribution.mechanism: attribution.confidence}
    together = math.fsum(found.get(each, 0.0) for each in BY_CHANCE)
    first = attribution.mechanism if attribution.mechanism in BY_CHANCE and together >= max(found.values()) else None
    return sorted(found.items(), key=lambda each: (each[0] != first, -each[1], each[0] != attribution.mechanism))


def named(cause: Mechanism) -> str:
    """`its computation (computational lock-in)`."""
    name, plain = mechanism_name(cause), CAUSES[cause]
    return plain if cause in ("own_error", "unknown") else f"{plain} ({name})"


def not_apart(cause: Mechanism, evidence: Evidence) -> tuple[Mechanism, ...]:
    """Other causes that the deciding runs take away with it; nothing of what needs no tool."""
    if cause in BY_CHANCE:
        return ()
    return tuple(each for each in taken_together(cause, evidence) if each not in (cause, *BY_CHANCE))


# The runs that decide whether a cause is one.


def restores(cause: Mechanism, evidence: Evidence) -> bool:
    """Whether runs show a cause. Without it they are right more often than any in which it is at work; or what needs no
    tool stands in the counts."""
    if cause in BY_CHANCE:
        return any(of_chance(cause, evidence)) or (cause == "sampling_noise" and any(_comes_out_right(evidence)))
    return _more_often(cause, evidence)


def _more_often(cause: Mechanism, evidence: Evidence) -> bool:
    found = deciding_rows(cause, evidence)
    return found is not None and found[0].share > (found[1].share if found[1] else 0.0)


def deciding_rows(cause: Mechanism, evidence: Evidence) -> tuple[Row, Row | None] | None:
    """Runs without a cause, and those with it that are right most often, where there are any. None where no runs are
    without it."""
    if cause == "format" and evidence.re_asked:
        return of_scores(RE_ASKED, evidence.re_asked, evidence), None
    if cause == "interaction":
        kept = [row for row in levels_of(evidence) if row.changed.startswith((AGAIN, LAST_REPLY, EXTENDED, REPAIRED))]
        both = of_kinds(evidence)
        return (both[-1], max(kept, key=lambda row: row.share, default=None)) if both else None
    found = deciding(cause, evidence)
    if found is None:
        return None
    undone, before = found
    return row_of(undone, evidence), None if before is None or is_alone(before) else row_of(before, evidence)


def of_kinds(evidence: Evidence) -> tuple[Row, ...]:
    """Of two kinds of tools the runs without the results of each, then of both; nothing where one is missing."""
    kinds, levels = sorted(evidence.inputs.tools), levels_of(evidence)
    if len(kinds) != 2:
        return ()
    starts = [swapped_results(each) for each in (kinds[:1], kinds[1:], kinds)]
    found = [row for start in starts for row in levels if row.changed.partition(REPAIRED_TOO)[0] == start]
    return tuple(found) if len(found) == len(starts) else ()


def decided(cause: Mechanism, evidence: Evidence) -> Iterator[str]:
    """The runs that decide whether a cause is one, where they do: without it and with it, side by side."""
    found = deciding_rows(cause, evidence)
    if cause == "unknown":
        known = {row.changed: row for row in levels_of(evidence)}
        if WITHOUT_TOOLS in known:
            with_tools = known.get(REPEATED)
            came = f" ({with_tools.changed}), {with_tools.count}" if with_tools else ", this trial is wrong"
            yield f"{known[WITHOUT_TOOLS].sentence}; with the condition's tools{came}."
    elif found and restores(cause, evidence):
        # What all tools bring goes together there.
        whole = found[0].changed == WITHOUT_TOOLS and not_apart(cause, evidence)
        what = f"this cause{_ALL_ELSE}" if whole else "this cause"
        both = _beside_kinds(of_kinds(evidence), found[1]) if cause == "interaction" else beside(*found, what=what)
        yield f"{both}."


_ALL_ELSE = " and all else that tools bring"


def beside(undone: Row, before: Row | None, *, what: str = "this cause") -> str:
    """Without its end."""
    against = f"; at best with it ({before.changed}), {before.count}" if before else "; with it, this trial is wrong"
    return f"Without {what} ({undone.changed}), {undone.said}{against}"


def _beside_kinds(kinds: Sequence[Row], before: Row | None) -> str:
    first, second, both = kinds
    against = f"; with both kinds ({before.changed}), {before.count}" if before else ""
    return (
        f"Without one kind of results ({first.changed}), {first.said}; without the other ({second.changed}),"
        f" {second.count}; without both, {both.count}{against}"
    )


def without_cause(cause: Mechanism, evidence: Evidence) -> Iterator[Row]:
    """Of what needs no tool: the question without tools, and for an error of the model's own the best of all others."""
    levels = levels_of(evidence)
    without = [row for row in levels if row.changed == WITHOUT_TOOLS]
    yield from without
    others = [row for row in levels if row not in without]
    if cause == "own_error" and others:
        yield max(others, key=lambda row: (row.share, row.runs))


# What a page says of them.


def deciding_told(attribution: Attribution, evidence: Evidence) -> Iterator[str]:
    """The runs that decide it, with and without the cause in one sentence, and how far they do."""
    cause = ranked(attribution)[0][0]
    if cause in BY_CHANCE:
        said = tuple(of_chance(cause, evidence))
        rows = rows_of_chance(cause, evidence)
        yield from said or _undecided(rows)
        yield from intervals_told(rows)
        yield from _comes_out_right(evidence) if cause == "sampling_noise" else ()
        return
    said, rows = tuple(decided(cause, evidence)), [row for row in deciding_rows(cause, evidence) or () if row]
    yield from said
    if cause == "unknown":
        if said:
            yield "These runs differ in all that the condition adds: they do not say which part of it did this."
    elif attribution.method != "replay":
        if said:
            yield "These are trials of this question: they fit it, and do not test it on this trial."
        elif not rows:
            yield "No run yet takes this cause alone away."
    elif said:
        yield from _how_told(cause, evidence)
    else:
        yield "No single kind of run decides it."
    if said and cause != "interaction":
        yield from intervals_told(rows, compared=True)
    if said and cause == "volume" and attribution.method == "replay":
        yield from _not_content(evidence)


def _not_content(evidence: Evidence) -> Iterator[str]:
    """Of the length of results: how long they are, and what others as long do."""
    yield f"All its results together have {shown_chars(evidence.signals):,} characters."
    alike = [row for row in levels_of(evidence) if "equally long" in row.changed and row.share < RIGHT]
    yield from (f"Others as long help less: {row.changed}, {row.count}." for row in alike[-1:])


def together(cause: Mechanism, evidence: Evidence) -> Sequence[Row]:
    """Of all runs that a probability weighs the sums: with a cause and without it, or of what needs no tool all; empty
    where there are none of a kind, or scores between right and wrong."""
    lacking = {row_of(level, evidence) for level in levels_without(cause, evidence)} if cause not in BY_CHANCE else ()
    weighed = levels_of(evidence)
    sides = [[row for row in weighed if (row in lacking) == without] for without in (False, True)]
    if cause in BY_CHANCE:
        sides = sides[:1]
    if not all(sides) or any(row.graded for row in weighed):
        return ()
    return [
        Row(what, math.fsum(row.runs for row in rows), math.fsum(row.right for row in rows))
        for what, rows in zip(("with it", "without it"), sides, strict=False)
    ]


def _undecided(rows: Sequence[Row]) -> Iterator[str]:
    counted = [row.said if place == 0 else f"at best ({row.changed}), {row.count}" for place, row in enumerate(rows)]
    yield f"No single kind of run decides it{f': {rows[0].changed}, ' if rows else ''}{'; '.join(counted)}."


def _how_told(cause: Mechanism, evidence: Evidence) -> Iterator[str]:
    """How runs without it differ from the trial, where no row says so."""
    if cause == "format":
        yield "Its last reply was kept, and asked for its answer in a form that can be read."
    elif cause == "interaction":
        either = [row.share >= RIGHT for row in of_kinds(evidence)[:-1]]
        if all(either):
            yield "To take away either kind of results is enough, so both were needed to go wrong."
        elif not any(either):
            yield "To take away one kind of results is not enough, so either was enough to go wrong."
        else:
            yield "What each kind of results does depends on the other."


def intervals_told(rows: Sequence[Row], *, compared: bool = False) -> Iterator[str]:
    """How exactly a few runs tell their shares; where those without a cause are `compared` with those with it, whether
    they decide it."""
    if not rows or any(row.graded for row in rows):
        return
    found = [share(round(row.right), round(row.runs)) for row in rows]
    ends, few = [f"{chance(of.low)} to {chance(of.high)}" for of in found], min(row.runs for row in rows) < FEW
    if not compared or len(found) < 2:
        listed = " and ".join(dict.fromkeys(ends))
        counted = f"Few runs: {' and '.join(f'{row.runs:g}' for row in rows)}. " if few else ""
        one = len(set(ends)) == 1
        yield f"{counted}95 % interval{' of each' if one and len(ends) > 1 else '' if one else 's'}: {listed}."
        return
    without, at_work = found
    so = "do not overlap" if without.low > at_work.high else "overlap: these runs alone do not decide it"
    counted = f"Few runs: {rows[0].runs:g} without it, {rows[1].runs:g} with it. " if few else ""
    yield f"{counted}Their 95 % intervals, {ends[0]} and {ends[1]}, {so}."


def rows_of_chance(cause: Mechanism, evidence: Evidence) -> list[Row]:
    """The runs that a page counts for what needs no tool, or else against it."""
    rows = list(without_cause(cause, evidence))
    if cause == "own_error":
        # What is right more often than not speaks against it.
        return [row for row in rows if row.share < RIGHT] or (rows if all(row.share == RIGHT for row in rows) else [])
    found = deciding_rows(cause, evidence)
    undone = [found[0]] if found and _more_often(cause, evidence) else []
    return [*undone, *(row for row in rows if not undone or row.share >= RIGHT)]


def of_chance(cause: Mechanism, evidence: Evidence) -> Iterator[str]:
    """Of what needs no tool: the runs that show it."""
    found = {row.changed == WITHOUT_TOOLS: row for row in without_cause(cause, evidence)}
    without, best = found.get(True), found.get(False)
    if cause == "own_error":
        low = [row for row in (without, best) if row is not None and row.share < RIGHT]
        if len(low) > 1 and without and best:
            mostly = "Mostly wrong" if without.right or best.right else "Wrong"
            yield (
                f"{mostly} whatever is taken away: without tools, {without.said}; at best ({best.changed}),"
                f" {best.count}."
            )
        else:
            yield from (f"{'Mostly wrong' if row.right else 'Wrong'} {row.changed}: {row.said}." for row in low)
        return
    rows, can = deciding_rows(cause, evidence), without is not None and without.share >= RIGHT
    if rows and _more_often(cause, evidence):
        undone = rows[0]
        yield f"{undone.sentence}{f'; without tools, {without.count}' if can and without else ''}."
        if undone.changed in _NOTHING_TAKEN or (undone.changed.startswith(BEFORE_CALLS) and not evidence.called):
            same = "the same question" if undone.of_others else "this same trial"
            where = "in the first of these" if can else "there"
            yield f"Nothing was taken away {where}: {same} can come out right, so chance is enough."
        elif evidence.called and undone.changed.startswith((PLACEBO, *_NO_FIRST_CALL)):
            yield "Its first call is not kept there: that it made this one may have been bad luck."
    elif can and without:
        yield f"{without.sentence}: the model can answer the question."


def by_luck(evidence: Evidence) -> str:
    """Of a cause that replays measured: why it may be chance all the same."""
    again = [row for row in levels_of(evidence) if row.changed in _NOTHING_TAKEN]
    if not again or any(row.graded for row in again):
        return ""
    runs, right = math.fsum(row.runs for row in again), math.fsum(row.right for row in again)
    if right:
        return f" With nothing taken away, {right:g} of {runs:g} answers are right."
    return (
        f" With nothing taken away, 0 of {runs:g} answers are right; so few can all be wrong by luck."
        if runs < FEW
        else ""
    )


def _comes_out_right(evidence: Evidence) -> Iterator[str]:
    repeats = repeats_of(evidence)
    if repeats is not None and repeats.share >= RIGHT:
        yield f"{repeats.sentence}."


def repeats_of(evidence: Evidence) -> Row | None:
    """Of a trial that was replayed; of others they stand among its levels."""
    scores = evidence.repeats if evidence.all_runs is not None else ()
    return of_scores(REPEATS, scores, evidence) if scores else None


_NO_FIRST_CALL = (SHAM, BEFORE_CALLS, OUTSET, OFFERED)
_NOTHING_TAKEN = (AGAIN, LAST_REPLY, REDRAWN, REPEATED)
