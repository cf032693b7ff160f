"""Ladders as waterfalls: each contrast a bar from where the last one ended."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
from rich.padding import Padding
from rich.text import Text

from toolablate.analysis.effect import SIGNIFICANT
from toolablate.analysis.ladder import LadderStep, Shapley, Waterfall
from toolablate.reports import numbers
from toolablate.reports.tables import Column, Fitted, figures, simulated_banner, words
from toolablate.reports.waterfall_bars import GAIN, LOSS, ladder_bars, style_of, text_bars
from toolablate.traces.terminal_text import inert, one_line

MOST_BAR = 60
LEAST_NAME = 13
WHOLE_NAME = 18
"""A contrast of one factor stays on its line, where a terminal is not `NARROW`."""
NARROW = 72
WIDE = 130
"""Here is room for flips beside the bars."""


def waterfalls_view(waterfalls: Sequence[Waterfall]) -> RenderableType:
    """One waterfall for each model and ladder, and what its figures mean; figures make way before bars do."""
    return _Waterfalls(tuple(waterfalls))


@dataclass(frozen=True, slots=True)
class _Waterfalls:
    waterfalls: tuple[Waterfall, ...]

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        for each in self.waterfalls:
            yield from _one(each, options.max_width)
        notes = _footnotes(self.waterfalls, options.max_width)
        yield Padding(Text("\n".join(notes), style="dim"), (0, 1, 1, 1))


def _one(waterfall: Waterfall, room: int) -> Iterator[RenderableType]:
    yield Text.assemble(
        *(" ", (one_line(waterfall.model), "bold"), "  ladder of ", (one_line(waterfall.ladder), "bold")),
        f"  over {numbers.counted(waterfall.total.questions, 'question')}",
    )
    if waterfall.simulated:
        yield simulated_banner()
    if not waterfall.total.questions:
        yield _empty(waterfall)
        return
    yield _table(waterfall, room)
    yield Padding(Text("\n".join(_remarks(waterfall))), (0, 1, 1, 1))
    if waterfall.shapley is not None:
        yield from _check(waterfall.shapley)


def _empty(waterfall: Waterfall) -> RenderableType:
    lacking = ", ".join(map(one_line, waterfall.unscored))
    why = f" No trial is scored under {lacking}." if lacking else ""
    return Padding(Text(f"No question is scored in all of its arms yet.{why}", style="yellow"), (0, 1, 1, 1))


def _table(waterfall: Waterfall, room: int) -> Fitted:
    steps, bars = waterfall.steps, ladder_bars(waterfall).bars
    start = waterfall.total.before_score
    columns = (
        Column(
            "",
            (inert(one_line(waterfall.arms[0])), *(Text(bar.name) for bar in bars)),
            least=LEAST_NAME if room < NARROW else WHOLE_NAME,
        ),
        figures("points", ["", *(Text(numbers.signed(bar.points), style=style_of(bar, "bold")) for bar in bars)]),
        figures("95 % interval", ["", *(numbers.interval(step.ci95, small=step.small) for step in steps)]),
        figures("p", ["", *(numbers.p_value(step.p_value) for step in steps)], spare=1),
        figures("p Holm", ["", *(numbers.p_value(step.p_holm) for step in steps)], spare=4),
        figures("MDE", ["", *(numbers.percent(step.detectable_points) for step in steps)], spare=3),
        *([_flips(steps)] if _tells_noise(waterfall, room) else []),
        figures("score", [numbers.percent(start), *(numbers.percent(step.score) for step in steps)], spare=2),
    )
    shown = text_bars(bars, _bar_room(columns, room), unsure="bold")
    return Fitted((*columns, words("", shown)), ("", *(_row_style(step, waterfall) for step in steps)))


def _flips(steps: Sequence[LadderStep]) -> Column:
    cells = [
        f"{numbers.flips(step.flips_right_to_wrong, 2)} / {numbers.flips(step.flips_wrong_to_right, 2)}"
        f" ({numbers.UNKNOWN if step.noise_flips is None else numbers.flips(step.noise_flips, 2)})"
        for step in steps
    ]
    return figures("flips (noise)", ["", *cells], spare=1)


def _tells_noise(waterfall: Waterfall, room: int) -> bool:
    return room >= WIDE and any(step.noise_flips is not None for step in waterfall.steps)


def _bar_room(columns: Sequence[Column], room: int) -> int:
    """What is left beside the figures; at least a fifth, for which some of these make way."""
    taken = sum(column.width + 2 for column in columns) + 3
    return min(MOST_BAR, max(room // 5, room - taken))


def _row_style(step: LadderStep, waterfall: Waterfall) -> str:
    return "dim" if step in waterfall.bounds else ""


def _remarks(waterfall: Waterfall) -> Iterator[str]:
    total = waterfall.total
    yield f"The contrasts sum to the total{_relative(waterfall)}."
    if waterfall.excluded_questions:
        be = "is" if waterfall.excluded_questions == 1 else "are"
        left_out = numbers.counted(waterfall.excluded_questions, "question")
        yield f"{left_out} {be} left out, without a score in one of the arms."
    if total.clusters != total.questions:
        clusters = numbers.counted(total.clusters, "cluster")
        yield f"Interval and p-value use {clusters} of questions that share a source."
    if waterfall.missing:
        yield f"Not run, so the adjacent contrasts are merged: {', '.join(waterfall.missing)}."
    if waterfall.bounds:
        yield f"Bounds start at {one_line(waterfall.bounds[0].before)}, like the last contrast; not in the sum."
    for bound in waterfall.bounds:
        if bound.questions != total.questions:
            yield f"The bound {bound.name} is over {numbers.counted(bound.questions, 'question')}."


def _relative(waterfall: Waterfall) -> str:
    if waterfall.relative is None:
        return ""
    between = (
        ""
        if waterfall.relative_ci95 is None
        else f" ({numbers.interval(waterfall.relative_ci95, small=waterfall.total.small)})"
    )
    change = f"{numbers.signed(waterfall.relative, ' %')}{between}"
    return f": {change} of the score under {one_line(waterfall.total.before)}"


def _check(shapley: Shapley) -> Iterator[RenderableType]:
    values = shapley.values
    yield Text(f"  Shapley values over {numbers.counted(shapley.questions, 'question')}")
    yield Fitted(
        (
            Column("", tuple(Text(each.name) for each in values), least=LEAST_NAME),
            figures("in this order", [numbers.signed(each.own) for each in values], spare=2),
            figures("Shapley", [Text(numbers.signed(each.points), style="bold") for each in values]),
            figures("95 % interval", [numbers.interval(each.ci95, small=each.small) for each in values]),
            figures("moved", [numbers.signed(each.moved) for each in values], spare=3),
            figures("95 % of moved", [numbers.interval(each.moved_ci95, small=each.small) for each in values], spare=1),
        )
    )
    told = [f"{each.name} ({numbers.signed(each.moved)})" for each in values if each.order_matters]
    said = (
        f"Depends on the order of contrasts: {', '.join(told)}."
        if told
        else "No contrast is shown to depend on the order."
    )
    yield Padding(Text(said), (0, 1, 1, 1))


def _footnotes(waterfalls: Sequence[Waterfall], room: int) -> Iterator[str]:
    checks = [value for each in waterfalls if each.shapley is not None for value in each.shapley.values]
    small = any(step.small for each in waterfalls for step in each.steps) or any(value.small for value in checks)
    comparisons = numbers.counted(max(each.comparisons for each in waterfalls), "comparison")
    coloured = f"in colour: p Holm < {SIGNIFICANT:g}, corrected for the {comparisons} in these ladders"
    yield f"{GAIN} gain, {LOSS} loss; {coloured}."
    yield "points: percentage points, of questions scored in all arms. MDE: detected with 80 % power."
    if any(_tells_noise(each, room) for each in waterfalls):
        yield "flips: right to wrong / wrong to right between single runs (noise floor: two runs of the arm before)."
    if small:
        yield numbers.small_note()
    shapley = " Shapley: mean over all places of the prompt." if checks else ""
    yield f"The order of contrasts is a convention.{shapley}"
    yield from _entries(waterfalls)
    yield "What each figure means: docs/statistics.md."


def _entries(waterfalls: Sequence[Waterfall]) -> Iterator[str]:
    """What a plan has to say for what is not there."""
    for each in waterfalls:
        if each.lacking or each.missing:
            name = f'"{one_line(each.ladder)}"'
            entry = f"ladder = [{f'{{ name = {name}, shapley = true }}' if each.lacking else name}]"
            wanted = [*(["the missing arms"] if each.missing else []), *(["Shapley values"] if each.lacking else [])]
            yield f"{entry} in a plan adds {' and '.join(wanted)}."
            return
