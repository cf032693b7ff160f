"""Models under conditions against the baseline, with every kind of average that tables of them print."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from toolablate.traces.analysis.compare import compare
from toolablate.traces.analysis.comparison import Comparison
from toolablate.traces.analysis.effect import Effect, effect
from toolablate.traces.analysis.pairing import Pair, Unit, even_difference, mean, pairs, scored_in_both, unit
from toolablate.traces.analysis.scoreboard.records import Ablation, AverageEffect, ToolEffect
from toolablate.traces.analysis.statistics import holm
from toolablate.traces.store import Observation

Row = ToolEffect | AverageEffect


def ablation(
    observations: Iterable[Observation], baseline: str, *, order: Sequence[str] = (), seed: int = 0
) -> Ablation | None:
    """Rows as `compare` gives them, of models that have scores on both sides; None where there is none."""
    seen = list(observations)
    compared = compare(seen, baseline, order=order, seed=seed, harm=False)
    rows = [_row(found) for found in compared if found.questions]
    if not rows:
        return None
    averages = _averages(seen, baseline, order, rows, seed)
    corrected = _corrected([*rows, *averages])
    return Ablation(
        baseline=baseline,
        comparisons=sum(row.p_value is not None for row in corrected),
        rows=tuple(row for row in corrected if isinstance(row, ToolEffect)),
        averages=tuple(row for row in corrected if isinstance(row, AverageEffect)),
    )


def _row(found: Comparison) -> ToolEffect:
    fields: dict[str, Any] = {name: getattr(found, name) for name in ToolEffect.__dataclass_fields__}
    return ToolEffect(**fields)


def _averages(
    observations: Sequence[Observation], baseline: str, order: Sequence[str], rows: Sequence[ToolEffect], seed: int
) -> list[AverageEffect]:
    together = _together(observations, baseline, order, seed)
    found = []
    for condition in dict.fromkeys(row.condition for row in rows):
        of_condition = [row for row in rows if row.condition == condition]
        if len(of_condition) > 1:
            found.append(_average(condition, of_condition, together[condition]))
    return found


def _average(condition: str, rows: Sequence[ToolEffect], together: Effect | None) -> AverageEffect:
    old, new, points = (
        mean([getattr(row, name) for row in rows]) for name in ("baseline_score", "score", "delta_points")
    )
    relatives = [row.delta_relative for row in rows if row.delta_relative is not None]
    return AverageEffect(
        condition=condition,
        models=len(rows),
        baseline_score=old,
        score=new,
        mean_points=points,
        relative_of_means=100 * (new - old) / old if old else None,
        mean_of_relatives=mean(relatives) if len(relatives) == len(rows) else None,
        questions=0 if together is None else together.questions,
        small=True if together is None else together.small,
        ci95=None if together is None else together.ci95,
        p_value=None if together is None else together.p_value,
        p_holm=None,
    )


def _together(
    observations: Sequence[Observation], baseline: str, order: Sequence[str], seed: int
) -> Mapping[str, Effect | None]:
    """Of each condition the effect on the mean over models, question by question; None where models count on different
    questions, so that the means would be of different models."""
    units = {seen.question: unit(seen) for seen in observations}
    by_condition: dict[str, list[Pair]] = defaultdict(list)
    for pair in pairs(observations, baseline, order):
        by_condition[pair.condition].append(pair)
    return {condition: _effect(of_condition, units, seed) for condition, of_condition in by_condition.items()}


def _effect(models: Sequence[Pair], units: Mapping[str, Unit], seed: int) -> Effect | None:
    counted = [scored_in_both(pair.scored_before, pair.scored_after) for pair in models]
    both = [pair for pair, questions in zip(models, counted, strict=True) if questions]
    counted = [questions for questions in counted if questions]
    if not counted or any(questions != counted[0] for questions in counted):
        return None
    return effect(
        [mean([mean(pair.scored_before[question]) for pair in both]) for question in counted[0]],
        [mean([mean(pair.scored_after[question]) for pair in both]) for question in counted[0]],
        [units[question] for question in counted[0]],
        tested=[
            mean([even_difference(pair.scored_before[question], pair.scored_after[question]) for pair in both])
            for question in counted[0]
        ],
        seed=seed,
    )


def _corrected(rows: Sequence[Row]) -> list[Row]:
    tested = [number for number, row in enumerate(rows) if row.p_value is not None]
    corrected = dict(zip(tested, holm([p for row in rows if (p := row.p_value) is not None]), strict=True))
    return [replace(row, p_holm=corrected.get(number)) for number, row in enumerate(rows)]
