"""Waterfalls: effects decomposed into mechanisms, and ladders into their contrasts."""

from collections.abc import Collection, Iterable, Sequence, Set
from dataclasses import replace
from itertools import accumulate
from pathlib import Path
from typing import TYPE_CHECKING

from toolablate.analysis.attribution.decomposition import Account, Decomposition
from toolablate.analysis.attribution.report import ATTRIBUTED_AS, mechanism_name
from toolablate.analysis.effect import LEVEL
from toolablate.analysis.findings import AttributedCount
from toolablate.analysis.ladder import Step, Waterfall
from toolablate.analysis.selection import Link, Selection
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
    signed,
    titled,
    whisker,
    whole_row,
    with_interval,
    wrapped,
    zero,
)
from toolablate.traces.errors import InputError

if TYPE_CHECKING:
    from matplotlib.axes import Axes

UNRESOLVED = "white"
NUMBERS = 1.65
ABOUT_MECHANISMS = (
    "Each bar is what one mechanism does to the score, in points, from where the one above it ended; together they are"
    " the effect, the last bar, whose line is its 95 % interval; those of mechanisms stand beside them. Pale: p is not"
    " below .05 after Holm's correction, was not tested, or questions are too few. Outline: not resolved, for want of"
    " replays. A mechanism is named by signs of other runs than those that measure it, so that one with a harmful name"
    " can be a gain: there what it names did more good than harm."
)


def draw_decompositions(
    decompositions: Sequence[Decomposition], path: Path, *, simulated: Collection[str] = ()
) -> frozenset[str]:
    """A panel for each decomposition: models below each other, conditions side by side. `path` ends in .svg, .png or
    .pdf.

    The effect has a whisker, its 95 % interval; a mechanism's interval stands beside its bar, which is pale where its
    Holm-corrected p-value is not below .05, or it has none, or questions are too few to say; what is unresolved is an
    outline. Raises InputError where there is
    nothing to draw or the file cannot be written. Returns the letters that no font has.
    """
    if not decompositions:
        raise InputError("--plot: there is no effect to draw", code="no_decomposition")
    from matplotlib.figure import Figure

    models = list(dict.fromkeys(each.model for each in decompositions))
    conditions = list(dict.fromkeys(each.condition for each in decompositions))
    most = max(len(each.mechanisms) + 1 for each in decompositions)
    size = (PANEL_INCHES * len(conditions), len(models) * (HEAD_INCHES + most * (LINE_INCHES + GAP_INCHES)))
    with as_text():
        figure = Figure(figsize=size, layout="constrained")
        panels = figure.subplots(len(models), len(conditions), squeeze=False)
        for panel in panels.flat:
            panel.set_axis_off()
        limits = _limits(decompositions)
        for each in decompositions:
            panel = panels[models.index(each.model)][conditions.index(each.condition)]
            _panel(panel, each, limits, simulated=each.model in simulated)
        figure.supxlabel(
            "Points from no tools, with 95 % intervals beside the bars. Pale: p (Holm) is not below .05, not tested, or"
            " too few questions. Outline: not resolved.",
            fontsize="small",
            color=GREY,
        )
        return write_figure(figure, path)


def draw_mechanisms(
    decompositions: Sequence[Decomposition],
    *,
    simulated: Collection[str] = (),
    attributed: Iterable[AttributedCount] = (),
    link: Link | None = None,
    form: Form = BROAD,
) -> Drawing:
    """The same for pages: decompositions below each other on one scale. A bar leads to the trials that are attributed
    to its mechanism, where there are some, and the effect to all."""
    listed = {(each.model, each.condition, each.mechanism) for each in attributed}
    rows = [
        (decomposition, place)
        for decomposition in decompositions
        for place, row in enumerate(_rows(decomposition))
        if _is_something(row)
    ]
    placed = grouped(rows, lambda row: titled(row[0].model, simulated, under=row[0].condition, short=form.above), form)
    with as_text():
        on = sheet(placed, form, numbers=NUMBERS)
        for at, (decomposition, place) in placed.rows:
            _line(on, at, decomposition, place, listed, link)
        zero(on, placed, zorder=1)
        scale(on, placed, *_limits(decompositions), "Points from no tools")
        return on.drawing("What tools did to scores, by mechanism", ABOUT_MECHANISMS)


def _is_something(row: Account) -> bool:
    """Not what is 0 in every trial."""
    return bool(row.points or row.ci95 or row.name in ("effect", "unresolved"))


def _line(
    on: Sheet, at: float, decomposition: Decomposition, place: int, listed: Set[tuple[str, str, str]], link: Link | None
) -> None:
    row, start = _rows(decomposition)[place], _starts(decomposition)[place]
    _bar(on.axes, at, row, start)
    numbers = f"{signed(row.points)}{between(row.ci95, sign=True)}"
    labels(on, at, mechanism_name(row.name), numbers, bold=row is decomposition.effect)
    href, arm = None, Selection(models=(decomposition.model,), conditions=(decomposition.condition,))
    if link is not None and row is decomposition.effect:
        href = link(arm)
    elif (
        link is not None
        and (decomposition.model, decomposition.condition, blamed := ATTRIBUTED_AS.get(row.name, "")) in listed
    ):
        href = link(replace(arm, mechanisms=(blamed,)))
    tested = "" if row.p_holm is None else f", p (Holm) {probability(row.p_holm)}"
    points = f"{signed(row.points)} points{between(row.ci95, sign=True)}{tested}"
    replayed = f"{decomposition.replayed:,} of {decomposition.trials:,} trials replayed"
    told = f"{decomposition.model} · {decomposition.condition}: {mechanism_name(row.name)} {points}; {replayed}"
    whole_row(on, at, Mark(told, href))


def _starts(decomposition: Decomposition) -> list[float]:
    """Where each mechanism begins, and the effect, which begins where the first does."""
    return [*accumulate((each.points for each in decomposition.mechanisms[:-1]), initial=0.0), 0.0]


def _rows(decomposition: Decomposition) -> tuple[Account, ...]:
    return (*decomposition.mechanisms, decomposition.effect)


def _limits(decompositions: Sequence[Decomposition]) -> tuple[float, float]:
    """One scale for all panels, so that they can be compared."""
    ends = [0.0]
    for decomposition in decompositions:
        for start, row in zip(_starts(decomposition), _rows(decomposition), strict=True):
            ends += [start, start + row.points, *(row.ci95 or () if row is decomposition.effect else ())]
    margin = MARGIN * (max(ends) - min(ends)) or 1.0
    return min(ends) - margin, max(ends) + margin


def _panel(axes: "Axes", decomposition: Decomposition, limits: tuple[float, float], *, simulated: bool) -> None:
    axes.set_axis_on()
    axes.set_title(_title(decomposition, simulated=simulated), loc="left", fontsize="medium", fontweight="bold")
    rows, starts = _rows(decomposition), _starts(decomposition)
    for place, (row, start) in enumerate(zip(rows, starts, strict=True)):
        _bar(axes, place, row, start)
        beside(axes, place, with_interval(row.points, row.ci95), bold=row is decomposition.effect)
    axes.axvline(0, color="black", linewidth=0.9, zorder=0)
    axes.set_yticks(range(len(rows)), [mechanism_name(row.name) for row in rows])
    axes.set_xlim(limits)
    frame(axes, len(rows))


def _bar(axes: "Axes", place: float, row: Account, start: float) -> None:
    if row.name == "unresolved":
        axes.barh(place, row.points, left=start, height=THICK, color=UNRESOLVED, edgecolor=GREY, zorder=2)
    else:
        colour = TOTAL if row.name == "effect" else GAIN if row.points > 0 else LOSS
        # The effect has no test here: `compare` has it, and its whisker says what is known of it.
        sure = row.name == "effect" or (not row.small and row.p_holm is not None and row.p_holm < LEVEL)
        axes.barh(place, row.points, left=start, height=THICK, color=colour, alpha=1 if sure else PALE, zorder=2)
    if row.name == "effect":
        whisker(axes, place, row.ci95)


def _title(decomposition: Decomposition, *, simulated: bool) -> str:
    marked = " (SIMULATED: no measurement)" if simulated else ""
    names = f"{plain(decomposition.model, NAME_CHARS)}: {plain(decomposition.condition, NAME_CHARS)}{marked}"
    replayed = f"{decomposition.replayed:,} of {decomposition.trials:,} trials replayed"
    return (
        f"{names}\n{signed(decomposition.effect.points)} against no tools; n = {decomposition.questions:,}; {replayed}"
    )


# Ladders as waterfalls: each contrast a bar from where the last one ended, in points from the first arm.


ABOUT_LADDERS = (
    "Each bar is what one factor does to the score, in points, from where the one above it ended; together they are the"
    " total, whose line is its 95 % interval; those of factors stand beside them. Pale: p is not below .05 after Holm's"
    " correction, or questions are too few. Outlines: bounds, which are no part of the sum. The order of contrasts is a"
    " convention."
)


def draw_waterfalls(waterfalls: Sequence[Waterfall], path: Path) -> frozenset[str]:
    """A panel for each waterfall: models below each other, ladders side by side. `path` ends in .svg, .png or .pdf.

    The total has a whisker, its 95 % interval; a factor's interval stands beside its bar. Bars are pale where the
    Holm-corrected p-value is not below .05, or questions are too few to say. Raises InputError where there is nothing
    to draw or the file cannot be written. Returns the letters that no font has.
    """
    if not waterfalls:
        raise InputError("--plot: there is no ladder to draw", code="no_ladder")
    from matplotlib.figure import Figure

    models = list(dict.fromkeys(each.model for each in waterfalls))
    toolsets = list(dict.fromkeys(each.ladder for each in waterfalls))
    size = (PANEL_INCHES * len(toolsets), len(models) * (HEAD_INCHES + max(map(_rows_inches, waterfalls))))
    with as_text():
        figure = Figure(figsize=size, layout="constrained")
        panels = figure.subplots(len(models), len(toolsets), squeeze=False)
        for panel in panels.flat:
            panel.set_axis_off()
        limits = _step_limits(waterfalls)
        for each in waterfalls:
            _ladder_panel(panels[models.index(each.model)][toolsets.index(each.ladder)], each, limits)
        figure.supxlabel(
            "Points from the first arm, with 95 % intervals beside the bars. Pale: p (Holm) is not below .05, or too"
            " few questions. The order of contrasts is a convention.",
            fontsize="small",
            color=GREY,
        )
        return write_figure(figure, path)


def draw_ladders(waterfalls: Sequence[Waterfall], *, link: Link | None = None, form: Form = BROAD) -> Drawing:
    """The same for pages: ladders below each other on one scale. A contrast leads to the trials of the arm that it
    leads to."""
    steps = [(each, step) for each in waterfalls for step in each.steps]
    simulated = {each.model for each in waterfalls if each.simulated}
    placed = grouped(steps, lambda row: titled(row[0].model, simulated, under=row[0].ladder, short=form.above), form)
    with as_text():
        on = sheet(placed, form, numbers=NUMBERS)
        for at, (each, step) in placed.rows:
            _step_line(on, at, each, step, link)
        zero(on, placed, zorder=1)
        scale(on, placed, *_step_limits(waterfalls), "Points from the first arm")
        return on.drawing("Contrasts of each ladder", ABOUT_LADDERS)


def _step_line(on: Sheet, at: float, each: Waterfall, step: Step, link: Link | None) -> None:
    named = f"bound: {step.name}" if step in each.bounds else step.name
    if step.points is None:
        labels(on, at, named, "nothing scored in all arms")
    else:
        _step_bar(on.axes, at, step, _start(each, step), _colour(each, step), total=step is each.total)
        labels(on, at, named, f"{signed(step.points)}{between(step.ci95, sign=True)}", bold=step is each.total)
    href = None if link is None else link(Selection(models=(each.model,), conditions=(step.after,)))
    points = f"{signed(step.points)} points{between(step.ci95, sign=True)}, p (Holm) {probability(step.p_holm)}"
    told = f"{each.model} · {step.before} to {step.after}: {step.name} {points}, n = {step.questions:,}"
    whole_row(on, at, Mark(told, href))


def _rows_inches(waterfall: Waterfall) -> float:
    lines = [name.count("\n") + 1 for name in _names(waterfall)]
    return len(lines) * (max(lines) * LINE_INCHES + GAP_INCHES)


def _names(waterfall: Waterfall) -> list[str]:
    contrasts = [wrapped(plain(step.name, ROW_CHARS), LINE_CHARS) for step in waterfall.contrasts]
    return [*contrasts, "total", *(f"bound: {bound.name}" for bound in waterfall.bounds)]


def _step_limits(waterfalls: Sequence[Waterfall]) -> tuple[float, float]:
    """One scale for all panels, so that they can be compared: from the lowest to the highest end of bars and
    whiskers."""
    ends = [0.0]
    for each in waterfalls:
        for step in each.steps:
            start = _start(each, step)
            ends += [start, start + (step.points or 0.0), *(step.ci95 or () if step is each.total else ())]
    margin = MARGIN * (max(ends) - min(ends)) or 1.0
    return min(ends) - margin, max(ends) + margin


def _start(waterfall: Waterfall, step: Step) -> float:
    """Where a step begins, in points from the first arm. A bound may rest on fewer questions than the contrasts, and
    begins where the contrast beside it does all the same."""
    beside = waterfall.contrasts[-1] if step in waterfall.bounds else step
    return (beside.before_score or 0.0) - (waterfall.total.before_score or 0.0)


def _ladder_panel(axes: "Axes", waterfall: Waterfall, limits: tuple[float, float]) -> None:
    axes.set_axis_on()
    axes.set_title(_ladder_title(waterfall), loc="left", fontsize="medium", fontweight="bold")
    base = waterfall.total.before_score
    if base is None:
        axes.set_axis_off()
        axes.text(0.02, 0.5, "No question is scored in all arms yet.", transform=axes.transAxes)
        return
    for row, step in enumerate(waterfall.steps):
        _step_bar(axes, row, step, _start(waterfall, step), _colour(waterfall, step), total=step is waterfall.total)
    for row, contrast in enumerate(waterfall.contrasts):
        reached = (contrast.score or 0.0) - base
        axes.plot([reached, reached], [row, row + 1], color=GREY, linewidth=0.6, zorder=1)
    axes.axvline(0, color="black", linewidth=0.9, zorder=0)
    _labels(axes, waterfall)
    axes.set_xlim(limits)


def _colour(waterfall: Waterfall, step: Step) -> str:
    """Empty for a bound, which is drawn as an outline."""
    if step in waterfall.bounds:
        return ""
    return TOTAL if step is waterfall.total else GAIN if (step.points or 0.0) > 0 else LOSS


def _step_bar(axes: "Axes", row: float, step: Step, start: float, colour: str, *, total: bool) -> None:
    points = step.points or 0.0
    if colour:
        sure = not step.small and step.p_holm is not None and step.p_holm < LEVEL
        axes.barh(row, points, left=start, height=THICK, color=colour, alpha=1 if sure else PALE, zorder=2)
    else:
        axes.barh(row, points, left=start, height=THICK / 2, color="white", edgecolor=GREY, zorder=2)
    if total:
        whisker(axes, row, step.ci95)


def _labels(axes: "Axes", waterfall: Waterfall) -> None:
    axes.set_yticks(range(len(waterfall.steps)), _names(waterfall))
    for row, step in enumerate(waterfall.steps):
        beside(axes, row, with_interval(step.points, step.ci95), bold=step is waterfall.total)
    if waterfall.bounds:
        axes.axhline(len(waterfall.contrasts) + 0.5, color=GREY, linewidth=0.6, linestyle=":")
    frame(axes, len(waterfall.steps))


def _ladder_title(waterfall: Waterfall) -> str:
    total = waterfall.total
    model, ladder = plain(waterfall.model, NAME_CHARS), plain(waterfall.ladder, NAME_CHARS)
    simulated = " (SIMULATED: no measurement)" if waterfall.simulated else ""
    if total.before_score is None or total.score is None:
        return f"{model}: {ladder}{simulated}"
    relative = "" if waterfall.relative is None else f" ({signed(waterfall.relative)} % of it)"
    scores = f"{plain(total.before, NAME_CHARS)} {total.before_score:.1f}, {ladder} {total.score:.1f}{relative}"
    return f"{model}: {ladder}{simulated}\n{scores}; n = {total.questions:,}"
