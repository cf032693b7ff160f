"""Effects by domain, and matrices of answers."""

import math
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

from toolablate.analysis.comparison import Comparison
from toolablate.analysis.findings import FlipMatrix
from toolablate.analysis.selection import Link, Selection, Turn
from toolablate.reports.numbers import signed
from toolablate.reports.plots.drawing import as_text
from toolablate.reports.plots.panels import (
    BOLDER,
    BROAD,
    FONT,
    GAIN,
    GAP,
    GREY,
    INDENT,
    INK,
    LOSS,
    NAMES,
    PAPER,
    SMALL,
    TOTAL,
    WIDE,
    Drawing,
    Form,
    Mark,
    Sheet,
    between,
    blank,
    fitted,
    fitted_title,
    probability,
    titled,
)
from toolablate.reports.plots.scores import is_sure

ABOUT_DOMAINS = (
    "Each cell is a condition's difference from the baseline in points within one domain; the first column has the"
    " baseline's score in percent, and how many questions there are. The deeper a colour, the larger the difference."
    " Bold: p is below .05 after Holm's correction for all comparisons, and questions are not too few. Most differences"
    " within a domain are chance: look at the intervals."
)
BASE, CELL, TALL, NAME, SLANTED = 1.0, 0.54, 0.24, 1.1, 0.65
"""Inches; the last two are how long a slanted name may be, and how far it reaches beyond its column."""
MOST = 10
"""Columns beside each other, where there is room for them: of more conditions some stand below others."""
DEEPEST = 40.0
"""Points from which colours go no deeper."""


@dataclass(frozen=True, slots=True)
class _Layout:
    """Where a table's columns begin, in inches; the lines of its head; whether names of conditions are slanted."""

    form: Form
    first: float
    head: float
    slant: bool

    @property
    def lines(self) -> int:
        """Of a row."""
        return 2 if self.form.above else 1

    @property
    def base(self) -> float:
        """The right end of what is said of the baseline."""
        return self.form.width if self.form.above else self.first - 0.12

    def high(self, table: Sequence[Comparison]) -> float:
        return self.lines * len(_domains(table)) + self.head + 1.5


def draw_domains(
    comparisons: Sequence[Comparison],
    *,
    simulated: Collection[str] = (),
    link: Link | None = None,
    form: Form = BROAD,
) -> Drawing:
    """Tables for each model, of a row for each domain and a column for each condition; a cell leads to its trials."""
    first, slant = _first(form), _is_slanted(comparisons)
    tables = list(_tables(comparisons, _across(form, slant=slant)))
    layout = _Layout(form, first, 3.7 if slant else 0.8, slant)
    lines = sum(map(layout.high, tables))
    columns = max(len(_conditions(table)) for table in tables)
    width = max(BROAD.width if form is WIDE else form.width, first + CELL * columns + _beyond(slant=slant))
    with as_text():
        on = blank(lines * TALL + 0.05, form, width=width)
        on.axes.set_xlim(0, width)
        on.axes.set_ylim(lines + 0.05 / TALL, 0)
        top = 0.0
        for table in tables:
            words = fitted_title(titled(table[0].model, simulated, short=form.above), width, BOLDER * FONT)
            on.axes.text(0, top + 0.6, words, fontsize=FONT, fontweight="bold", color=INK)
            _head(on, top + 0.7 + layout.head, table[0].baseline, _conditions(table), layout)
            _rows(on, top + 0.9 + layout.head, table, layout, link)
            top += layout.high(table)
        return on.drawing("Effects within domains, in points", ABOUT_DOMAINS)


def is_whole(comparisons: Sequence[Comparison], form: Form) -> bool:
    """Whether no condition of a model has to stand below another in this form."""
    most = max(len(_conditions(own)) for own in _of_models(comparisons))
    return most <= _across(form, slant=_is_slanted(comparisons))


def _first(form: Form) -> float:
    return INDENT if form.above else NAMES + BASE


def _beyond(*, slant: bool) -> float:
    """Inches that the head takes beyond the last column."""
    return SLANTED if slant else 0.1


def _across(form: Form, *, slant: bool) -> int:
    return min(MOST, int((form.width - _first(form) - _beyond(slant=slant)) / CELL + 1e-6))


def _is_slanted(comparisons: Sequence[Comparison]) -> bool:
    return any(each != fitted(each, CELL, SMALL) for each in _conditions(comparisons))


def _of_models(comparisons: Sequence[Comparison]) -> Iterator[list[Comparison]]:
    for model in dict.fromkeys(each.model for each in comparisons):
        yield [each for each in comparisons if each.model == model]


def _tables(comparisons: Sequence[Comparison], across: int) -> Iterator[list[Comparison]]:
    """Of each model, and of at most so many conditions."""
    for own in _of_models(comparisons):
        conditions = _conditions(own)
        count = math.ceil(len(conditions) / across)
        ends = [len(conditions) * place // count for place in range(count + 1)]
        for first, end in pairwise(ends):
            yield [each for each in own if each.condition in conditions[first:end]]


def _conditions(table: Iterable[Comparison]) -> list[str]:
    return list(dict.fromkeys(each.condition for each in table))


def _domains(table: Iterable[Comparison]) -> list[str]:
    return list(dict.fromkeys(each.group or "" for each in table))


def _head(on: Sheet, bottom: float, baseline: str, conditions: Sequence[str], layout: _Layout) -> None:
    words = fitted(baseline, BASE, SMALL)
    on.axes.text(layout.base, bottom, words, ha="right", fontsize=SMALL, color=GREY)
    for place, condition in enumerate(conditions):
        middle = layout.first + CELL * (place + 0.5)
        on.axes.text(
            *(middle - (0.12 if layout.slant else 0), bottom),
            fitted(condition, NAME, SMALL),
            ha="left" if layout.slant else "center",
            va="bottom" if layout.slant else "baseline",
            rotation=40 if layout.slant else 0,
            rotation_mode="anchor",
            fontsize=SMALL,
            color=GREY,
        )


def _rows(on: Sheet, top: float, table: Sequence[Comparison], layout: _Layout, link: Link | None) -> None:
    conditions = _conditions(table)
    room = layout.form.width - BASE if layout.form.above else NAMES
    for row, domain in enumerate(_domains(table)):
        line = top + layout.lines * row
        cells = [each for each in table if (each.group or "") == domain]
        on.axes.text(
            *(INDENT, line + 0.5),
            fitted(domain or "(none)", room - INDENT - GAP, FONT),
            va="center",
            fontsize=FONT,
            color=INK,
        )
        most = max(cells, key=lambda each: each.questions)
        score = "-" if most.baseline_score is None else f"{most.baseline_score:.0f} %"
        _number(on, layout.base, line, f"{score} · n {most.questions:,}", ha="right", color=GREY)
        for each in cells:
            left = layout.first + CELL * conditions.index(each.condition)
            _cell(on, left, line + layout.lines - 1, each, link)


def _cell(on: Sheet, left: float, top: float, each: Comparison, link: Link | None) -> None:
    from matplotlib.patches import Rectangle

    delta, href = each.delta_points or 0.0, None
    if link is not None:
        href = link(Selection(models=(each.model,), conditions=(each.condition,), domains=(each.group or "",)))
    on.axes.add_artist(
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


# Questions by whether they are right under the baseline and under a condition.


ABOUT_MATRICES = (
    "Each square counts questions. R→R: right under the baseline and under the condition; R→W: right under the"
    " baseline, wrong under the condition; W→R, W→W likewise. Right is a mean score of at least .5. The deeper a"
    " colour, the larger the share."
)
CELLS: tuple[tuple[Turn, str, str, int, int, str], ...] = (
    ("both_right", "right under both", "R→R", 0, 0, TOTAL),
    ("right_to_wrong", "right to wrong", "R→W", 0, 1, LOSS),
    ("wrong_to_right", "wrong to right", "W→R", 1, 0, GAIN),
    ("both_wrong", "wrong under both", "W→W", 1, 1, TOTAL),
)
MATRIX_WIDE, MATRIX_TALL, HEADING, TITLE, MATRIX_GAP = 0.66, 0.38, 0.27, 0.21, 0.14
"""A square, the lines above, and what is between two matrices, in inches."""


def draw_matrices(
    matrices: Sequence[FlipMatrix], *, simulated: Collection[str] = (), link: Link | None = None, form: Form = BROAD
) -> Drawing:
    """One for each condition, those of one model below its name; a square leads to its questions."""
    models = list(dict.fromkeys(each.model for each in matrices))
    owned = [[each for each in matrices if each.model == model] for model in models]
    across = int((form.width + MATRIX_GAP) / (2 * MATRIX_WIDE + MATRIX_GAP))
    high = TITLE + 2 * MATRIX_TALL + MATRIX_GAP
    inches = sum(HEADING + math.ceil(len(own) / across) * high for own in owned)
    with as_text():
        on = blank(max(inches, HEADING), form)
        on.axes.set_xlim(0, form.width)
        on.axes.set_ylim(max(inches, HEADING), 0)
        top = 0.0
        for model, own in zip(models, owned, strict=True):
            words = fitted_title(titled(model, simulated, short=form.above), form.width, BOLDER * FONT)
            on.axes.text(0, top + 0.15, words, fontsize=FONT, fontweight="bold", color=INK)
            top += HEADING
            for place, each in enumerate(own):
                down, right = divmod(place, across)
                _matrix(on, right * (2 * MATRIX_WIDE + MATRIX_GAP), top + down * high, each, link)
            top += math.ceil(len(own) / across) * high
        return on.drawing("Questions right and wrong under baseline and condition", ABOUT_MATRICES)


def _matrix(on: Sheet, left: float, top: float, each: FlipMatrix, link: Link | None) -> None:
    from matplotlib.patches import Rectangle

    on.axes.text(left, top + 0.15, fitted(each.condition, 2 * MATRIX_WIDE, SMALL), fontsize=SMALL, color=GREY)
    count = sum(getattr(each, cell[0]) for cell in CELLS)
    for turn, said, sign, row, column, colour in CELLS:
        questions: int = getattr(each, turn)
        corner = (left + MATRIX_WIDE * column, top + TITLE + MATRIX_TALL * row)
        href = None
        if link is not None:
            href = link(Selection(models=(each.model,), conditions=(each.condition,), flips=(turn,)))
        told = f"{each.model} · {each.condition}: {questions:,} of {count:,} questions {said} ({each.baseline} first)"
        share = questions / count if count else 0.0
        on.axes.add_artist(
            Rectangle(
                *(corner, MATRIX_WIDE, MATRIX_TALL),
                facecolor=colour,
                alpha=0.12 + 0.6 * math.sqrt(share),
                edgecolor=PAPER,
                linewidth=1.5,
                gid=on.mark(Mark(told, href)),
            )
        )
        _in(on, corner[0] + MATRIX_WIDE / 2, corner[1] + 0.14, f"{questions:,}", FONT + 1)
        _in(on, corner[0] + MATRIX_WIDE / 2, corner[1] + 0.285, sign, SMALL)


def _in(on: Sheet, across: float, down: float, text: str, size: float) -> None:
    """Text that does not stand in the way of who points at what is below it."""
    on.axes.text(across, down, text, ha="center", va="center", fontsize=size, color=INK)
