"""Opens what a plan needs, runs what is missing, and says how it went."""

import asyncio
import signal
import uuid
from collections.abc import Iterator, Sequence
from contextlib import AsyncExitStack, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path

from toolablate.agents import require_capabilities
from toolablate.experiments.execution import LocalExecutor, open_executor
from toolablate.experiments.failing import Failures
from toolablate.experiments.kernel_changes import changed_kernels, environments
from toolablate.experiments.plan import Plan
from toolablate.experiments.question_files import refuse_too_large
from toolablate.experiments.runner import Setting, StopSwitch, run_trials
from toolablate.experiments.scoring import Scorers, score_unscored
from toolablate.experiments.trials import Design, PlannedTrial, design
from toolablate.experiments.watcher import Watcher
from toolablate.experiments.world import bring_up_to_date, finished_trials, require_same_world, world_of
from toolablate.traces.records import Run
from toolablate.traces.store import FailureCount, Recorder


@dataclass(frozen=True, slots=True)
class Launched:
    """How a run went. `missing` counts the trials that have no answer yet: those that failed, and those that were not
    begun or not ended; of these, `elsewhere` are just being run by another process, the rest is left to the next run of
    the plan. `failures` are those of this run."""

    run: str
    store: Path
    planned: int
    done_before: int
    missing: int
    elsewhere: int
    stopped: bool
    failures: tuple[FailureCount, ...]


def launch(plan: Plan, plan_text: str, watcher: Watcher) -> Launched:
    """Runs a plan's missing trials into its store. Raises ToolablateError; what was finished stays finished."""
    return asyncio.run(_launch(plan, plan_text, design(plan), watcher))


async def _launch(plan: Plan, plan_text: str, planned: Design, watcher: Watcher) -> Launched:
    store, scorers, stop = Path(plan.store), Scorers(plan.questions), StopSwitch()
    run = Run(
        id=uuid.uuid4().hex,
        started_at=datetime.now(UTC),
        plan=plan_text,
        toolablate=version("toolablate"),
        baseline=plan.baseline or planned.conditions[0].name,
        scorers=scorers.names(planned.questions),
        world=world_of(plan, planned.conditions),
    )
    bring_up_to_date(store)
    require_same_world(store, run.world)
    refuse_too_large(plan, planned)
    trials = [entry.trial for entry in planned.trials]
    async with AsyncExitStack() as stack:
        # All that can be refused comes before the store is opened for writing: a refused run leaves nothing there.
        executor = await _open(plan, planned, watcher, run, stack)
        runner, failures = plan.runner, Failures()
        setting = Setting(executor, scorers, watcher, failures, runner.kernels, runner.trial_seconds)
        recorder = stack.enter_context(Recorder(store))
        recorder.plan(run, planned.questions, planned.models, planned.conditions, trials)
        finished = recorder.finished_trials()
        missing = [entry for entry in planned.trials if entry.trial.id not in finished]
        watcher.begin(len(trials), missing)
        with _interruptible(stop, watcher):
            await _run_missing(missing, setting, recorder, stop)
        await score_unscored(store, planned, scorers, recorder)
        finished, taken = recorder.finished_trials(), await recorder.taken()
    left = [trial.id for trial in trials if trial.id not in finished]
    return Launched(
        run=run.id,
        store=store,
        planned=len(trials),
        done_before=len(trials) - len(missing),
        missing=len(left),
        elsewhere=len(taken.intersection(left)),
        stopped=stop.stopped,
        failures=failures.counts(),
    )


async def _open(plan: Plan, planned: Design, watcher: Watcher, run: Run, stack: AsyncExitStack) -> LocalExecutor:
    finished = finished_trials(Path(plan.store))
    missing = {entry.trial.condition for entry in planned.trials if entry.trial.id not in finished}
    left = [condition for condition in planned.conditions if condition.identity() in missing]
    for condition in left:
        for model in planned.models:
            require_capabilities(model, condition)
    executor = await open_executor(plan, left, run.world, stack, tell=watcher.tell, warn=watcher.warn)
    if changed := changed_kernels([*environments(Path(plan.store)), executor.environment]):
        watcher.warn(f"{changed}. To keep such trials apart, name another store (--store)")
    return executor


async def _run_missing(missing: Sequence[PlannedTrial], setting: Setting, recorder: Recorder, stop: StopSwitch) -> None:
    """Runs what is missing, then what another run had and left: one that was killed. What it still has is its own."""
    beating = asyncio.create_task(_beat(setting.watcher))
    try:
        while missing and not stop.stopped:
            skipped = await run_trials(missing, setting, recorder, stop)
            others = recorder.finished_trials() | await recorder.taken() if skipped else frozenset()
            missing = [entry for entry in skipped if entry.trial.id not in others]
    finally:
        beating.cancel()


async def _beat(watcher: Watcher) -> None:
    while True:
        await asyncio.sleep(1)
        watcher.beat()


@contextmanager
def _interruptible(stop: StopSwitch, watcher: Watcher) -> Iterator[None]:
    """Ctrl-C once: no new trial is started. Ctrl-C again, or SIGTERM: the trials in flight are cancelled too; they are
    not finished, so the next run does them again."""
    loop = asyncio.get_running_loop()
    running = asyncio.current_task()
    assert running is not None

    def interrupt() -> None:
        if stop.stopped:
            running.cancel()
        else:
            watcher.stopping()
        stop.stop()

    def terminate() -> None:
        stop.stop()
        running.cancel()

    loop.add_signal_handler(signal.SIGINT, interrupt)
    loop.add_signal_handler(signal.SIGTERM, terminate)
    try:
        yield
    except asyncio.CancelledError:
        if not stop.stopped:
            raise
    finally:
        loop.remove_signal_handler(signal.SIGINT)
        loop.remove_signal_handler(signal.SIGTERM)
