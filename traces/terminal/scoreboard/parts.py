"""What the tables of a scoreboard share: titles, notes, figures with two decimals as papers print them, and marks."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
from rich.padding import Padding
from rich.text import Text

from toolablate.traces.analysis.scoreboard import ModelScore, Standing, ToolEffect
from toolablate.traces.terminal.fitted import READABLE_NAME_CELLS, Column, Fitted, figures
from toolablate.traces.terminal.numbers import MINUS, UNKNOWN
from toolablate.traces.terminal.plain import inert, one_line, shortened

BEST = "▲"
SMALL = "*"
TITLE_CELLS = 14
SPOILED = {
    "unparsed": "Trials without an answer that could be read, wrong unless the plan excludes them",
    "failed": "Trials that infrastructure spoiled, out of all figures",
    "unscored": "Trials that could not be scored, out of all figures",
}
NAMED = 8
"""How many names a note lists."""


@dataclass(frozen=True, slots=True)
class Blocks:
    """A table with more columns than there is room for: as many tables below each other as it takes, each with the
    first column and those that are next."""

    first: Column
    columns: tuple[Column, ...]
    styles: tuple[str, ...] = ()

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        name = max(self.first.narrowest, min(self.first.width, READABLE_NAME_CELLS))
        block: list[Column] = []
        for column in self.columns:
            # The box draws a blank at both edges and one between columns.
            if block and name + sum(each.width + 1 for each in (*block, column)) + 2 > options.max_width:
                yield Fitted((self.first, *block), self.styles)
                block = []
            block.append(column)
        yield Fitted((self.first, *block), self.styles)


def title(text: str) -> RenderableType:
    return Text(f" {text}", style="bold", overflow="fold")


def note(lines: Iterable[str]) -> RenderableType:
    return Padding(Text("\n".join(lines), style="dim", overflow="fold"), (0, 1, 1, 1))


def named(text: str) -> Text:
    return inert(one_line(text))


def heading(text: str) -> str:
    """Of a column of figures, which is as wide as its title."""
    return shortened(one_line(text), TITLE_CELLS)


def listed(texts: Sequence[str]) -> str:
    shown = ", ".join(one_line(text) for text in texts[:NAMED])
    return f"{shown} and {len(texts) - NAMED:,} more" if len(texts) > NAMED else shown


def spoiled(rows: Iterable[tuple[str, Standing | ToolEffect]]) -> Iterator[str]:
    """What the figures of these rows, by name, do not show of their trials."""
    found = list(rows)
    for field, told in SPOILED.items():
        counted = [f"{name} {getattr(row, field):,}" for name, row in found if getattr(row, field)]
        if counted:
            yield f"{told}: {listed(counted)}."


def percent(value: float | None) -> str:
    return UNKNOWN if value is None else f"{value:.2f}"


def change(value: float | None, unit: str = "") -> str:
    if value is None:
        return UNKNOWN
    text = f"{abs(value):.2f}"
    return f"{text}{unit}" if float(text) == 0 else f"{'+' if value > 0 else MINUS}{text}{unit}"


def interval(bounds: tuple[float, float] | None) -> str:
    return UNKNOWN if bounds is None else f"{bounds[0]:.1f} .. {bounds[1]:.1f}"


def ranks(bounds: tuple[int, int] | None) -> str:
    if bounds is None:
        return UNKNOWN
    return str(bounds[0]) if bounds[0] == bounds[1] else f"{bounds[0]}-{bounds[1]}"


def score(each: ModelScore) -> Text:
    """Bold where it is best, which its sign says as well."""
    if each.accuracy.percent is None:
        return Text(UNKNOWN)
    marks = f"{BEST if each.best else ''}{SMALL if each.accuracy.small else ''}"
    return Text(f"{marks}{percent(each.accuracy.percent)}", style="bold" if each.best else "")


def scores(name: str, column: Sequence[ModelScore], mean: float | None, questions: int) -> Column:
    """Of models, then their mean, then how many questions it is over."""
    return figures(name, [*map(score, column), percent(mean), f"{questions:,}"])


def below(models: Sequence[str]) -> tuple[list[Text], tuple[str, ...]]:
    """The names of the rows of such columns, and their styles."""
    return [*map(named, models), Text("mean of models"), Text("questions")], ("",) * len(models) + ("bold", "dim")
