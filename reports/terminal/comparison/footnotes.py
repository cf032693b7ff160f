"""What the tables of a comparison mean, and what to know before reading them."""

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from toolablate.analysis import FEW_CLUSTERS, FEW_DIFFERING, RIGHT, Comparison
from toolablate.reports.terminal import numbers
from toolablate.reports.terminal.comparison.effects import SMALL
from toolablate.reports.terminal.comparison.scores import differ
from toolablate.reports.terminal.numbers import SIGNIFICANT
from toolablate.traces.plain import one_line

SHOWN = 4
"""How many rows a footnote names."""

DEFINITIONS = "docs/statistics.md"


def footnotes_of(rows: Sequence[Comparison], *, show_harm: bool = False) -> Iterator[str]:
    yield from _scored(rows)
    yield from _columns(rows)
    yield from grounds_of(rows)
    if show_harm:
        yield from _harmed(rows)
    if _varies(rows):
        yield "varies: the baseline's mean is over the questions that it shares with each condition, which differ."
    yield from _unpriced(rows)
    yield from _budgets(rows)
    yield f"What each figure means: {DEFINITIONS}."


def grounds_of(rows: Sequence[Comparison]) -> Iterator[str]:
    """What the figures rest on, for any table of them."""
    yield from _tested(rows)
    yield from _small(rows)
    yield from _partly_measured(rows)
    yield from _graded(rows)
    yield from _uneven(rows)
    yield from _at_the_edge(rows)
    yield from _clustered(rows)


def _scored(rows: Sequence[Comparison]) -> Iterator[str]:
    if differ(rows):
        baseline = one_line(rows[0].baseline)
        yield f"(n): a score over fewer questions than the row's n; base is that of {baseline} over the same."


def _tested(rows: Sequence[Comparison]) -> Iterator[str]:
    count = max((row.comparisons for row in rows), default=0)
    shown = "the one comparison" if count == 1 else f"the {count:,} comparisons"
    if count:
        but = f" (but for {SMALL})" if any(row.small for row in rows) else ""
        yield f"In colour: p Holm < {SIGNIFICANT:g}{but}, which is corrected for {shown} in this table."


def _small(rows: Sequence[Comparison]) -> Iterator[str]:
    if any(row.small for row in rows):
        few = f"fewer than {FEW_CLUSTERS} independent questions, or {FEW_DIFFERING} that differ"
        yield f"{SMALL}: {few}; do not rely on their intervals."


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
        yield f"At the edge, interval and p disagree on whether there is an effect: {_named(found, rows)}."


def _uneven(rows: Sequence[Comparison]) -> Iterator[str]:
    found = [row for row in rows if row.group is None and row.uneven_questions]
    if found:
        named = _named(found, rows, lambda row: f" {row.uneven_questions:,} of {row.questions:,}")
        yield f"p leaves out what questions have more repeats of on one side than on the other: {named}."


def _graded(rows: Sequence[Comparison]) -> Iterator[str]:
    if any(row.graded for row in rows):
        yield f"Right is a score of {RIGHT:g} or more: flips, noise and harm see no change that stays on its side."


def _columns(rows: Sequence[Comparison]) -> Iterator[str]:
    if all(row.repeats <= 1 for row in rows):
        yield "R→W: right under the baseline, wrong under the condition; noise: by chance, unknown at one repeat."
    else:
        yield "R→W: right in one baseline run, wrong in one run of the condition; noise: in another baseline run."


def _partly_measured(rows: Sequence[Comparison]) -> Iterator[str]:
    partly = [row for row in rows if row.group is None and 0 < row.noise_questions < row.questions]
    if partly:
        named = _named(partly, rows, lambda row: f" {row.noise_questions:,} of {row.questions:,}")
        yield f"noise was measured on the questions with two scored repeats: {named}."


def _harmed(rows: Sequence[Comparison]) -> Iterator[str]:
    if not any(row.harm for row in rows):
        return
    yield "harmed: of all trials those right under the baseline and wrong under the condition; helped: the reverse."
    partly = [row for row in rows if row.harm and row.harm_questions < row.questions]
    if partly:
        named = _named(partly, rows, lambda row: f" {row.harm_questions:,} of {row.questions:,}")
        yield f"These are of questions with two scored repeats on both sides: {named}."


def _named(
    found: Sequence[Comparison], rows: Sequence[Comparison], more: Callable[[Comparison], str] | None = None
) -> str:
    several = len({row.model for row in rows}) > 1
    named = ", ".join(f"{_name(row, several)}{more(row) if more else ''}" for row in found[:SHOWN])
    return f"{named} and {len(found) - SHOWN:,} more" if len(found) > SHOWN else named


def _name(row: Comparison, several: bool) -> str:
    model = f"{one_line(row.model)} " if several else ""
    group = "" if row.group is None else f" ({one_line(row.group) or f'no {row.by}'})"
    return f"{model}{one_line(row.condition)}{group}"


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
    yield f"Trials that the budget ended were asked once more. What ran out: {shown}."


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
