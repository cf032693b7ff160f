"""Bars that begin where the last one ended, and what stands beside them: what all waterfalls are drawn with."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from matplotlib.axes import Axes

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
