"""What is asked of the driver, as those on a worker see it; and a line whose places the driver gives out."""

import asyncio
from collections.abc import Callable
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import partial
from itertools import count
from typing import Any, Literal, Protocol

from toolablate.agents.pacing import Place
from toolablate.agents.pacing.waits import in_line, is_blocking_others
from toolablate.experiments.cluster.messages import Answered, Asks, Attempt, Enters, Tells, crossing
from toolablate.traces.errors import ModelError
from toolablate.traces.records import Usage

ATTEMPT: ContextVar[Attempt] = ContextVar("attempt")
"""What this task is a part of."""


class Says(Protocol):
    """Says something to the driver, `at_once` or with what is said within the next instant."""

    def __call__(self, message: Enters | Asks | Tells, *, at_once: bool) -> None: ...


@dataclass(slots=True)
class Tickets:
    """What waits on a worker for an answer of the driver."""

    numbers: "count[int]" = field(default_factory=count)
    waiting: dict[int, "asyncio.Future[Any]"] = field(default_factory=dict)

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
class Asking:
    """How the trials of a worker ask the driver. `room` waits until the driver has taken what was said before."""

    say: Says
    tickets: Tickets
    room: Callable[[], "asyncio.Future[None] | None"]

    async def ask(self, service: str, *arguments: object) -> Any:
        """What the driver's service gives; raises what it raises. Who is cancelled cancels it there."""
        return (await self.answered(partial(Asks, service=service, arguments=arguments)))[1]

    def tell(self, service: str, *arguments: object) -> None:
        """As `ask`, of who waits for no answer."""
        self.say(Asks(ATTEMPT.get(), next(self.tickets.numbers), service, arguments), at_once=False)

    async def answered(self, message: Callable[[Attempt, int], Enters | Asks]) -> tuple[int, Any]:
        """The ticket that the message was sent with, and the answer."""
        attempt, ticket = ATTEMPT.get(), next(self.tickets.numbers)
        while (full := self.room()) is not None:
            await asyncio.shield(full)
        waits = self.tickets.waiting[ticket] = asyncio.get_running_loop().create_future()
        self.say(message(attempt, ticket), at_once=True)
        try:
            return ticket, await waits
        except asyncio.CancelledError:
            self.tickets.waiting.pop(ticket, None)
            self.say(Tells(attempt, ticket, "leave"), at_once=True)
            raise


ASKING: ContextVar[Asking] = ContextVar("asking")
"""How this task asks the driver."""


@dataclass(frozen=True, slots=True)
class _RemotePlace(Place):
    ticket: int = -1


@dataclass(frozen=True, slots=True)
class RemoteLine:
    """A `Line`."""

    name: str
    counts_tokens: bool
    asking: Asking

    async def enter(self, tokens: float = 0.0, most: int | None = None, *, first: bool = False) -> Place:
        with in_line():
            blocks = is_blocking_others()
            enters = partial(Enters, line=self.name, tokens=tokens, most=most, first=first, blocking=blocks)
            ticket, place = await self.asking.answered(enters)
        return _RemotePlace(place.tokens, place.generation, place.sent_at, place.listens, ticket)

    def sent(self, place: Place) -> None:
        self.asking.say(Tells(ATTEMPT.get(), _ticket(place), "sent"), at_once=True)

    def leave(self, place: Place) -> None:
        self.asking.say(Tells(ATTEMPT.get(), _ticket(place), "leave"), at_once=False)

    def replied(self, place: Place, usage: Usage | None = None) -> None:
        self.asking.say(Tells(ATTEMPT.get(), _ticket(place), "replied", usage), at_once=False)

    def refused(self, place: Place, error: ModelError) -> None:
        self._failed(place, "refused", error)

    def unreached(self, place: Place, error: ModelError) -> ModelError:
        """Whether more is to be tried, the driver's line says to those who enter next."""
        self._failed(place, "unreached", error)
        return error

    def _failed(self, place: Place, what: Literal["refused", "unreached"], error: ModelError) -> None:
        sent = crossing(error)
        assert isinstance(sent, ModelError)
        self.asking.say(Tells(ATTEMPT.get(), _ticket(place), what, error=sent), at_once=True)

    def let_go(self) -> None:
        """The driver's line lets them go."""


def _ticket(place: Place) -> int:
    assert isinstance(place, _RemotePlace)
    return place.ticket
