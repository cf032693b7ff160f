"""Which rows are drawn, where there are more than people look at: those that stand out, and how many those are of."""

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

from toolablate.analysis.attribution.decomposition import Ledger
from toolablate.analysis.comparison import Comparison
from toolablate.analysis.findings import Findings
from toolablate.analysis.ladder import Waterfall
from toolablate.reports.plots.figures.outcomes import Ended

MOST_ROWS, MOST_COLUMNS, MOST_DOMAINS = 100, 20, 40

Shown = TypeVar("Shown")


@dataclass(frozen=True, slots=True)
class Bounded:
    """`said` tells in a line what is left out; nothing where nothing is."""

    findings: Findings
    endings: Sequence[Ended]
    said: str = ""


def bounded(findings: Findings, endings: Sequence[Ended]) -> Bounded:
    """The arms farthest from their baseline, and the baselines: the same in all figures that have a row for each."""
    arms = [(arm.model, arm.condition) for arm in findings.arms]
    if len(arms) <= MOST_ROWS:
        return Bounded(findings, endings)
    kept = _farthest(findings, arms)
    how = "those farthest from the baseline" if findings.comparisons else "the first of them"
    few = replace(
        findings,
        arms=tuple(arm for arm in findings.arms if (arm.model, arm.condition) in kept),
        comparisons=tuple(each for each in findings.comparisons if (each.model, each.condition) in kept),
        floors=tuple(each for each in findings.floors if (each.model, each.condition) in kept),
        flips=tuple(each for each in findings.flips if (each.model, each.condition) in kept),
    )
    ended = [arm for arm in endings if (arm.model, arm.condition) in kept]
    return Bounded(few, ended, f"{len(kept):,} of {len(arms):,} rows: {how}")


def _farthest(findings: Findings, arms: Sequence[tuple[str, str]]) -> Collection[tuple[str, str]]:
    if not findings.comparisons:
        return set(arms[:MOST_ROWS])
    known, kept = set(arms), set[tuple[str, str]]()
    for each in sorted(findings.comparisons, key=_distance):
        more = kept | ({(each.model, each.condition), (each.model, findings.baseline)} & known)
        if len(more) <= MOST_ROWS:
            kept = more
    return kept


def _distance(each: Comparison) -> float:
    """The farthest first, then those of which nothing is known."""
    return 1.0 if each.delta_points is None else -abs(each.delta_points)


def bounded_domains(table: Sequence[Comparison]) -> tuple[Sequence[Comparison], str]:
    """Of one model: the conditions with the largest differences, and the domains with most questions."""
    questions = {each.group: each.questions for each in sorted(table, key=lambda each: each.questions)}
    conditions = list(dict.fromkeys(each.condition for each in sorted(table, key=_distance)))
    domains = sorted(questions, key=lambda domain: -questions[domain])
    columns, rows = set(conditions[:MOST_COLUMNS]), set(domains[:MOST_DOMAINS])
    said = []
    if len(columns) < len(conditions):
        said.append(f"{len(columns)} of {len(conditions):,} conditions: those with the largest differences")
    if len(rows) < len(domains):
        said.append(f"{len(rows)} of {len(domains):,} domains: those with most questions")
    return [each for each in table if each.condition in columns and each.group in rows], "; ".join(said)


def bounded_ledgers(ledgers: Sequence[Ledger]) -> tuple[Sequence[Ledger], str]:
    return _fitting(ledgers, lambda each: abs(each.effect.points), lambda each: len(each.mechanisms) + 2, "conditions")


def bounded_ladders(ladders: Sequence[Waterfall]) -> tuple[Sequence[Waterfall], str]:
    return _fitting(ladders, lambda each: abs(each.total.points or 0.0), lambda each: len(each.steps) + 1, "ladders")


def _fitting(
    shown: Sequence[Shown], weight: Callable[[Shown], float], lines: Callable[[Shown], int], what: str
) -> tuple[Sequence[Shown], str]:
    """Those of the largest effects, in their order: as many as there are lines for, but one at least."""
    kept: set[int] = set()
    left = MOST_ROWS
    for place in _places(shown, weight):
        left -= lines(shown[place])
        if left < 0 and kept:
            break
        kept.add(place)
    found = [each for place, each in enumerate(shown) if place in kept]
    left_out = len(found) < len(shown)
    return found, f"{len(found)} of {len(shown):,} {what}: those with the largest effects" if left_out else ""


def _places(shown: Sequence[Shown], weight: Callable[[Shown], float]) -> Iterable[int]:
    return sorted(range(len(shown)), key=lambda place: -weight(shown[place]))
