"""Questions by whether they are right under the baseline and under a condition."""

import math
from collections.abc import Collection, Sequence
from itertools import product

from toolablate.traces.analysis.findings import FlipMatrix
from toolablate.traces.analysis.selection import Link, Selection, Turn
from toolablate.traces.plots.bars import GAIN, GREY, LOSS, TOTAL
from toolablate.traces.plots.drawing import Drawing, Mark
from toolablate.traces.plots.files import as_text
from toolablate.traces.plots.palette import INK, PAPER
from toolablate.traces.plots.rows import FONT, SMALL, WIDTH, Sheet, blank
from toolablate.traces.plots.text import plain

ABOUT = (
    "Each square counts questions: above, those right under the baseline, below, those wrong; to the left, those right"
    " under the condition, to the right, those wrong. Right is a mean score of at least .5. The deeper a colour, the"
    " larger the share."
)
CELLS: tuple[tuple[Turn, str, int, int, str], ...] = (
    ("both_right", "right under both", 0, 0, TOTAL),
    ("right_to_wrong", "right to wrong", 0, 1, LOSS),
    ("wrong_to_right", "wrong to right", 1, 0, GAIN),
    ("both_wrong", "wrong under both", 1, 1, TOTAL),
)
ACROSS, BLOCK, TALL, TITLE_CHARS = 4, 3.0, 3.1, 16
"""Matrices beside each other, and the size of one with its names, in squares."""


def draw_matrices(
    matrices: Sequence[FlipMatrix], *, simulated: Collection[str] = (), link: Link | None = None
) -> Drawing:
    """One for each model and condition; a square leads to its questions."""
    across = min(ACROSS, max(1, len(matrices)))
    down = max(1, math.ceil(len(matrices) / across))
    with as_text():
        on = blank(WIDTH, down * TALL * WIDTH / (ACROSS * BLOCK) + 0.1)
        on.axes.set_xlim(0, ACROSS * BLOCK)
        on.axes.set_ylim(down * TALL, 0)
        for (row, column), each in zip(product(range(down), range(across)), matrices, strict=False):
            marked = " (simulated)" if each.model in simulated else ""
            _matrix(on, column * BLOCK, row * TALL, each, f"{plain(each.model, TITLE_CHARS)}{marked}", link)
        return on.drawing("Questions right and wrong under baseline and condition", ABOUT)


def _matrix(on: Sheet, left: float, top: float, each: FlipMatrix, model: str, link: Link | None) -> None:
    from matplotlib.patches import Rectangle

    on.axes.text(left, top + 0.2, model, fontsize=SMALL, color=GREY)
    on.axes.text(left, top + 0.55, plain(each.condition, TITLE_CHARS), fontsize=FONT, fontweight="bold", color=INK)
    count = sum(getattr(each, cell[0]) for cell in CELLS)
    for turn, said, row, column, colour in CELLS:
        questions: int = getattr(each, turn)
        corner = (left + 1.2 * column, top + 0.7 + row)
        href = None
        if link is not None:
            href = link(Selection(models=(each.model,), conditions=(each.condition,), flips=(turn,)))
        told = f"{each.model} · {each.condition}: {questions:,} of {count:,} questions {said} ({each.baseline} first)"
        share = questions / count if count else 0.0
        on.axes.add_patch(
            Rectangle(
                *(corner, 1.2, 1.0),
                facecolor=colour,
                alpha=0.12 + 0.6 * math.sqrt(share),
                edgecolor=PAPER,
                linewidth=1.5,
                gid=on.mark(Mark(told, href)),
            )
        )
        words = said.replace("right under both", "both right").replace("wrong under both", "both wrong")
        _in(on, corner[0] + 0.6, corner[1] + 0.4, f"{questions:,}", FONT + 1)
        _in(on, corner[0] + 0.6, corner[1] + 0.76, words, SMALL - 1.5)


def _in(on: Sheet, across: float, down: float, text: str, size: float) -> None:
    """Text that does not stand in the way of who points at what is below it."""
    on.axes.text(across, down, text, ha="center", va="center", fontsize=size, color=INK)
