"""Runs the trials that a store does not hold yet."""

import asyncio
import time
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from datetime import UTC, datetime

from toolablate.agents import AgentResult
from toolablate.agents.pacing import LetGo
from toolablate.agents.spending import spent
from toolablate.experiments.plans.conditions import starts_kernel
from toolablate.experiments.plans.trials import PlannedTrial
from toolablate.experiments.running.execution import Executor, TrialTask
from toolablate.experiments.running.execution.kernels import KernelShares
from toolablate.experiments.running.failing import Failures
from toolablate.experiments.running.queueing import ModelQueue
from toolablate.experiments.running.watcher import Watcher
from toolablate.experiments.scoring.scoring import Scorers
from toolablate.traces.errors import InternalError, ScoringError, ToolablateError
from toolablate.traces.records import Event, Failure, ModelCall, Trace
from toolablate.traces.store import Recorder, TrialRecorder


class _DeadlineError(ToolablateError):
    boundary = "runner"


@dataclass(frozen=True, slots=True)
class Setting:
    """What the trials of one run share. `trial_seconds` is the most that one may last, waits included. `coding` are the
    ids of the conditions whose trials may start a kernel, where more is known of that than what the conditions say."""

    executor: Executor
    scorers: Scorers
    watcher: Watcher
    failures: Failures
    kernels: int = 4
    trial_seconds: float | None = None
    coding: frozenset[str] | None = None


@dataclass(slots=True)
class StopSwitch:
    """Asked to stop once, no new trial is started, and those that wait for their first reply's turn are let go; the
    other trials in flight end in their own time."""

    stopped: bool = False

    def stop(self) -> None:
        self.stopped = True


async def run_trials(
    missing: Sequence[PlannedTrial], setting: Setting, recorder: Recorder, stop: StopSwitch
) -> list[PlannedTrial]:
    """Runs trials, each model with its own workers, so that one slow endpoint does not hold up another. Returns those
    that another recorder had, or had done, when their turn came.

    An error of the store ends the run; anything else ends a trial, as a recorded failure.
    """
    coding = setting.coding
    if coding is None:
        conditions = {planned.trial.condition: planned.condition for planned in missing}
        coding = frozenset(identity for identity, each in conditions.items() if starts_kernel(each))
    queues: dict[str, ModelQueue] = {}
    for planned in missing:
        queues.setdefault(planned.model.name, ModelQueue(coding)).trials.append(planned)
    needing = {name: sum(map(queue.runs_code, queue.trials)) for name, queue in queues.items()}
    workers = {name: min(queue.trials[0].model.concurrency, len(queue.trials)) for name, queue in queues.items()}
    kernels = KernelShares(setting.kernels, needing, workers)
    skipped: list[PlannedTrial] = []
    try:
        async with asyncio.TaskGroup() as group:
            for name, queue in queues.items():
                work = _Work(queue, kernels, setting, recorder, stop, skipped)
                for _ in range(workers[name]):
                    group.create_task(work.run())
    except* ToolablateError as errors:
        raise first_error(errors) from None
    return skipped


def first_error(group: BaseExceptionGroup[ToolablateError]) -> ToolablateError:
    error = group.exceptions[0]
    return first_error(error) if isinstance(error, BaseExceptionGroup) else error


@dataclass(frozen=True, slots=True)
class _Work:
    """What the workers of one model do."""

    queue: ModelQueue
    kernels: KernelShares
    setting: Setting
    recorder: Recorder
    stop: StopSwitch
    skipped: list[PlannedTrial]

    async def run(self) -> None:
        """Runs trials until there are none left, or a stop is asked for."""
        while self.queue.trials and not self.stop.stopped:
            planned = self.queue.trials.popleft()
            name = planned.model.name
            needs_kernel = self.queue.runs_code(planned)
            async with self.kernels.place(name) if needs_kernel else nullcontext():
                # The wait for a kernel's place can be long.
                if self.stop.stopped:
                    return
                try:
                    trace = await self._run_one(planned)
                except LetGo:
                    self.setting.watcher.let_go(planned)
                    return
            if needs_kernel:
                self.kernels.done(name)
            if trace is None:
                self.skipped.append(planned)
                self.setting.watcher.skipped(planned)
                continue
            given_up, left = self.queue.note(planned, trace)
            if given_up is not None:
                self.setting.failures.give_up(name, given_up)
                self.setting.watcher.given_up(name, given_up)
            self.kernels.done(name, sum(map(self.queue.runs_code, left)))

    async def _run_one(self, planned: PlannedTrial) -> Trace | None:
        """None where another run has the trial, or has done it."""
        setting, executor = self.setting, self.setting.executor
        session = await self.recorder.begin(
            planned.trial, started_at=datetime.now(UTC), environment=executor.environment
        )
        if session is None:
            return None
        setting.watcher.started(planned)
        began = time.monotonic()
        try:
            result = await self._in_time(planned, session)
        except ToolablateError as error:
            if error.boundary == "store":
                raise
            trace = await _failed(session, error, began)
        except LetGo:
            raise
        except Exception as error:  # noqa: BLE001 - a bug in a tool or model must cost one trial, and be seen
            trace = await _failed(session, as_internal(error), began)
        else:
            trace = await session.finish(result.outcome, result.seconds, result.usage, result.cost_usd)
        setting.failures.note(planned, trace)
        try:
            score = await setting.scorers.score(planned.question, trace)
        except ScoringError:
            # Tried once more when the trials have ended, and told then.
            score = None
        if score is not None:
            await self.recorder.score([score])
        setting.watcher.finished(planned, trace, score)
        return trace

    async def _in_time(self, planned: PlannedTrial, session: TrialRecorder) -> AgentResult:
        task = TrialTask(planned.trial, planned.question, planned.model.name, planned.condition.name)
        deadline = asyncio.timeout(self.setting.trial_seconds)

        def record(event: Event) -> None:
            if isinstance(event, ModelCall):
                self.queue.endpoint.replied()
            session.record(event)

        try:
            async with deadline:
                return await self.setting.executor.run(task, record)
        except TimeoutError:
            if not deadline.expired():
                raise
            raise _DeadlineError(
                f"the trial did not end within {self.setting.trial_seconds:g} s, waits included",
                hint="runner.trial_seconds in the plan is the most that a trial may last",
                code="deadline",
            ) from None


async def _failed(session: TrialRecorder, error: ToolablateError, began: float) -> Trace:
    """What was used until then was paid for."""
    seconds = time.monotonic() - began
    session.record(Failure.of(error, at=seconds, seconds=0.0, retried=False))
    usage, cost = spent(session.events)
    return await session.finish("failed", seconds, usage, cost)


def as_internal(error: Exception) -> InternalError:
    return InternalError(f"{type(error).__name__}: {error}", code="internal_error")
