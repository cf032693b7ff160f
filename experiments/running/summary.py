"""What `run` says when it ends."""

import json
import os
import shutil
import sys
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict, replace
from pathlib import Path

from rich.console import Console
from rich.text import Text

from toolablate.analysis.from_store import read_paired
from toolablate.analysis.ladder import waterfalls_of
from toolablate.experiments.running.grading import JudgeWork, Ungraded
from toolablate.experiments.running.launch import Launched
from toolablate.experiments.running.progress import told_of_given_up
from toolablate.experiments.running.runner import GivenUp
from toolablate.reports.numbers import counted, dollars
from toolablate.reports.terminal.comparison import comparison_table
from toolablate.reports.terminal.problems import cut_view, failures_view, misses_view, refused_view
from toolablate.reports.terminal.waterfall import waterfalls_view
from toolablate.traces.store import FailureCount
from toolablate.traces.terminal_text import one_line

# From so many trials on a comparison takes several seconds.
SLOW_TO_COMPARE = 100_000

# The code of a replay's miss: the same command would only miss again.
NOT_RECORDED = "not_recorded"

# What helps where the same command would only be told the same.
_TOO_LONG = "too long for this judge each time, so another has to grade them"
_REFUSED = "this judge may refuse them each time, and another not"
_THEN = {
    NOT_RECORDED: 'record the replies of judges first (replies.mode = "record")',
    "context_length": _TOO_LONG,
    "request_too_large": _TOO_LONG,
    "content_filter": _REFUSED,
    "forbidden": _REFUSED,
}


def summary_json(launched: Launched) -> str:
    return json.dumps({**asdict(launched), "store": str(launched.store)}, indent=2)


def print_summary(launched: Launched, console: Console) -> None:
    """First which models were given up, and why, unless the progress said so at the same place; then the comparison,
    where there is anything to compare, what is left to do, and the path of what was written."""
    for model, given_up in launched.given_up.items():
        if not _progress_was_here():
            console.print(told_of_given_up(model, given_up), style="bold red", markup=False)
    _print_comparison(launched, console)
    if launched.failures:
        console.print(failures_view([_without_told(failure, launched.given_up) for failure in launched.failures]))
    for note in launched.slowed:
        console.print(note, style="yellow", markup=False)
    _print_missing(launched, console)
    for left_out in launched.unscored:
        said = "; ".join(one_line(text, max_chars=400) for text in (left_out.message, left_out.hint) if text)
        console.print(f"{counted(left_out.count, 'answer')} could not be scored: {said}", style="yellow", markup=False)
    _print_judges(launched, console)
    console.print(Text(f"Written: {launched.store}"), soft_wrap=True)
    console.print(Text(f"Read a trace: {_program()} show {launched.store}"), soft_wrap=True)


def _progress_was_here() -> bool:
    """Whether standard error, where the progress is shown, is the terminal or file of standard output."""
    with suppress(OSError, ValueError):
        return os.path.sameopenfile(sys.stdout.fileno(), sys.stderr.fileno())
    return False


def _without_told(failure: FailureCount, given_up: Mapping[str, GivenUp]) -> FailureCount:
    """Without the message that was the reason to give the model up."""
    why = given_up.get(failure.model)
    return replace(failure, message="") if why and failure.message in why.reason else failure


def _print_comparison(launched: Launched, console: Console) -> None:
    """Pages of "-" would hide why there is nothing."""
    if launched.done_before == launched.planned >= SLOW_TO_COMPARE and not any(work.graded for work in launched.judges):
        # It would take most of the time of a command that had nothing to do, for what was seen before.
        console.print(Text(f"Nothing was run. Compare: {_program()} compare {launched.store}"), soft_wrap=True)
        return
    paired = read_paired(launched.store, run=launched.run)
    if launched.given_up and all(seen.outcome == "failed" for seen in paired.summaries):
        console.print("Nothing to compare: no trial was answered", markup=False)
    elif any(seen.condition == paired.baseline for seen in paired.summaries):
        console.print(comparison_table(paired.compare(harm=False), alone=paired.alone()))
        if (misses := misses_view(paired.miss_rates(), paired.miss_differences())) is not None:
            console.print(misses)
        if (warning := refused_view(paired.refused_calls())) is not None:
            console.print(warning)
        if (note := cut_view(paired.cut_inputs())) is not None:
            console.print(note)
        if found := waterfalls_of(launched.store, paired.summaries):
            console.print(waterfalls_view(found))
    else:
        console.print(f"Nothing to compare yet: no trial of the baseline, {paired.baseline}, has ended", markup=False)


def _print_missing(launched: Launched, console: Console) -> None:
    unrecorded = sum(failure.count for failure in launched.failures if failure.code == NOT_RECORDED)
    be = "is" if launched.planned == 1 else "are"
    if left := launched.missing - launched.elsewhere - unrecorded:
        console.print(
            f"{left} of {counted(launched.planned, 'trial')} {be} missing"
            f"{' (you stopped the run)' if launched.stopped else ''}; the same command tries them again.",
            style="yellow",
        )
    if unrecorded:
        console.print(
            f"{unrecorded} of {counted(launched.planned, 'trial')} lack replies that were never recorded: record them"
            ' (replies.mode = "record"), then replay into a new store (--store).',
            style="yellow",
            markup=False,
        )
    if launched.elsewhere:
        console.print(
            f"{launched.elsewhere} of {counted(launched.planned, 'trial')} {be} being run by another process;"
            f" `{_program()} status {launched.store}` shows its progress.",
            style="yellow",
            markup=False,
            soft_wrap=True,
        )


def _print_judges(launched: Launched, console: Console) -> None:
    """What judges did and cost, which is no part of any trial's cost, and what is left ungraded, and why."""
    for work in launched.judges:
        name = one_line(work.judge)
        console.print(f"Judge {name}: {counted(work.graded, 'answer')} graded{_spent(work)}", markup=False)
        notes = [
            f"{counted(left.count, 'answer')} left unscored: {one_line(left.reason)}" for left in work.unscored
        ] + [_why_not(reason) for reason in work.ungraded]
        for note in notes:
            console.print(f"{name}: {note}", style="yellow", markup=False)
    failed = sum(reason.count for work in launched.judges for reason in work.ungraded)
    if (left := launched.ungraded - failed) > 0:
        be = "is" if left == 1 else "are"
        stopped = " (you stopped the run)" if launched.stopped else ""
        console.print(
            f"{counted(left, 'answer')} {be} not graded yet{stopped}; the same command grades them.", style="yellow"
        )
    if left := launched.left_unscored:
        console.print(
            f"{counted(left, 'answer')} {'has' if left == 1 else 'have'} no score, since no reply of a judge has a"
            " grade; the same command asks again with `--set judging.asks=N`, N larger than before.",
            style="yellow",
            markup=False,
        )


def _why_not(reason: Ungraded) -> str:
    said = "; ".join(one_line(text, max_chars=400) for text in (reason.message, reason.hint) if text)
    then = _THEN.get(reason.code, "the same command tries again")
    return f"{counted(reason.count, 'answer')} could not be graded: {reason.code}; {then}. {said}"


def _spent(work: JudgeWork) -> str:
    if work.requests:
        return f" ({counted(work.requests, 'request')}, {_cost(work)})"
    return "" if work.ungraded else " (without asking it)"


def _cost(work: JudgeWork) -> str:
    if work.unpriced == work.requests:
        return "cost unknown"
    unknown = f" + {counted(work.unpriced, 'request')} of unknown cost" if work.unpriced else ""
    return dollars(work.cost_usd) + unknown


def _program() -> str:
    """This program as it can be called from here."""
    if shutil.which("toolablate"):
        return "toolablate"
    called = Path(sys.argv[0])
    if called.name == "__main__.py":
        return "python -m toolablate"
    return os.path.relpath(called) if called.name == "toolablate" else "toolablate"
