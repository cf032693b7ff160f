"""Scores, outcomes, effects and flips of all arms, each a figure."""

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Protocol

from toolablate.analysis.comparison import Comparison
from toolablate.analysis.effect import SIGNIFICANT
from toolablate.analysis.findings import ArmScore
from toolablate.analysis.flips import Floor
from toolablate.analysis.selection import Ending, Link, Selection
from toolablate.reports.numbers import MINUS, signed
from toolablate.reports.plots.drawing import as_text
from toolablate.reports.plots.panels import (
    BROAD,
    ENDINGS,
    GAIN,
    GREY,
    INK,
    LEGEND,
    LINE,
    LOSS,
    SMALL,
    THICK,
    Drawing,
    Form,
    Mark,
    Sheet,
    bar,
    between,
    dot,
    grouped,
    labels,
    probability,
    scale,
    sheet,
    titled,
    upright,
    whole_row,
    zero,
)

# How many questions each model answers right under each condition.


ABOUT_SCORES = (
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
        return on.drawing("Scores of models under each condition", ABOUT_SCORES)


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


# How trials end under each condition.


ABOUT_OUTCOMES = (
    "Shares of the trials that ended. Unparsed: no answer could be read. Budget: a limit ended the trial, and its"
    " answer was not right. Failed: infrastructure broke, and the trial is in no score."
)


class EndedArm(Protocol):
    """What is known of the trials of one model under one condition."""

    @property
    def model(self) -> str: ...

    @property
    def condition(self) -> str: ...

    @property
    def endings(self) -> Mapping[Ending, int]: ...


def draw_outcomes(
    arms: Sequence[EndedArm], *, simulated: Collection[str] = (), link: Link | None = None, form: Form = BROAD
) -> Drawing:
    """A row for each condition, those of one model below each other; a piece leads to the trials that ended so."""
    placed = grouped(arms, lambda arm: titled(arm.model, simulated, short=form.above), form)
    found = [ending for ending in ENDINGS if any(arm.endings.get(ending) for arm in arms)]
    across = 4 if form.above else len(ENDINGS)
    with as_text():
        on = sheet(placed, form, numbers=0.75, legend=math.ceil(len(found) / across))
        for row, arm in placed.rows:
            _outcome_row(on, row, arm, link)
        _legend(on, found, across)
        scale(on, placed, 0.0, 100.0, "Percent of trials")
        return on.drawing("How trials end", ABOUT_OUTCOMES)


def _outcome_row(on: Sheet, row: float, arm: EndedArm, link: Link | None) -> None:
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


# How much each condition changes a model's score, and how sure that is.


ABOUT_EFFECTS = (
    "A dot is the difference of a condition from the baseline in points, over the questions scored under both, a line"
    " its 95 % interval. Filled: p is below .05 after Holm's correction for all comparisons, and questions are not too"
    " few (*). Grey band: differences that are too small to be found four times in five by this many questions."
)
EFFECT_NUMBERS = 2.2


def draw_effects(
    comparisons: Sequence[Comparison], *, simulated: Collection[str] = (), link: Link | None = None, form: Form = BROAD
) -> Drawing:
    """A row for each condition, those of one model below each other; a row leads to its trials."""
    placed = grouped(comparisons, lambda each: titled(each.model, simulated, short=form.above), form)
    with as_text():
        on = sheet(placed, form, numbers=EFFECT_NUMBERS)
        for row, each in placed.rows:
            _effect_row(on, row, each)
            href = None if link is None else link(Selection(models=(each.model,), conditions=(each.condition,)))
            whole_row(on, row, Mark(_effect_told(each), href))
        zero(on, placed, zorder=1)
        scale(on, placed, *_effect_limits(comparisons), "Points from the baseline")
        return on.drawing("Effects of conditions, against the baseline", ABOUT_EFFECTS)


def is_sure(each: Comparison) -> bool:
    return not each.small and each.p_holm is not None and each.p_holm < SIGNIFICANT


def _effect_row(on: Sheet, row: float, each: Comparison) -> None:
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


def _effect_told(each: Comparison) -> str:
    if each.delta_points is None:
        return f"{each.model} · {each.condition}: no question is scored under it and under {each.baseline}"
    few = "; too few questions for a sure interval" if each.small else ""
    found = "" if each.detectable_points is None else f"; ± {each.detectable_points:.1f} could be found"
    points = f"{signed(each.delta_points)} points{between(each.ci95, sign=True)} against {each.baseline}"
    return (
        f"{each.model} · {each.condition}: {points}, p (Holm) {probability(each.p_holm)},"
        f" n = {each.questions:,}{found}{few}"
    )


def _effect_limits(comparisons: Sequence[Comparison]) -> tuple[float, float]:
    """Around all dots, lines and bands: half a band would look as if one way were easier to find."""
    ends = [0.0, *(end for each in comparisons for end in (each.delta_points, *(each.ci95 or ())) if end is not None)]
    bands = [each.detectable_points for each in comparisons if each.detectable_points is not None]
    ends += [way * max(bands, default=0.0) for way in (-1, 1)]
    room = 0.06 * (max(ends) - min(ends)) or 1.0
    return min(ends) - room, max(ends) + room


# Questions that conditions turn wrong or right, beside those that chance alone would.


ABOUT_FLIPS = (
    "Bars count questions that flip between a single run of the baseline and one of the condition: right to wrong to"
    " the left, wrong to right to the right. Black marks: as many go each way between two runs of the baseline, by"
    " chance alone; there are none where the baseline was not repeated."
)
FLIP_NUMBERS = 1.95
WAYS = ("right to wrong", "wrong to right")


def draw_flips(floors: Sequence[Floor], *, simulated: Collection[str] = (), form: Form = BROAD) -> Drawing:
    """A row for each condition, those of one model below each other. A bar leads nowhere: it is a mean over pairs of
    runs, and no list of questions is as long."""
    from matplotlib.ticker import FuncFormatter

    placed = grouped(floors, lambda each: titled(each.model, simulated, short=form.above), form)
    with as_text():
        on = sheet(placed, form, numbers=FLIP_NUMBERS)
        for row, each in placed.rows:
            _flip_row(on, row, each)
        zero(on, placed, zorder=5)
        most = 1.06 * max((end for each in floors for end in (*_ways(each), each.chance.noise_flips or 0.0)), default=1)
        scale(on, placed, -(most or 1.0), most or 1.0, "Questions: right to wrong | wrong to right")
        on.axes.xaxis.set_major_formatter(FuncFormatter(lambda count, _: f"{abs(count):g}"))
        return on.drawing("Questions that flip, beside chance", ABOUT_FLIPS)


def _ways(each: Floor) -> tuple[float, float]:
    return each.chance.flips_right_to_wrong, each.chance.flips_wrong_to_right


def _flip_row(on: Sheet, row: float, each: Floor) -> None:
    noise = each.chance.noise_flips
    for said, count, side in zip(WAYS, _ways(each), (-1, 1), strict=True):
        bar(on, row, 0.0, side * count, LOSS if side < 0 else GAIN, mark=Mark(_flip_told(each, said, count)))
        if noise is not None:
            on.axes.plot([side * noise] * 2, [row - 0.42, row + 0.42], color=INK, linewidth=1.6, zorder=4)
    harmed, helped = _ways(each)
    chance = "" if noise is None or on.form.above else f" · chance {noise:.1f}"
    labels(on, row, each.condition, f"{MINUS}{harmed:.1f} · +{helped:.1f}{chance}")


def _flip_told(each: Floor, said: str, count: float) -> str:
    noise = each.chance.noise_flips
    chance = "chance unknown: no repeats of the baseline" if noise is None else f"by chance alone {noise:.1f}"
    return f"{each.model} · {each.condition}: {count:.1f} of {each.questions:,} questions {said}; {chance}"
