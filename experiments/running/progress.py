"""Shows a run while it goes: a live panel in a terminal, a line now and then elsewhere."""

import time
from collections import Counter
from collections.abc import Sequence
from types import TracebackType
from typing import Self

from rich.console import Console, Group
from rich.live import Live
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.table import Table
from rich.text import Text

from toolablate.experiments.plans.plan import PlannedTrial
from toolablate.experiments.running.runner import GivenUp, JudgeTask, last_failure
from toolablate.reports.numbers import counted, dollars
from toolablate.traces.records import Condition, Score, ServedModel, Trace
from toolablate.traces.terminal_text import one_line, plain_text

SECONDS_BETWEEN_LINES = 10.0


def _bar(doing: str, console: Console) -> Progress:
    columns = BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(), TimeRemainingColumn()
    return Progress(TextColumn(f"[bold]{doing}"), *columns, console=console)


_TASKS: dict[JudgeTask, tuple[str, str]] = {
    "grade": ("answer", "graded"),
    "read": ("failure", "read"),
    "compare": ("comparison", "made"),
    "map": ("reference", "mapped"),
    "name": ("cluster", "named"),
    "build": ("item", "done"),
}
"""What judges look at, and what becomes of it."""


class GradingProgress:
    """How far judges are; it begins where the trials end."""

    def __init__(self, console: Console, task: JudgeTask = "grade") -> None:
        self._console = console
        self.noun, self.done = _TASKS[task]
        # A build says of each stage what is asked and what it costs.
        self._told = task == "build"
        self.running = "requests" if task == "build" else "judgements"
        self._total = 0
        self._failed = 0
        self._done = 0
        self.bar = _bar(f"{self.noun}s {self.done}", console)
        self._task = self.bar.add_task(f"{self.noun}s {self.done}", total=None, start=False)

    @property
    def began(self) -> bool:
        return self._total > 0

    def begin(self, more: int) -> None:
        also = "more " if self.began else ""
        self._total += more
        self.bar.start_task(self._task)
        self.bar.update(self._task, total=self._total)
        if not self._told:
            self._console.print(f"{counted(more, f'{also}{self.noun}')} to be {self.done} by judges")

    def ended(self, *, made: bool) -> None:
        self._done += 1
        self._failed += not made
        self.bar.advance(self._task)

    def line(self) -> str:
        made = f"{self._done - self._failed}/{self._total} {self.noun}s {self.done}"
        return f"{made}, {self._failed} could not be {self.done}"


class RunProgress:
    """Shows a run to people; without a console, to nobody. Counts are of this run, whose trials are called `noun`;
    costs are what the price table says, or unknown."""

    def __init__(self, console: Console | None = None, noun: str = "trial") -> None:
        self._console = console = console or Console(quiet=True)
        self._noun = noun
        self._began = time.monotonic()
        self._last_line = self._began
        self._planned = 0
        self._total = 0
        self._in_flight = 0
        self._done: Counter[tuple[str, str]] = Counter()
        self._failed: Counter[tuple[str, str]] = Counter()
        self._scores: dict[tuple[str, str], list[float]] = {}
        self._cost = 0.0
        self._unpriced = 0
        self._slow: Sequence[str] = ()
        self._skipped: set[str] = set()
        self._failures: Counter[str] = Counter()
        self._notes: list[str] = []
        self._bar = _bar(f"{noun}s", console)
        self._task = self._bar.add_task(f"{noun}s", total=None)
        self._gradings = GradingProgress(console)
        self._live = Live(get_renderable=self.panel, console=console, refresh_per_second=4, transient=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._live.is_started:
            self._live.stop()
        for note in self._notes:
            self._console.print(note, style="yellow", markup=False)

    def begin(self, planned: int, missing: Sequence[PlannedTrial]) -> None:
        done, first = planned - len(missing), not self._planned
        if first:
            self._began = time.monotonic()
        # Replays come in several rounds, and those of each plan by themselves.
        self._planned += planned
        self._total += len(missing)
        self._bar.update(self._task, total=self._planned, advance=done)
        held = f" ({done} {'is' if done == 1 else 'are'} in the store already)" if done else ""
        if missing or first:
            self._console.print(f"{len(missing)} of {counted(planned, self._noun)} to run{held}")
        if missing and self._console.is_terminal:
            self._live.start()

    def started(self, planned: PlannedTrial) -> None:
        self._in_flight += 1
        if planned.trial.id in self._skipped:
            # The process that had it is gone, and has not done it.
            self._skipped.remove(planned.trial.id)
            self._total += 1
            self._bar.advance(self._task, -1)

    def finished(self, planned: PlannedTrial, trace: Trace, score: Score | None) -> None:
        arm = (planned.model.name, _shown(planned.condition))
        self._in_flight -= 1
        self._done[arm] += 1
        if trace.outcome == "failed":
            self._failed[arm] += 1
            last = last_failure(trace)
            self._failures[f"{last.boundary}: {last.code}" if last else "unknown"] += 1
        if score is not None and score.value is not None:
            self._scores.setdefault(arm, []).append(score.value)
        # Who stands in for a model asks nobody, and costs nothing.
        if trace.cost_usd is None and isinstance(planned.model, ServedModel):
            self._unpriced += 1
        self._cost += trace.cost_usd or 0.0
        self._bar.advance(self._task)

    def skipped(self, planned: PlannedTrial) -> None:
        """Another run has it, or has done it."""
        if planned.trial.id not in self._skipped:
            self._skipped.add(planned.trial.id)
            self._total -= 1
            self._bar.advance(self._task)

    def let_go(self, planned: PlannedTrial) -> None:
        """It had begun, and is left to the next run."""
        self._in_flight -= 1

    def slowed(self, waits: Sequence[str]) -> None:
        """What is waited for now; is called every second."""
        self._slow = waits

    def beat(self) -> None:
        """Is called every second."""
        if not self._console.is_terminal and time.monotonic() - self._last_line >= SECONDS_BETWEEN_LINES:
            self._last_line = time.monotonic()
            now = self._gradings.line() if self._gradings.began else self._summary_line()
            for line in (now, *self._slow):
                self._console.print(line, markup=False)

    def given_up(self, model: str, given_up: GivenUp) -> None:
        """Told at once: of a run of hours, one wants to know."""
        self._console.print(told_of_given_up(model, given_up, self._noun), style="yellow", markup=False)

    def grading(self, total: int, task: JudgeTask = "grade") -> None:
        """The trials have ended, and judges begin to grade, or to read: so many answers by all of them. It may come
        again, for answers that another process has ended meanwhile."""
        if task != "grade" and self._gradings.noun != _TASKS[task][0]:
            self._gradings = GradingProgress(self._console, task)
        self._gradings.begin(total)
        if self._console.is_terminal and not self._live.is_started:
            self._live.start()

    def graded(self, *, made: bool) -> None:
        """`made` is False where no grade came of it."""
        self._gradings.ended(made=made)

    def judge_given_up(self, judge: str, given_up: GivenUp) -> None:
        what = self._gradings
        left = f"{counted(given_up.count, what.noun)} left un{what.done}"
        self._notes.append(f"{judge}: {left}, {plain_text(given_up.reason)}")

    def tell(self, text: str) -> None:
        self._console.print(text, markup=False)

    def warn(self, text: str) -> None:
        self._console.print(f"Warning: {text}", style="yellow", markup=False)

    def stopping(self) -> None:
        if self._gradings.began:
            self._console.print(
                f"Stopping: running {self._gradings.running} finish first; Ctrl-C again cancels them",
                style="yellow",
            )
            return
        self._console.print(
            f"Stopping, with {counted(self._in_flight, self._noun)} in flight: queued {self._noun}s are released,"
            " running ones finish first; Ctrl-C again cancels them",
            style="yellow",
        )

    def cancelling(self) -> None:
        what = self._gradings.running if self._gradings.began else f"{self._noun}s"
        self._console.print(f"Cancelling running {what}: the next run does them again", style="yellow")

    def told_at_the_end(self) -> str:
        """What an output that stays says of it all."""
        return self._gradings.line() if self._gradings.began else self._summary_line()

    def _summary_line(self) -> str:
        done, failed = self._done.total(), self._failed.total()
        rate = done / max(time.monotonic() - self._began, 1e-9)
        parts = [
            f"{done}/{self._total} {self._noun}s",
            f"{rate:.1f}/s",
            f"{self._in_flight} in flight",
            f"{failed} failed",
        ]
        return ", ".join([*parts, *([self._shown_cost(done)] if done else [])])

    def _shown_cost(self, done: int) -> str:
        if self._unpriced == done:
            return "cost unknown"
        unknown = f" + {counted(self._unpriced, self._noun)} of unknown cost" if self._unpriced else ""
        return dollars(self._cost) + unknown

    def panel(self) -> Group:
        """How far it is now, for who shows it."""
        table = Table(box=None, pad_edge=False, header_style="dim")
        for title in ("model", "condition"):
            table.add_column(title)
        for title in ("done", "score so far", "failed"):
            table.add_column(title, justify="right")
        for arm in sorted(self._done):
            scores = self._scores.get(arm, [])
            mean = f"{100 * sum(scores) / len(scores):.1f} %" if scores else "-"
            failed = self._failed[arm]
            table.add_row(
                *map(escape, arm), str(self._done[arm]), mean, Text(str(failed), style="red" if failed else "dim")
            )
        lines = [Text(f"  {count} x {code}", style="red") for code, count in self._failures.most_common(3)]
        waits = [Text(f"  {wait}", style="yellow") for wait in self._slow]
        bars = [self._bar, self._gradings.bar] if self._gradings.began else [self._bar]
        return Group(table, *lines, *waits, Text(self._summary_line(), style="dim"), *bars)


def told_of_given_up(model: str, given_up: GivenUp, noun: str = "trial") -> str:
    left = f"; {counted(given_up.count, noun)} not run" if given_up.count else ""
    said = one_line(". ".join(line.strip() for line in given_up.reason.splitlines()), max_chars=600)
    return f"{one_line(model)} was given up: {said}{left}"


def _shown(condition: Condition) -> str:
    """Of counterfactuals there may be thousands, which differ in what they go on from."""
    return condition.name.rpartition(" @")[0] if condition.resumed else condition.name
