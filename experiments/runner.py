"""Runs the trials that a store does not hold yet."""

import asyncio
import time
from collections import Counter, deque
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Protocol

from toolablate.agents import AgentResult, ModelSource, RetryPolicy, run_agent
from toolablate.benchmarks import render
from toolablate.experiments.guarding import guard_for
from toolablate.experiments.plan_web import WebSection
from toolablate.experiments.question_files import work_files
from toolablate.experiments.scoring import Scorers
from toolablate.experiments.trials import PlannedTrial
from toolablate.tools import Resources, open_toolset, resources_needed
from toolablate.traces.errors import InternalError, ToolablateError
from toolablate.traces.records import Environment, Failure, OpenAIModel, Price, Score, Trace
from toolablate.traces.store import Recorder, TrialRecorder

# With so many trials failing one after the other, the endpoint is down, and waiting for each of the rest is in vain.
TRIALS_IN_A_ROW = 10

# An endpoint that says this to one trial will say it to all the others.
FATAL_CODES = frozenset({"unauthorized", "not_found", "insufficient_quota"})

# An endpoint that fails so is down or overrun; other failures (a filter, a context too long) are of one question.
DOWN_CODES = frozenset({"unreachable", "timeout", "server_error", "rate_limited", "bad_reply"})


class Watcher(Protocol):
    """Is told what happens, to show it."""

    def begin(self, planned: int, missing: Sequence[PlannedTrial]) -> None: ...

    def started(self, planned: PlannedTrial) -> None: ...

    def finished(self, planned: PlannedTrial, trace: Trace, score: Score | None) -> None: ...

    def given_up(self, model: str, remaining: int, reason: str) -> None: ...

    def tell(self, text: str) -> None: ...

    def warn(self, text: str) -> None: ...

    def stopping(self) -> None: ...


@dataclass(frozen=True, slots=True)
class Setting:
    """What the trials of one run share."""

    sources: Mapping[str, ModelSource]
    resources: Resources
    scorers: Scorers
    environment: Environment
    retry: RetryPolicy
    watcher: Watcher
    files_folder: Path
    web: WebSection
    kernels: int = 4


@dataclass(slots=True)
class StopSwitch:
    """Asked to stop once, no new trial is started; the trials in flight end in their own time."""

    stopped: bool = False

    def stop(self) -> None:
        self.stopped = True


async def run_trials(missing: Sequence[PlannedTrial], setting: Setting, recorder: Recorder, stop: StopSwitch) -> None:
    """Runs trials, each model with its own workers, so that one slow endpoint does not hold up another.

    An error of the store ends the run; anything else ends a trial, as a recorded failure.
    """
    kernels = asyncio.Semaphore(setting.kernels)
    queues: dict[str, _ModelQueue] = {}
    for planned in missing:
        queues.setdefault(planned.model.name, _ModelQueue()).trials.append(planned)
    try:
        async with asyncio.TaskGroup() as group:
            for queue in queues.values():
                for _ in range(min(queue.trials[0].model.concurrency, len(queue.trials))):
                    group.create_task(_work(queue, setting, recorder, kernels, stop))
    except* ToolablateError as errors:
        raise _first(errors) from None


def _first(group: BaseExceptionGroup[ToolablateError]) -> ToolablateError:
    error = group.exceptions[0]
    return _first(error) if isinstance(error, BaseExceptionGroup) else error


@dataclass(slots=True)
class _ModelQueue:
    """What one model is still to do, and how many trials in a row its endpoint, or the sandbox, has failed."""

    trials: deque[PlannedTrial] = field(default_factory=deque)
    failed_in_a_row: Counter[str] = field(default_factory=Counter)

    def note(self, planned: PlannedTrial, trace: Trace, watcher: Watcher) -> None:
        """Takes note of a trial that has ended, and gives up those that would only fail like it."""
        failures = [event for event in trace.events if isinstance(event, Failure)]
        failure = failures[-1] if failures and trace.outcome == "failed" else None
        boundary = failure.boundary if failure else ""
        watched = ["model"] if isinstance(planned.model, OpenAIModel) else []
        watched += ["sandbox"] if _runs_code(planned) else []
        down = failure is not None and (boundary != "model" or failure.code in DOWN_CODES)
        for each in watched:
            self.failed_in_a_row[each] = self.failed_in_a_row[each] + 1 if down and boundary == each else 0
        if failure is None:
            return
        if boundary == "model" and failure.code in FATAL_CODES:
            self._give_up(planned, lambda _: True, f"it would refuse them all: {failure.message}", watcher)
        elif self.failed_in_a_row[boundary] >= TRIALS_IN_A_ROW:
            alike: Callable[[PlannedTrial], bool] = _runs_code if boundary == "sandbox" else lambda _: True
            count = self.failed_in_a_row[boundary]
            self._give_up(planned, alike, f"{count} failed in a row, the last with: {failure.message}", watcher)

    def _give_up(
        self, planned: PlannedTrial, alike: Callable[[PlannedTrial], bool], reason: str, watcher: Watcher
    ) -> None:
        kept = deque(trial for trial in self.trials if not alike(trial))
        given_up, self.trials = len(self.trials) - len(kept), kept
        if given_up:
            watcher.given_up(planned.model.name, given_up, reason)


async def _work(
    queue: _ModelQueue, setting: Setting, recorder: Recorder, kernels: asyncio.Semaphore, stop: StopSwitch
) -> None:
    while queue.trials and not stop.stopped:
        planned = queue.trials.popleft()
        async with kernels if _runs_code(planned) else nullcontext():
            # The wait for a kernel's place can be long.
            if stop.stopped:
                return
            trace = await _run_one(planned, setting, recorder)
        if trace is not None:
            queue.note(planned, trace, setting.watcher)


def _runs_code(planned: PlannedTrial) -> bool:
    return "sandbox" in resources_needed(planned.condition.tools)


async def _run_one(planned: PlannedTrial, setting: Setting, recorder: Recorder) -> Trace | None:
    """None where another run has the trial, or has done it."""
    session = await recorder.begin(planned.trial, started_at=datetime.now(UTC), environment=setting.environment)
    if session is None:
        return None
    setting.watcher.started(planned)
    began = time.monotonic()
    try:
        result = await _play(planned, setting, session)
    except ToolablateError as error:
        if error.boundary == "store":
            raise
        trace = await _failed(session, error, began)
    except Exception as error:  # noqa: BLE001 - a bug in a tool or model must cost one trial, and be seen
        trace = await _failed(session, _as_internal(error), began)
    else:
        trace = await session.finish(result.outcome, result.seconds, result.usage, result.cost_usd)
    score = setting.scorers.score(planned.question, trace)
    if score is not None:
        await recorder.score([score])
    setting.watcher.finished(planned, trace, score)
    return trace


async def _play(planned: PlannedTrial, setting: Setting, session: TrialRecorder) -> AgentResult:
    model = setting.sources[planned.model.name].session(planned.question, planned.condition, planned.trial.repeat)
    files = work_files(planned.question, setting.files_folder)
    guard = guard_for(planned.question, setting.web)
    opened = open_toolset(
        planned.condition.tools, setting.resources, files, guard=guard, interventions=planned.condition.interventions
    )
    async with opened as tools:
        return await run_agent(
            prompt=render(planned.question),
            model=model,
            condition=planned.condition,
            tools=tools,
            record=session.record,
            price=_price(planned),
            retry=setting.retry,
            seed=planned.trial.id,
        )


def _price(planned: PlannedTrial) -> Price | None:
    return planned.model.price if isinstance(planned.model, OpenAIModel) else None


async def _failed(session: TrialRecorder, error: ToolablateError, began: float) -> Trace:
    seconds = time.monotonic() - began
    session.record(Failure.of(error, at=seconds, seconds=0.0, retried=False))
    return await session.finish(outcome="failed", seconds=seconds)


def _as_internal(error: Exception) -> InternalError:
    return InternalError(f"{type(error).__name__}: {error}", code="internal_error")
