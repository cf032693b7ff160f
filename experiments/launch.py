"""Opens what a plan needs, runs what is missing, and says how it went."""

import asyncio
import signal
import uuid
from collections.abc import Iterator, Sequence
from contextlib import AsyncExitStack, contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path

from toolablate.agents import require_capabilities
from toolablate.agents.pacing import pressures
from toolablate.experiments.execution import LocalExecutor, open_executor
from toolablate.experiments.failing import Failures
from toolablate.experiments.kernel_changes import changed_kernels, environments
from toolablate.experiments.plan import Plan
from toolablate.experiments.question_files import refuse_too_large
from toolablate.experiments.runner import Setting, StopSwitch, run_trials
from toolablate.experiments.scoring import Scorers, score_unscored
from toolablate.experiments.slowness import told_at_the_end, waits
from toolablate.experiments.trials import Design, PlannedTrial, design
from toolablate.experiments.watcher import Watcher
from toolablate.experiments.world import bring_up_to_date, finished_trials, needed, require_same_world, world_of
from toolablate.traces.errors import StoreError
from toolablate.traces.records import Run
from toolablate.traces.store import FailureCount, Recorder


@dataclass(frozen=True, slots=True)
class Launched:
    """How a run went. `missing` counts the trials that have no answer yet: those that failed, and those that were not
    begun or not ended; of these, `elsewhere` are just being run by another process, the rest is left to the next run of
    the plan. `failures` are those of this run; `slowed` says what endpoints refused, and how long they were waited
    for."""

    run: str
    store: Path
    planned: int
    done_before: int
    missing: int
    elsewhere: int
    stopped: bool
    failures: tuple[FailureCount, ...]
    slowed: tuple[str, ...]


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
        with _interruptible(stop, watcher, executor):
            await _run_missing(missing, setting, recorder, stop, executor)
        await score_unscored(store, planned, scorers, recorder)
        finished, taken = recorder.finished_trials(), await recorder.taken()
        slowed = told_at_the_end(pressures(executor.lines.values()))
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
        slowed=slowed,
    )


async def _open(plan: Plan, planned: Design, watcher: Watcher, run: Run, stack: AsyncExitStack) -> LocalExecutor:
    finished = finished_trials(Path(plan.store))
    missing = {entry.trial.condition for entry in planned.trials if entry.trial.id not in finished}
    left = [condition for condition in planned.conditions if condition.identity() in missing]
    for condition in left:
        for model in planned.models:
            require_capabilities(model, condition)
    if "sandbox" in needed(left):
        watcher.tell(f"Starting the sandbox ({plan.sandbox.backend}) ...")
    executor = await open_executor(plan, left, run.world, stack, tell=watcher.tell, warn=watcher.warn)
    if changed := changed_kernels([*environments(Path(plan.store)), executor.environment]):
        watcher.warn(f"{changed}. To keep such trials apart, name another store (--store)")
    return executor


async def _run_missing(
    missing: Sequence[PlannedTrial],
    setting: Setting,
    recorder: Recorder,
    stop: StopSwitch,
    executor: LocalExecutor,
) -> None:
    """Runs what is missing, then what another run had and left: one that was killed. What it still has is its own."""
    beating = asyncio.create_task(_beat(setting.watcher, executor, recorder))
    try:
        while missing and not stop.stopped:
            skipped = await run_trials(missing, setting, recorder, stop)
            others = recorder.finished_trials() | await recorder.taken() if skipped else frozenset()
            missing = [entry for entry in skipped if entry.trial.id not in others]
    finally:
        beating.cancel()


async def _beat(watcher: Watcher, executor: LocalExecutor, recorder: Recorder) -> None:
    told: tuple[str, ...] = ()
    while True:
        await asyncio.sleep(1)
        now = waits(pressures(executor.lines.values()), datetime.now())
        watcher.slowed(now)
        if now != told:
            # A store that cannot be written ends the run by itself.
            with suppress(StoreError):
                recorder.waits_for(told := now)
        watcher.beat()


@contextmanager
def _interruptible(stop: StopSwitch, watcher: Watcher, executor: LocalExecutor) -> Iterator[None]:
    """Ctrl-C once: no new trial is started, and none waits for its first reply's turn. Ctrl-C again, or SIGTERM: the
    trials in flight are cancelled too; they are not finished, so the next run does them again."""
    loop = asyncio.get_running_loop()
    running = asyncio.current_task()
    assert running is not None

    def interrupt() -> None:
        if stop.stopped:
            running.cancel()
        else:
            watcher.stopping()
            for line in executor.lines.values():
                line.let_go()
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
