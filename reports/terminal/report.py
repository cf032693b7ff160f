from rich.console import Group, RenderableType
from rich.text import Text

from toolablate.reports.terminal.numbers import counted
from toolablate.traces.plain import one_line
from toolablate.traces.store import VerifyReport

MAX_LISTED = 50


def verify_view(report: VerifyReport) -> RenderableType:
    """What was checked, what is damaged, and how far the run is."""
    checked = ", ".join(f"{count:,} {name}" for name, count in report.checked.items() if count and name != "structure")
    lines = [Text.assemble((one_line(report.path), "bold"), f": checked {checked or 'nothing'}")]
    lines += [
        Text.assemble(("  damaged  ", "bold red"), (one_line(problem.where), "bold"), ": ", one_line(problem.what))
        for problem in report.problems[:MAX_LISTED]
    ]
    if len(report.problems) > MAX_LISTED:
        lines.append(Text(f"  and {len(report.problems) - MAX_LISTED:,} more (--json lists them)", style="red"))
    lines.append(_standing(report))
    if report.ok:
        lines.append(Text("Nothing is damaged.", style="bold green"))
    else:
        lines.append(
            Text(f"{counted(len(report.problems), 'problem')}. What is not listed can still be read.", style="bold red")
        )
    return Group(*lines)


def _standing(report: VerifyReport) -> Text:
    counts = [
        (report.failed, "failed"),
        (report.unfinished, "begun and not ended"),
        (report.pending, "not begun"),
        (report.unscored, "not scored"),
    ]
    rest = "".join(f", {count:,} {name}" for count, name in counts if count)
    return Text(f"{report.finished:,} of {counted(report.planned, 'planned trial')} are finished{rest}.")
