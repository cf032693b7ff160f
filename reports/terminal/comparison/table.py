from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby

from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
from rich.padding import Padding
from rich.text import Text

from toolablate.analysis import Comparison
from toolablate.reports.terminal.comparison.effects import effects
from toolablate.reports.terminal.comparison.footnotes import footnotes_of
from toolablate.reports.terminal.comparison.harm import harm
from toolablate.reports.terminal.comparison.scores import scores
from toolablate.reports.terminal.comparison.trials import trials
from toolablate.reports.terminal.simulated import simulated_banner
from toolablate.traces.plain import one_line


def comparison_table(
    comparisons: Sequence[Comparison], *, footnotes: bool = True, show_harm: bool = False
) -> RenderableType:
    """The scores of all models; then model by model effects, whom conditions harm where that is asked for, trials and
    cost. The less important columns make way on narrow terminals."""
    if not comparisons:
        return Text("Nothing to compare: only the baseline has ended trials.", style="yellow")
    return _Comparisons(tuple(comparisons), footnotes, show_harm)


@dataclass(frozen=True, slots=True)
class _Comparisons:
    rows: tuple[Comparison, ...]
    footnotes: bool
    show_harm: bool

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        yield from scores(self.rows)
        for model, rows in groupby(self.rows, key=lambda row: row.model):
            yield from _model_part(model, list(rows), show_harm=self.show_harm)
        if self.footnotes:
            yield Padding(Text("\n".join(footnotes_of(self.rows, show_harm=self.show_harm)), style="dim"), (0, 1, 1, 1))


def _model_part(model: str, rows: list[Comparison], *, show_harm: bool) -> list[RenderableType]:
    title = Text.assemble(" ", (one_line(model), "bold"), "  compared with ", (one_line(rows[0].baseline), "bold"))
    parts: list[RenderableType] = [title]
    if any(row.simulated for row in rows):
        parts.append(simulated_banner())
    return [*parts, effects(rows), *(harm(rows) if show_harm else ()), trials(rows)]
