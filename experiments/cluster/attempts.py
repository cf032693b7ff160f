"""At the driver, an attempt that a worker has under way: its events, its places in line, and what it asks for."""

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from toolablate.agents import AgentResult, Line
from toolablate.agents.pacing import LetGo, Place
from toolablate.agents.pacing.waits import blocking
from toolablate.experiments.cluster.messages import (
    Answered,
    Asks,
    Enters,
    Recorded,
    Tells,
    ToWorker,
    Unpacker,
    crossing,
)
from toolablate.experiments.cluster.services import Begun, Desk, answer_of
from toolablate.experiments.running.execution import AttemptLostError, RecordEvent
from toolablate.experiments.running.runner import as_internal
from toolablate.traces.errors import ModelError, ToolablateError


@dataclass(slots=True)
class UnderWay:
    """`post` says something to its worker; `coding` tells whether it may start a kernel; what it asks for of the
    driver's is given at its `desk`. `_places` and `_waiting` are those of its requests, by ticket. `_unreached` is
    a line that gave up over a request of it, and why."""

    record: RecordEvent
    post: Callable[[ToWorker], None]
    lines: Mapping[str, Line]
    coding: bool
    desk: Desk
    ended: "asyncio.Future[AgentResult]"
    _unpacker: Unpacker = field(default_factory=Unpacker)
    _recorded: int = 0
    _tickets: set[int] = field(default_factory=set)
    _places: dict[int, tuple[Line, Place]] = field(default_factory=dict)
    _waiting: dict[int, "asyncio.Task[None]"] = field(default_factory=dict)
    _unreached: tuple[Line, ModelError] | None = None

    def end(self, result: AgentResult | Exception) -> None:
        """Once; what is said later is late."""
        if self.ended.done():
            return
        if isinstance(result, AgentResult):
            self.ended.set_result(result)
        else:
            self.ended.set_exception(result)
            # Nobody may wait for it any more.
            self.ended.exception()

    def release(self) -> None:
        """Whatever it has in lines is given back."""
        for task in self._waiting.values():
            task.cancel()
        for line, place in self._places.values():
            line.leave(place)
        self._waiting.clear()
        self._places.clear()

    def heard(self, message: Recorded | Enters | Asks | Tells) -> None:
        """What its worker says of it; each thing may come twice, and counts once."""
        match message:
            case Recorded():
                self._record(message)
            case Tells():
                self._told(message)
            case Enters(_, ticket) | Asks(_, ticket) if ticket not in self._tickets:
                self._tickets.add(ticket)
                serving = (
                    self._enter(message)
                    if isinstance(message, Enters)
                    else self._answer(message, self.desk.begin(message))
                )
                self._waiting[ticket] = asyncio.create_task(serving)

    def _record(self, message: Recorded) -> None:
        if message.number < self._recorded:
            return
        if message.number > self._recorded:
            self.end(AttemptLostError("events of the trial did not arrive", code="worker_lost", retryable=True))
            return
        self._recorded += 1
        try:
            self.record(*self._unpacker.unpack(message.packed))
        except ToolablateError as error:
            # Of the store: it ends the run.
            self.end(error)
        except Exception as error:  # noqa: BLE001 - one event costs its trial, and no worker
            self.end(as_internal(error))

    async def _enter(self, request: Enters) -> None:
        line = self.lines[request.line]
        answer: Place | Exception
        try:
            if self._unreached is not None and self._unreached[0] is line:
                # The line lets all others go, since it was told to this one.
                (_, error), self._unreached = self._unreached, None
                raise error
            with blocking(request.blocking):
                answer = await line.enter(request.tokens, request.most, first=request.first)
        except LetGo as error:
            answer = error
        except Exception as error:  # noqa: BLE001 - who waits for a place must hear why there is none
            answer = crossing(error)
        else:
            self._places[request.ticket] = line, answer
        self._waiting.pop(request.ticket, None)
        self.post(Answered(request.attempt, request.ticket, answer))

    async def _answer(self, request: Asks, begun: Begun) -> None:
        answer = await answer_of(begun)
        self._waiting.pop(request.ticket, None)
        self.post(Answered(request.attempt, request.ticket, answer))

    def _told(self, message: Tells) -> None:
        if message.what == "leave" and message.ticket in self._waiting:
            self._waiting.pop(message.ticket).cancel()
            return
        held = self._places.get(message.ticket)
        if held is None:
            return
        line, place = held
        if message.what == "sent":
            line.sent(place)
            return
        del self._places[message.ticket]
        if message.what == "replied":
            line.replied(place, message.usage)
        elif message.what == "leave" or message.error is None:
            line.leave(place)
        elif message.what == "refused":
            line.refused(place, message.error)
        else:
            error = line.unreached(place, message.error)
            self._unreached = None if error is message.error else (line, error)
