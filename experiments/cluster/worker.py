"""A worker: opens what trials need where it is, runs those that it is sent, and says what happens."""

import asyncio
import os
import socket
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from typing import Protocol, runtime_checkable

from toolablate.agents import Line
from toolablate.agents.pacing import LetGo
from toolablate.experiments.cluster.lines import ASKING, ATTEMPT, Asking, RemoteLine, Tickets
from toolablate.experiments.cluster.messages import (
    Answered,
    Attempt,
    Cancel,
    Ended,
    Forget,
    Packer,
    Ready,
    Recorded,
    Refused,
    Shared,
    Start,
    ToDriver,
    ToWorker,
    WorkerLost,
    crossing,
)
from toolablate.experiments.plans.plan import PlannedTrial
from toolablate.experiments.running.execution import Executor
from toolablate.experiments.running.runner import as_internal
from toolablate.traces.errors import ToolablateError
from toolablate.traces.records import Event
from toolablate.traces.store.digests import EventContents, Written

# Events may come together; what is asked for or ended is said at once.
TOGETHER_SECONDS = 0.1
# So often a driver hears of a worker that has nothing to say.
BEAT_SECONDS = 5.0
# A worker that nobody listens to for so long has been given up by its driver, or has no driver any more.
SILENCE_SECONDS = 60.0
# With so many bytes unsaid, no further request is made.
MOST_UNSAID = 64_000_000


class Opener(Protocol):
    """Is sent to each worker, once."""

    async def open(self, stack: AsyncExitStack, lines: Mapping[str, Line]) -> Executor:
        """What trials are run with there; the stack closes it. Raises ToolablateError where it cannot be had."""
        ...


@runtime_checkable
class Sharing(Protocol):
    """An `Executor` whose trials share what the driver sends once."""

    def share(self, shared: Shared) -> None: ...
    def forget(self, digests: frozenset[str]) -> None: ...


@dataclass(slots=True)
class _Outbox:
    """What the driver has not taken yet; `taken_at` is when it last listened."""

    clock: Callable[[], float]
    taken_at: float
    _messages: list[ToDriver] = field(default_factory=list)
    _unsaid: int = 0
    _some: asyncio.Event = field(default_factory=asyncio.Event)
    _urgent: asyncio.Event = field(default_factory=asyncio.Event)
    _room: "asyncio.Future[None] | None" = None

    def post(self, message: ToDriver, *, at_once: bool = True) -> None:
        self._messages.append(message)
        self._some.set()
        if at_once:
            self._urgent.set()
        if isinstance(message, Recorded):
            self._unsaid += len(message.packed)
            if self._unsaid >= MOST_UNSAID and self._room is None:
                self._room = asyncio.get_running_loop().create_future()

    def full(self) -> "asyncio.Future[None] | None":
        """What ends when there is room again; None where there is."""
        return self._room

    async def take(self) -> list[ToDriver]:
        self.taken_at = self.clock()
        if await _within(self._some, BEAT_SECONDS):
            await _within(self._urgent, TOGETHER_SECONDS)
        batch, self._messages, self._unsaid = self._messages, [], 0
        self._some.clear()
        self._urgent.clear()
        if self._room is not None:
            self._room.set_result(None)
            self._room = None
        self.taken_at = self.clock()
        return batch


async def _within(event: asyncio.Event, seconds: float) -> bool:
    try:
        async with asyncio.timeout(seconds):
            return await event.wait()
    except TimeoutError:
        return False


class Worker:
    """Belongs to one event loop. `lines` are those of the plan by name, and whether each counts tokens; no clocks of
    two machines are compared."""

    def __init__(
        self, opener: Opener, lines: Mapping[str, bool], *, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._opener = opener
        self._clock = clock
        self._outbox = _Outbox(clock, clock())
        self._tickets = Tickets()
        self._asking = Asking(self._outbox.post, self._tickets, self._outbox.full)
        self._lines = {name: RemoteLine(name, counts, self._asking) for name, counts in lines.items()}
        self._executor: Executor | None = None
        self._trials: dict[Attempt, asyncio.Task[None]] = {}
        self._latest = -1
        self._fenced = False

    async def run(self) -> None:
        """Until it is cancelled, or nobody listens to it any more. Then nothing of it is left."""
        name = f"{socket.gethostname()}, process {os.getpid()}"
        async with AsyncExitStack() as stack:
            try:
                self._executor = await self._opener.open(stack, self._lines)
            except ToolablateError as error:
                self._outbox.post(Refused(name, crossing(error)))
            except Exception as error:  # noqa: BLE001 - a bug where it is opened must be seen by the driver
                self._outbox.post(Refused(name, as_internal(error)))
            else:
                self._outbox.post(Ready(name, self._executor.environment))
            try:
                await self._while_heard()
            finally:
                self._fenced = True
                for task in self._trials.values():
                    task.cancel()
                await asyncio.gather(*self._trials.values(), return_exceptions=True)

    async def _while_heard(self) -> None:
        silent = 0.0
        while silent < SILENCE_SECONDS:
            await asyncio.sleep(min(SILENCE_SECONDS - silent, BEAT_SECONDS))
            silent = self._clock() - self._outbox.taken_at

    def put(self, messages: Sequence[ToWorker]) -> None:
        for message in messages:
            match message:
                case Shared():
                    assert isinstance(self._executor, Sharing)
                    self._executor.share(message)
                case Forget(digests):
                    assert isinstance(self._executor, Sharing)
                    self._executor.forget(digests)
                case Start(attempt, planned):
                    self._start(attempt, planned)
                case Cancel(attempt):
                    if task := self._trials.get(attempt):
                        task.cancel()
                case Answered():
                    self._tickets.answered(message)

    async def take(self) -> list[ToDriver]:
        """Raises WorkerLost where it has ended itself."""
        if self._fenced:
            raise WorkerLost("it was not listened to, and has ended its trials")
        return await self._outbox.take()

    def _start(self, attempt: Attempt, planned: PlannedTrial) -> None:
        # Of one driver, whose numbers rise: what is not above the latest was begun before.
        if self._fenced or attempt.number <= self._latest:
            return
        self._latest = attempt.number
        task = self._trials[attempt] = asyncio.create_task(self._run(attempt, planned))

        def ended(task: "asyncio.Task[None]") -> None:
            self._trials.pop(attempt, None)
            if task.cancelled():
                # Before it had begun, so that it could not say so itself.
                self._outbox.post(Ended(attempt, None))

        task.add_done_callback(ended)

    async def _run(self, attempt: Attempt, planned: PlannedTrial) -> None:
        ATTEMPT.set(attempt)
        ASKING.set(self._asking)
        packer, contents, count = Packer(), EventContents(), 0

        def record(event: Event, written: Written | None = None) -> None:
            nonlocal count
            if written is None:
                event, written = contents.written(event)
            self._outbox.post(Recorded(attempt, count, packer.pack(event, written)), at_once=False)
            count += 1

        assert self._executor is not None
        try:
            ended = Ended(attempt, await self._executor.run(planned, record))
        except asyncio.CancelledError as error:
            # What is cancelled by nobody here has failed by itself.
            task = asyncio.current_task()
            ended = Ended(attempt, None if task is not None and task.cancelling() else crossing(error))
        except LetGo as error:
            ended = Ended(attempt, error)
        except BaseException as error:  # noqa: BLE001 - whatever ends a trial is told, or the driver waits for ever
            ended = Ended(attempt, crossing(error))
        self._outbox.post(ended)
