"""The driver's side: which worker runs which trial, and what becomes of workers."""

import asyncio
import time
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Coroutine, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from itertools import count
from typing import Any, Literal, NoReturn, Protocol

from toolablate.agents import AgentResult, Line
from toolablate.experiments.cluster.attempts import UnderWay
from toolablate.experiments.cluster.messages import (
    Attempt,
    Cancel,
    Channel,
    Ended,
    Forget,
    Ready,
    Refused,
    Shared,
    Start,
    ToDriver,
    ToWorker,
    WorkerLost,
)
from toolablate.experiments.cluster.services import Desk, Services
from toolablate.experiments.plans.conditions import starts_kernel
from toolablate.experiments.plans.plan import PlannedTrial
from toolablate.experiments.running.execution import AttemptLostError, ExecutorGoneError
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
# What was left out is tried again after so long: a node may have lacked memory for a moment.
LEFT_OUT_SECONDS = 300.0
# Of the workers that were lost the last ones are told of.
LOST_TOLD = 20


class Engine(Protocol):
    """Starts workers somewhere."""

    async def start(self) -> Channel:
        """Raises WorkerLost where it cannot."""
        ...


@dataclass(slots=True)
class _Node:
    """A worker that is started, ready or lost. `heard` is when it last said something, `ended` how many trials, and
    `lost` how many were lost with it."""

    channel: Channel
    slot: int
    name: str = ""
    heard: float = field(default_factory=time.monotonic)
    ended: int = 0
    lost: int = 0
    trials: dict[Attempt, UnderWay] = field(default_factory=dict)
    shared: set[str] = field(default_factory=set)
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
    whose worker was lost is tried again; `warn` hears of workers that are lost or left out; `services` tells what a
    trial may ask for that only the driver has.

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
        services: Callable[[PlannedTrial], Services] = lambda _: Services(),
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
        self._services = services
        self._codes = codes
        self._environment: Environment | None = None
        self._ready: list[_Node] = []
        # By the slot that holds no worker for that.
        self._left_out: dict[int, Refused] = {}
        self._lost: deque[_Node] = deque(maxlen=LOST_TOLD)
        self._told_unstarted = False
        self._numbers = count()
        self._changed = asyncio.Event()
        self._slots: list[asyncio.Task[None]] = []

    @property
    def environment(self) -> Environment:
        assert self._environment is not None
        return self._environment

    @property
    def workers(self) -> list[WorkerStanding]:
        """How each is, those that were lost or left out last."""
        left_out = [WorkerStanding(refused.name, "left out") for refused in self._left_out.values()]
        ready = [node.standing("ready") for node in self._ready]
        return [*ready, *(node.standing("lost") for node in self._lost), *left_out]

    def batched(self, planned: PlannedTrial) -> bool:
        """Batches are the driver's, which has no trials."""
        return False

    async def open(self) -> None:
        """Until each worker is ready or left out; those that take longer than the first join later. Raises
        ToolablateError where no worker is ready."""
        self._slots = [asyncio.create_task(self._fill(slot)) for slot in range(self._workers)]
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
            raise next(iter(self._left_out.values())).error

    async def close(self) -> None:
        for slot in self._slots:
            slot.cancel()
        await asyncio.gather(*self._slots, return_exceptions=True)

    async def admit(self, planned: PlannedTrial) -> None:
        """Until a worker has room for the trial. Raises ExecutorGoneError."""
        await self._free_node(self._codes(planned))

    async def run(
        self, planned: PlannedTrial, record: Callable[[Event], None], *, needs: Sequence[Shared] = ()
    ) -> AgentResult:
        """As of an `Executor`; what the trial `needs` is sent to its worker where that has not got it. Raises
        AttemptLostError where its worker was lost, ExecutorGoneError where all are."""
        coding = self._codes(planned)
        node = await self._free_node(coding)
        attempt = Attempt(planned.trial.id, next(self._numbers))
        ended = asyncio.get_running_loop().create_future()
        desk = Desk(self._services(planned))
        trial = node.trials[attempt] = UnderWay(record, node.post, self._lines, coding, desk, ended)
        for each in needs:
            if each.digest not in node.shared:
                node.shared.add(each.digest)
                node.post(each)
        node.post(Start(attempt, planned))
        try:
            return await asyncio.shield(trial.ended)
        except asyncio.CancelledError:
            node.post(Cancel(attempt))
            await asyncio.wait({trial.ended}, timeout=GRACE_SECONDS)
            raise
        except ToolablateError:
            # What has failed here goes on there otherwise.
            node.post(Cancel(attempt))
            raise
        finally:
            del node.trials[attempt]
            trial.release()
            self._tell_change()
            await trial.desk.close()

    def forget_all_but(self, needed: Collection[str]) -> None:
        """Of what trials shared, workers have no more than that with these digests from now on."""
        for node in self._ready:
            if unneeded := node.shared.difference(needed):
                node.shared -= unneeded
                node.post(Forget(frozenset(unneeded)))

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

    # A slot has one worker after the other.

    async def _fill(self, slot: int) -> None:
        rest = FIRST_REST_SECONDS
        while True:
            try:
                async with self._started(slot) as node:
                    await _first_ended(self._listen(node), node.send())
            except WorkerLost as lost:
                if node_name := lost.args[1] if len(lost.args) > 1 else "":
                    next_up = "its trials are tried again, and another is started"
                    self._warn(f"the worker at {node_name} was lost: {lost.args[0]}; {next_up}")
                    rest = FIRST_REST_SECONDS
                else:
                    self._tell_unstarted(lost.args[0])
            except _LeftOut:
                await asyncio.sleep(LEFT_OUT_SECONDS)
                continue
            except Exception as error:  # noqa: BLE001 - of an engine: its slot must not stay empty, unsaid
                self._tell_unstarted(f"{type(error).__name__}: {one_line(str(error), 200)}")
            await asyncio.sleep(rest)
            rest = min(2 * rest, LONGEST_REST_SECONDS)

    def _tell_unstarted(self, why: str) -> None:
        """Once, in whatever words it goes on failing, until a worker is ready again."""
        if not self._told_unstarted:
            self._told_unstarted = True
            self._warn(f"a worker could not be started: {why}")

    @asynccontextmanager
    async def _started(self, slot: int) -> AsyncIterator[_Node]:
        """Whatever it was running when it ends was lost."""
        node = _Node(await self._engine.start(), slot)
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
                trial.end(_lost(node))
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
            self._leave_out(node, message)
        trial = node.trials.get(message.attempt)
        if trial is None or trial.ended.done():
            return
        if isinstance(message, Ended):
            node.ended += 1
            trial.end(message.result or _lost(node))
        else:
            trial.heard(message)

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
            self._leave_out(node, Refused(ready.name, error))
        self._left_out.pop(node.slot, None)
        self._told_unstarted = False
        node.name = ready.name
        self._ready.append(node)
        self._tell_change()

    def _leave_out(self, node: _Node, refused: Refused) -> NoReturn:
        before = self._left_out.get(node.slot)
        self._left_out[node.slot] = refused
        if before is None or str(before.error) != str(refused.error):
            self._warn(f"the worker at {refused.name} is left out: {refused.error}")
        self._tell_change()
        raise _LeftOut


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
