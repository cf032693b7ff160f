"""What the tables of a scoreboard share: titles, notes, figures with two decimals as papers print them, and marks."""

from collections.abc import Iterable, Iterator, Sequence

from rich.console import RenderableType
from rich.padding import Padding
from rich.text import Text

from toolablate.benchmarks.lpfqa.scoreboard import ModelScore, Scoreboard, Standing, ToolEffect
from toolablate.reports.numbers import MINUS, UNKNOWN
from toolablate.reports.tables import Column, figures
from toolablate.traces.plain import inert, one_line, shortened

BEST = "▲"
SMALL = "*"
STAND_IN = " (simulated)"
TITLE_CELLS = 14
SPOILED = {
    "unparsed": "Trials without an answer that could be read, wrong unless the plan excludes them",
    "failed": "Trials that infrastructure spoiled, out of all figures",
    "unscored": "Trials that could not be scored, out of all figures",
}
NAMED = 8
"""How many names a note lists."""


def title(text: str) -> RenderableType:
    return Text(f" {text}", style="bold", overflow="fold")


def note(lines: Iterable[str]) -> RenderableType:
    return Padding(Text("\n".join(lines), style="dim", overflow="fold"), (0, 1, 1, 1))


def named(text: str) -> Text:
    return inert(one_line(text))


def stand_ins(found: Scoreboard) -> frozenset[str]:
    """The simulated models, where there are others as well: where there are none the banner says it of all."""
    simulated = frozenset(row.model for row in found.standings if row.simulated)
    return simulated if len(simulated) < len(found.standings) else frozenset()


def model_names(found: Scoreboard, models: Iterable[str]) -> list[Text]:
    marked = stand_ins(found)
    return [Text.assemble(named(name), STAND_IN) if name in marked else named(name) for name in models]


def headings(texts: Iterable[str]) -> list[str]:
    """Of columns of figures, which are as wide as their titles: shortened, but no more than tells them apart."""
    whole = [one_line(text) for text in texts]
    return [_heading(name, [other for other in whole if other != name]) for name in whole]


def _heading(name: str, others: Sequence[str]) -> str:
    cells = TITLE_CELLS
    while (found := shortened(name, cells)) != name and any(shortened(other, cells) == found for other in others):
        cells += 1
    return found


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


def score(each: ModelScore, questions: int) -> Text:
    """Bold where it is best, which its sign says as well; with how many of the column's questions it is over, where
    these are not all."""
    if each.accuracy.percent is None:
        return Text(UNKNOWN)
    marks = f"{BEST if each.best else ''}{SMALL if each.accuracy.small else ''}"
    return Text(f"{marks}{percent(each.accuracy.percent)}{over(each, questions)}", style="bold" if each.best else "")


def over(each: ModelScore, questions: int) -> str:
    own = each.accuracy.questions
    return f" ({own:,})" if own < questions else ""


def scores(name: str, column: Sequence[ModelScore], mean: float | None, questions: int) -> Column:
    """Of models, then their mean, then how many questions it is over."""
    return figures(name, [*(score(each, questions) for each in column), percent(mean), f"{questions:,}"])


def below(found: Scoreboard, models: Iterable[str]) -> tuple[list[Text], tuple[str, ...]]:
    """The names of the rows of such columns, and their styles."""
    rows = model_names(found, models)
    return [*rows, Text("mean of models"), Text("questions")], ("",) * len(rows) + ("bold", "dim")
