"""Ledgers as waterfalls: each mechanism a bar from where the last one ended, in points from no tools."""

from collections.abc import Collection, Iterable, Sequence, Set
from dataclasses import replace
from itertools import accumulate
from pathlib import Path
from typing import TYPE_CHECKING

from toolablate.analysis.attribution.decomposition import Account, Ledger
from toolablate.analysis.attribution.report import PUT_DOWN_AS, mechanism_name
from toolablate.analysis.effect import LEVEL
from toolablate.analysis.findings import PutDown
from toolablate.analysis.selection import Link, Selection
from toolablate.reports.plots.drawing.bars import (
    GAP_INCHES,
    HEAD_INCHES,
    LINE_INCHES,
    MARGIN,
    NAME_CHARS,
    PANEL_INCHES,
    THICK,
    beside,
    frame,
    whisker,
)
from toolablate.reports.plots.drawing.files import as_text, write_figure
from toolablate.reports.plots.drawing.marks import Drawing, Mark
from toolablate.reports.plots.drawing.palette import GAIN, GREY, LOSS, PALE, TOTAL
from toolablate.reports.plots.drawing.rows import BROAD, Form, Sheet, grouped, labels, scale, sheet, whole_row, zero
from toolablate.reports.plots.text import between, plain, probability, signed, titled, with_interval
from toolablate.traces.errors import InputError

if TYPE_CHECKING:
    from matplotlib.axes import Axes

UNRESOLVED = "white"
NUMBERS = 1.65
ABOUT = (
    "Each bar is what one mechanism does to the score, in points, from where the one above it ended; together they are"
    " the effect, the last bar, whose line is its 95 % interval; those of mechanisms stand beside them. Pale: p is not"
    " below .05 after Holm's correction, was not tested, or questions are too few. Outline: not resolved, for want of"
    " replays. A mechanism is named by signs of other runs than those that measure it, so that one with a harmful name"
    " can be a gain: there what it names did more good than harm."
)


def draw_ledgers(ledgers: Sequence[Ledger], path: Path, *, simulated: Collection[str] = ()) -> frozenset[str]:
    """A panel for each ledger: models below each other, conditions side by side. `path` ends in .svg, .png or .pdf.

    The effect has a whisker, its 95 % interval; a mechanism's interval stands beside its bar, which is pale where its
    Holm-corrected p-value is not below .05, or it has none, or questions are too few to say; what is unresolved is an
    outline. Raises InputError where there is
    nothing to draw or the file cannot be written. Returns the letters that no font has.
    """
    if not ledgers:
        raise InputError("--plot: there is no effect to draw", code="no_ledger")
    from matplotlib.figure import Figure

    models = list(dict.fromkeys(each.model for each in ledgers))
    conditions = list(dict.fromkeys(each.condition for each in ledgers))
    most = max(len(each.mechanisms) + 1 for each in ledgers)
    size = (PANEL_INCHES * len(conditions), len(models) * (HEAD_INCHES + most * (LINE_INCHES + GAP_INCHES)))
    with as_text():
        figure = Figure(figsize=size, layout="constrained")
        panels = figure.subplots(len(models), len(conditions), squeeze=False)
        for panel in panels.flat:
            panel.set_axis_off()
        limits = _limits(ledgers)
        for each in ledgers:
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
    ledgers: Sequence[Ledger],
    *,
    simulated: Collection[str] = (),
    put_down: Iterable[PutDown] = (),
    link: Link | None = None,
    form: Form = BROAD,
) -> Drawing:
    """The same for pages: ledgers below each other on one scale. A bar leads to the trials that are put down to its
    mechanism, where there are some, and the effect to all."""
    listed = {(each.model, each.condition, each.mechanism) for each in put_down}
    rows = [(ledger, place) for ledger in ledgers for place, row in enumerate(_rows(ledger)) if _is_something(row)]
    placed = grouped(rows, lambda row: titled(row[0].model, simulated, under=row[0].condition, short=form.above), form)
    with as_text():
        on = sheet(placed, form, numbers=NUMBERS)
        for at, (ledger, place) in placed.rows:
            _line(on, at, ledger, place, listed, link)
        zero(on, placed, zorder=1)
        scale(on, placed, *_limits(ledgers), "Points from no tools")
        return on.drawing("What tools did to scores, by mechanism", ABOUT)


def _is_something(row: Account) -> bool:
    """Not what is 0 in every trial."""
    return bool(row.points or row.ci95 or row.name in ("effect", "unresolved"))


def _line(
    on: Sheet, at: float, ledger: Ledger, place: int, listed: Set[tuple[str, str, str]], link: Link | None
) -> None:
    row, start = _rows(ledger)[place], _starts(ledger)[place]
    _bar(on.axes, at, row, start)
    numbers = f"{signed(row.points)}{between(row.ci95, sign=True)}"
    labels(on, at, mechanism_name(row.name), numbers, bold=row is ledger.effect)
    href, arm = None, Selection(models=(ledger.model,), conditions=(ledger.condition,))
    if link is not None and row is ledger.effect:
        href = link(arm)
    elif link is not None and (ledger.model, ledger.condition, blamed := PUT_DOWN_AS.get(row.name, "")) in listed:
        href = link(replace(arm, mechanisms=(blamed,)))
    tested = "" if row.p_holm is None else f", p (Holm) {probability(row.p_holm)}"
    points = f"{signed(row.points)} points{between(row.ci95, sign=True)}{tested}"
    replayed = f"{ledger.replayed:,} of {ledger.trials:,} trials replayed"
    told = f"{ledger.model} · {ledger.condition}: {mechanism_name(row.name)} {points}; {replayed}"
    whole_row(on, at, Mark(told, href))


def _starts(ledger: Ledger) -> list[float]:
    """Where each mechanism begins, and the effect, which begins where the first does."""
    return [*accumulate((each.points for each in ledger.mechanisms[:-1]), initial=0.0), 0.0]


def _rows(ledger: Ledger) -> tuple[Account, ...]:
    return (*ledger.mechanisms, ledger.effect)


def _limits(ledgers: Sequence[Ledger]) -> tuple[float, float]:
    """One scale for all panels, so that they can be compared."""
    ends = [0.0]
    for ledger in ledgers:
        for start, row in zip(_starts(ledger), _rows(ledger), strict=True):
            ends += [start, start + row.points, *(row.ci95 or () if row is ledger.effect else ())]
    margin = MARGIN * (max(ends) - min(ends)) or 1.0
    return min(ends) - margin, max(ends) + margin


def _panel(axes: "Axes", ledger: Ledger, limits: tuple[float, float], *, simulated: bool) -> None:
    axes.set_axis_on()
    axes.set_title(_title(ledger, simulated=simulated), loc="left", fontsize="medium", fontweight="bold")
    rows, starts = _rows(ledger), _starts(ledger)
    for place, (row, start) in enumerate(zip(rows, starts, strict=True)):
        _bar(axes, place, row, start)
        beside(axes, place, with_interval(row.points, row.ci95), bold=row is ledger.effect)
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


def _title(ledger: Ledger, *, simulated: bool) -> str:
    marked = " (SIMULATED: no measurement)" if simulated else ""
    names = f"{plain(ledger.model, NAME_CHARS)}: {plain(ledger.condition, NAME_CHARS)}{marked}"
    replayed = f"{ledger.replayed:,} of {ledger.trials:,} trials replayed"
    return f"{names}\n{signed(ledger.effect.points)} against no tools; n = {ledger.questions:,}; {replayed}"
