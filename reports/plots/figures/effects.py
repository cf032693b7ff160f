"""How much each condition changes a model's score, and how sure that is."""

from collections.abc import Collection, Sequence

from toolablate.analysis.comparison import Comparison
from toolablate.analysis.effect import LEVEL
from toolablate.analysis.selection import Link, Selection
from toolablate.reports.plots.drawing.files import as_text
from toolablate.reports.plots.drawing.marks import Drawing, Mark
from toolablate.reports.plots.drawing.palette import GAIN, GREY, LINE, LOSS
from toolablate.reports.plots.drawing.rows import (
    BROAD,
    Form,
    Sheet,
    bar,
    dot,
    grouped,
    labels,
    scale,
    sheet,
    whole_row,
    zero,
)
from toolablate.reports.plots.text import between, probability, signed, titled

ABOUT = (
    "A dot is the difference of a condition from the baseline in points, over the questions scored under both, a line"
    " its 95 % interval. Filled: p is below .05 after Holm's correction for all comparisons, and questions are not too"
    " few (*). Grey band: differences that are too small to be found four times in five by this many questions."
)
NUMBERS = 2.2


def draw_effects(
    comparisons: Sequence[Comparison], *, simulated: Collection[str] = (), link: Link | None = None, form: Form = BROAD
) -> Drawing:
    """A row for each condition, those of one model below each other; a row leads to its trials."""
    placed = grouped(comparisons, lambda each: titled(each.model, simulated, short=form.above), form)
    with as_text():
        on = sheet(placed, form, numbers=NUMBERS)
        for row, each in placed.rows:
            _row(on, row, each)
            href = None if link is None else link(Selection(models=(each.model,), conditions=(each.condition,)))
            whole_row(on, row, Mark(_told(each), href))
        zero(on, placed, zorder=1)
        scale(on, placed, *_limits(comparisons), "Points from the baseline")
        return on.drawing("Effects of conditions, against the baseline", ABOUT)


def is_sure(each: Comparison) -> bool:
    return not each.small and each.p_holm is not None and each.p_holm < LEVEL


def _row(on: Sheet, row: float, each: Comparison) -> None:
    if each.delta_points is None:
        labels(on, row, each.condition, "nothing scored on both sides")
        return
    if each.detectable_points is not None:
        band = each.detectable_points
        bar(on, row, -band, 2 * band, LINE, height=0.9, alpha=0.55, zorder=0)
    sure = is_sure(each)
    colour = (GAIN if each.delta_points > 0 else LOSS) if sure else GREY
    dot(on, row, each.delta_points, each.ci95, colour=colour, hollow=not sure)
    few = "*" if each.small else ""
    tested = "" if each.p_holm is None or on.form.above else f" · p {probability(each.p_holm)}"
    points = f"{signed(each.delta_points)}{between(each.ci95, sign=True)}"
    labels(on, row, each.condition, f"{points}{few}{tested}", bold=sure)


def _told(each: Comparison) -> str:
    if each.delta_points is None:
        return f"{each.model} · {each.condition}: no question is scored under it and under {each.baseline}"
    few = "; too few questions for a sure interval" if each.small else ""
    found = "" if each.detectable_points is None else f"; ± {each.detectable_points:.1f} could be found"
    points = f"{signed(each.delta_points)} points{between(each.ci95, sign=True)} against {each.baseline}"
    return (
        f"{each.model} · {each.condition}: {points}, p (Holm) {probability(each.p_holm)},"
        f" n = {each.questions:,}{found}{few}"
    )


def _limits(comparisons: Sequence[Comparison]) -> tuple[float, float]:
    """Around all dots, lines and bands: half a band would look as if one way were easier to find."""
    ends = [0.0, *(end for each in comparisons for end in (each.delta_points, *(each.ci95 or ())) if end is not None)]
    bands = [each.detectable_points for each in comparisons if each.detectable_points is not None]
    ends += [way * max(bands, default=0.0) for way in (-1, 1)]
    room = 0.06 * (max(ends) - min(ends)) or 1.0
    return min(ends) - room, max(ends) + room
