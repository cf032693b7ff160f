"""Waterfalls as figures: effects decomposed into mechanisms, and ladders into their contrasts."""

from collections.abc import Collection, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from toolablate.analysis.attribution.decomposition import Decomposition
from toolablate.analysis.findings import AttributedCount
from toolablate.analysis.ladder import Waterfall
from toolablate.analysis.selection import Link
from toolablate.reports.numbers import signed
from toolablate.reports.plots.drawing import as_text, write_figure
from toolablate.reports.plots.panels import (
    BROAD,
    GAIN,
    GAP_INCHES,
    GREY,
    HEAD_INCHES,
    LINE_CHARS,
    LINE_INCHES,
    LOSS,
    MARGIN,
    NAME_CHARS,
    PALE,
    PANEL_INCHES,
    ROW_CHARS,
    THICK,
    TOTAL,
    Drawing,
    Form,
    Mark,
    Sheet,
    beside,
    between,
    frame,
    grouped,
    labels,
    plain,
    probability,
    scale,
    sheet,
    titled,
    whisker,
    whole_row,
    with_interval,
    wrapped,
    zero,
)
from toolablate.reports.waterfall_bars import Bar, Bars, decomposition_bars, ladder_bars
from toolablate.traces.errors import InputError

if TYPE_CHECKING:
    from matplotlib.axes import Axes

OUTLINE = "white"
NUMBERS = 1.65
ABOUT_MECHANISMS = (
    "Each bar is the effect of one mechanism on the score, in points, from where the bar above ended. The last bar is"
    " their sum, the effect; its line is the 95 % interval. Intervals of mechanisms stand beside them. Pale: p (Holm)"
    " is not below .05, or not tested, or too few questions. Outline: unresolved, for lack of replays. A mechanism is"
    " named by other runs than those that measure it, so one with a harmful name can be a gain."
)
ABOUT_LADDERS = (
    "Each bar is the effect of one factor on the score, in points, from where the bar above ended. Their sum is the"
    " total; its line is the 95 % interval. Intervals of factors stand beside them. Pale: p (Holm) is not below .05, or"
    " too few questions. Outlines: bounds, which are not in the sum. The order of contrasts is a convention."
)


def draw_decompositions(
    decompositions: Sequence[Decomposition], path: Path, *, simulated: Collection[str] = ()
) -> frozenset[str]:
    """A panel for each decomposition: models below each other, conditions side by side. See `_draw`."""
    if not decompositions:
        raise InputError("--plot: there is no effect to draw", code="no_decomposition")
    return _draw(
        [decomposition_bars(each, simulated=simulated) for each in decompositions],
        path,
        "Points from no tools, with 95 % intervals beside the bars. Pale: p (Holm) is not below .05, not tested, or"
        " too few questions. Outline: not resolved.",
    )


def draw_waterfalls(waterfalls: Sequence[Waterfall], path: Path) -> frozenset[str]:
    """A panel for each waterfall: models below each other, ladders side by side. See `_draw`."""
    if not waterfalls:
        raise InputError("--plot: there is no ladder to draw", code="no_ladder")
    return _draw(
        [ladder_bars(each) for each in waterfalls],
        path,
        "Points from the first arm, with 95 % intervals beside the bars. Pale: p (Holm) is not below .05, or too"
        " few questions. The order of contrasts is a convention.",
    )


def draw_mechanisms(
    decompositions: Sequence[Decomposition],
    *,
    simulated: Collection[str] = (),
    attributed: Iterable[AttributedCount] = (),
    link: Link | None = None,
    form: Form = BROAD,
) -> Drawing:
    """The same for pages: decompositions below each other on one scale."""
    counts = tuple(attributed)
    found = [decomposition_bars(each, simulated=simulated, attributed=counts) for each in decompositions]
    return _page(
        found, link, form, "Points from no tools", ("What tools did to scores, by mechanism", ABOUT_MECHANISMS)
    )


def draw_ladders(waterfalls: Sequence[Waterfall], *, link: Link | None = None, form: Form = BROAD) -> Drawing:
    """The same for pages: ladders below each other on one scale. A contrast leads to the trials of its second arm."""
    found = [ladder_bars(each) for each in waterfalls]
    return _page(found, link, form, "Points from the first arm", ("Contrasts of each ladder", ABOUT_LADDERS))


def _draw(found: Sequence[Bars], path: Path, label: str) -> frozenset[str]:
    """`path` ends in .svg, .png or .pdf. The total has a whisker, its 95 % interval; other intervals stand beside the
    bars. Raises InputError where the file cannot be written. Returns the letters that no font has."""
    from matplotlib.figure import Figure

    models = list(dict.fromkeys(each.model for each in found))
    across = list(dict.fromkeys(each.under for each in found))
    size = (PANEL_INCHES * len(across), len(models) * (HEAD_INCHES + max(map(_inches, found))))
    with as_text():
        figure = Figure(figsize=size, layout="constrained")
        panels = figure.subplots(len(models), len(across), squeeze=False)
        for panel in panels.flat:
            panel.set_axis_off()
        for each in found:
            _panel(panels[models.index(each.model)][across.index(each.under)], each, limits(found))
        figure.supxlabel(label, fontsize="small", color=GREY)
        return write_figure(figure, path)


def _page(found: Sequence[Bars], link: Link | None, form: Form, label: str, titles: tuple[str, str]) -> Drawing:
    simulated = {each.model for each in found if each.simulated}
    rows = [(each, bar) for each in found for bar in each.bars]
    placed = grouped(rows, lambda row: titled(row[0].model, simulated, under=row[0].under, short=form.above), form)
    with as_text():
        on = sheet(placed, form, numbers=NUMBERS)
        for at, (_, bar) in placed.rows:
            _line(on, at, bar, link)
        zero(on, placed, zorder=1)
        scale(on, placed, *limits(found), label)
        return on.drawing(*titles)


def _line(on: Sheet, at: float, bar: Bar, link: Link | None) -> None:
    figures = f"{signed(bar.points)}{between(bar.ci95, sign=True)}"
    if bar.points is not None:
        _bar(on.axes, at, bar)
    labels(on, at, bar.name, "nothing scored in all arms" if bar.points is None else figures, bold=bar.kind == "total")
    tested = "" if bar.p_holm is None else f", p (Holm) {probability(bar.p_holm)}"
    told = f"{bar.told} {signed(bar.points)} points{between(bar.ci95, sign=True)}{tested}; {bar.after}"
    whole_row(on, at, Mark(told, None if link is None or bar.leads is None else link(bar.leads)))


def limits(found: Sequence[Bars]) -> tuple[float, float]:
    """One scale for all, so that they can be compared: from the lowest to the highest end of bars and whiskers."""
    ends = [0.0]
    for bar in (bar for each in found for bar in each.bars):
        ends += [bar.start, bar.end, *(bar.ci95 or () if bar.kind == "total" else ())]
    margin = MARGIN * (max(ends) - min(ends)) or 1.0
    return min(ends) - margin, max(ends) + margin


def _inches(each: Bars) -> float:
    lines = [name.count("\n") + 1 for name in _names(each)]
    return len(lines) * (max(lines) * LINE_INCHES + GAP_INCHES)


def _names(each: Bars) -> list[str]:
    return [wrapped(plain(bar.name, ROW_CHARS), LINE_CHARS) for bar in each.bars]


def _panel(axes: "Axes", each: Bars, between_ends: tuple[float, float]) -> None:
    axes.set_axis_on()
    marked = " (SIMULATED: no measurement)" if each.simulated else ""
    title = f"{plain(each.model, NAME_CHARS)}: {plain(each.under, NAME_CHARS)}{marked}"
    summary = f"\n{plain(each.summary, 2 * ROW_CHARS)}" if each.summary else ""
    axes.set_title(title + summary, loc="left", fontsize="medium", fontweight="bold")
    if not each.summary:
        axes.set_axis_off()
        axes.text(0.02, 0.5, "No question is scored in all arms yet.", transform=axes.transAxes)
        return
    for row, bar in enumerate(each.bars):
        _bar(axes, row, bar)
        beside(axes, row, with_interval(bar.points, bar.ci95), bold=bar.kind == "total")
        if bar.kind in ("part", "unresolved"):
            axes.plot([bar.end, bar.end], [row, row + 1], color=GREY, linewidth=0.6, zorder=1)
    axes.axvline(0, color="black", linewidth=0.9, zorder=0)
    bounds = sum(bar.kind == "bound" for bar in each.bars)
    if bounds:
        axes.axhline(len(each.bars) - bounds - 0.5, color=GREY, linewidth=0.6, linestyle=":")
    axes.set_yticks(range(len(each.bars)), _names(each))
    axes.set_xlim(between_ends)
    frame(axes, len(each.bars))


def _bar(axes: "Axes", row: float, bar: Bar) -> None:
    points = bar.points or 0.0
    if bar.kind in ("bound", "unresolved"):
        thick = THICK / 2 if bar.kind == "bound" else THICK
        axes.barh(row, points, left=bar.start, height=thick, color=OUTLINE, edgecolor=GREY, zorder=2)
    else:
        colour = TOTAL if bar.kind == "total" else GAIN if points > 0 else LOSS
        alpha = PALE if bar.sure is False else 1
        axes.barh(row, points, left=bar.start, height=THICK, color=colour, alpha=alpha, zorder=2)
    if bar.kind == "total":
        whisker(axes, row, bar.ci95)
