"""Whom a condition harms and helps, as far as repeats can tell: bounds, and what one half says of the other."""

from collections.abc import Callable, Iterator, Sequence

from rich.console import RenderableType
from rich.padding import Padding
from rich.text import Text

from toolablate.analysis import Bounds, Comparison, Selected
from toolablate.reports.terminal import numbers
from toolablate.reports.terminal.comparison.effects import mark
from toolablate.reports.terminal.fitted import Column, Fitted, figures, names
from toolablate.traces.plain import inert, one_line


def harm(rows: Sequence[Comparison]) -> Iterator[RenderableType]:
    """Says what is lacking where repeats do not tell."""
    found = [(row, row.harm) for row in rows if row.harm is not None]
    if not found:
        if any(row.group is None and row.questions for row in rows):
            lacking = "Whom a condition harms is not known: no question has two scored repeats on both sides."
            yield Padding(Text(lacking, style="yellow"), (1, 1, 0, 1))
        return
    yield Text(" Share of trials, between bounds", style="bold")
    yield Fitted(
        (
            _conditions([row for row, _ in found]),
            figures("harmed", [_between(each.harmed) for _, each in found]),
            figures("95 % interval", [_interval(row, each.harmed) for row, each in found]),
            figures("helped", [_between(each.helped) for _, each in found]),
            figures("95 % interval", [_interval(row, each.helped) for row, each in found]),
        )
    )
    selected = [(row, row.question_effects) for row, _ in found if row.question_effects is not None]
    if selected:
        totals = [row for row, _ in selected]
        yield Text(" Look so in half of their repeats: their effect in the other half", style="bold")
        yield Fitted(
            (
                _conditions(totals),
                *_looked("harmed", totals, [each.harmed for _, each in selected]),
                *_looked("helped", totals, [each.helped for _, each in selected]),
            )
        )


def _conditions(rows: Sequence[Comparison]) -> Column:
    return names("", [inert(one_line(row.condition)) for row in rows])


def _looked(way: str, rows: Sequence[Comparison], chosen: Sequence[Selected]) -> tuple[Column, ...]:
    of = list(zip(rows, chosen, strict=True))
    return (
        figures(way, [f"{each.questions:.0f}" for each in chosen]),
        figures("points", [_points(each) for each in chosen]),
        figures("95 % interval", [_points_interval(row, each) for row, each in of]),
    )


def _points(chosen: Selected) -> str:
    return numbers.signed(None if chosen.effect is None else 100 * chosen.effect)


def _points_interval(row: Comparison, chosen: Selected) -> str:
    return _shown(row, chosen.ci95, lambda low, high: numbers.interval((100 * low, 100 * high)))


def _between(bounds: Bounds) -> str:
    return f"{_share(bounds.low)} .. {_share(bounds.high)} %"


def _interval(row: Comparison, bounds: Bounds) -> str:
    return _shown(row, bounds.ci95, lambda low, high: f"{_share(low)} .. {_share(high)} %")


def _shown(row: Comparison, interval: tuple[float, float] | None, text: Callable[[float, float], str]) -> str:
    return numbers.UNKNOWN if interval is None else mark(row) + text(*interval)


def _share(value: float) -> str:
    return numbers.percent(100 * value)
