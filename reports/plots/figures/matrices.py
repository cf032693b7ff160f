"""Questions by whether they are right under the baseline and under a condition."""

import math
from collections.abc import Collection, Sequence

from toolablate.analysis.findings import FlipMatrix
from toolablate.analysis.selection import Link, Selection, Turn
from toolablate.reports.plots.drawing.files import as_text
from toolablate.reports.plots.drawing.marks import Drawing, Mark
from toolablate.reports.plots.drawing.palette import GAIN, GREY, INK, LOSS, PAPER, TOTAL
from toolablate.reports.plots.drawing.rows import BOLDER, BROAD, FONT, SMALL, Form, Sheet, blank
from toolablate.reports.plots.text import fitted, fitted_title, titled

ABOUT = (
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
WIDE, TALL, HEADING, TITLE, GAP = 0.66, 0.38, 0.27, 0.21, 0.14
"""A square, the lines above, and what is between two matrices, in inches."""


def draw_matrices(
    matrices: Sequence[FlipMatrix], *, simulated: Collection[str] = (), link: Link | None = None, form: Form = BROAD
) -> Drawing:
    """One for each condition, those of one model below its name; a square leads to its questions."""
    models = list(dict.fromkeys(each.model for each in matrices))
    owned = [[each for each in matrices if each.model == model] for model in models]
    across = int((form.width + GAP) / (2 * WIDE + GAP))
    high = TITLE + 2 * TALL + GAP
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
                _matrix(on, right * (2 * WIDE + GAP), top + down * high, each, link)
            top += math.ceil(len(own) / across) * high
        return on.drawing("Questions right and wrong under baseline and condition", ABOUT)


def _matrix(on: Sheet, left: float, top: float, each: FlipMatrix, link: Link | None) -> None:
    from matplotlib.patches import Rectangle

    on.axes.text(left, top + 0.15, fitted(each.condition, 2 * WIDE, SMALL), fontsize=SMALL, color=GREY)
    count = sum(getattr(each, cell[0]) for cell in CELLS)
    for turn, said, sign, row, column, colour in CELLS:
        questions: int = getattr(each, turn)
        corner = (left + WIDE * column, top + TITLE + TALL * row)
        href = None
        if link is not None:
            href = link(Selection(models=(each.model,), conditions=(each.condition,), flips=(turn,)))
        told = f"{each.model} · {each.condition}: {questions:,} of {count:,} questions {said} ({each.baseline} first)"
        share = questions / count if count else 0.0
        on.axes.add_artist(
            Rectangle(
                *(corner, WIDE, TALL),
                facecolor=colour,
                alpha=0.12 + 0.6 * math.sqrt(share),
                edgecolor=PAPER,
                linewidth=1.5,
                gid=on.mark(Mark(told, href)),
            )
        )
        _in(on, corner[0] + WIDE / 2, corner[1] + 0.14, f"{questions:,}", FONT + 1)
        _in(on, corner[0] + WIDE / 2, corner[1] + 0.285, sign, SMALL)


def _in(on: Sheet, across: float, down: float, text: str, size: float) -> None:
    """Text that does not stand in the way of who points at what is below it."""
    on.axes.text(across, down, text, ha="center", va="center", fontsize=size, color=INK)
