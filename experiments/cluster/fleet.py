"""The driver's side: which worker runs which trial, and what becomes of workers."""

import asyncio
import time
from collections import deque
from collections.abc import AsyncIterator, Callable, Collection, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from itertools import count
from typing import NoReturn

from toolablate.agents import AgentResult, Line
from toolablate.experiments.cluster.attempts import UnderWay
from toolablate.experiments.cluster.messages import (
    Attempt,
    Cancel,
    Ended,
    Forget,
    OfTrial,
    Ready,
    Refused,
    Shared,
    Start,
    WorkerLost,
    WorkerSetupError,
)
from toolablate.experiments.cluster.node import Engine, Node, differing, first_ended, in_thread
from toolablate.experiments.cluster.services import Desk, Services
from toolablate.experiments.plans.conditions import starts_kernel
from toolablate.experiments.plans.plan import PlannedTrial
from toolablate.experiments.running.execution import AttemptLostError, ExecutorGoneError, RecordEvent
from toolablate.tools.text import one_line
from toolablate.traces.errors import InputError, ToolablateError
from toolablate.traces.records import Environment
from toolablate.traces.store import NoWorker, WorkerStanding

# How long is waited for workers where there are none, or none any more.
PATIENCE_SECONDS = 300.0
# Who waits for the first one is told what for, once most that start would be ready.
TOLD_SECONDS = 20.0
# Once one is ready, the others are waited for so long; later they join.
JOIN_SECONDS = 30.0
# A worker says something every few seconds; one that does not is lost.
SILENCE_SECONDS = 60.0
# What is cancelled may say what it was at.
GRACE_SECONDS = 10.0
# Before a worker is started in the place of one that was lost; longer each time where none becomes ready.
FIRST_REST_SECONDS = 1.0
LONGEST_REST_SECONDS = 30.0
# A node that was left out is tried again after so long: it may have lacked memory for a moment.
LEFT_OUT_SECONDS = 300.0
# So often who waits for that looks whether another node has joined.
LOOK_SECONDS = 5.0
INSTALL_THERE = "install toolablate there as it is here (versions, extras), and see that the node has free memory"
# Of the workers that were lost the last ones are told of.
LOST_TOLD = 20


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
        self._ready: list[Node] = []
        self._none_ready_since = time.monotonic()
        # By slot where its last worker was left out, and why; until the slot has one that is ready.
        self._left_out: dict[int, tuple[str, Refused]] = {}
        # By place until when none is started there.
        self._avoided_until: dict[str, float] = {}
        # By slot where its ready worker was lost, until it has another or is left out.
        self._vacated: dict[int, str] = {}
        # Slots that have no worker and start none, since there is no place but those that are left out.
        self._resting: set[int] = set()
        self._lost: deque[Node] = deque(maxlen=LOST_TOLD)
        self._told_unstarted = False
        self._told_awaited = False
        self._places: Collection[str] = ()
        self._looking: asyncio.Task[Collection[str]] | None = None
        self._numbers = count()
        self._changed = asyncio.Event()
        self._slots: list[asyncio.Task[None]] = []
        self._closing: set[asyncio.Task[None]] = set()

    @property
    def environment(self) -> Environment:
        assert self._environment is not None
        return self._environment

    @property
    def workers(self) -> list[WorkerStanding]:
        """How each is, those that were lost or left out last."""
        left_out = [WorkerStanding(refused.name, "left out") for _, refused in self._left_out.values()]
        ready = [node.standing("ready") for node in self._ready]
        return [*ready, *(node.standing("lost") for node in self._lost), *left_out]

    @property
    def no_worker(self) -> NoWorker | None:
        """None while one is ready."""
        return None if self._ready else NoWorker(time.monotonic() - self._none_ready_since, self._patience)

    def batched(self, planned: PlannedTrial) -> bool:
        """Batches are the driver's, which has no trials."""
        return False

    async def open(self) -> None:
        """Until each worker is ready or left out; those that take longer than the first join later. Raises
        ToolablateError where none has been ready; where one has, and was lost since, trials wait for the next."""
        self._slots = [asyncio.create_task(self._fill(slot)) for slot in range(self._workers)]
        try:
            await self._await_one(lambda: not self._ready and self._may_come())
        except TimeoutError:
            if not self._left_out:
                raise await self._gone() from None
        with suppress(TimeoutError):
            async with asyncio.timeout(JOIN_SECONDS):
                while len(self._ready) < self._workers and self._may_come():
                    await self._change()
        if self._environment is None:
            if not self._left_out:
                raise await self._gone()
            _, refused = next(iter(self._left_out.values()))
            refused.error.message = f"no worker can be started; at {refused.name}: {refused.error.message}"
            raise refused.error

    async def close(self) -> None:
        for slot in self._slots:
            slot.cancel()
        await asyncio.gather(*self._slots, return_exceptions=True)
        await asyncio.gather(*self._closing, return_exceptions=True)

    async def admit(self, planned: PlannedTrial) -> None:
        """Until a worker has room for the trial. Raises ExecutorGoneError."""
        await self._free_node(self._codes(planned))

    async def run(self, planned: PlannedTrial, record: RecordEvent, *, needs: Sequence[Shared] = ()) -> AgentResult:
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

    async def _free_node(self, coding: bool) -> Node:
        """The one that has the least to do."""
        while True:
            if free := [node for node in self._ready if not coding or node.coding < self._kernels_each]:
                return min(free, key=lambda node: (node.coding if coding else 0, len(node.trials)))
            if self._ready:
                await self._change()
                continue
            try:
                await self._await_one(lambda: not self._ready)
            except TimeoutError:
                raise await self._gone() from None

    async def _await_one(self, lacking: Callable[[], bool]) -> None:
        """Raises TimeoutError."""
        async with asyncio.timeout(self._patience):
            with suppress(TimeoutError):
                async with asyncio.timeout(TOLD_SECONDS):
                    while lacking():
                        await self._change()
            if lacking() and not self._told_awaited:
                self._told_awaited = True
                self._warn(
                    f"no worker is ready yet: {await self._awaited()}. The run ends if there is none within"
                    f" {self._patience:.0f} s, or with Ctrl-C; nodes that join by then go on with it"
                )
            while lacking():
                await self._change()

    async def _awaited(self) -> str:
        """What a worker needs, what nodes there are, and which are left out."""
        left_out = {f"{refused.name}: {refused.error.message}" for _, refused in self._left_out.values()}
        shown = await in_thread(self._engine.shown)
        return f"{shown}. Left out are {'; '.join(sorted(left_out))}" if left_out else shown

    async def _gone(self) -> ExecutorGoneError:
        return ExecutorGoneError(
            f"there has been no worker for {self._patience:.0f} s: {await self._awaited()}",
            hint="the same command goes on with what is missing, once the cluster has nodes again; where its head has"
            " another address by then, with --cluster ADDRESS",
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
            self._resting.discard(slot)
            try:
                async with self._started(slot) as node:
                    await first_ended(self._listen(node), node.send(), node.watch(lambda: _longest_silence(node)))
            except WorkerLost as lost:
                if node_name := lost.args[1] if len(lost.args) > 1 else "":
                    again = "are tried again" if self.retries else "have failed (cluster.retries = 0)"
                    next_up = f"its trials {again}, and another is started"
                    if not self._ready:
                        next_up += f". No worker is left: the run ends if there is none within {self._patience:.0f} s"
                    self._warn(f"the worker at {node_name} was lost: {lost.args[0]}; {next_up}")
                    rest = FIRST_REST_SECONDS
                else:
                    self._tell_unstarted(lost.args[0])
            except _LeftOut:
                await self._rest(slot)
                continue
            except Exception as error:  # noqa: BLE001 - of an engine: its slot must not stay empty, unsaid
                self._tell_unstarted(f"{type(error).__name__}: {one_line(str(error), 200)}")
            await asyncio.sleep(rest)
            rest = min(2 * rest, LONGEST_REST_SECONDS)

    async def _rest(self, slot: int) -> None:
        """Until the slot's place may be tried again, or there is another. The whole time where it is not known."""
        place, _ = self._left_out[slot]
        until = time.monotonic() + LEFT_OUT_SECONDS
        # An engine tells nobody that a node has joined.
        while (left := until - time.monotonic()) > 0:
            if place:
                await self._look()
                if self._place_without_worker():
                    break
            await asyncio.sleep(min(left, LOOK_SECONDS))
        # Of a node that has left the cluster nothing is told any more.
        if place and place not in self._places:
            del self._left_out[slot]

    async def _look(self) -> None:
        """Which places there are. Once for all who ask meanwhile, and in a thread: a head that is there and does not
        answer takes seconds."""
        if self._looking is None or self._looking.done():
            self._looking = asyncio.create_task(in_thread(self._engine.places))
        self._places = await asyncio.shield(self._looking)

    def _may_come(self) -> bool:
        """Whether a worker is being started, or soon will be at a place that has none. Until places that are left out
        are tried again, no other comes."""
        return len(self._ready) + len(self._resting) < self._workers or self._place_without_worker()

    def _place_without_worker(self) -> bool:
        """There were more places that are not left out, when they were last looked at, than slots that have a worker,
        start one, or were left out nobody knows where."""
        of_left_out = sum(self._left_out[slot][0] != "" for slot in self._resting)
        if not of_left_out:
            return False
        return len(set(self._places) - self._avoided()) > self._workers - of_left_out

    def _avoided(self) -> set[str]:
        now = time.monotonic()
        return {place for place, until in self._avoided_until.items() if now < until}

    def _tell_unstarted(self, why: str) -> None:
        """Once, in whatever words it goes on failing, until a worker is ready again."""
        if not self._told_unstarted:
            self._told_unstarted = True
            self._warn(f"a worker could not be started: {why}")

    @asynccontextmanager
    async def _started(self, slot: int) -> AsyncIterator[Node]:
        """Whatever it was running when it ends was lost."""
        avoiding = self._avoided()
        node = Node(await self._engine.start(avoiding), slot, avoids=bool(avoiding))
        try:
            yield node
        except WorkerSetupError as failed:
            error = InputError(failed.args[0], hint=INSTALL_THERE, code="unfit_node")
            await self._leave_out(node, Refused(failed.args[1], error))
        except WorkerLost as lost:
            node.why = lost.args[0]
            raise WorkerLost(node.why, node.name) from None
        except _LeftOut:
            raise
        except Exception as error:  # noqa: BLE001 - whatever cannot be understood of a worker costs this worker
            node.why = f"{type(error).__name__}: {error}"
            raise WorkerLost(node.why, node.name) from None
        finally:
            if node in self._ready:
                self._ready.remove(node)
                # What it leaves there another may take, also where one was left out beside it, before or after.
                self._avoided_until.pop(node.place, None)
                self._vacated[node.slot] = node.place
                self._none_ready_since = time.monotonic()
                node.lost = len(node.trials)
                self._lost.append(node)
            for trial in list(node.trials.values()):
                trial.end(_lost(node))
            self._tell_change()
            # What became of it is told meanwhile: one that is silent takes as long as it may.
            closing = asyncio.create_task(node.channel.close())
            self._closing.add(closing)
            closing.add_done_callback(self._closing.discard)

    async def _listen(self, node: Node) -> None:
        """What was said is recorded before the worker may say more."""
        while True:
            node.asked = time.monotonic()
            messages = await node.channel.take()
            node.heard = time.monotonic()
            for message in messages:
                if isinstance(message, Ready):
                    await self._admit(node, message)
                elif isinstance(message, Refused):
                    await self._leave_out(node, message)
                else:
                    self._heard(node, message)

    def _heard(self, node: Node, message: OfTrial) -> None:
        trial = node.trials.get(message.attempt)
        if trial is None or trial.ended.done():
            return
        if isinstance(message, Ended):
            node.ended += 1
            trial.end(message.result or _lost(node))
        else:
            trial.heard(message)

    async def _admit(self, node: Node, ready: Ready) -> None:
        if node in self._ready:
            return
        place = await in_thread(node.channel.place)
        if self._environment is None:
            self._environment = ready.environment
        if other := differing(self._environment, ready.environment):
            error = InputError(
                f"the worker at {ready.name} is not like the first one: {other}",
                hint="install the same packages on each node",
                code="other_environment",
            )
            await self._leave_out(node, Refused(ready.name, error))
        self._left_out.pop(node.slot, None)
        self._vacated.pop(node.slot, None)
        self._told_unstarted = self._told_awaited = False
        node.name, node.place = ready.name, place
        self._avoided_until.pop(node.place, None)
        self._ready.append(node)
        self._tell_change()

    async def _leave_out(self, node: Node, refused: Refused) -> NoReturn:
        place = await in_thread(node.channel.place)
        await self._look()
        told = {(at, str(before.error)) for at, before in self._left_out.values()}
        self._left_out[node.slot] = place, refused
        self._vacated.pop(node.slot, None)
        if place and place not in self._vacated.values():
            self._avoided_until[place] = time.monotonic() + LEFT_OUT_SECONDS
        self._resting.add(node.slot)
        if (place, str(refused.error)) not in told:
            self._warn(f"the worker at {refused.name} is left out: {refused.error}")
        self._tell_change()
        raise _LeftOut


class _LeftOut(Exception):
    pass


def _longest_silence(node: Node) -> float | None:
    """Until it is ready it may wait for a machine, or import what takes long. One that may not be where workers were
    left out may wait for a machine while these can be tried again."""
    if node.name:
        return SILENCE_SECONDS
    return LEFT_OUT_SECONDS if node.avoids else None


def _lost(node: Node) -> AttemptLostError:
    why = f": {node.why}" if node.why else ""
    return AttemptLostError(
        f"the worker at {node.name} was lost while the trial ran there{why}", code="worker_lost", retryable=True
    )
