"""Rows of a figure: colours, marks, bars, labels and their text."""

import textwrap
import unicodedata
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from typing import TYPE_CHECKING, Generic, TypeVar

from toolablate.analysis.selection import Ending
from toolablate.reports.numbers import signed

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Okabe and Ito's, which people tell apart whatever colours they see.
GAIN, LOSS, TOTAL, GREY = "#0072B2", "#D55E00", "#999999", "#4D4D4D"
INK, LINE, PAPER = "#1B1F24", "#DDDDDD", "#FFFFFF"
"""Ink is no black: an SVG leaves out what is black by default, and a page could not give it a colour of its own."""
PALE = 0.4
"""How much there is of a colour that stands for what is not sure."""

ENDINGS: Mapping[Ending, str] = {
    "correct": GAIN,
    "partial": "#6C4BB0",
    "wrong": LOSS,
    "unparsed": "#CC79A7",
    "budget": "#E69F00",
    "failed": "#AB1D3F",
    "unscored": "#BFBFBF",
}
"""In the order in which they are stacked."""

VARIABLES: Mapping[str, str] = {
    GAIN.lower(): "--gain",
    LOSS.lower(): "--loss",
    GREY.lower(): "--quiet",
    TOTAL.lower(): "--total",
    INK.lower(): "--ink",
    "#000000": "--ink",
    ENDINGS["partial"].lower(): "--partial",
    ENDINGS["failed"].lower(): "--failed",
    LINE.lower(): "--line",
    PAPER.lower(): "--paper",
}
"""The custom properties of a page's style that stand for colours; where a page has none it is the colour itself."""


# A figure with what can be read off it, pointed at and followed.


@dataclass(frozen=True, slots=True)
class Mark:
    """What a part of a figure says to who points at it, and where it leads; nowhere where `href` is None."""

    text: str
    href: str | None = None


@dataclass(frozen=True, slots=True)
class Drawing:
    """title  what the figure shows, in a few words; `about` says how to read it
    marks  by the gid of the artists that they belong to
    form   the name of what it was drawn for (see rows.Form); nothing of what is drawn in one form alone
    """

    figure: "Figure"
    title: str
    about: str
    marks: Mapping[str, Mark]
    form: str = ""


# Bars that begin where the last one ended, and what stands beside them: what all waterfalls are drawn with.


PANEL_INCHES, LINE_INCHES, GAP_INCHES, HEAD_INCHES = 8.0, 0.17, 0.17, 1.3
NAME_CHARS, ROW_CHARS, LINE_CHARS = 48, 120, 24
THICK, MARGIN = 0.62, 0.04


def whisker(axes: "Axes", row: float, interval: tuple[float, float] | None) -> None:
    """Of a bar that begins at zero; nothing where there is no interval. A bar that begins where another ended has none:
    at that place its line would read as the interval of the sum so far."""
    if interval is None:
        return
    axes.plot(interval, [row, row], color="black", linewidth=1.1, zorder=3)
    axes.plot(interval, [row, row], linestyle="", marker="|", markersize=6, color="black", zorder=3)


def beside(axes: "Axes", row: int, text: str, *, bold: bool) -> None:
    """Beside the panel, in the panel's own height: no bar or whisker can lie below it."""
    axes.text(
        1.02,
        row,
        text,
        transform=axes.get_yaxis_transform(),
        va="center",
        fontsize="small",
        fontweight="bold" if bold else "normal",
    )


def frame(axes: "Axes", rows: int) -> None:
    """Of a panel whose rows go from the top down, a bar each."""
    axes.set_ylim(rows - 0.4, -0.6)
    axes.tick_params(axis="y", length=0, pad=9)
    axes.spines[["top", "right", "left"]].set_visible(False)
    axes.grid(axis="x", color="#DDDDDD", linewidth=0.6, zorder=-1)
    axes.set_axisbelow(True)


# Names and figures as text in a picture.


MOST_CHARS = 200
SIMULATED, SIMULATED_SHORT = " (simulated: no measurement)", " (simulated)"
NARROW, BROAD_SIGNS = frozenset(" !'()*,-./:;I[]`fijlrt|"), frozenset("%&+<=>@MWmw~\u2026\ufffd")


def plain(text: str, most: int) -> str:
    """On one line, of at most so many characters, cut in its middle; what cannot be printed becomes U+FFFD, which is
    also what keeps an SVG well-formed."""
    line = "".join(char if char.isprintable() else "\ufffd" for char in " ".join(text.split()))
    return line if len(line) <= most else f"{line[: most * 2 // 3]}…{line[len(line) - (most - most * 2 // 3 - 1) :]}"


def fitted(text: str, inches: float, points: float) -> str:
    """The same, cut to so much room at a size of letters, whose widths are guessed: those of a page's font are known to
    its reader alone."""
    line = plain(text, MOST_CHARS)
    most = 72 * inches / points
    ahead = list(accumulate(map(_width, line), initial=0.0))
    if ahead[-1] <= most:
        return line
    front = bisect_right(ahead, 2 / 3 * (most - 1)) - 1
    back = bisect_left(ahead, ahead[-1] - (most - 1 - ahead[front]))
    return f"{line[:front]}…{line[back:]}"


def inches(text: str, points: float) -> float:
    """About how much room it takes at a size of letters."""
    return sum(map(_width, text)) * points / 72


def _width(char: str) -> float:
    """In heights of letters, as fonts without serifs have it."""
    if unicodedata.combining(char):
        return 0.0
    if unicodedata.east_asian_width(char) in ("W", "F"):
        return 1.15  # one em, and more in a font that stands in for one that is not there
    return 0.38 if char in NARROW else 0.98 if char in BROAD_SIGNS else 0.74 if char.isupper() else 0.64


def wrapped(text: str, width: int) -> str:
    """On as many lines of about so many characters as it takes."""
    return "\n".join(textwrap.wrap(text, width)) or text


def with_interval(points: float | None, ci95: tuple[float, float] | None) -> str:
    return signed(points) if ci95 is None else f"{signed(points)} ({signed(ci95[0])} .. {signed(ci95[1])})"


def titled(model: str, simulated: Collection[str], *, under: str = "", short: bool = False) -> str:
    """A model's name, with what it ran `under`, as a heading, which says where it is no measurement."""
    named = f"{model} · {under}" if under else model
    return f"{named}{SIMULATED_SHORT if short else SIMULATED}" if model in simulated else named


def fitted_title(title: str, room: float, points: float) -> str:
    """The same as `fitted`, of a heading: of a long name all is cut but that it is no measurement."""
    mark = next((each for each in (SIMULATED, SIMULATED_SHORT) if title.endswith(each)), "")
    return fitted(title.removesuffix(mark), room - inches(mark, points), points) + mark


def between(ci95: tuple[float, float] | None, *, sign: bool = False) -> str:
    """An interval in brackets; nothing where there is none."""
    if ci95 is None:
        return ""
    low, high = (signed(end) if sign else f"{end:.1f}" for end in ci95)
    return f" ({low} to {high})"


def probability(p: float | None) -> str:
    """With three digits, and no nought before the point; a dash where it is unknown."""
    if p is None:
        return "-"
    return "< .001" if p < 0.001 else "1" if p >= 0.9995 else f"{p:.3f}".removeprefix("0")


# Figures of rows: names, one scale, numbers; beside each other where there is room, or one above the other.


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
