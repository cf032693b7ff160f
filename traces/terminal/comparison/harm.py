"""Whom a condition harms and helps, as far as repeats can tell: bounds, and what one half says of the other."""

from collections.abc import Iterator, Sequence

from rich.console import RenderableType
from rich.padding import Padding
from rich.text import Text

from toolablate.traces.analysis import Bounds, Comparison, Selected
from toolablate.traces.terminal import numbers
from toolablate.traces.terminal.fitted import Fitted, figures, names
from toolablate.traces.terminal.plain import inert, one_line


def harm(rows: Sequence[Comparison]) -> Iterator[RenderableType]:
    """Nothing where repeats do not tell."""
    found = [(row, row.harm) for row in rows if row.harm is not None]
    if not found:
        return
    yield Fitted(
        (
            names("", [inert(one_line(row.condition)) for row, _ in found]),
            figures("harmed", [_between(each.harmed) for _, each in found]),
            figures("95 % interval", [_interval(each.harmed) for _, each in found]),
            figures("helped", [_between(each.helped) for _, each in found]),
            figures("95 % interval", [_interval(each.helped) for _, each in found]),
        )
    )
    for row, _ in found:
        if row.question_effects is not None:
            yield Padding(_halves(row, row.question_effects.harmed, row.question_effects.helped), (0, 1, 0, 1))


def _between(bounds: Bounds) -> str:
    # Chance may put a lower bound a little under 0, which no share can be.
    return f"{_share(bounds.low)} .. {_share(bounds.high)} %"


def _interval(bounds: Bounds) -> str:
    if bounds.ci95 is None:
        return numbers.UNKNOWN
    low, high = bounds.ci95
    return f"{_share(low)} .. {_share(high)} %"


def _share(value: float) -> str:
    return numbers.percent(100 * min(1.0, max(0.0, value)))


def _halves(row: Comparison, harmed: Selected, helped: Selected) -> Text:
    said = [
        f"{each.questions:.0f} that look {way}, {_effect(each)}"
        for way, each in (("harmed", harmed), ("helped", helped))
        if each.effect is not None
    ]
    if not said:
        return Text(f"{one_line(row.condition)}: no question looks harmed or helped in half of its repeats.")
    return Text(
        f"{one_line(row.condition)}, in the other half of the repeats: of {'; of '.join(said)}.", overflow="fold"
    )


def _effect(chosen: Selected) -> str:
    low_high = None if chosen.ci95 is None else (100 * chosen.ci95[0], 100 * chosen.ci95[1])
    points = None if chosen.effect is None else 100 * chosen.effect
    return f"{numbers.signed(points)} points ({numbers.interval(low_high)})"
