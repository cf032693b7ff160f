"""Ladders as waterfalls: each rung a bar from where the last one ended, in points from the first arm."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from toolablate.traces.analysis.ladder import Step, Waterfall
from toolablate.traces.plots.files import as_text, write_figure
from toolablate.traces.plots.text import plain, signed, with_interval

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Okabe and Ito's, which people tell apart whatever colours they see.
GAIN, LOSS, TOTAL, GREY = "#0072B2", "#D55E00", "#999999", "#4D4D4D"
PALE = 0.4
SIGNIFICANT = 0.05
PANEL_INCHES, ROW_INCHES, HEAD_INCHES = 8.0, 0.34, 1.3
NAME_CHARS, ROW_CHARS = 48, 40
THICK, MARGIN = 0.62, 0.04


def draw_waterfalls(waterfalls: Sequence[Waterfall], path: Path) -> None:
    """A panel for each waterfall: models below each other, ladders side by side. `path` ends in .svg, .png or .pdf.

    Whiskers are 95 % intervals; bars are pale where the Holm-corrected p-value is not below
    .05, or questions are too few to say. A bound that is off
    the scale of the rungs ends in an arrow at its edge. Raises InputError where the file cannot be written.
    """
    from matplotlib.figure import Figure

    models = list(dict.fromkeys(each.model for each in waterfalls))
    toolsets = list(dict.fromkeys(each.ladder for each in waterfalls))
    rows = max(len(each.rungs) + len(each.bounds) + 2 for each in waterfalls)
    size = (PANEL_INCHES * len(toolsets), len(models) * (rows * ROW_INCHES + HEAD_INCHES))
    with as_text():
        figure = Figure(figsize=size, layout="constrained")
        panels = figure.subplots(len(models), len(toolsets), squeeze=False)
        for panel in panels.flat:
            panel.set_axis_off()
        limits = _limits(waterfalls)
        for each in waterfalls:
            _panel(panels[models.index(each.model)][toolsets.index(each.ladder)], each, limits)
        figure.supxlabel(
            "Points from the first arm, with 95 % intervals. Pale: p (Holm) is not below .05, or too few questions."
            " The order of rungs is a convention.",
            fontsize="small",
            color=GREY,
        )
        write_figure(figure, path)


def _limits(waterfalls: Sequence[Waterfall]) -> tuple[float, float]:
    """One scale for all panels, so that they can be compared: from the lowest to the highest end of bars and whiskers,
    bounds left out."""
    ends = [0.0]
    for each in waterfalls:
        for step in (*each.rungs, each.total):
            start = (step.before_score or 0.0) - (each.total.before_score or 0.0)
            ends += [start + end for end in (0.0, step.points or 0.0, *(step.ci95 or ()))]
    margin = MARGIN * (max(ends) - min(ends)) or 1.0
    return min(ends) - margin, max(ends) + margin


def _panel(axes: "Axes", waterfall: Waterfall, limits: tuple[float, float]) -> None:
    axes.set_axis_on()
    axes.set_title(_title(waterfall), loc="left", fontsize="medium", fontweight="bold")
    base = waterfall.total.before_score
    if base is None:
        axes.set_axis_off()
        axes.text(0.02, 0.5, "No question is scored in all arms yet.", transform=axes.transAxes)
        return
    steps = (*waterfall.rungs, waterfall.total)
    for row, step in enumerate(steps):
        _bar(axes, row, step, base, total=step is waterfall.total)
    for row, (step, _) in enumerate(zip(waterfall.rungs, steps[1:], strict=True)):
        reached = (step.score or 0.0) - base
        axes.plot([reached, reached], [row, row + 1], color=GREY, linewidth=0.6, zorder=1)
    axes.axvline(0, color="black", linewidth=0.9, zorder=0)
    for row, bound in enumerate(waterfall.bounds, start=len(steps)):
        _bound(axes, row, bound, base, limits)
    _labels(axes, waterfall)
    axes.set_xlim(limits)


def _bar(axes: "Axes", row: int, step: Step, base: float, *, total: bool) -> None:
    start, points = (step.before_score or 0.0) - base, step.points or 0.0
    sure = not step.small and step.p_holm is not None and step.p_holm < SIGNIFICANT
    colour = TOTAL if total else GAIN if points > 0 else LOSS
    axes.barh(row, points, left=start, height=THICK, color=colour, alpha=1 if sure else PALE, zorder=2)
    if step.ci95 is not None:
        low, high = (start + end for end in step.ci95)
        axes.plot([low, high], [row, row], color="black", linewidth=1.1, zorder=3)
        axes.plot([low, high], [row, row], linestyle="", marker="|", markersize=6, color="black", zorder=3)


def _bound(axes: "Axes", row: int, bound: Step, base: float, limits: tuple[float, float]) -> None:
    if bound.before_score is None or bound.score is None:
        return
    start, end = bound.before_score - base, bound.score - base
    drawn = min(max(end, limits[0]), limits[1])
    axes.barh(row, drawn - start, left=start, height=THICK / 2, color="white", edgecolor=GREY, zorder=2)
    if drawn != end:
        axes.plot(drawn, row, marker=">" if end > drawn else "<", color=GREY, clip_on=False, zorder=4)


def _labels(axes: "Axes", waterfall: Waterfall) -> None:
    steps = (*waterfall.rungs, waterfall.total, *waterfall.bounds)
    rungs = [step.name for step in waterfall.rungs]
    names = [*rungs, "total", *(f"bound: {bound.name}" for bound in waterfall.bounds)]
    axes.set_yticks(range(len(steps)), [plain(name, ROW_CHARS) for name in names])
    axes.set_ylim(len(steps) - 0.4, -0.6)
    for row, step in enumerate(steps):
        # Beside the panel, in the panel's own height: no bar or whisker can lie below it.
        axes.text(
            1.02,
            row,
            with_interval(step.points, step.ci95),
            transform=axes.get_yaxis_transform(),
            va="center",
            fontsize="small",
            fontweight="bold" if step is waterfall.total else "normal",
        )
    if waterfall.bounds:
        axes.axhline(len(rungs) + 0.5, color=GREY, linewidth=0.6, linestyle=":")
    axes.tick_params(axis="y", length=0, pad=9)
    axes.spines[["top", "right", "left"]].set_visible(False)
    axes.grid(axis="x", color="#DDDDDD", linewidth=0.6, zorder=-1)
    axes.set_axisbelow(True)


def _title(waterfall: Waterfall) -> str:
    total = waterfall.total
    model, ladder = plain(waterfall.model, NAME_CHARS), plain(waterfall.ladder, NAME_CHARS)
    simulated = " (SIMULATED: no measurement)" if waterfall.simulated else ""
    if total.before_score is None or total.score is None:
        return f"{model}: {ladder}{simulated}"
    relative = "" if waterfall.relative is None else f" ({signed(waterfall.relative)} % of it)"
    scores = f"{plain(total.before, NAME_CHARS)} {total.before_score:.1f}, {ladder} {total.score:.1f}{relative}"
    return f"{model}: {ladder}{simulated}\n{scores}; n = {total.questions:,}"
