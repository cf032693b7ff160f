"""Figures of rows: names, one scale, numbers; beside each other where there is room, or one above the other."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Generic, TypeVar

from toolablate.reports.plots.drawing.bars import THICK
from toolablate.reports.plots.drawing.marks import Drawing, Mark
from toolablate.reports.plots.drawing.palette import GREY, INK, LINE
from toolablate.reports.plots.text import fitted, fitted_title, inches, plain, wrapped

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

HEAD, FOOT, LEGEND, NOTE = 0.08, 0.49, 0.2, 0.15
NAMES, NUMBERS, INDENT, GAP, EDGE = 1.8, 1.5, 0.12, 0.08, 0.17
FONT, SMALL = 9.0, 8.4
"""Inches and points. No letter is less than 11 pixels high."""
LETTERS, NOTE_CHARS = 13, 300
"""Of a note, in an inch and in all."""
BOLDER = 1.12
"""How much wider bold letters are."""
ABOVE, APART = 0.86, 0.5
"""Lines from what is drawn up to its name, which is nearer than what is drawn above; and between groups then."""


@dataclass(frozen=True, slots=True)
class Form:
    """For how much room a figure is drawn. `name` is the class of its SVG, by which a page shows the one that fits;
    `width` and `row`, the height of a line, are in inches; `above` says that names and numbers stand above what is
    drawn."""

    name: str
    width: float
    row: float
    above: bool
    ticks: int


BROAD = Form("broad", 5.9, 0.25, above=False, ticks=5)
"""Two stand beside each other on a page of 1,280 pixels as they were drawn."""
WIDE = Form("wide", 8.85, 0.25, above=False, ticks=5)
"""For a table of more columns than the broad form has room for, where a page has a whole line for it."""
SLIM = Form("slim", 3.1, 0.21, above=True, ticks=4)
"""For telephones, from 360 pixels."""

Shown = TypeVar("Shown")


@dataclass(frozen=True, slots=True)
class Placed(Generic[Shown]):
    """What is drawn on which lines, from the top down, under the headings of other lines; `count` are all lines."""

    rows: Sequence[tuple[float, Shown]]
    headings: Sequence[tuple[float, str]]
    count: float


def grouped(shown: Iterable[Shown], heading: Callable[[Shown], str], form: Form) -> Placed[Shown]:
    """Those with one heading below each other, in the order in which headings first appear."""
    groups: dict[str, list[Shown]] = {}
    for each in shown:
        groups.setdefault(heading(each), []).append(each)
    rows: list[tuple[float, Shown]] = []
    headings: list[tuple[float, str]] = []
    lines = 0.0
    for name, members in groups.items():
        lines += APART if form.above and lines else 0.0
        headings.append((lines, name))
        lines += 1
        for each in members:
            lines += 2 if form.above else 1
            rows.append((lines - 1, each))
    return Placed(rows, headings, lines)


@dataclass(slots=True)
class Sheet:
    """What rows are drawn on. Parts of it are marked as they are drawn."""

    figure: "Figure"
    axes: "Axes"
    form: Form
    marks: dict[str, Mark] = field(default_factory=dict)

    def mark(self, mark: Mark) -> str:
        """The gid of what it belongs to."""
        name = f"mark-{len(self.marks)}"
        self.marks[name] = mark
        return name

    def drawing(self, title: str, about: str) -> Drawing:
        return Drawing(self.figure, title, about, self.marks, self.form.name)


def blank(high: float, form: Form, *, width: float | None = None) -> Sheet:
    """All of it a panel without axes, of so many inches."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width or form.width, high))
    axes = figure.add_axes((0.0, 0.0, 1.0, 1.0))
    axes.set_axis_off()
    return Sheet(figure, axes, form)


def sheet(placed: Placed[Shown], form: Form, *, numbers: float = NUMBERS, legend: int = 0) -> Sheet:
    """Empty but for headings, with line 0 at the top, a column of so many inches for numbers where they stand beside
    what is drawn, and room for so many lines of a legend below.

    Laid out by hand: the layouts of matplotlib draw a figure several times to measure it.
    """
    from matplotlib.figure import Figure

    foot = FOOT + legend * LEGEND + (0.08 if legend else 0.0)
    high = HEAD + placed.count * form.row + foot
    left, right = (EDGE, EDGE) if form.above else (NAMES, numbers)
    figure = Figure(figsize=(form.width, high))
    across = left / form.width, (form.width - left - right) / form.width
    axes = figure.add_axes((across[0], foot / high, across[1], placed.count * form.row / high))
    axes.set_facecolor("none")
    axes.set_ylim(placed.count - 0.5, -0.5)
    axes.set_yticks([])
    axes.spines[["top", "right", "left"]].set_visible(False)
    axes.spines["bottom"].set_color(LINE)
    axes.tick_params(axis="x", labelsize=SMALL, labelcolor=GREY, color=LINE, length=3)
    on = Sheet(figure, axes, form)
    for row, text in placed.headings:
        _heading(on, row, text)
    return on


def scale(on: Sheet, placed: Placed[Shown], low: float, high: float, label: str) -> None:
    from matplotlib.ticker import MaxNLocator

    on.axes.set_xlim(low, high)
    on.axes.xaxis.set_major_locator(MaxNLocator(nbins=on.form.ticks, steps=[1, 2, 5, 10], integer=True))
    on.axes.set_xlabel(label, fontsize=SMALL, color=GREY, labelpad=3)
    on.axes.set_xticks([tick for tick in on.axes.get_xticks() if low <= tick <= high])
    for tick in on.axes.get_xticks():
        upright(on, placed, float(tick), color=LINE, linewidth=0.6, zorder=-1)


def upright(
    on: Sheet,
    placed: Placed[Shown],
    place: float,
    *,
    color: str,
    linewidth: float,
    zorder: float,
    linestyle: str = "-",
) -> None:
    """A line at one place of the scale, which leaves free what is written between rows."""
    ends = [end for row, _ in placed.rows for end in (row - 0.5, row + 0.5, float("nan"))]
    on.axes.plot(
        *([place] * len(ends), ends),
        color=color,
        linewidth=linewidth,
        zorder=zorder,
        linestyle=linestyle,
        solid_capstyle="butt",
    )


def zero(on: Sheet, placed: Placed[Shown], *, zorder: float) -> None:
    upright(on, placed, 0.0, color=INK, linewidth=0.9, zorder=zorder)


def _heading(on: Sheet, row: float, text: str) -> None:
    on.axes.text(
        *(0.0, row),
        fitted_title(text, on.form.width, BOLDER * FONT),
        transform=_across(on),
        va="center",
        fontsize=FONT,
        fontweight="bold",
        color=INK,
    )


def labels(on: Sheet, row: float, name: str, number: str, *, bold: bool = False) -> None:
    """A row's name, cut to its room, and its number, which is `bold` where it is sure."""
    line = row - ABOVE if on.form.above else row
    room = on.form.width - inches(number, BOLDER * SMALL if bold else SMALL) if on.form.above else NAMES
    on.axes.text(
        *(INDENT / on.form.width, line),
        fitted(name, room - INDENT - GAP, FONT),
        transform=_across(on),
        va="center",
        fontsize=FONT,
        color=INK,
    )
    on.axes.text(
        *(1.0, line),
        number,
        transform=_across(on),
        ha="right",
        va="center",
        fontsize=SMALL,
        fontweight="bold" if bold else "normal",
        color=INK,
    )


def whole_row(on: Sheet, row: float, mark: Mark) -> None:
    """Can be pointed at wherever one does."""
    from matplotlib.patches import Rectangle

    high = 2.0 if on.form.above else 1.0
    on.axes.add_artist(
        Rectangle(
            *((0.0, row + 0.5 - high), 1.0, high),
            transform=_across(on),
            clip_on=False,
            facecolor="none",
            edgecolor="none",
            zorder=10,
            gid=on.mark(mark),
        )
    )


def bar(
    on: Sheet,
    row: float,
    left: float,
    width: float,
    colour: str,
    *,
    height: float = THICK,
    alpha: float = 1.0,
    edge: str = "none",
    zorder: float = 2,
    mark: Mark | None = None,
) -> None:
    """As matplotlib's `barh` draws it, whose units and limits take three times as long."""
    from matplotlib.patches import Rectangle

    on.axes.add_artist(
        Rectangle(
            *((left, row - height / 2), width, height),
            facecolor=colour,
            alpha=alpha,
            edgecolor=edge,
            zorder=zorder,
            gid=None if mark is None else on.mark(mark),
        )
    )


def dot(
    on: Sheet, row: float, value: float, interval: tuple[float, float] | None, *, colour: str, hollow: bool
) -> None:
    """With its whisker, where there is one."""
    if interval is not None:
        on.axes.plot(interval, [row, row], color=colour, linewidth=1.4, solid_capstyle="butt", zorder=3, clip_on=False)
    on.axes.plot(
        *([value], [row]),
        marker="o",
        markersize=5.5,
        color=colour,
        markerfacecolor="#FFFFFF" if hollow else colour,
        markeredgewidth=1.3,
        zorder=4,
        clip_on=False,
    )


def note(drawing: Drawing, text: str) -> None:
    """Below all that is drawn, on as many lines as it takes."""
    figure, high = drawing.figure, drawing.figure.get_figheight()
    words = wrapped(plain(text, NOTE_CHARS), int(figure.get_figwidth() * LETTERS))
    room = NOTE * (words.count("\n") + 1.5)
    whole = high + room
    figure.set_figheight(whole)
    for axes in figure.axes:
        box = axes.get_position()
        axes.set_position((box.x0, (box.y0 * high + room) / whole, box.width, box.height * high / whole))
    figure.text(0.0, NOTE / 2 / whole, words, fontsize=SMALL, color=GREY, va="bottom", linespacing=1.2)


def _across(on: Sheet) -> "object":
    """From the left edge of the figure to its right one, in the rows of the panel."""
    from matplotlib.transforms import blended_transform_factory

    return blended_transform_factory(on.figure.transFigure, on.axes.transData)
