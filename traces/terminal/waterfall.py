"""Ladders as waterfalls: each rung a bar from where the last one ended."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
from rich.padding import Padding
from rich.text import Text

from toolablate.traces.analysis import FEW_CLUSTERS, FEW_DIFFERING
from toolablate.traces.analysis.ladder import Shapley, Step, Waterfall
from toolablate.traces.terminal import numbers
from toolablate.traces.terminal.fitted import Column, Fitted, figures, words
from toolablate.traces.terminal.numbers import SIGNIFICANT
from toolablate.traces.terminal.plain import inert, one_line
from toolablate.traces.terminal.simulated import simulated_banner

SMALL = "*"
MOST_BAR = 60
LEAST_NAME = 13
WHOLE_NAME = 18
"""A rung of one factor stays on its line, where a terminal is not `NARROW`."""
NARROW = 72
GAIN, LOSS, LEVEL = "█", "▒", "│"


def waterfalls_view(waterfalls: Sequence[Waterfall]) -> RenderableType:
    """One waterfall for each model and ladder, and what its figures mean; figures make way before bars do."""
    return _Waterfalls(tuple(waterfalls))


@dataclass(frozen=True, slots=True)
class _Waterfalls:
    waterfalls: tuple[Waterfall, ...]

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        for each in self.waterfalls:
            yield from _one(each, options.max_width)
        notes = list(dict.fromkeys(_footnotes(self.waterfalls)))
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
    steps = _steps(waterfall)
    start = waterfall.total.before_score
    columns = (
        Column(
            "",
            (inert(one_line(waterfall.arms[0])), *(_name(step, waterfall) for step in steps)),
            least=LEAST_NAME if room < NARROW else WHOLE_NAME,
        ),
        figures("points", ["", *(Text(numbers.signed(step.points), style=_style(step)) for step in steps)]),
        figures("95 % interval", ["", *(_interval(step) for step in steps)]),
        figures("p", ["", *(numbers.p_value(step.p_value) for step in steps)], spare=1),
        figures("p Holm", ["", *(numbers.p_value(step.p_holm) for step in steps)], spare=3),
        figures("score", [numbers.percent(start), *(numbers.percent(step.score) for step in steps)], spare=2),
    )
    bars = _bars((*waterfall.rungs, waterfall.total), start, _bar_room(columns, room))
    # A bound is far away, by its nature: drawn to scale it would leave the rungs no room to be seen.
    bars += [Text()] * len(waterfall.bounds)
    return Fitted((*columns, words("", bars)), ("", *(_row_style(step, waterfall) for step in steps)))


def _bar_room(columns: Sequence[Column], room: int) -> int:
    """What is left beside the figures; at least a fifth, for which some of these make way."""
    taken = sum(column.width + 2 for column in columns) + 3
    return min(MOST_BAR, max(room // 5, room - taken))


def _bars(steps: Sequence[Step], start: float | None, cells: int) -> list[Text]:
    levels = [level for step in steps for level in (step.before_score, step.score) if level is not None]
    low, high = min(levels), max(levels)

    def place(level: float | None) -> int:
        return round((cells - 1) * ((level or 0.0) - low) / (high - low)) if high > low else 0

    def bar(step: Step) -> Text:
        before, after = place(step.before_score), place(step.score)
        left, right = sorted((before, after))
        if not step.points or left == right:
            return Text(" " * left + LEVEL, style=_style(step))
        return Text(" " * left + (GAIN if step.points > 0 else LOSS) * (right - left + 1), style=_style(step))

    return [Text(" " * place(start) + LEVEL), *map(bar, steps)]


def _name(step: Step, waterfall: Waterfall) -> Text:
    return Text(f"bound: {step.name}" if step in waterfall.bounds else step.name)


def _interval(step: Step) -> str:
    return f"{SMALL if step.small and step.ci95 else ''}{numbers.interval(step.ci95)}"


def _style(step: Step) -> str:
    if step.small or step.points is None or step.p_holm is None or step.p_holm >= SIGNIFICANT:
        return "bold"
    return "bold red" if step.points < 0 else "bold green"


def _row_style(step: Step, waterfall: Waterfall) -> str:
    return "dim" if step in waterfall.bounds else ""


def _remarks(waterfall: Waterfall) -> Iterator[str]:
    total = waterfall.total
    yield f"The rungs sum to the total{_relative(waterfall)}."
    if waterfall.excluded_questions:
        be = "is" if waterfall.excluded_questions == 1 else "are"
        left_out = numbers.counted(waterfall.excluded_questions, "question")
        yield f"{left_out} {be} left out, for want of a score in one of the arms."
    if total.clusters != total.questions:
        clusters = numbers.counted(total.clusters, "cluster")
        yield f"Interval and p rest on {clusters} of questions that share a source."
    if waterfall.missing:
        yield f"Not run, so that the rungs on both sides are one: {', '.join(waterfall.missing)}."
    if waterfall.bounds:
        yield f"Bounds: from {one_line(waterfall.bounds[0].before)}, as the last rung is; no part of the sum."
    for bound in waterfall.bounds:
        if bound.questions != total.questions:
            yield f"The bound {bound.name} is over {numbers.counted(bound.questions, 'question')}."


def _relative(waterfall: Waterfall) -> str:
    if waterfall.relative is None:
        return ""
    return f": {numbers.signed(waterfall.relative, ' %')} of the score under {one_line(waterfall.total.before)}"


def _check(shapley: Shapley) -> Iterator[RenderableType]:
    values = shapley.values
    yield Text(f"  Shapley values over {numbers.counted(shapley.questions, 'question')}")
    yield Fitted(
        (
            Column("", tuple(Text(each.name) for each in values), least=LEAST_NAME),
            figures("in this order", [numbers.signed(each.own) for each in values], spare=1),
            figures("Shapley", [Text(numbers.signed(each.points), style="bold") for each in values]),
            figures("95 % interval", [numbers.interval(each.ci95) for each in values]),
            figures("moved", [numbers.signed(each.moved) for each in values]),
        )
    )
    farthest = shapley.farthest
    moved = numbers.signed(farthest.moved)
    yield Padding(Text(f"The order matters most to {farthest.name}: {moved} points."), (0, 1, 1, 1))


def _footnotes(waterfalls: Sequence[Waterfall]) -> Iterator[str]:
    tested = ((each, step) for each in waterfalls for step in _steps(each) if step.p_value is not None)
    tests = {(each.model, step.before, step.after, step.questions, step.p_value) for each, step in tested}
    yield f"Bars begin where the last one ended: {GAIN} gain, {LOSS} loss, coloured where p Holm < {SIGNIFICANT:g}."
    yield "points: percentage points, paired over questions scored in all arms. score: percent, of the arm reached."
    yield "95 % interval: of points, from a paired bootstrap over questions (BCa). p: two-sided sign-flip test."
    if any(step.small for each in waterfalls for step in _steps(each)):
        few = f"fewer than {FEW_CLUSTERS} independent questions, or {FEW_DIFFERING} that differ"
        yield f"{SMALL}: {few}; intervals cover less than they say."
    yield f"p Holm: corrected for the number of comparisons shown ({len(tests)})."
    yield "The order of the rungs is a convention: what a factor is worth can depend on those before it."
    if any(each.shapley is not None for each in waterfalls):
        yield (
            "Shapley: a rung's mean worth over all places that the prompt can take among the others, which keep their"
            " order; moved: that less the worth in this order."
        )
    if lacking := next((each.ladder for each in waterfalls if each.lacking), None):
        entry = f'ladder = [{{ name = "{one_line(lacking)}", shapley = true }}]'
        yield f"{entry} in a plan runs the arms that show how much the order matters (Shapley values)."
    if missing := next((each.ladder for each in waterfalls if each.missing), None):
        yield f'ladder = ["{one_line(missing)}"] in a plan runs the arms that are missing.'


def _steps(waterfall: Waterfall) -> tuple[Step, ...]:
    return (*waterfall.rungs, waterfall.total, *waterfall.bounds)
