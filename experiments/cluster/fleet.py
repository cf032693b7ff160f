"""The driver's side: which worker runs which trial, who has which place in line, and what becomes of workers."""

import asyncio
import time
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from itertools import count
from typing import Any, Literal, NoReturn, Protocol

from toolablate.agents import AgentResult, Line
from toolablate.agents.pacing import LetGo, Place
from toolablate.agents.pacing.waits import blocking
from toolablate.experiments.cluster.messages import (
    Answered,
    Asks,
    Attempt,
    Cancel,
    Channel,
    Ended,
    Enters,
    Keep,
    Ready,
    Recorded,
    Refused,
    Start,
    Tells,
    ToDriver,
    ToWorker,
    Unpacker,
    WorkerLost,
)
from toolablate.experiments.cluster.services import Begun, Desk, Services, answer_of
from toolablate.experiments.cluster.worker import crossing
from toolablate.experiments.plans.conditions import starts_kernel
from toolablate.experiments.plans.plan import PlannedTrial
from toolablate.experiments.running.execution import AttemptLostError, ExecutorGoneError
from toolablate.experiments.running.runner import as_internal
from toolablate.tools.text import one_line
from toolablate.traces.errors import InputError, ToolablateError
from toolablate.traces.records import Environment, Event
from toolablate.traces.store import WorkerStanding

# How long is waited for workers where there are none, or none any more.
PATIENCE_SECONDS = 300.0
# Once one is ready, the others are waited for so long; later they join.
JOIN_SECONDS = 30.0
# A worker says something every few seconds; one that does not is lost.
SILENCE_SECONDS = 60.0
# The driver's loop may be behind: what is there by then was not lost.
LATE_SECONDS = 1.0
# What is cancelled may say what it was at.
GRACE_SECONDS = 10.0
# Before a worker is started in the place of one that was lost; longer each time where none becomes ready.
FIRST_REST_SECONDS = 1.0
LONGEST_REST_SECONDS = 30.0
# Of the workers that were lost the last ones are told of.
LOST_TOLD = 20


class Engine(Protocol):
    """Starts workers somewhere."""

    async def start(self) -> Channel:
        """Raises WorkerLost where it cannot."""
        ...


@dataclass(slots=True)
class _Trial:
    """An attempt under way. `places` and `waiting` are those of its requests, by ticket; what it asks for of the
    driver's is given at its `desk`."""

    planned: PlannedTrial
    record: Callable[[Event], None]
    node: "_Node"
    ended: "asyncio.Future[AgentResult]"
    coding: bool
    desk: Desk
    unpacker: Unpacker = field(default_factory=Unpacker)
    recorded: int = 0
    tickets: set[int] = field(default_factory=set)
    places: dict[int, tuple[Line, Place]] = field(default_factory=dict)
    waiting: dict[int, "asyncio.Task[None]"] = field(default_factory=dict)

    def fail(self, error: Exception) -> None:
        if not self.ended.done():
            self.ended.set_exception(error)
            # Nobody may wait for it any more.
            self.ended.exception()

    def release(self) -> None:
        """Whatever it has in lines is given back."""
        for task in self.waiting.values():
            task.cancel()
        for line, place in self.places.values():
            line.leave(place)
        self.waiting.clear()
        self.places.clear()


@dataclass(slots=True)
class _Node:
    """A worker that is started, ready or lost. `heard` is when it last said something, `ended` how many trials, and
    `lost` how many were lost with it."""

    channel: Channel
    name: str = ""
    heard: float = field(default_factory=time.monotonic)
    ended: int = 0
    lost: int = 0
    trials: dict[Attempt, _Trial] = field(default_factory=dict)
    kept: set[str] = field(default_factory=set)
    _outgoing: list[ToWorker] = field(default_factory=list)
    _some: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def coding(self) -> int:
        return sum(trial.coding for trial in self.trials.values())

    def standing(self, state: Literal["ready", "lost"]) -> WorkerStanding:
        running = len(self.trials) if state == "ready" else 0
        return WorkerStanding(self.name, state, running, self.ended, self.lost, time.monotonic() - self.heard)

    def post(self, message: ToWorker) -> None:
        self._outgoing.append(message)
        self._some.set()

    async def send(self) -> None:
        """Sends what is posted. Raises WorkerLost."""
        while True:
            await self._some.wait()
            self._some.clear()
            batch, self._outgoing = self._outgoing, []
            await self.channel.put(batch)


class FleetExecutor:
    """An `Executor` whose trials run on `workers` that an engine starts, and starts anew where one is lost. `kernels`
    is how many trials of each worker may have one, and `codes` tells which may want one; `retries` is how often one
    whose worker was lost is tried again; `warn` hears of workers that are lost or left out; `services` are what trials
    ask for that only the driver has.

    `open` it first, and `close` it.
    """

    def __init__(
        self,
        engine: Engine,
        lines: Mapping[str, Line],
        *,
        workers: int,
        kernels: int,
        retries: int = 0,
        warn: Callable[[str], None],
        patience: float = PATIENCE_SECONDS,
        services: Services | None = None,
        codes: Callable[[PlannedTrial], bool] = lambda planned: starts_kernel(planned.condition),
    ) -> None:
        self.kernels = workers * kernels
        self.retries = retries
        self._workers = workers
        self._kernels_each = kernels
        self._engine = engine
        self._lines = lines
        self._warn = warn
        self._patience = patience
        self._services = services or Services()
        self._codes = codes
        self._environment: Environment | None = None
        self._ready: list[_Node] = []
        self._left_out: list[Refused] = []
        self._lost: deque[_Node] = deque(maxlen=LOST_TOLD)
        self._unstarted: set[str] = set()
        self._running: dict[Attempt, _Trial] = {}
        self._numbers = count()
        self._changed = asyncio.Event()
        self._keepers: list[asyncio.Task[None]] = []

    @property
    def environment(self) -> Environment:
        assert self._environment is not None
        return self._environment

    @property
    def workers(self) -> list[WorkerStanding]:
        """How each is, those that were lost or left out last."""
        left_out = [WorkerStanding(refused.name, "left out") for refused in self._left_out]
        ready = [node.standing("ready") for node in self._ready]
        return [*ready, *(node.standing("lost") for node in self._lost), *left_out]

    def batched(self, planned: PlannedTrial) -> bool:
        """Batches are the driver's, which has no trials."""
        return False

    async def open(self) -> None:
        """Until each worker is ready or left out; those that take longer than the first join later. Raises
        ToolablateError where no worker is ready."""
        self._keepers = [asyncio.create_task(self._keep()) for _ in range(self._workers)]
        try:
            async with asyncio.timeout(self._patience):
                while not self._ready and len(self._left_out) < self._workers:
                    await self._change()
        except TimeoutError:
            if not self._left_out:
                raise self._gone() from None
        with suppress(TimeoutError):
            async with asyncio.timeout(JOIN_SECONDS):
                while len(self._ready) + len(self._left_out) < self._workers:
                    await self._change()
        if not self._ready:
            raise self._left_out[0].error

    async def close(self) -> None:
        for keeper in self._keepers:
            keeper.cancel()
        await asyncio.gather(*self._keepers, return_exceptions=True)

    async def admit(self, planned: PlannedTrial) -> None:
        """Until a worker has room for the trial. Raises ExecutorGoneError."""
        await self._free_node(self._codes(planned))

    async def run(
        self, planned: PlannedTrial, record: Callable[[Event], None], *, needs: Sequence[Keep] = ()
    ) -> AgentResult:
        """As of an `Executor`; what the trial `needs` is sent to its worker where that has not got it. Raises
        AttemptLostError where its worker was lost, ExecutorGoneError where all are."""
        coding = self._codes(planned)
        node = await self._free_node(coding)
        attempt = Attempt(planned.trial.id, next(self._numbers))
        ended = asyncio.get_running_loop().create_future()
        trial = _Trial(planned, record, node, ended, coding, Desk(self._services))
        self._running[attempt] = node.trials[attempt] = trial
        for each in needs:
            if each.digest not in node.kept:
                node.kept.add(each.digest)
                node.post(each)
        node.post(Start(attempt, planned))
        try:
            return await asyncio.shield(trial.ended)
        except asyncio.CancelledError:
            node.post(Cancel(attempt))
            await asyncio.wait({trial.ended}, timeout=GRACE_SECONDS)
            raise
        finally:
            del self._running[attempt], node.trials[attempt]
            trial.release()
            self._tell_change()
            await trial.desk.close()

    async def _free_node(self, coding: bool) -> _Node:
        """The one that has the least to do."""
        while True:
            if free := [node for node in self._ready if not coding or node.coding < self._kernels_each]:
                return min(free, key=lambda node: (node.coding if coding else 0, len(node.trials)))
            if self._ready:
                await self._change()
                continue
            try:
                async with asyncio.timeout(self._patience):
                    while not self._ready:
                        await self._change()
            except TimeoutError:
                raise self._gone() from None

    def _gone(self) -> ExecutorGoneError:
        return ExecutorGoneError(
            f"there has been no worker for {self._patience:.0f} s",
            hint="the same command goes on with what is missing, once the cluster has nodes again",
            code="no_workers",
        )

    async def _change(self) -> None:
        await self._changed.wait()

    def _tell_change(self) -> None:
        """Wakes all who wait for a change now, and none who comes later."""
        self._changed.set()
        self._changed = asyncio.Event()

    # One worker after the other, in one of so many places for them.

    async def _keep(self) -> None:
        rest = FIRST_REST_SECONDS
        while True:
            try:
                async with self._started() as node:
                    await _first_ended(self._listen(node), node.send())
            except WorkerLost as lost:
                if node_name := lost.args[1] if len(lost.args) > 1 else "":
                    next_up = "its trials are tried again, and another is started"
                    self._warn(f"the worker at {node_name} was lost: {lost.args[0]}; {next_up}")
                    rest = FIRST_REST_SECONDS
                elif lost.args[0] not in self._unstarted:
                    self._unstarted.add(lost.args[0])
                    self._warn(f"a worker could not be started: {lost.args[0]}")
            except _LeftOut:
                return
            except Exception as error:  # noqa: BLE001 - of an engine: its place must not stay empty, unsaid
                self._warn(f"a worker could not be started: {type(error).__name__}: {one_line(str(error), 200)}")
            await asyncio.sleep(rest)
            rest = min(2 * rest, LONGEST_REST_SECONDS)

    @asynccontextmanager
    async def _started(self) -> AsyncIterator[_Node]:
        """Whatever it was running when it ends was lost."""
        node = _Node(await self._engine.start())
        try:
            yield node
        except WorkerLost as lost:
            raise WorkerLost(lost.args[0], node.name) from None
        except _LeftOut:
            raise
        except Exception as error:  # noqa: BLE001 - whatever cannot be understood of a worker costs this worker
            raise WorkerLost(f"{type(error).__name__}: {error}", node.name) from None
        finally:
            if node in self._ready:
                self._ready.remove(node)
                node.lost = len(node.trials)
                self._lost.append(node)
            for trial in list(node.trials.values()):
                trial.fail(_lost(node))
            self._tell_change()
            await node.channel.close()

    async def _listen(self, node: _Node) -> None:
        """What was said is recorded before the worker may say more."""
        while True:
            # Until it is ready it may wait for a machine, or import what takes long.
            messages = await _within(node.channel.take(), SILENCE_SECONDS if node.name else None)
            node.heard = time.monotonic()
            for message in messages:
                self._heard(node, message)

    def _heard(self, node: _Node, message: ToDriver) -> None:
        if isinstance(message, Ready):
            self._admit(node, message)
            return
        if isinstance(message, Refused):
            self._leave_out(message)
        trial = self._running.get(message.attempt)
        if trial is None or trial.node is not node:
            return
        match message:
            case Recorded():
                _record(trial, message)
            case Enters(attempt, ticket) if ticket not in trial.tickets:
                trial.tickets.add(ticket)
                trial.waiting[ticket] = asyncio.create_task(self._enter(trial, attempt, message))
            case Asks(_, ticket) if ticket not in trial.tickets:
                trial.tickets.add(ticket)
                trial.waiting[ticket] = asyncio.create_task(_answer(trial, message, trial.desk.begin(message)))
            case Tells():
                _told(trial, message)
            case Ended(_, result) if not trial.ended.done():
                node.ended += 1
                if isinstance(result, AgentResult):
                    trial.ended.set_result(result)
                else:
                    trial.fail(result or _lost(node))

    def _admit(self, node: _Node, ready: Ready) -> None:
        if node in self._ready:
            return
        if self._environment is None:
            self._environment = ready.environment
        if other := differing(self._environment, ready.environment):
            error = InputError(
                f"the worker at {ready.name} is not like the first one: {other}",
                hint="install the same packages on each node",
                code="other_environment",
            )
            self._leave_out(Refused(ready.name, error))
        node.name = ready.name
        self._ready.append(node)
        self._tell_change()

    def _leave_out(self, refused: Refused) -> NoReturn:
        self._left_out.append(refused)
        self._warn(f"the worker at {refused.name} is left out: {refused.error}")
        self._tell_change()
        raise _LeftOut

    async def _enter(self, trial: _Trial, attempt: Attempt, asked: Enters) -> None:
        line = self._lines[asked.line]
        answer: Place | Exception
        try:
            with blocking(asked.blocking):
                answer = await line.enter(asked.tokens, asked.most, first=asked.first)
        except LetGo as error:
            answer = error
        except Exception as error:  # noqa: BLE001 - who waits for a place must hear why there is none
            answer = crossing(error)
        else:
            trial.places[asked.ticket] = line, answer
        trial.waiting.pop(asked.ticket, None)
        trial.node.post(Answered(attempt, asked.ticket, answer))


async def _answer(trial: _Trial, asked: Asks, begun: Begun) -> None:
    answer = await answer_of(begun)
    trial.waiting.pop(asked.ticket, None)
    trial.node.post(Answered(asked.attempt, asked.ticket, answer))


async def _within(taking: Awaitable[Sequence[ToDriver]], seconds: float | None) -> Sequence[ToDriver]:
    """What a worker says. Raises WorkerLost where it says nothing for so long. Where this loop itself was late, what
    has come meanwhile is there an instant later."""
    task = asyncio.ensure_future(taking)
    try:
        done, _ = await asyncio.wait({task}, timeout=seconds)
        if not done:
            await asyncio.wait({task}, timeout=LATE_SECONDS)
        if task.done():
            return task.result()
        raise WorkerLost(f"nothing was heard of it for {seconds or 0:.0f} s")
    finally:
        task.cancel()


async def _first_ended(*both: Coroutine[Any, Any, None]) -> None:
    """Until one of them raises: a worker that cannot be heard or told anything is lost."""
    tasks = [asyncio.create_task(each) for each in both]
    try:
        ended, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        for task in ended:
            task.result()
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


class _LeftOut(Exception):
    pass


def _lost(node: _Node) -> AttemptLostError:
    return AttemptLostError(
        f"the worker at {node.name} was lost while the trial ran there", code="worker_lost", retryable=True
    )


def _record(trial: _Trial, message: Recorded) -> None:
    """Each event once."""
    if message.number < trial.recorded:
        return
    if message.number > trial.recorded:
        trial.fail(AttemptLostError("events of the trial did not arrive", code="worker_lost", retryable=True))
        return
    trial.recorded += 1
    try:
        trial.record(trial.unpacker.unpack(message.packed))
    except ToolablateError as error:
        # Of the store: it ends the run.
        trial.fail(error)
    except Exception as error:  # noqa: BLE001 - one event costs its trial, and no worker
        trial.fail(as_internal(error))


def _told(trial: _Trial, message: Tells) -> None:
    if message.what == "leave" and message.ticket in trial.waiting:
        trial.waiting.pop(message.ticket).cancel()
        return
    held = trial.places.get(message.ticket)
    if held is None:
        return
    line, place = held
    if message.what == "sent":
        line.sent(place)
        return
    del trial.places[message.ticket]
    if message.what == "replied":
        line.replied(place, message.usage)
    elif message.what == "leave" or message.error is None:
        line.leave(place)
    elif message.what == "refused":
        line.refused(place, message.error)
    else:
        line.unreached(place, message.error)


def differing(first: Environment, other: Environment) -> str:
    """What is not the same."""
    one, two = first.model_dump(mode="json"), other.model_dump(mode="json")
    return "; ".join(
        f"{name}: {_shown(one[name], two[name])} there, {_shown(two[name], one[name])} at the first"
        for name in one
        if one[name] != two[name]
    )


def _shown(one: object, other: object) -> object:
    """Of a mapping what differs."""
    if isinstance(one, dict) and isinstance(other, dict):
        return ", ".join(f"{key} {other.get(key)}" for key in one | other if one.get(key) != other.get(key))
    return other
