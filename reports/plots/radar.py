"""A radar of scores: a spoke for each group of questions, a line for each model."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from toolablate.reports.plots.drawing import as_text, write_figure
from toolablate.reports.plots.panels import GREY, plain
from toolablate.traces.errors import InputError

COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#8C6D31")
"""Okabe and Ito's, but for the yellow, which paper hides."""
_DASHES = ("-", "--", ":", "-.")
_NAME_CHARS, _INCHES, _APART = 32, 7.5, 0.12


@dataclass(frozen=True, slots=True)
class RadarPoint:
    """In percent; None where there is no score, or no interval."""

    percent: float | None
    ci95: tuple[float, float] | None


@dataclass(frozen=True, slots=True)
class RadarLine:
    """`points` are in the order of the spokes."""

    name: str
    points: Sequence[RadarPoint]


def draw_radar(spokes: Sequence[str], lines: Sequence[RadarLine], path: Path, *, title: str) -> frozenset[str]:
    """Each point has its 95 % interval along the spoke, beside those of other lines. A line is broken where there is no
    score. Neither area nor shape of a line means anything: both depend on the order of the spokes.

    Returns the letters that no font has. Raises InputError for fewer than three spokes, and where the file cannot be
    written."""
    if len(spokes) < 3:
        raise InputError(
            f"--plot: a radar needs three groups of questions; there are {len(spokes)}",
            code="few_spokes",
        )
    from matplotlib.figure import Figure

    angles = [2 * math.pi * place / len(spokes) for place in range(len(spokes))]
    with as_text():
        figure = Figure(figsize=(_INCHES + 3, _INCHES), layout="constrained")
        axes = figure.add_subplot(projection="polar")
        axes.set_theta_offset(math.pi / 2)  # type: ignore[attr-defined]
        axes.set_theta_direction(-1)  # type: ignore[attr-defined]
        axes.set_ylim(0, 100)
        axes.set_xticks(angles, [plain(name, _NAME_CHARS) for name in spokes])
        axes.tick_params(axis="x", pad=6)
        for angle, label in zip(angles, axes.get_xticklabels(), strict=True):
            side = math.sin(angle)
            label.set_horizontalalignment("center" if abs(side) < 0.01 else "left" if side > 0 else "right")
        axes.set_yticks([20, 40, 60, 80, 100])
        axes.tick_params(axis="y", labelsize="x-small", labelcolor=GREY)
        for number, line in enumerate(lines):
            values = [math.nan if point.percent is None else point.percent for point in line.points]
            colour, dashes = COLOURS[number % len(COLOURS)], _DASHES[number // len(COLOURS) % len(_DASHES)]
            name = plain(line.name, _NAME_CHARS)
            axes.plot([*angles, angles[0]], [*values, values[0]], dashes, label=name, lw=1.4, marker=".", color=colour)
            aside = _APART * ((number + 0.5) / len(lines) - 0.5)
            for angle, point in zip(angles, line.points, strict=True):
                if point.ci95 is not None:
                    axes.plot([angle + aside] * 2, point.ci95, linewidth=1, color=colour, alpha=0.6)
        axes.set_title(plain(title, 100), fontsize="medium", pad=14)
        figure.legend(loc="outside right upper", fontsize="small", frameon=False)
        figure.supxlabel("Scores in percent, with 95 % intervals along the spokes.", fontsize="small", color=GREY)
        return write_figure(figure, path)
