"""An attribution from its beginning to its report: what is refused, what judges and replays are asked, what came of it.

What `toolablate attribute` and `toolablate.attribute` share.
"""

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console

from toolablate.analysis.attribution.report import AttributionReport
from toolablate.experiments.attribution.readings_cache import readings_of
from toolablate.experiments.attribution.replay_rounds import attribute
from toolablate.experiments.attribution.store_report import (
    read_matrices,
    read_reach,
    read_report,
    refuse_alone,
    refuse_imported,
    refuse_scripted,
    replays_told,
    with_calibrated_confidences,
)
from toolablate.experiments.diagnosing import diagnose, diagnoses_told
from toolablate.experiments.running.progress import RunProgress
from toolablate.reports.terminal.attribution import reach_view
from toolablate.traces.records import ReplayDesign


@dataclass(frozen=True, slots=True)
class AttributionRequest:
    """Which trials are attributed, by the scores of the design's scorer, and who is asked for it: nobody, or with
    `replay` their models as the design says, and `judges` of the plan, for `max_cost` US dollars in all. Replays run
    at the address `cluster`. Shares of judges are corrected by the matrices in the file `judge_matrix`."""

    design: ReplayDesign
    run: str = "latest"
    models: tuple[str, ...] = ()
    conditions: tuple[str, ...] = ()
    replay: bool = False
    judges: tuple[str, ...] = ()
    plan: Path | None = None
    max_cost: float | None = None
    live: bool = False
    cluster: str | None = None
    judge_matrix: Path | None = None

    @property
    def scorer(self) -> str | None:
        return self.design.scorer or None


Progress = Callable[[Console, str], RunProgress]


def attributed(
    store: Path,
    wanted: AttributionRequest,
    console: Console,
    *,
    asking: Callable[[], AbstractContextManager[None]] = nullcontext,
    progress: Progress = RunProgress,
) -> tuple[AttributionReport, bool]:
    """The report, and whether replays or judgements are left undone. What is asked is told on the console; `asking` is
    entered while it is, and `progress` shows it. Raises ToolablateError; what can be refused is refused before anything
    is spent."""
    # Read before anybody is asked, so that a file that is none costs nothing.
    matrices = () if wanted.judge_matrix is None else read_matrices(wanted.judge_matrix)
    with asking():
        undone = _asked(store, wanted, console, progress)
    report = read_report(
        store,
        run=wanted.run,
        models=wanted.models,
        conditions=wanted.conditions,
        scorer=wanted.scorer,
        matrices=matrices,
        kept=readings_of(store),
    )
    return with_calibrated_confidences(store, report), undone


def _asked(store: Path, wanted: AttributionRequest, console: Console, progress: Progress) -> bool:
    """Replays and judges, where they are wanted. Returns whether something is left undone."""
    if wanted.replay:
        refuse_imported(store)
        refuse_scripted(store, wanted.models)
        refuse_alone(store, run=wanted.run, scorer=wanted.scorer)
    if wanted.replay or wanted.judges:
        # What the design can tell, before any money is spent.
        reach = read_reach(
            store, run=wanted.run, models=wanted.models, conditions=wanted.conditions, scorer=wanted.scorer
        )
        for each in reach_view(reach):
            console.print(each)
    left, undone = wanted.max_cost, False
    # Judges first: a name that is none is then refused before anything is spent.
    if wanted.judges:
        undone, spent = _judged(store, wanted, left, console, progress)
        left = None if left is None else max(0.0, left - spent)
    if wanted.replay:
        undone = _replayed(store, wanted, left, console, progress) or undone
    return undone


def _replayed(
    store: Path, wanted: AttributionRequest, max_cost: float | None, console: Console, progress: Progress
) -> bool:
    with progress(console, "replay") as shown:
        done = attribute(
            store,
            wanted.design,
            models=wanted.models,
            conditions=wanted.conditions,
            run=wanted.run,
            plan=wanted.plan,
            max_cost=max_cost,
            live=wanted.live,
            cluster=wanted.cluster,
            progress=shown,
        )
    for line in replays_told(done):
        console.print(line, markup=False, highlight=False, soft_wrap=True)
    return bool(done.missing or done.stopped)


def _judged(
    store: Path, wanted: AttributionRequest, max_cost: float | None, console: Console, progress: Progress
) -> tuple[bool, float]:
    """Whether something is left undone, and what was spent, in US dollars."""
    with progress(console, "trial") as shown:
        done = diagnose(
            store,
            judges=wanted.judges,
            scorer=wanted.scorer or "",
            models=wanted.models,
            conditions=wanted.conditions,
            run=wanted.run,
            plan=wanted.plan,
            max_cost=max_cost,
            progress=shown,
        )
    for line in diagnoses_told(done):
        console.print(line, markup=False, highlight=False, soft_wrap=True)
    return bool(done.missing or done.stopped), done.spent_usd
