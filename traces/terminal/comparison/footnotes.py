"""What the tables of a comparison mean, and what to know before reading them."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Any

from toolablate.traces.analysis import FEW_CLUSTERS, FEW_DIFFERING, Comparison
from toolablate.traces.terminal import numbers
from toolablate.traces.terminal.comparison.effects import SMALL
from toolablate.traces.terminal.numbers import SIGNIFICANT
from toolablate.traces.terminal.plain import one_line

SHOWN = 4
"""How many rows a footnote names."""


def footnotes_of(rows: Sequence[Comparison]) -> Iterator[str]:
    yield "n: questions scored on both sides; all figures are paired over them. base, score: percent."
    yield "Δ points: difference in percentage points, its interval from a paired bootstrap over questions (BCa)."
    yield "Δ rel.: the same difference in percent of the base score."
    yield "could see: the least true Δ points that this design finds (p < .05) with 80 % probability."
    yield from _tested(rows)
    yield from _small(rows)
    yield from _at_the_edge(rows)
    yield from _clustered(rows)
    yield from _flips(rows)
    yield from _harmed(rows)
    yield "Tokens and cost: mean per trial that counts."
    if _varies(rows):
        yield "varies: the baseline's mean is over the questions that it shares with each condition, which differ."
    yield from _unpriced(rows)
    if any(row.unparsed or row.baseline_unparsed for row in rows):
        yield "Unparsed: replies without an answer that could be extracted; no points, unless excluded."
    yield from _budgets(rows)
    if any(row.failed or row.baseline_failed for row in rows):
        yield "Failed: trials without an answer, for a reason outside the model; never scored. See `show`."
    if any(row.excluded_questions for row in rows):
        yield "Left out: questions that lack a score on one side, and so count on neither."
    if any(row.ci95 is None or row.tokens is None or row.cost_usd is None for row in rows):
        yield f"{numbers.UNKNOWN} is unknown, or cannot be told from these data."


def _tested(rows: Sequence[Comparison]) -> Iterator[str]:
    count = sum(row.p_value is not None for row in rows)
    shown = "the one comparison shown" if count == 1 else f"all {count:,} comparisons shown"
    yield f"p: two-sided sign-flip test. p Holm, p BH: corrected for {shown}."
    yield f"p Holm < {SIGNIFICANT:g}, in colour, bounds the chance of any false finding; p BH the share of them."


def _small(rows: Sequence[Comparison]) -> Iterator[str]:
    if any(row.small for row in rows):
        few = f"fewer than {FEW_CLUSTERS} independent questions, or {FEW_DIFFERING} that differ"
        yield f"{SMALL}: {few}; intervals cover less than they say."


def _at_the_edge(rows: Sequence[Comparison]) -> Iterator[str]:
    """Where the interval and the test, which rest on different resampling, say different things of 0."""
    found = [
        row
        for row in rows
        if row.ci95 is not None
        and row.p_value is not None
        and (row.p_value < SIGNIFICANT) == (row.ci95[0] <= 0 <= row.ci95[1])
    ]
    if found:
        named = ", ".join(_name(row) for row in found[:SHOWN]) + (" and so on" if len(found) > SHOWN else "")
        yield f"At the edge, interval and p disagree on whether there is an effect: {named}."


def _name(row: Comparison) -> str:
    return one_line(row.condition) + ("" if row.group is None else f" ({one_line(row.group) or f'no {row.by}'})")


def _flips(rows: Sequence[Comparison]) -> Iterator[str]:
    if all(row.repeats <= 1 for row in rows):
        yield "R→W: questions right under the baseline and wrong under the condition; W→R: the reverse."
        yield "noise: how many go either way by chance alone; `repeats` of 2 or more tell it."
        return
    yield "R→W: questions right in one run of the baseline and wrong in one run of the condition, on average."
    yield "W→R: the reverse. noise: as many go either way between two runs of the same condition."
    partly = [row for row in rows if row.group is None and 0 < row.noise_questions < row.questions]
    if partly:
        named = ", ".join(f"{_name(row)} {row.noise_questions:,} of {row.questions:,}" for row in partly[:SHOWN])
        yield f"noise was measured on the questions with two scored repeats: {named}."


def _harmed(rows: Sequence[Comparison]) -> Iterator[str]:
    if not any(row.harm for row in rows):
        return
    yield "harmed: share of trials right under the baseline that the condition turns wrong; helped: the reverse."
    yield "Nobody sees a trial under both, so these are bounds; the interval covers both ends."
    yield "Half of the repeats say which questions look harmed or helped, the other half by how much."
    partly = [row for row in rows if row.harm and row.harm_questions < row.questions]
    if partly:
        named = ", ".join(f"{_name(row)} {row.harm_questions:,} of {row.questions:,}" for row in partly[:SHOWN])
        yield f"Of questions with two scored repeats on both sides: {named}."


def _varies(rows: Sequence[Comparison]) -> bool:
    return any(
        len(set(map(show, (getattr(row, field) for row in rows if row.group is None and row.model == model)))) > 1
        for model in {row.model for row in rows}
        for field, show in (("baseline_tokens", numbers.tokens), ("baseline_cost_usd", numbers.dollars))
    )


def _budgets(rows: Sequence[Comparison]) -> Iterator[str]:
    found = {name: limits for name, budget, limits in _sides(rows, "budget", "limits") if budget}
    if not found:
        return
    shown = "; ".join(f"{name}: {_listed(limits)}" for name, limits in found.items())
    yield f"Budget: trials that a limit ended, asked once more for their answer and scored. What ran out: {shown}."


def _listed(limits: dict[str, int]) -> str:
    return ", ".join(f"{limit} {count:,}" for limit, count in limits.items()) or "not recorded"


def _unpriced(rows: Sequence[Comparison]) -> Iterator[str]:
    """Where all are unknown there is no figure that could mislead."""
    found: dict[str, set[int]] = defaultdict(set)
    for name, count, cost in _sides(rows, "unpriced", "cost_usd"):
        if cost is not None:
            found[name].add(count)
    shown = ", ".join(f"{_at_most(counts)} ({name})" for name, counts in found.items() if any(counts))
    if shown:
        yield f"Trials of unknown cost: {shown}; the mean is of the others."


def _at_most(counts: set[int]) -> str:
    # Like its mean, a baseline's count is over the questions that it shares with a condition.
    return f"{max(counts):,}" if len(counts) == 1 else f"up to {max(counts):,}"


def _sides(rows: Sequence[Comparison], *fields: str) -> Iterator[tuple[Any, ...]]:
    """Each side's name and fields; a model's baseline comes before each of its conditions."""
    totals = [row for row in rows if row.group is None]
    several = len({row.model for row in totals}) > 1
    for row in totals:
        for prefix, side in (("baseline_", row.baseline), ("", row.condition)):
            name = f"{one_line(row.model)} {one_line(side)}" if several else one_line(side)
            yield name, *(getattr(row, prefix + field) for field in fields)


def _clustered(rows: Sequence[Comparison]) -> Iterator[str]:
    found = sorted({(row.clusters, row.questions) for row in rows if row.clusters != row.questions})
    if not found:
        return
    shown = ", ".join(f"{clusters:,} for n = {questions:,}" for clusters, questions in found[:SHOWN])
    more = " and so on" if len(found) > SHOWN else ""
    yield f"Interval and p rest on clusters of questions that share a source: {shown}{more}."
