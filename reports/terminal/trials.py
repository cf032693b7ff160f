from collections.abc import Iterable

from rich.console import RenderableType
from rich.text import Text

from toolablate.reports.terminal.fitted import Fitted, figures, names, words
from toolablate.reports.terminal.trace import VERDICT_STYLES
from toolablate.traces.plain import ID_CHARS, inert, one_line
from toolablate.traces.store import Observation


def trials_table(observations: Iterable[Observation]) -> RenderableType:
    """The trials that have ended, each with the beginning of its id, by which `show` finds it."""
    seen = list(observations)
    if not seen:
        return Text("No trial to list.", style="yellow")
    verdicts = [row.verdict or "" for row in seen]
    return Fitted(
        (
            words("trial", [row.trial[:ID_CHARS] for row in seen]),
            names("question", [_name(row.question) for row in seen], cut=True),
            names("model", [_name(row.model) for row in seen], common=True),
            names("condition", [_name(row.condition) for row in seen]),
            figures("repeat", [str(row.repeat) for row in seen], common=True),
            words("outcome", [Text(row.outcome, style="red" if row.outcome == "failed" else "") for row in seen]),
            words("verdict", [Text(verdict, style=VERDICT_STYLES.get(verdict, "yellow")) for verdict in verdicts]),
        )
    )


def _name(text: str) -> Text:
    return inert(one_line(text))
