from collections.abc import Iterator

from toolablate.traces.plain import plain_text
from toolablate.traces.store.same_as import SameReport, TraceDifference

MAX_LISTED = 50


def same_lines(report: SameReport) -> Iterator[str]:
    """How a replay compares with what it replays, a line for each trial that differs."""
    compared = report.same + len(report.differences)
    yield plain_text(f"{report.same:,} of {compared:,} trials are the same in {report.there}.")
    for difference in report.differences[:MAX_LISTED]:
        yield plain_text(_line(difference))
    if len(report.differences) > MAX_LISTED:
        yield f"  and {len(report.differences) - MAX_LISTED:,} more (--json lists them)"
    if any(difference.kind == "answered_later" for difference in report.differences):
        yield "Trials that were answered later are the same once the plan that recorded has run them again."
    if report.failed:
        yield f"{report.failed:,} trials failed in both with the same code; they are not compared further."
    for count, where in ((report.only_here, "here"), (report.only_there, "there")):
        if count:
            ending = "they are not compared." if report.partial else "that is a difference (unless --partial)."
            yield f"{count:,} trials have ended only {where}; {ending}"
    if not report.same:
        yield "No trial is the same, so nothing is shown to be."


def _line(difference: TraceDifference) -> str:
    trial = f"trial {difference.trial[:12]}"
    if difference.kind == "answered_later":
        return f"  answered later  {trial}: failed there, answered here: the library got the reply later"
    return f"  differs  {trial}: {difference.path}: here {difference.here}, there {difference.there}"
