"""What conditions do to scores in each domain."""

import math
from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import Literal

from toolablate.traces.analysis.comparison import Comparison
from toolablate.traces.analysis.selection import Link, Selection
from toolablate.traces.plots.drawing.files import as_text
from toolablate.traces.plots.drawing.marks import Drawing, Mark
from toolablate.traces.plots.drawing.palette import GAIN, GREY, INK, LOSS, PAPER
from toolablate.traces.plots.drawing.rows import BOLDER, FONT, GAP, INDENT, SMALL, WIDTH, Sheet, blank
from toolablate.traces.plots.figures.effects import is_sure
from toolablate.traces.plots.text import between, fitted, probability, signed, titled

ABOUT = (
    "Each cell is a condition's difference from the baseline in points within one domain; the first column has the"
    " baseline's score in percent, and how many questions there are. The deeper a colour, the larger the difference."
    " Bold: p is below .05 after Holm's correction for all comparisons, and questions are not too few. Most differences"
    " within a domain are chance: look at the intervals."
)
NAMES, BASE, CELL, TALL, NAME, SLANTED = 1.8, 1.0, 0.54, 0.24, 1.1, 0.65
"""Inches; the last two are how long a slanted name may be, and how far it reaches beyond its column."""
MOST = 10
"""Columns beside each other: of more conditions some stand below others."""
DEEPEST = 40.0
"""Points from which colours go no deeper."""


def draw_domains(
    comparisons: Sequence[Comparison], *, simulated: Collection[str] = (), link: Link | None = None
) -> Drawing:
    """Tables for each model, of a row for each domain and a column for each condition; a cell leads to its trials."""
    tables = list(_tables(comparisons))
    slant = any(each != fitted(each, CELL, SMALL) for table in tables for each in _conditions(table))
    head = 3.7 if slant else 0.8
    rows = sum(len(_domains(table)) + head + 1.5 for table in tables)
    columns = max(len(_conditions(table)) for table in tables)
    width = max(WIDTH, NAMES + BASE + CELL * columns + (SLANTED if slant else 0.1))
    with as_text():
        on = blank(width, rows * TALL + 0.05)
        on.axes.set_xlim(0, width)
        on.axes.set_ylim(rows + 0.05 / TALL, 0)
        top = 0.0
        for table in tables:
            words = fitted(titled(table[0].model, simulated), width, BOLDER * FONT)
            on.axes.text(0, top + 0.6, words, fontsize=FONT, fontweight="bold", color=INK)
            _head(on, top + 0.7 + head, table[0].baseline, _conditions(table), slant=slant)
            _rows(on, top + 0.9 + head, table, _conditions(table), link)
            top += len(_domains(table)) + head + 1.5
        return on.drawing("Effects within domains, in points", ABOUT)


def _tables(comparisons: Sequence[Comparison]) -> Iterator[list[Comparison]]:
    """Of each model, and of so many conditions as there is room for."""
    for model in dict.fromkeys(each.model for each in comparisons):
        own = [each for each in comparisons if each.model == model]
        conditions = _conditions(own)
        most = math.ceil(len(conditions) / math.ceil(len(conditions) / MOST))
        for first in range(0, len(conditions), most):
            yield [each for each in own if each.condition in conditions[first : first + most]]


def _conditions(table: Iterable[Comparison]) -> list[str]:
    return list(dict.fromkeys(each.condition for each in table))


def _domains(table: Iterable[Comparison]) -> list[str]:
    return list(dict.fromkeys(each.group or "" for each in table))


def _head(on: Sheet, bottom: float, baseline: str, conditions: Sequence[str], *, slant: bool) -> None:
    on.axes.text(NAMES + BASE - 0.12, bottom, fitted(baseline, BASE, SMALL), ha="right", fontsize=SMALL, color=GREY)
    for place, condition in enumerate(conditions):
        middle = NAMES + BASE + CELL * (place + 0.5)
        on.axes.text(
            *(middle - (0.12 if slant else 0), bottom),
            fitted(condition, NAME, SMALL),
            ha="left" if slant else "center",
            va="bottom" if slant else "baseline",
            rotation=40 if slant else 0,
            rotation_mode="anchor",
            fontsize=SMALL,
            color=GREY,
        )


def _rows(on: Sheet, top: float, table: Sequence[Comparison], conditions: Sequence[str], link: Link | None) -> None:
    for row, domain in enumerate(_domains(table)):
        cells = [each for each in table if (each.group or "") == domain]
        on.axes.text(
            *(INDENT, top + row + 0.5),
            fitted(domain or "(none)", NAMES - INDENT - GAP, FONT),
            va="center",
            fontsize=FONT,
            color=INK,
        )
        most = max(cells, key=lambda each: each.questions)
        score = "-" if most.baseline_score is None else f"{most.baseline_score:.0f} %"
        _number(on, NAMES + BASE - 0.12, top + row, f"{score} · n {most.questions:,}", ha="right", color=GREY)
        for each in cells:
            _cell(on, NAMES + BASE + CELL * conditions.index(each.condition), top + row, each, link)


def _cell(on: Sheet, left: float, top: float, each: Comparison, link: Link | None) -> None:
    from matplotlib.patches import Rectangle

    delta, href = each.delta_points or 0.0, None
    if link is not None:
        href = link(Selection(models=(each.model,), conditions=(each.condition,), domains=(each.group or "",)))
    on.axes.add_patch(
        Rectangle(
            *((left, top), CELL, 1.0),
            facecolor=GAIN if delta > 0 else LOSS,
            alpha=0.5 * math.sqrt(min(1.0, abs(delta) / DEEPEST)),
            edgecolor=PAPER,
            linewidth=1.2,
            gid=on.mark(Mark(_told(each), href)),
        )
    )
    _number(on, left + CELL / 2, top, signed(each.delta_points), bold=is_sure(each))


def _number(
    on: Sheet,
    across: float,
    top: float,
    text: str,
    *,
    ha: Literal["center", "right"] = "center",
    color: str = INK,
    bold: bool = False,
) -> None:
    weight = "bold" if bold else "normal"
    on.axes.text(across, top + 0.5, text, ha=ha, va="center", fontsize=SMALL, color=color, fontweight=weight)


def _told(each: Comparison) -> str:
    who = f"{each.model} · {each.condition} · {each.group or '(no domain)'}"
    if each.delta_points is None or each.score is None:
        return f"{who}: no question is scored under it and under {each.baseline}"
    points = f"{each.score:.1f} %, {signed(each.delta_points)} points{between(each.ci95, sign=True)}"
    return f"{who}: {points} against {each.baseline}, p (Holm) {probability(each.p_holm)}, n = {each.questions:,}"
