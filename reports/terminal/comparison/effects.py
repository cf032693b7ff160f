"""The table of effects: one row for each condition, and below it one for each group of questions."""

from collections.abc import Sequence

from rich.text import Text

from toolablate.analysis import Comparison
from toolablate.reports.terminal import numbers
from toolablate.reports.terminal.fitted import Fitted, figures, names
from toolablate.reports.terminal.numbers import SIGNIFICANT
from toolablate.traces.plain import inert, one_line

SMALL = "*"


def effects(rows: Sequence[Comparison]) -> Fitted:
    several = len({row.by for row in rows if row.by is not None}) > 1
    columns = (
        names("condition", [_named(row, several) for row in rows]),
        figures("n", [f"{mark(row)}{row.questions}" for row in rows]),
        figures("base", [numbers.percent(row.baseline_score) for row in rows]),
        figures("score", [numbers.percent(row.score) for row in rows]),
        figures("Δ points", [Text(numbers.signed(row.delta_points), style=_style(row)) for row in rows]),
        figures("95 % interval", [numbers.interval(row.ci95) for row in rows]),
        figures("p", [numbers.p_value(row.p_value) for row in rows], spare=4),
        figures("p Holm", [numbers.p_value(row.p_holm) for row in rows], spare=6),
        figures("p BH", [numbers.p_value(row.p_bh) for row in rows], spare=2),
        figures("R→W", [numbers.flips(row.flips_right_to_wrong, row.repeats) for row in rows]),
        figures("W→R", [numbers.flips(row.flips_wrong_to_right, row.repeats) for row in rows]),
        figures("noise", [numbers.percent(row.noise_flips) for row in rows], common=True),
        figures("could see", [_could_see(row) for row in rows], spare=5),
        figures("Δ rel.", [numbers.signed(row.delta_relative, " %") for row in rows], spare=3),
        figures("95 % of Δ rel.", [numbers.interval(row.delta_relative_ci95, " %") for row in rows], spare=1),
    )
    return Fitted(columns, tuple("" if row.group is None else "dim" for row in rows))


def mark(row: Comparison) -> str:
    """Before a figure whose interval covers less than it says."""
    return SMALL if row.small else ""


def _style(row: Comparison) -> str:
    if row.small or row.delta_points is None or row.p_holm is None or row.p_holm >= SIGNIFICANT:
        return "bold"
    return "bold red" if row.delta_points < 0 else "bold green"


def _could_see(row: Comparison) -> str:
    return numbers.UNKNOWN if row.detectable_points is None else f"{mark(row)}±{row.detectable_points:.1f}"


def _named(row: Comparison, several: bool) -> Text:
    if row.group is None:
        return inert(one_line(row.condition))
    group = inert(one_line(row.group) or f"(no {row.by})")
    return Text.assemble("  ", f"{row.by} " if several and row.group else "", group)
