"""Ranks of a store's models beside those that other benchmarks give them."""

from collections.abc import Iterator

from rich.console import RenderableType

from toolablate.benchmarks.lpfqa.boards.parts import listed, model_names, note, percent, ranks, title
from toolablate.benchmarks.lpfqa.scoreboard import Beside, Correlation, RankCorrelation, Scoreboard
from toolablate.reports import numbers
from toolablate.reports.tables import Fitted, figures, names
from toolablate.traces.plain import one_line


def beside_part(found: Scoreboard) -> Iterator[RenderableType]:
    for other in found.beside:
        yield title(f"Ranks here and on {one_line(other.benchmark)}")
        if other.rows:
            yield _table(found, other)
        yield note(_notes(other))


def _table(found: Scoreboard, other: Beside) -> Fitted:
    return Fitted(
        (
            names("model", model_names(found, (row.model for row in other.rows))),
            figures("score", [percent(row.score) for row in other.rows]),
            figures("rank", [str(row.rank) for row in other.rows]),
            figures("95 % of rank", [ranks(row.ranks95) for row in other.rows]),
            figures("their score", [f"{row.other_score:g}" for row in other.rows]),
            figures("their rank", [str(row.other_rank) for row in other.rows]),
        )
    )


def _notes(other: Beside) -> Iterator[str]:
    if not other.rows:
        yield "No model has a score on both."
    if other.correlation is not None:
        found = other.correlation
        yield (
            f"Over {found.models} models: Spearman's rho {_value(found.spearman)}, Kendall's tau-b"
            f" {_value(found.kendall)}{_how(found)}."
        )
    if alike := [f"{row.model} = {row.other_model}" for row in other.rows if row.model != row.other_model]:
        yield f"Taken for the same model: {listed(alike)}."
    if other.only_here:
        yield f"Without a score there: {listed(other.only_here)}."
    if other.only_there:
        yield f"Without a score here: {listed(other.only_there)}."
    yield "Ranks are among the models in the table, more being better."


def _value(found: Correlation) -> str:
    if found.value is None:
        return "unknown (all are alike)"
    sign = numbers.MINUS if found.value < 0 else ""
    tested = "" if found.p_value is None else f" (p {numbers.p_value(found.p_value)})"
    return f"{sign}{abs(found.value):.2f}{tested}"


def _how(found: RankCorrelation) -> str:
    if found.spearman.p_value is None and found.kendall.p_value is None:
        return ""
    return "; p from all orders of the models" if found.exact else "; p from random orders of the models"
