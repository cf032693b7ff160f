"""A line whose places the driver gives out, as a model on a worker sees it."""

import asyncio
from collections.abc import Callable
from contextvars import ContextVar
from dataclasses import dataclass, field
from itertools import count
from typing import Protocol

from toolablate.agents.pacing import Place
from toolablate.agents.pacing.waits import in_line
from toolablate.experiments.cluster.messages import Answered, Attempt, Enters, Tells
from toolablate.traces.errors import ModelError
from toolablate.traces.records import Usage

ATTEMPT: ContextVar[Attempt] = ContextVar("attempt")
"""What this task is a part of."""


class Says(Protocol):
    """Says something to the driver, `at_once` or with what is said within the next instant."""

    def __call__(self, message: Enters | Tells, *, at_once: bool) -> None: ...


@dataclass(slots=True)
class Tickets:
    """The requests of all lines of a worker that wait for an answer."""

    numbers: "count[int]" = field(default_factory=count)
    waiting: dict[int, "asyncio.Future[Place]"] = field(default_factory=dict)

    def answered(self, message: Answered) -> None:
        """What nobody waits for any more was given back already."""
        waits = self.waiting.pop(message.ticket, None)
        if waits is None or waits.done():
            return
        if isinstance(message.answer, Exception):
            waits.set_exception(message.answer)
        else:
            waits.set_result(message.answer)


@dataclass(frozen=True, slots=True)
class _RemotePlace(Place):
    ticket: int = -1


@dataclass(frozen=True, slots=True)
class RemoteLine:
    """A `Line`. `room` waits until the driver has taken what was said before."""

    name: str
    counts_tokens: bool
    say: Says
    tickets: Tickets
    room: Callable[[], "asyncio.Future[None] | None"]

    async def enter(self, tokens: float = 0.0, most: int | None = None, *, first: bool = False) -> Place:
        attempt, ticket = ATTEMPT.get(), next(self.tickets.numbers)
        with in_line():
            while (full := self.room()) is not None:
                await asyncio.shield(full)
            waits = self.tickets.waiting[ticket] = asyncio.get_running_loop().create_future()
            self.say(Enters(attempt, ticket, self.name, tokens, most, first), at_once=True)
            try:
                place = await waits
            except asyncio.CancelledError:
                self.tickets.waiting.pop(ticket, None)
                self.say(Tells(attempt, ticket, "leave"), at_once=True)
                raise
        return _RemotePlace(place.tokens, place.generation, place.sent_at, place.listens, ticket)

    def sent(self, place: Place) -> None:
        self.say(Tells(ATTEMPT.get(), _ticket(place), "sent"), at_once=True)

    def leave(self, place: Place) -> None:
        self.say(Tells(ATTEMPT.get(), _ticket(place), "leave"), at_once=False)

    def replied(self, place: Place, usage: Usage | None = None) -> None:
        self.say(Tells(ATTEMPT.get(), _ticket(place), "replied", usage), at_once=False)

    def refused(self, place: Place, error: ModelError) -> None:
        self.say(Tells(ATTEMPT.get(), _ticket(place), "refused", error=error), at_once=True)

    def unreached(self, place: Place, error: ModelError) -> ModelError:
        """Whether more is to be tried, the driver's line says to those who enter next."""
        self.say(Tells(ATTEMPT.get(), _ticket(place), "unreached", error=error), at_once=True)
        return error

    def let_go(self) -> None:
        """The driver's line lets them go."""


def _ticket(place: Place) -> int:
    assert isinstance(place, _RemotePlace)
    return place.ticket
