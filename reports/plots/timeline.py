"""What a trial took along its events: time, tokens and cost, each a lane."""

from dataclasses import replace

from toolablate.reports.outline import Timeline
from toolablate.reports.plots.drawing import as_text
from toolablate.reports.plots.panels import ENDINGS, GAIN, GREY, INK, LINE, PAPER, SLIM, SMALL, Drawing, blank

ABOUT = (
    "Each event takes a part of each lane, in their order; what is between two parts of the time is spent elsewhere."
)
COLOURS = {
    "model_call": (GAIN, "model"),
    "tool_call": (ENDINGS["partial"], "tool"),
    "failure": (ENDINGS["failed"], "failure"),
    "rebuilt": (GREY, "rebuilt"),
}
WIDTH, LANE, HEAD, FOOT = 7.0, 0.3, 0.1, 0.45
"""In inches."""
LEAST = 0.3
"""Percent of a lane: what is narrower would not be seen."""


def draw_timeline(line: Timeline) -> Drawing:
    with as_text():
        from matplotlib.patches import Patch

        high = HEAD + LANE * len(line.totals) + FOOT
        on = blank(high, SLIM, width=WIDTH)
        on.axes.set_position((0.1, FOOT / high, 0.76, 1 - (HEAD + FOOT) / high))
        on.axes.set_xlim(0, 100)
        on.axes.set_ylim(len(line.totals) - 0.5, -0.5)
        seen: dict[str, tuple[str, str]] = {}
        for row, (lane, total) in enumerate(line.totals):
            on.axes.barh([row], [100], height=0.6, color=LINE, zorder=1)
            on.axes.text(-1.5, row, lane.capitalize(), ha="right", va="center", fontsize=SMALL, color=INK)
            on.axes.text(101.5, row, total, ha="left", va="center", fontsize=SMALL, color=INK)
            for number, each in line.lane(lane):
                seen.setdefault(line.kinds[number], COLOURS.get(line.kinds[number], (GREY, "answer")))
                on.axes.barh(
                    [row],
                    [max(each.width, LEAST)],
                    left=each.start,
                    height=0.6,
                    zorder=2,
                    color=seen[line.kinds[number]][0],
                    edgecolor=PAPER,
                    linewidth=0.5 if each.width > 1 else 0,
                )
        on.axes.legend(
            handles=[Patch(color=colour, label=kind) for colour, kind in seen.values()],
            loc="upper left",
            bbox_to_anchor=(0, 0),
            ncols=len(COLOURS),
            frameon=False,
            fontsize=SMALL,
        )
        return replace(on.drawing("Time, tokens and cost by event", ABOUT), form="")
