from collections.abc import Sequence

from rich.console import Group, RenderableType
from rich.text import Text

from toolablate.analysis import MissDifference, MissRate
from toolablate.reports.terminal import numbers
from toolablate.reports.terminal.fitted import Fitted, figures, names
from toolablate.reports.terminal.numbers import SIGNIFICANT
from toolablate.traces.plain import inert, one_line

LARGE_POINTS = 5.0
"""A difference that could change a result; named also where it is not significant."""

KINDS = {
    "not_in_archive": "not in archive",
    "recorded_error": "recorded error",
    "blocked_by_policy": "blocked",
    "after_cutoff": "after cutoff",
}


def misses_view(rates: Sequence[MissRate], differences: Sequence[MissDifference]) -> RenderableType | None:
    """What the archive could not give and what gave an answer away, by condition; None where there is neither."""
    if not any(row.misses or row.leaked_trials or row.withheld_trials for row in rates):
        return None
    return Group(Text(" The web, by condition", style="bold"), _table(rates), *_confounds(differences))


def _table(rates: Sequence[MissRate]) -> Fitted:
    kinds = [kind for kind in KINDS if any(row.misses.get(kind) for row in rates)]
    columns = [
        names("model", [inert(one_line(row.model)) for row in rates], common=True),
        names("condition", [inert(one_line(row.condition)) for row in rates]),
        figures("lookups", [f"{row.lookups:,}" for row in rates]),
        figures("missed %", [numbers.percent(row.rate) for row in rates]),
        *(figures(KINDS[kind], [f"{row.misses.get(kind, 0):,}" for row in rates]) for kind in kinds),
    ]
    if any(row.leaked_trials for row in rates):
        columns.append(figures("trials with a leak", [f"{row.leaked_trials:,}" for row in rates]))
    if any(row.withheld_trials for row in rates):
        columns.append(figures("with results withheld", [f"{row.withheld_trials:,}" for row in rates]))
    return Fitted(tuple(columns))


def _confounds(differences: Sequence[MissDifference]) -> list[Text]:
    """What is sure to differ, and what may well, where there are too few questions to be sure."""
    lines = []
    for each in differences:
        sure = each.p_value < SIGNIFICANT
        if not sure and abs(each.points) < LARGE_POINTS:
            continue
        heading = " A confound: " if sure else " Perhaps a confound: "
        verdict = (
            "these conditions did not see the same web"
            if sure
            else "there are too few questions to tell it from chance"
        )
        lines.append(
            Text.assemble(
                (heading, "bold yellow"),
                f"under {one_line(each.conditions[1])} lookups were missed {abs(each.points):.1f} points"
                f" {'more' if each.points > 0 else 'less'} often than under {one_line(each.conditions[0])}"
                f" ({one_line(each.model)}, p {numbers.p_value(each.p_value)}); {verdict}.",
            )
        )
    return lines
