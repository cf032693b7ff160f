from collections import Counter
from collections.abc import Iterable, Iterator
from datetime import timedelta
from typing import TYPE_CHECKING

from rich.console import Group, RenderableType
from rich.text import Text

from toolablate.reports.numbers import counted, dollars
from toolablate.reports.tables import Fitted, figures, names
from toolablate.traces.store import LivingRecorder, NoWorker, Spending, Standing, TrialCounts, WorkerStanding
from toolablate.traces.terminal_text import inert, one_line

if TYPE_CHECKING:
    # Nothing that reads a record: to count trials is to be quick.
    from toolablate.traces.store import FailureCount


def counts_table(counts: Iterable[TrialCounts]) -> RenderableType:
    """How far a store's trials are."""
    rows = list(counts)
    if not rows:
        return Text("No trial is planned.", style="yellow")
    return Fitted(
        (
            names("model", [_name(row.model) for row in rows], common=True),
            names("condition", [_name(row.condition) for row in rows]),
            figures("planned", [str(row.planned) for row in rows]),
            figures("answered", [str(row.answered) for row in rows]),
            figures("budget", [str(row.budget) for row in rows], common=True),
            figures("failed", [str(row.failed) for row in rows], common=True),
            figures("running", [str(row.running) for row in rows], common=True),
            figures("pending", [str(row.pending) for row in rows], common=True),
        )
    )


def _name(text: str) -> Text:
    return inert(one_line(text))


def status_view(standing: Standing, failures: "Iterable[FailureCount]" = ()) -> RenderableType:
    """How far a store's trials are, who runs them, how fast, how long the rest will take at that rate, what was spent,
    and why trials failed."""
    told = (spending_told(standing.spent), *errors_told(failures))
    return Group(counts_table(standing.counts), *_running(standing), *map(Text, filter(None, told)))


def rate_told(standing: Standing) -> str:
    """The rate, the time left and what both rest on, "" before the first trial has ended."""
    rate, left = standing.ended_per_minute, standing.seconds_left
    if rate is None:
        return ""
    rest = f", about {_duration(left)} for the rest" if left is not None else ""
    ended = sum(each.ended for each in standing.recorders)
    began = max((standing.at - each.since).total_seconds() for each in standing.recorders)
    return f"{_figure(rate)} trials per minute{rest}, by {ended:,} that ended in {_duration(began)}"


def spending_told(spent: Spending) -> str:
    """Of all attempts that have ended, "" before the first. `run` tells what judges cost."""
    if not spent.attempts:
        return ""
    if spent.usd is None:
        cost = ", cost unknown" if spent.tokens else ""
    else:
        unknown = f" and {counted(spent.unpriced, 'attempt')} of unknown cost" if spent.unpriced else ""
        cost = f", {dollars(spent.usd)}{unknown}"
    return f"spent by trials, without judges: {spent.tokens:,} tokens{cost}"


def errors_told(failures: "Iterable[FailureCount]") -> Iterator[str]:
    """Why trials failed, the most frequent reason first."""
    by_kind = Counter[str]()
    for each in failures:
        by_kind[f"{each.boundary or 'unknown'}: {each.code or 'no reason told'}"] += each.count
    for kind, count in by_kind.most_common():
        yield f"failed: {counted(count, 'trial')}, {one_line(kind, max_chars=120)}"


def _running(standing: Standing) -> Iterable[Text]:
    if not standing.recorders:
        yield Text("Nothing runs.")
        if standing.unscored:
            has = "has" if standing.unscored == 1 else "have"
            told = (
                f"{counted(standing.unscored, 'ended trial')} {has} no score yet; the next run of the plan scores them."
            )
            yield Text(told, style="yellow")
        return
    for recorder in standing.recorders:
        yield Text(_recorder(recorder, standing.at - recorder.since))
        yield from (Text(f"  {one_line(wait)}", style="yellow") for wait in recorder.waits_for)
    for worker in standing.workers:
        yield Text(worker_told(worker), style="" if worker.state == "ready" else "yellow")
    if standing.no_worker is not None:
        yield Text(no_worker_told(standing.no_worker), style="red")
    if told := rate_told(standing):
        yield Text(told)


def _recorder(recorder: LivingRecorder, age: timedelta) -> str:
    since = recorder.since.astimezone().strftime("%Y-%m-%d %H:%M:%S")
    return (
        f"process {recorder.pid}: since {since} ({_duration(age.total_seconds())}),"
        f" {recorder.running} running, {recorder.ended} ended"
    )


SILENT_SECONDS = 15.0
"""Of a worker that says something every five seconds: it may be lost."""


def worker_told(worker: WorkerStanding) -> str:
    """What a worker of a cluster is at, or was until it was lost."""
    called, ended = f"worker {one_line(worker.name)}", f"{worker.ended:,} ended"
    silent = _duration(worker.silent_seconds)
    if worker.state == "left out":
        return f"{called}: left out, because it is not like the driver or the others"
    if worker.state == "lost":
        return f"{called}: lost {silent} ago with {counted(worker.lost, 'trial')}, {ended}"
    waits = f", silent for {silent}" if worker.silent_seconds >= SILENT_SECONDS else ""
    return f"{called}: {worker.running} running, {ended}{waits}"


def no_worker_told(none: NoWorker) -> str:
    """Since when a cluster's run has no worker, and until when it waits for one."""
    left = max(none.patience_seconds - none.seconds, 0.0)
    return (
        f"no worker: none has been ready for {_duration(none.seconds)}, so trials wait; the run ends"
        f" if none is ready within {_duration(left)}"
    )


def _figure(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def _duration(seconds: float) -> str:
    whole = round(seconds)
    for unit, name in ((86_400, "d"), (3_600, "h"), (60, "min")):
        if whole >= 2 * unit:
            return f"{_figure(whole / unit)} {name}"
    return f"{whole} s"
