from collections.abc import Sequence

from rich.console import Group, RenderableType
from rich.text import Text

from toolablate.reports.terminal.numbers import counted
from toolablate.traces.plain import ID_CHARS, inert, one_line
from toolablate.traces.store import FailureCount

MAX_LISTED = 5


def failures_view(failures: Sequence[FailureCount]) -> RenderableType:
    """Why trials failed, a line or two for each reason; nothing where none did."""
    several = len({failure.model for failure in failures}) > 1
    lines = [line for failure in failures[:MAX_LISTED] for line in _lines(failure, several)]
    rest = failures[MAX_LISTED:]
    if rest:
        lines.append(Text(f"{sum(failure.count for failure in rest):,} more for {len(rest)} other reasons."))
    return Group(*lines)


def _lines(failure: FailureCount, several: bool) -> list[Text]:
    what, _, hint = failure.message.strip().partition("\n")
    code = failure.code.replace("_", " ")
    reason = f"{failure.boundary} {code}: {what}" if failure.boundary else "no reason was recorded"
    head = Text(f"{counted(failure.count, 'trial')} failed", style="bold red")
    if several:
        head.append_text(inert(f" ({one_line(failure.model)})"))
    where = f" (for instance trial {failure.trial[:ID_CHARS]})"
    lines = [Text.assemble(head, ": ", one_line(reason, max_chars=400), (where, "dim"), overflow="fold")]
    if hint.strip():
        lines.append(Text(f"  {one_line(hint, max_chars=400)}", overflow="fold"))
    return lines
