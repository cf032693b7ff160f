"""Opens what a plan needs, runs what is missing, and says how it went."""

import asyncio
import signal
import uuid
from collections.abc import Iterator
from contextlib import AsyncExitStack, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path

from toolablate.agents import RetryPolicy
from toolablate.experiments.kernel_changes import changed_kernels, environments
from toolablate.experiments.plan import Plan
from toolablate.experiments.question_files import refuse_too_large
from toolablate.experiments.replies import open_sources
from toolablate.experiments.runner import Setting, StopSwitch, Watcher, run_trials
from toolablate.experiments.scoring import Scorers, score_unscored
from toolablate.experiments.trials import Design, design
from toolablate.experiments.web import open_web
from toolablate.experiments.world import (
    bring_up_to_date,
    environment,
    finished_trials,
    needed,
    open_tried_sandbox,
    require_same_world,
    servers_needed,
    world_of,
)
from toolablate.tools import Resources, open_toolset
from toolablate.traces.records import Run
from toolablate.traces.store import Recorder


@dataclass(frozen=True, slots=True)
class Launched:
    """How a run went. `missing` counts the trials that the next run of the same plan will do: those that failed, and
    those that were not begun or not ended."""

    run: str
    store: Path
    planned: int
    done_before: int
    missing: int
    stopped: bool


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
        setting = await _open_setting(plan, planned, scorers, watcher, run, stack)
        recorder = stack.enter_context(Recorder(store))
        recorder.plan(run, planned.questions, planned.models, planned.conditions, trials)
        finished = recorder.finished_trials()
        missing = [entry for entry in planned.trials if entry.trial.id not in finished]
        watcher.begin(len(trials), missing)
        with _interruptible(stop, watcher):
            await run_trials(missing, setting, recorder, stop)
        await score_unscored(store, planned, scorers, recorder)
        finished = recorder.finished_trials()
    left = sum(trial.id not in finished for trial in trials)
    return Launched(run.id, store, len(trials), len(trials) - len(missing), left, stop.stopped)


async def _open_setting(
    plan: Plan, planned: Design, scorers: Scorers, watcher: Watcher, run: Run, stack: AsyncExitStack
) -> Setting:
    finished = finished_trials(Path(plan.store))
    missing = {entry.trial.condition for entry in planned.trials if entry.trial.id not in finished}
    left = [condition for condition in planned.conditions if condition.identity() in missing]
    web = await open_web(plan, needed(left), stack, servers=servers_needed(left), tell=watcher.tell)
    for warning in web.warnings:
        watcher.warn(warning)
    tried = await open_tried_sandbox(plan, left, stack)
    here = environment(tried, run.world)
    resources = Resources(tried.sandbox if tried else None, web.search, web.pages, web.mcp)
    for condition in left:
        # Only a server that has been listed knows its tools; nothing is started by this.
        open_toolset(condition.tools, resources, interventions=condition.interventions)
    if changed := changed_kernels([*environments(Path(plan.store)), here]):
        watcher.warn(f"{changed}. To keep such trials apart, name another store (--store)")
    return Setting(
        sources=await open_sources(plan, run.world, stack),
        resources=resources,
        scorers=scorers,
        environment=here,
        retry=RetryPolicy(attempts=plan.runner.attempts),
        watcher=watcher,
        files_folder=plan.questions.files_folder,
        web=plan.web,
        kernels=plan.runner.kernels,
    )


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
