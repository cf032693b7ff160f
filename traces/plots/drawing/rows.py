"""Figures of rows: names to the left, one scale in the middle, numbers to the right."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Generic, TypeVar

from toolablate.traces.plots.drawing.marks import Drawing, Mark
from toolablate.traces.plots.drawing.palette import GREY, INK, LINE
from toolablate.traces.plots.text import fitted

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

WIDTH, ROW, HEAD, FOOT, LEGEND = 5.9, 0.25, 0.08, 0.49, 0.28
NAMES, NUMBERS, INDENT, GAP = 1.8, 1.5, 0.12, 0.08
FONT, SMALL = 9.0, 8.4
"""Inches and points. Two figures stand beside each other on a page of 1,280 pixels as they were drawn, and no letter is
less than 11 pixels high."""
BOLDER = 1.12
"""How much wider bold letters are."""

Shown = TypeVar("Shown")


@dataclass(frozen=True, slots=True)
class Placed(Generic[Shown]):
    """What is shown in which rows, from the top down, under the headings of other rows."""

    rows: Sequence[tuple[int, Shown]]
    headings: Sequence[tuple[int, str]]

    @property
    def count(self) -> int:
        return len(self.rows) + len(self.headings)


def grouped(shown: Iterable[Shown], heading: Callable[[Shown], str]) -> Placed[Shown]:
    """Those with one heading below each other, in the order in which headings first appear."""
    groups: dict[str, list[Shown]] = {}
    for each in shown:
        groups.setdefault(heading(each), []).append(each)
    rows: list[tuple[int, Shown]] = []
    headings: list[tuple[int, str]] = []
    for name, members in groups.items():
        headings.append((len(rows) + len(headings), name))
        for each in members:
            rows.append((len(rows) + len(headings), each))
    return Placed(rows, headings)


@dataclass(slots=True)
class Sheet:
    """What rows are drawn on. Parts of it are marked as they are drawn."""

    figure: "Figure"
    axes: "Axes"
    marks: dict[str, Mark] = field(default_factory=dict)

    def mark(self, mark: Mark) -> str:
        """The gid of what it belongs to."""
        name = f"mark-{len(self.marks)}"
        self.marks[name] = mark
        return name

    def drawing(self, title: str, about: str) -> Drawing:
        return Drawing(self.figure, title, about, self.marks)


def blank(width: float, high: float) -> Sheet:
    """All of it a panel without axes, of so many inches."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, high))
    axes = figure.add_axes((0.0, 0.0, 1.0, 1.0))
    axes.set_axis_off()
    return Sheet(figure, axes)


def sheet(rows: int, *, names: float = NAMES, numbers: float = NUMBERS, legend: bool = False) -> Sheet:
    """Empty, with `rows` rows, row 0 at the top, columns of so many inches for names and numbers, and room for a legend
    below.

    Laid out by hand: the layouts of matplotlib draw a figure several times to measure it.
    """
    from matplotlib.figure import Figure

    foot = FOOT + (LEGEND if legend else 0.0)
    high = HEAD + rows * ROW + foot
    figure = Figure(figsize=(WIDTH, high))
    axes = figure.add_axes((names / WIDTH, foot / high, (WIDTH - names - numbers) / WIDTH, rows * ROW / high))
    axes.set_facecolor("none")
    axes.set_ylim(rows - 0.5, -0.5)
    axes.set_yticks([])
    axes.spines[["top", "right", "left"]].set_visible(False)
    axes.spines["bottom"].set_color(LINE)
    axes.tick_params(axis="x", labelsize=SMALL, labelcolor=GREY, color=LINE, length=3)
    axes.grid(axis="x", color=LINE, linewidth=0.6)
    axes.set_axisbelow(True)
    return Sheet(figure, axes)


def scale(on: Sheet, low: float, high: float, label: str) -> None:
    from matplotlib.ticker import MaxNLocator

    on.axes.set_xlim(low, high)
    on.axes.xaxis.set_major_locator(MaxNLocator(nbins=5, steps=[1, 2, 5, 10], integer=True))
    on.axes.set_xlabel(label, fontsize=SMALL, color=GREY, labelpad=3)


def zero(on: Sheet, placed: Placed[Shown], *, zorder: float) -> None:
    """A line at 0, which leaves headings free."""
    for row, _ in placed.rows:
        ends = [row - 0.5, row + 0.5]
        on.axes.plot([0, 0], ends, color=INK, linewidth=0.9, zorder=zorder, solid_capstyle="butt")


def heading(on: Sheet, row: int, text: str) -> None:
    on.axes.text(
        *(0.0, row),
        fitted(text, WIDTH, BOLDER * FONT),
        transform=_across(on),
        va="center",
        fontsize=FONT,
        fontweight="bold",
        color=INK,
    )


def name(on: Sheet, row: int, text: str) -> None:
    """Cut where the panel begins."""
    wide = on.figure.get_figwidth()
    room = on.axes.get_position().x0 * wide - INDENT - GAP
    on.axes.text(
        *(INDENT / wide, row),
        fitted(text, room, FONT),
        transform=_across(on),
        va="center",
        fontsize=FONT,
        color=INK,
    )


def number(on: Sheet, row: int, text: str, *, bold: bool = False) -> None:
    on.axes.text(
        *(1.0, row),
        text,
        transform=_across(on),
        ha="right",
        va="center",
        fontsize=SMALL,
        fontweight="bold" if bold else "normal",
        color=INK,
    )


def whole_row(on: Sheet, row: int, mark: Mark) -> None:
    """Can be pointed at wherever one does."""
    from matplotlib.patches import Rectangle

    on.axes.add_patch(
        Rectangle(
            *((0.0, row - 0.5), 1.0, 1.0),
            transform=_across(on),
            clip_on=False,
            facecolor="none",
            edgecolor="none",
            zorder=10,
            gid=on.mark(mark),
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


def _across(on: Sheet) -> "object":
    """From the left edge of the figure to its right one, in the rows of the panel."""
    from matplotlib.transforms import blended_transform_factory

    return blended_transform_factory(on.figure.transFigure, on.axes.transData)
