"""How sure a model is of the right answer, step by step through one trial."""

import math
from collections.abc import Callable, Sequence
from dataclasses import replace

from toolablate.analysis.attribution.belief import BeliefFlip, Trajectory
from toolablate.reports.plots.drawing import as_text
from toolablate.reports.plots.panels import GREY, INK, LINE, LOSS, SLIM, SMALL, Drawing, Mark, Sheet, blank

ABOUT = (
    "How often the model gives the right answer if it has to answer at once, at each step that was probed; lines are"
    " 95 % intervals. The band is where it falls."
)
HIGH, PANEL = 1.9, (0.15, 0.26, 0.8, 0.66)
MOST_TICKS = 9


def draw_belief(
    found: Trajectory,
    flip: BeliefFlip | None = None,
    *,
    events: Sequence[int] = (),
    address: Callable[[int], str] | None = None,
) -> Drawing:
    """Step k was probed before the event `events[k]`, as evidence has it in its `steps`; without them steps are
    numbered as they are. `address` is that of an event, which a dot leads to."""
    with as_text():
        on = blank(HIGH, SLIM)
        on.axes.set_position(PANEL)
        _frame(on)
        steps, shares = [each.step for each in found.beliefs], [each.right.mean for each in found.beliefs]
        if flip is not None:
            on.axes.axvspan(flip.after, flip.step, color=LOSS, alpha=0.18, linewidth=0)
        on.axes.plot(steps, shares, color=GREY, linewidth=1.2, zorder=2)
        for each in found.beliefs:
            _dot(on, each.step, each.right.mean, (each.right.low, each.right.high), fallen=_fallen(each.step, flip))
            event = events[each.step] if each.step < len(events) else None
            where = f"Step {each.step}" if event is None else f"Before event {event}"
            told = f"{where}: right in {each.right.mean:.0%} of {each.samples} samples"
            interval = f" ({each.right.low:.0%} to {each.right.high:.0%})"
            _pointed(on, each.step, Mark(told + interval, None if address is None or event is None else address(event)))
        ticked = steps[:: math.ceil(len(steps) / MOST_TICKS)]
        named = [str(step) for step in ticked]
        if events:
            named = [str(events[step]) if step < len(events) else "" for step in ticked]
        on.axes.set_xticks(ticked, named)
        on.axes.set_xlabel("Before event" if events else "Step", fontsize=SMALL, color=GREY, labelpad=3)
        room = 0.04 * (max(steps) - min(steps)) or 0.5
        on.axes.set_xlim(min(steps) - room, max(steps) + room)
        return replace(on.drawing(_title(flip, events), ABOUT), form="")


def _title(flip: BeliefFlip | None, events: Sequence[int]) -> str:
    if flip is None:
        return "Belief in the right answer, by step"
    where = f"before event {events[flip.step]}" if flip.step < len(events) else f"at step {flip.step}"
    return f"Belief in the right answer, by step: it falls from {flip.before:.0%} to {flip.level:.0%} {where}"


def _fallen(step: int, flip: BeliefFlip | None) -> bool:
    return flip is not None and step >= flip.step


def _frame(on: Sheet) -> None:
    from matplotlib.ticker import PercentFormatter

    axes = on.axes
    axes.set_axis_on()
    axes.set_facecolor("none")
    axes.spines[["top", "right", "left"]].set_visible(False)
    axes.spines["bottom"].set_color(LINE)
    axes.tick_params(labelsize=SMALL, labelcolor=GREY, color=LINE, length=0)
    axes.grid(axis="y", color=LINE, linewidth=0.6)
    axes.set_ylim(-0.03, 1.03)
    axes.set_yticks([0, 0.5, 1])
    axes.yaxis.set_major_formatter(PercentFormatter(1))


def _dot(on: Sheet, step: int, share: float, interval: tuple[float, float], *, fallen: bool) -> None:
    colour = LOSS if fallen else INK
    on.axes.plot([step, step], interval, color=colour, linewidth=1.4, zorder=3)
    on.axes.plot([step], [share], marker="o", markersize=5.5, color=colour, zorder=4, clip_on=False)


def _pointed(on: Sheet, step: int, mark: Mark) -> None:
    """The column around a dot."""
    from matplotlib.patches import Rectangle

    on.axes.add_patch(
        Rectangle((step - 0.4, -0.03), 0.8, 1.06, facecolor="none", edgecolor="none", zorder=10, gid=on.mark(mark))
    )
