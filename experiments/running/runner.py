"""Runs the trials that a store does not hold yet: a queue for each model, workers, failures, who watches."""

import asyncio
import time
from collections import Counter, deque
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Literal

from toolablate.agents import AgentResult
from toolablate.agents.pacing import LetGo
from toolablate.agents.session import CUT_OFF
from toolablate.agents.spending import spent
from toolablate.experiments.plans.conditions import starts_kernel
from toolablate.experiments.plans.plan import PlannedTrial
from toolablate.experiments.running.execution import AttemptLostError, Executor, ExecutorGoneError, KernelShares
from toolablate.experiments.scoring import Scorers
from toolablate.traces.errors import InternalError, ScoringError, ToolablateError
from toolablate.traces.records import Event, Failure, ModelCall, OpenAIModel, ServedModel, Trace
from toolablate.traces.store import FailureCount, Recorder, TrialRecorder
from toolablate.traces.store.digests import Written

if TYPE_CHECKING:
    from toolablate.experiments.running.progress import RunProgress

# With so many trials failing one after the other, the endpoint is down, and waiting for each of the rest is in vain.
TRIALS_IN_A_ROW = 10

# An endpoint that says this to one request will say it to all the others.
_FINAL_CODES = frozenset({"unauthorized", "unknown_model", "insufficient_quota", "endpoint_busy"})

# The same of an endpoint that has replied to nothing so far. One that has may be back in a moment: behind a proxy's
# page, or after a restart.
_FINAL_UNHEARD_CODES = frozenset({"unreachable", "not_found", "redirected"})

# An endpoint that fails so is down or overrun; other failures (a filter, a context too long) are of one question.
_DOWN_CODES = _FINAL_UNHEARD_CODES | {
    *("disconnected", "timeout", "server_error", "rate_limited", "overloaded", "bad_reply", CUT_OFF)
}

# What is refused of one question, or of all where nothing was ever replied to.
_REFUSED_CODES = frozenset({"bad_request", "forbidden", "request_too_large", "no_images", "bad_image"})


@dataclass(slots=True)
class EndpointStanding:
    """What a model's endpoint has made of the requests to it so far; `in_vain` are further codes of failures that count
    where they come one after the other."""

    in_vain: frozenset[str] = frozenset()
    has_replied: bool = False
    failed_in_a_row: int = 0

    def replied(self) -> None:
        self.has_replied = True

    def succeeded(self) -> None:
        self.has_replied, self.failed_in_a_row = True, 0

    def failed(self, code: str, said: str) -> str:
        """Takes note of what failed for good; returns why no more is to be asked, or ""."""
        counted = _DOWN_CODES | self.in_vain | (frozenset() if self.has_replied else _REFUSED_CODES)
        self.failed_in_a_row = self.failed_in_a_row + 1 if code in counted else 0
        if code in _FINAL_CODES or (code in _FINAL_UNHEARD_CODES and not self.has_replied):
            return said if code == "unreachable" else f"it would refuse them all: {said}"
        if self.failed_in_a_row >= TRIALS_IN_A_ROW:
            return f"{self.failed_in_a_row} failed in a row, the last with: {said}"
        return ""


@dataclass(frozen=True, slots=True)
class GivenUp:
    """`count` trials, or gradings, that were left undone beside those in flight."""

    count: int
    reason: str


@dataclass(slots=True)
class ModelQueue:
    """What one model is still to do, directly or in batches, and how its endpoint, and the sandbox, have done so far.
    `coding` holds the ids of the conditions whose trials may start a kernel; `in_batches` tells that trials wait for
    batches, which takes neither places in line nor time of theirs; `lost` counts the attempts at a trial that were."""

    coding: frozenset[str]
    in_batches: bool = False
    trials: deque[PlannedTrial] = field(default_factory=deque)
    endpoint: EndpointStanding = field(default_factory=EndpointStanding)
    kernels_failed_in_a_row: int = 0
    given_up: bool = False
    lost: Counter[str] = field(default_factory=Counter)

    @property
    def at_once(self) -> int:
        model = self.trials[0].model
        batch = model.batch if self.in_batches and isinstance(model, OpenAIModel) else None
        return min(batch.requests if batch else model.concurrency, len(self.trials))

    def runs_code(self, planned: PlannedTrial) -> bool:
        return not self.in_batches and planned.trial.condition in self.coding

    def note(self, planned: PlannedTrial, trace: Trace) -> tuple[GivenUp | None, Sequence[PlannedTrial]]:
        """Takes note of a trial that has ended, and gives up those that would only fail like it; returns these."""
        failure = _spoiler(trace) if trace.outcome == "failed" else None
        boundary = failure.boundary if failure else ""
        if self.runs_code(planned):
            self.kernels_failed_in_a_row = self.kernels_failed_in_a_row + 1 if boundary == "sandbox" else 0
        reason = ""
        if isinstance(planned.model, ServedModel):
            if failure is not None and boundary == "model":
                reason = self.endpoint.failed(failure.code, failure.message)
            elif failure is None:
                self.endpoint.succeeded()
            else:
                self.endpoint.failed_in_a_row = 0
        if reason:
            return self._give_up(lambda _: True, reason)
        if failure is not None and self.kernels_failed_in_a_row >= TRIALS_IN_A_ROW:
            reason = f"{self.kernels_failed_in_a_row} failed in a row, the last with: {failure.message}"
            return self._give_up(self.runs_code, reason)
        return None, ()

    def _give_up(
        self, alike: Callable[[PlannedTrial], bool], reason: str
    ) -> tuple[GivenUp | None, Sequence[PlannedTrial]]:
        """Told once, also where all that is left is in flight."""
        given_up = [trial for trial in self.trials if alike(trial)]
        self.trials = deque(trial for trial in self.trials if not alike(trial))
        if self.given_up and not given_up:
            return None, ()
        self.given_up = True
        return GivenUp(len(given_up), reason), given_up


def _spoiler(trace: Trace) -> Failure | None:
    """The last failure; where the trial ran out of time and its endpoint had not replied at all, the request that was
    out, so that an endpoint that hangs is given up though each trial has its deadline."""
    failures = [event for event in trace.events if isinstance(event, Failure)]
    if len(failures) > 1 and failures[-2].code == CUT_OFF and not any(isinstance(e, ModelCall) for e in trace.events):
        return failures[-2]
    return failures[-1] if failures else None


# Why trials of this run failed.


@dataclass(slots=True)
class Failures:
    """Counts failed trials by model and by the last thing that went wrong, in the order in which reasons turned up.
    `given_up` holds the models of which no more was asked."""

    given_up: dict[str, GivenUp] = field(default_factory=dict)
    _counts: dict[tuple[str, str, str], FailureCount] = field(default_factory=dict)

    def note(self, planned: PlannedTrial, trace: Trace) -> None:
        if trace.outcome != "failed":
            return
        last = last_failure(trace)
        boundary, code, message = (last.boundary, last.code, last.message) if last else (None, "", "")
        key = planned.model.name, boundary or "", code
        first = FailureCount(planned.model.name, boundary, code, message, 0, trace.trial.id)
        counted = self._counts.get(key, first)
        self._counts[key] = replace(counted, count=counted.count + 1)

    def give_up(self, model: str, given_up: GivenUp) -> None:
        before = self.given_up.get(model)
        self.given_up[model] = replace(before, count=before.count + given_up.count) if before else given_up

    def counts(self) -> tuple[FailureCount, ...]:
        """The most frequent first."""
        return tuple(sorted(self._counts.values(), key=lambda counted: -counted.count))


def last_failure(trace: Trace) -> Failure | None:
    return next((event for event in reversed(trace.events) if isinstance(event, Failure)), None)


JudgeTask = Literal["grade", "read", "compare", "map", "name", "build"]
"""What judges do: grade answers, read failures, compare two texts, map references to the items of a checklist, name
clusters, or take items through a stage of construction."""


class _LostAgain(Exception):
    """The attempt was lost, and the trial is tried once more."""


class _DeadlineError(ToolablateError):
    boundary = "runner"


@dataclass(frozen=True, slots=True)
class Setting:
    """What the trials of one run share. `trial_seconds` is the most that one may last, waits included. `coding` are the
    ids of the conditions whose trials may start a kernel, where more is known of that than what the conditions say;
    `batched` tells which trials wait for batches, `admit` waits until something can run a trial, in no time of its own.
    A trial whose attempt was lost is tried `retries` times more."""

    executor: Executor
    scorers: Scorers
    progress: "RunProgress"
    failures: Failures
    kernels: int = 4
    trial_seconds: float | None = None
    coding: frozenset[str] | None = None
    batched: Callable[[PlannedTrial], bool] = lambda _: False
    admit: Callable[[PlannedTrial], Awaitable[None]] | None = None
    retries: int = 0


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
    """Runs trials, each model with its own workers, so that one slow endpoint does not hold up another, nor batches
    what is asked directly. Returns those
    that another recorder had, or had done, when their turn came.

    An error of the store ends the run; anything else ends a trial, as a recorded failure.
    """
    coding = setting.coding
    if coding is None:
        conditions = {planned.trial.condition: planned.condition for planned in missing}
        coding = frozenset(identity for identity, each in conditions.items() if starts_kernel(each))
    queues: dict[tuple[str, bool], ModelQueue] = {}
    for planned in missing:
        key = planned.model.name, setting.batched(planned)
        queues.setdefault(key, ModelQueue(coding, key[1])).trials.append(planned)
    direct = {name: queue for (name, in_batches), queue in queues.items() if not in_batches}
    needing = {name: sum(map(queue.runs_code, queue.trials)) for name, queue in direct.items()}
    kernels = KernelShares(setting.kernels, needing, {name: queue.at_once for name, queue in direct.items()})
    skipped: list[PlannedTrial] = []
    with first_error():
        async with asyncio.TaskGroup() as group:
            for queue in queues.values():
                work = _Work(queue, kernels, setting, recorder, stop, skipped)
                for _ in range(queue.at_once):
                    group.create_task(work.run())
    return skipped


@contextmanager
def first_error() -> Iterator[None]:
    """In place of a group of errors of ours the first of them. Not by `except*`: what that raises is a group again in
    Python before 3.11.4, which Debian 12 has."""
    try:
        yield
    except BaseExceptionGroup as group:
        if group.split(ToolablateError)[1] is not None:
            raise
        error: BaseException = group
        while isinstance(error, BaseExceptionGroup):
            error = error.exceptions[0]
        raise error from None


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
                    self.setting.progress.let_go(planned)
                    return
                except _LostAgain:
                    self.setting.progress.let_go(planned)
                    self.queue.trials.append(planned)
                    continue
            if needs_kernel:
                self.kernels.done(name)
            if trace is None:
                self.skipped.append(planned)
                self.setting.progress.skipped(planned)
                continue
            given_up, left = self.queue.note(planned, trace)
            if given_up is not None:
                self.setting.failures.give_up(name, given_up)
                self.setting.progress.given_up(name, given_up)
            self.kernels.done(name, sum(map(self.queue.runs_code, left)))
            # Else it would be held until the next one has ended.
            del trace

    async def _run_one(self, planned: PlannedTrial) -> Trace | None:
        """None where another run has the trial, or has done it."""
        setting, executor = self.setting, self.setting.executor
        session = await self.recorder.begin(
            planned.trial, started_at=datetime.now(UTC), environment=executor.environment
        )
        if session is None:
            return None
        setting.progress.started(planned)
        began = time.monotonic()
        try:
            result = await self._in_time(planned, session)
        except ToolablateError as error:
            if error.boundary == "store" or isinstance(error, ExecutorGoneError):
                raise
            trace = await _failed(session, error, began)
            if isinstance(error, AttemptLostError) and self._is_tried_again(planned):
                raise _LostAgain from None
        except (LetGo, asyncio.CancelledError, KeyboardInterrupt, GeneratorExit):
            raise
        except BaseException as error:  # noqa: BLE001 - a bug in a tool or model must cost one trial, and be seen
            trace = await _failed(session, as_internal(error), began)
        else:
            trace = await session.finish(result.outcome, result.seconds, result.usage, result.cost_usd)
        setting.failures.note(planned, trace)
        try:
            score = await setting.scorers.score(planned.question, trace, planned.condition)
        except ScoringError:
            # Tried once more when the trials have ended, and told then.
            score = None
        if score is not None:
            await self.recorder.score([score])
        setting.progress.finished(planned, trace, score)
        return trace

    def _is_tried_again(self, planned: PlannedTrial) -> bool:
        lost = self.queue.lost
        lost[planned.trial.id] += 1
        return lost[planned.trial.id] <= self.setting.retries and not self.stop.stopped

    async def _in_time(self, planned: PlannedTrial, session: TrialRecorder) -> AgentResult:
        deadline = asyncio.timeout(None if self.queue.in_batches else self.setting.trial_seconds)

        def record(event: Event, written: Written | None = None) -> None:
            if isinstance(event, ModelCall):
                self.queue.endpoint.replied()
            session.record(event, written)

        if self.setting.admit is not None:
            await self.setting.admit(planned)
        try:
            async with deadline:
                return await self.setting.executor.run(planned, record)
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


def as_internal(error: BaseException) -> InternalError:
    try:
        told = f"{type(error).__name__}: {error}"
    except Exception:  # noqa: BLE001 - of a class that cannot say what it is
        told = type(error).__name__
    return InternalError(told, code="internal_error")
