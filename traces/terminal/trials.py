from collections.abc import Iterable

from rich.box import SIMPLE_HEAD
from rich.table import Table
from rich.text import Text

from toolablate.traces.store import Observation, TrialCounts
from toolablate.traces.terminal.plain import inert, one_line
from toolablate.traces.terminal.trace import VERDICT_STYLES

ID_CHARS = 10


def trials_table(observations: Iterable[Observation]) -> Table:
    """The trials that have ended, each with the beginning of its id, by which `show` finds it."""
    table = Table(box=SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0), header_style="")
    table.add_column("trial", no_wrap=True)
    for name in ("question", "model", "condition"):
        table.add_column(name, overflow="fold")
    for name in ("repeat", "outcome", "verdict"):
        table.add_column(name, no_wrap=True)
    for seen in observations:
        verdict = seen.verdict or ""
        table.add_row(
            seen.trial[:ID_CHARS],
            inert(one_line(seen.question)),
            inert(one_line(seen.model)),
            inert(one_line(seen.condition)),
            str(seen.repeat),
            Text(seen.outcome, style="red" if seen.outcome == "failed" else ""),
            Text(verdict, style=VERDICT_STYLES.get(verdict, "yellow")),
        )
    return table


def counts_table(counts: Iterable[TrialCounts]) -> Table:
    """How far a store's trials are."""
    table = Table(box=SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0), header_style="")
    for name in ("model", "condition"):
        table.add_column(name, overflow="fold")
    for name in ("planned", "answered", "budget", "failed", "unfinished", "pending"):
        table.add_column(name, justify="right", no_wrap=True)
    for row in counts:
        figures = (row.planned, row.answered, row.budget, row.failed, row.unfinished, row.pending)
        table.add_row(inert(one_line(row.model)), inert(one_line(row.condition)), *map(str, figures))
    return table
