"""Warns of models that called tools which their condition does not let them call."""

from collections.abc import Iterator, Sequence

from rich.console import RenderableType
from rich.text import Text

from toolablate.analysis import RefusedCalls
from toolablate.reports.terminal.numbers import counted
from toolablate.traces.plain import one_line
from toolablate.traces.records import Refusal

SHOWN = 4
"""How many tools a note names."""

_THAT: dict[Refusal, str] = {
    "unknown_tool": "tools that it was not offered",
    "not_allowed": "tools that were offered and may not be called",
}
_THEN = (
    "Scores of such a condition are lower than the model's own: compare with a condition whose prompt says which tools"
    " there are, or that there are none; see docs/conditions.md."
)


def refused_notes(rows: Sequence[RefusedCalls]) -> Iterator[str]:
    """A sentence for each row, and one that says what to do; nothing where there is none."""
    for row in rows:
        named = [f"{one_line(tool, max_chars=40) or '(no name)'} {count:,}" for tool, count in row.tools.items()]
        more = f" and {len(named) - SHOWN:,} more" if len(named) > SHOWN else ""
        yield (
            f"{one_line(row.condition)}: {one_line(row.model)} called {_THAT[row.why]} in {row.called_in:,} of"
            f" {counted(row.trials, 'trial')} ({counted(row.calls, 'call')}: {', '.join(named[:SHOWN])}{more});"
            " its turns went to them."
        )
    if rows:
        yield _THEN


def refused_view(rows: Sequence[RefusedCalls]) -> RenderableType | None:
    """The same as a warning below a table; None where there is nothing to warn of."""
    if not rows:
        return None
    return Text("\n").join(
        Text.assemble((" Warning: ", "bold yellow"), note) if number < len(rows) else Text(f" {note}")
        for number, note in enumerate(refused_notes(rows))
    )
