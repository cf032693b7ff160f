"""Opens what a plan needs, runs what is missing, and says how it went."""

import asyncio
import platform
import signal
import uuid
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path

from toolablate.agents import ModelSource, RetryPolicy, connect
from toolablate.benchmarks import BUILTIN_CORPUS
from toolablate.experiments.plan import Plan
from toolablate.experiments.runner import Setting, StopSwitch, Watcher, run_trials, runs_code
from toolablate.experiments.trials import Design, PlannedTrial, design
from toolablate.sandbox import Sandbox, open_sandbox
from toolablate.tools import CorpusSearch, DdgsSearch, Resources, SearchProvider
from toolablate.traces.errors import SandboxError
from toolablate.traces.records import Environment, Run, SimulatedModel
from toolablate.traces.store import Recorder

# Whatever can change what a trial gives; recorded in every trace.
RECORDED_PACKAGES = ("toolablate", "langgraph", "openai", "jupyter-client", "ipykernel", "ddgs", "trafilatura")


@dataclass(frozen=True, slots=True)
class Launched:
    """How a run went: trials by what became of them. `missing` is what the next run of the same plan will do."""

    store: Path
    planned: int
    done_before: int
    missing: int
    stopped: bool


def launch(plan: Plan, plan_text: str, watcher: Watcher) -> Launched:
    """Runs a plan's missing trials into its store. Raises ToolablateError; what was finished stays finished."""
    return asyncio.run(_launch(plan, plan_text, design(plan), watcher))


async def _launch(plan: Plan, plan_text: str, planned: Design, watcher: Watcher) -> Launched:
    store = Path(plan.store)
    stop = StopSwitch()
    async with AsyncExitStack() as stack:
        recorder = stack.enter_context(Recorder(store))
        recorder.plan(
            _run_record(plan, plan_text),
            planned.questions,
            planned.models,
            planned.conditions,
            [trial.trial for trial in planned.trials],
        )
        finished = recorder.finished_trials()
        missing = [trial for trial in planned.trials if trial.trial.id not in finished]
        if missing:
            setting = await _open_setting(plan, planned, missing, recorder, watcher, stack)
            watcher.begin(len(planned.trials), missing)
            with _interruptible(stop, watcher):
                await run_trials(missing, setting, stop)
        left = len(planned.trials) - len(recorder.finished_trials())
    return Launched(store, len(planned.trials), len(planned.trials) - len(missing), left, stop.stopped)


async def _open_setting(
    plan: Plan,
    planned: Design,
    missing: list[PlannedTrial],
    recorder: Recorder,
    watcher: Watcher,
    stack: AsyncExitStack,
) -> Setting:
    sandbox = await _open_sandbox(plan, stack) if any(map(runs_code, missing)) else None
    sources = {model.name: await stack.enter_async_context(_connected(model)) for model in planned.models}
    return Setting(
        recorder=recorder,
        sources=sources,
        resources=Resources(sandbox=sandbox, search=_open_search(plan)),
        scorer=scorer_picker(plan),
        environment=_environment(sandbox),
        retry=RetryPolicy(attempts=plan.runner.attempts),
        watcher=watcher,
        kernels=plan.runner.kernels,
    )


@asynccontextmanager
async def _connected(model: Model) -> AsyncIterator[ModelSource]:
    source = connect(model)
    try:
        yield source
    finally:
        await source.close()


async def _open_sandbox(plan: Plan, stack: AsyncExitStack) -> Sandbox:
    """Opens the plan's backend and tries it, before anything is spent on models."""
    sandbox = open_sandbox(plan.sandbox.backend, plan.sandbox.limits)
    stack.push_async_callback(sandbox.close)
    availability = await sandbox.check()
    if not availability.works:
        raise SandboxError(
            f"the sandbox {plan.sandbox.backend!r} does not work here: {availability.detail}",
            hint=f"{availability.remedy or 'see: toolablate doctor'}. Code that models write is not run unprotected"
            ' unless the plan says so: [sandbox] backend = "none"',
            code="no_sandbox",
        )
    return sandbox


def _open_search(plan: Plan) -> SearchProvider:
    if plan.search.provider == "ddgs":
        return DdgsSearch(backend=plan.search.backend)
    return CorpusSearch(BUILTIN_CORPUS if plan.search.corpus == "builtin" else Path(plan.search.corpus))


def _environment(sandbox: Sandbox | None) -> Environment:
    versions = {"python": platform.python_version()} | {name: version(name) for name in RECORDED_PACKAGES}
    if sandbox is None:
        return Environment(versions=versions)
    return Environment(versions=versions, sandbox=sandbox.name, sandbox_limits=asdict(sandbox.limits))


def _run_record(plan: Plan, plan_text: str) -> Run:
    return Run(
        id=uuid.uuid4().hex,
        started_at=datetime.now(UTC),
        plan=plan_text,
        toolablate=version("toolablate"),
        simulated=any(isinstance(model, SimulatedModel) for model in plan.models),
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
        stop.stop()
        watcher.stopping()

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
