"""Each condition against the baseline, with every average that papers print."""

from collections.abc import Iterator, Sequence

from rich.console import RenderableType
from rich.text import Text

from toolablate.analysis.effect import FEW_CLUSTERS, FEW_DIFFERING
from toolablate.benchmarks.lpfqa.boards.parts import SMALL, change, model_names, note, percent, spoiled, title
from toolablate.benchmarks.lpfqa.scoreboard import Ablation, AverageEffect, Scoreboard, ToolEffect
from toolablate.reports import numbers
from toolablate.reports.numbers import SIGNIFICANT
from toolablate.reports.tables import Fitted, figures, names
from toolablate.traces.plain import one_line

LUCK = "~"

Row = ToolEffect | AverageEffect


def ablation_part(found: Scoreboard) -> Iterator[RenderableType]:
    if found.ablation is None:
        return
    averages = {row.condition: row for row in found.ablation.averages}
    for condition in dict.fromkeys(row.condition for row in found.ablation.rows):
        rows = [row for row in found.ablation.rows if row.condition == condition]
        yield title(f"{one_line(condition)} against {one_line(found.baseline)}")
        yield _table(found, rows, averages.get(condition))
    yield note(_notes(found.ablation))


def _table(found: Scoreboard, rows: Sequence[ToolEffect], average: AverageEffect | None) -> Fitted:
    tested: list[Row] = [*rows, *([average] if average else [])]
    # Below the averages two rows of their own say which relative change each is.
    blank = [""] * (2 if average else 0)
    columns = (
        names("model", [*model_names(found, (row.model for row in rows)), *_average_names(average)]),
        figures("n", [*(f"{_small(row)}{row.questions:,}" for row in tested), *blank]),
        figures("base", [*(percent(row.baseline_score) for row in tested), *blank]),
        figures("score", [*(percent(row.score) for row in tested), *blank]),
        figures("Δ points", [*map(_points, tested), *blank]),
        figures("95 % interval", [*(numbers.interval(row.ci95) for row in tested), *blank], spare=3),
        figures("p", [*(numbers.p_value(row.p_value) for row in tested), *blank], spare=1),
        figures("p Holm", [*(numbers.p_value(row.p_holm) for row in tested), *blank], spare=4),
        figures("Δ relative", [*(change(row.delta_relative, " %") for row in rows), *_relatives(average)]),
        figures("95 % of Δ rel.", [*map(_relative_interval, rows), *_relative_intervals(average)], spare=2),
    )
    return Fitted(columns, ("",) * len(rows) + ("bold",) * (len(tested) - len(rows) + len(blank)))


def _average_names(average: AverageEffect | None) -> list[str]:
    return ["mean of models", "relative Δ of these means", "mean of relative Δ"] if average else []


def _relatives(average: AverageEffect | None) -> list[str]:
    """One figure in each row, so that none is taken for the other."""
    if average is None:
        return []
    return ["", change(average.relative_of_means, " %"), change(average.mean_of_relatives, " %")]


def _relative_interval(row: ToolEffect) -> str:
    return numbers.interval(row.delta_relative_ci95, " %")


def _relative_intervals(average: AverageEffect | None) -> list[str]:
    return ["", numbers.interval(average.relative_of_means_ci95, " %"), ""] if average else []


def _small(row: Row) -> str:
    return SMALL if row.small else ""


def _points(row: Row) -> Text:
    luck = row.p_holm is None or row.p_holm >= SIGNIFICANT
    points = row.delta_points if isinstance(row, ToolEffect) else row.mean_points
    return Text(f"{LUCK if luck else ''}{change(points)}", style="" if luck else "bold")


def _notes(found: Ablation) -> Iterator[str]:
    yield (
        "base, score: percent. Δ points: score less base. Δ relative: Δ points in percent of base. n: questions scored"
        " on both sides."
    )
    yield (
        f"{LUCK}: luck may explain it (p Holm of {SIGNIFICANT:g} or more, or unknown), corrected for"
        f" {numbers.counted(found.comparisons, 'comparison')} in these tables."
    )
    shown: list[Row] = [*found.rows, *found.averages]
    if any(row.small for row in shown):
        few = f"fewer than {FEW_CLUSTERS} independent questions, or {FEW_DIFFERING} that differ"
        yield f"{SMALL}: {few}; do not rely on their intervals."
    yield from spoiled((f"{row.model} {row.condition}", row) for row in found.rows)
    if found.averages:
        yield (
            "Means weigh each model the same. The mean of Δ points is the difference of the mean scores; the relative"
            " change of the means and the mean of relative changes are two figures, which papers take for each other."
        )
