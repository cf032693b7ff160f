from collections.abc import Iterator

from toolablate.traces.store.replaying import SameReport
from toolablate.traces.terminal.plain import plain_text

MAX_LISTED = 50


def same_lines(report: SameReport) -> Iterator[str]:
    """How a replay compares with what it replays, a line for each trial that differs."""
    compared = report.same + len(report.differences)
    yield plain_text(f"{report.same:,} of {compared:,} trials are the same in {report.there}.")
    for difference in report.differences[:MAX_LISTED]:
        place = f"  differs  trial {difference.trial[:12]}: {difference.path}"
        yield plain_text(f"{place}: here {difference.here}, there {difference.there}")
    if len(report.differences) > MAX_LISTED:
        yield f"  and {len(report.differences) - MAX_LISTED:,} more (--json lists them)"
    if report.failed:
        yield f"{report.failed:,} trials failed in both, each in its own way; they are not compared."
    for count, where in ((report.only_here, "here"), (report.only_there, "there")):
        if count:
            yield f"{count:,} trials have ended only {where}; they are not compared."
