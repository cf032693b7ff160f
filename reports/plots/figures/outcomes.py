"""How trials end under each condition."""

import math
from collections.abc import Collection, Mapping, Sequence
from typing import Protocol

from toolablate.analysis.selection import Ending, Link, Selection
from toolablate.reports.plots.drawing.bars import THICK
from toolablate.reports.plots.drawing.files import as_text
from toolablate.reports.plots.drawing.marks import Drawing, Mark
from toolablate.reports.plots.drawing.palette import ENDINGS, GREY
from toolablate.reports.plots.drawing.rows import BROAD, LEGEND, SMALL, Form, Sheet, bar, grouped, labels, scale, sheet
from toolablate.reports.plots.text import titled

ABOUT = (
    "Shares of the trials that ended. Unparsed: no answer could be read. Budget: a limit ended the trial, and its"
    " answer was not right. Failed: infrastructure broke, and the trial is in no score."
)


class Ended(Protocol):
    """What is known of the trials of one model under one condition."""

    @property
    def model(self) -> str: ...

    @property
    def condition(self) -> str: ...

    @property
    def endings(self) -> Mapping[Ending, int]: ...


def draw_outcomes(
    arms: Sequence[Ended], *, simulated: Collection[str] = (), link: Link | None = None, form: Form = BROAD
) -> Drawing:
    """A row for each condition, those of one model below each other; a piece leads to the trials that ended so."""
    placed = grouped(arms, lambda arm: titled(arm.model, simulated, short=form.above), form)
    found = [ending for ending in ENDINGS if any(arm.endings.get(ending) for arm in arms)]
    across = 4 if form.above else len(ENDINGS)
    with as_text():
        on = sheet(placed, form, numbers=0.75, legend=math.ceil(len(found) / across))
        for row, arm in placed.rows:
            _row(on, row, arm, link)
        _legend(on, found, across)
        scale(on, placed, 0.0, 100.0, "Percent of trials")
        return on.drawing("How trials end", ABOUT)


def _row(on: Sheet, row: float, arm: Ended, link: Link | None) -> None:
    trials, left = sum(arm.endings.values()), 0.0
    labels(on, row, arm.condition, f"n = {trials:,}")
    for ending, colour in ENDINGS.items():
        count = arm.endings.get(ending, 0)
        if not count:
            continue
        share, href = 100 * count / trials, None
        if link is not None:
            href = link(Selection(models=(arm.model,), conditions=(arm.condition,), endings=(ending,)))
        told = f"{arm.model} · {arm.condition}: {count:,} of {trials:,} trials {ending} ({share:.1f} %)"
        bar(on, row, left, share, colour, height=1.15 * THICK, mark=Mark(told, href))
        left += share


def _legend(on: Sheet, endings: Sequence[Ending], across: int) -> None:
    from matplotlib.patches import Patch

    on.axes.legend(
        [Patch(facecolor=ENDINGS[ending]) for ending in endings],
        endings,
        loc="upper center",
        bbox_to_anchor=(0.5, (0.05 + LEGEND * math.ceil(len(endings) / across)) / on.figure.get_figheight()),
        bbox_transform=on.figure.transFigure,
        ncols=max(1, min(across, len(endings))),
        frameon=False,
        fontsize=SMALL,
        labelcolor=GREY,
        handlelength=1.0,
        handleheight=1.0,
        columnspacing=0.7 if on.form.above else 1.4,
        handletextpad=0.4 if on.form.above else 0.8,
    )
