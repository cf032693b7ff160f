"""How many questions each model answers right under each condition."""

import math
from collections.abc import Collection, Sequence
from dataclasses import replace

from toolablate.analysis.findings import ArmScore
from toolablate.analysis.selection import Link, Selection
from toolablate.reports.plots.drawing.files import as_text
from toolablate.reports.plots.drawing.marks import Drawing, Mark
from toolablate.reports.plots.drawing.palette import GREY, INK
from toolablate.reports.plots.drawing.rows import (
    BROAD,
    Form,
    Sheet,
    dot,
    grouped,
    labels,
    scale,
    sheet,
    upright,
    whole_row,
)
from toolablate.reports.plots.text import between, titled

ABOUT = (
    "A dot is the mean score over the questions that are scored there, a line its 95 % interval. Hollow: the baseline;"
    " the dotted line is its score."
)


def draw_scores(
    arms: Sequence[ArmScore],
    *,
    baseline: str,
    simulated: Collection[str] = (),
    link: Link | None = None,
    form: Form = BROAD,
) -> Drawing:
    """A row for each condition, those of one model below each other; a row leads to its trials."""
    placed = grouped(arms, lambda arm: titled(arm.model, simulated, short=form.above), form)
    with as_text():
        on = sheet(placed, form)
        for row, arm in placed.rows:
            _row(on, row, arm, hollow=arm.condition == baseline)
            href = None if link is None else link(Selection(models=(arm.model,), conditions=(arm.condition,)))
            whole_row(on, row, Mark(_told(arm), href))
        for arm in arms:
            if arm.condition == baseline and arm.accuracy.percent is not None:
                own = replace(placed, rows=[each for each in placed.rows if each[1].model == arm.model])
                upright(on, own, arm.accuracy.percent, color=GREY, linewidth=1.3, zorder=2, linestyle=":")
        scale(on, placed, *_limits(arms), "Right, in percent")
        return on.drawing("Scores of models under each condition", ABOUT)


def _row(on: Sheet, row: float, arm: ArmScore, *, hollow: bool) -> None:
    found = arm.accuracy
    if found.percent is None:
        labels(on, row, arm.condition, "nothing scored")
        return
    dot(on, row, found.percent, found.ci95, colour=INK, hollow=hollow)
    labels(on, row, arm.condition, f"{found.percent:.1f}{between(found.ci95)}")


def _told(arm: ArmScore) -> str:
    found = arm.accuracy
    if found.percent is None:
        return f"{arm.model} · {arm.condition}: no question is scored"
    few = "; too few questions for a sure interval" if found.small else ""
    return f"{arm.model} · {arm.condition}: {found.percent:.1f} %{between(found.ci95)}, n = {found.questions:,}{few}"


def _limits(arms: Sequence[ArmScore]) -> tuple[float, float]:
    """Whole tens around all dots and lines, between 0 and 100."""
    ends = [end for arm in arms for end in (arm.accuracy.percent, *(arm.accuracy.ci95 or ())) if end is not None]
    if not ends:
        return 0.0, 100.0
    high = min(100.0, 10 * math.ceil(max(ends) / 10 + 0.01))
    return max(0.0, min(high - 10, 10 * math.floor(min(ends) / 10))), high
