"""The plain table of scores: one row for each model, one column for each condition, the baseline before them."""

from collections.abc import Iterator, Sequence

from rich.console import RenderableType
from rich.text import Text

from toolablate.analysis import Comparison
from toolablate.reports.terminal import numbers
from toolablate.reports.terminal.fitted import Blocks, figures, names
from toolablate.reports.terminal.simulated import simulated_banner
from toolablate.traces.plain import inert, one_line

Cell = tuple[float | None, int]
"""A score in percent, and how many questions it is over."""


def scores(rows: Sequence[Comparison]) -> Iterator[RenderableType]:
    baseline, scored = rows[0].baseline, _scored(rows)
    simulated = {row.model for row in rows if row.simulated}
    conditions = list(dict.fromkeys([baseline, *(row.condition for row in rows)]))
    counts = [max(count for _, count in cells.values()) for cells in scored.values()]
    some = simulated != scored.keys()
    yield Text.assemble(" Scores in percent; the baseline is ", (one_line(baseline), "bold"), overflow="fold")
    if simulated and not some:
        yield simulated_banner()
    yield Blocks(
        names("model", [_named(model, marked=some and model in simulated) for model in scored]),
        (
            figures("n", [str(count) for count in counts]),
            *(
                figures(one_line(condition), map(_cell, (cells.get(condition) for cells in scored.values()), counts))
                for condition in conditions
            ),
        ),
    )


def differ(rows: Sequence[Comparison]) -> bool:
    """Whether a model's scores are over different numbers of questions."""
    return any(len({count for _, count in cells.values()}) > 1 for cells in _scored(rows).values())


def _scored(rows: Sequence[Comparison]) -> dict[str, dict[str, Cell]]:
    """By model and condition. A baseline counts the questions that it shares with a condition: of these scores, that
    over the most."""
    found: dict[str, dict[str, Cell]] = {}
    for row in rows:
        if row.group is None:
            cells = found.setdefault(row.model, {row.baseline: (row.baseline_score, row.questions)})
            if row.questions > cells[row.baseline][1]:
                cells[row.baseline] = row.baseline_score, row.questions
            cells[row.condition] = row.score, row.questions
    return found


def _cell(cell: Cell | None, count: int) -> str:
    if cell is None:
        return numbers.UNKNOWN
    score, own = cell
    return numbers.percent(score) if own == count else f"{numbers.percent(score)} ({own})"


def _named(model: str, *, marked: bool) -> Text:
    name = inert(one_line(model))
    return Text.assemble(name, " (simulated)") if marked else name
