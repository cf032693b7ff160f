"""Causes of a wrong trial in plain words, how sure each is, and the runs that decide it."""

import math
from collections.abc import Iterator, Mapping

from toolablate.analysis.attribution.evidence import Evidence
from toolablate.analysis.attribution.levels import AGAIN, REPEATED, WITHOUT_TOOLS, swapped_results
from toolablate.analysis.attribution.replay_rules import LIKELY, deciding
from toolablate.analysis.attribution.report import mechanism_name
from toolablate.analysis.attribution.trace_rules import BY_CHANCE
from toolablate.analysis.pairing import RIGHT
from toolablate.reports.changed_runs import RE_ASKED, REPAIRED_TOO, Row, levels_of, of_scores, row_of
from toolablate.traces.records import Attribution, Mechanism

WORDS: tuple[tuple[float, str], ...] = ((0.95, "almost certainly"), (0.8, "very likely"), (LIKELY, "probably"))
"""How sure a cause is called, from which probability on."""

CAUSES: Mapping[Mechanism, str] = {
    "retrieval_distraction": "what its search found",
    "lock_in": "its computation",
    "other_results": "what its other tools gave",
    "interaction": "the results of two kinds of tools together",
    "volume": "the length of its results, whatever they say",
    "calling": "its calls, whatever they return",
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


# The runs that decide whether a cause is one.


def restores(cause: Mechanism, evidence: Evidence) -> bool:
    """Whether runs without a cause are right more often than any in which it is at work."""
    found = deciding_rows(cause, evidence)
    return found is not None and found[0].share > (found[1].share if found[1] else 0.0)


def deciding_rows(cause: Mechanism, evidence: Evidence) -> tuple[Row, Row | None] | None:
    """Runs without a cause, and those with it that are right most often, where there are any. None where no runs are
    without it."""
    if cause == "format" and evidence.re_asked:
        return of_scores(RE_ASKED, evidence.re_asked, evidence), None
    if cause == "interaction":
        again = next((row for row in levels_of(evidence) if row.changed.startswith(AGAIN)), None)
        both = of_kinds(evidence)
        return (both[-1], again) if both else None
    found = deciding(cause, evidence)
    if found is None:
        return None
    undone, before = found
    return row_of(undone, evidence), None if before is None else row_of(before, evidence)


def of_kinds(evidence: Evidence) -> tuple[Row, ...]:
    """Of two kinds of tools the runs without the results of each, then of both; nothing where one is missing."""
    kinds, levels = sorted(evidence.inputs.tools), levels_of(evidence)
    if len(kinds) != 2:
        return ()
    starts = [swapped_results(each) for each in (kinds[:1], kinds[1:], kinds)]
    found = [row for start in starts for row in levels if row.changed.partition(REPAIRED_TOO)[0] == start]
    return tuple(found) if len(found) == len(starts) else ()


def decided(cause: Mechanism, evidence: Evidence) -> Iterator[str]:
    """The runs that decide it, where they do."""
    found = deciding_rows(cause, evidence)
    if cause in BY_CHANCE:
        rows = [row for row in without_cause(cause, evidence) if (row.share >= RIGHT) == (cause == "sampling_noise")]
        undone = [found[0]] if found and restores(cause, evidence) else []
        yield from (f"{row.sentence}." for row in dict.fromkeys((*undone, *rows)))
    elif cause == "unknown":
        known = {row.changed: row for row in levels_of(evidence)}
        if WITHOUT_TOOLS in known and REPEATED in known:
            yield beside(known[WITHOUT_TOOLS], known[REPEATED])
    elif found and restores(cause, evidence):
        if cause == "interaction":
            yield from (f"{row.sentence}." for row in of_kinds(evidence)[:-1])
        yield beside(*found)


def beside(undone: Row, before: Row | None) -> str:
    return f"{undone.sentence}{f'; {before.changed}, {before.count}' if before else ''}."


def without_cause(cause: Mechanism, evidence: Evidence) -> Iterator[Row]:
    """Of what needs no tool: the question without tools, and for an error of the model's own the best of all others."""
    levels = levels_of(evidence)
    without = [row for row in levels if row.changed == WITHOUT_TOOLS]
    yield from without
    others = [row for row in levels if row not in without]
    if cause == "own_error" and others:
        yield max(others, key=lambda row: (row.share, row.runs))
