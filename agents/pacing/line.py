"""Places in line for the requests to one endpoint: rates per minute, requests in flight, backoff."""

import asyncio
import math
import random
from collections import Counter, deque
from dataclasses import dataclass, field
from itertools import count
from typing import Protocol

from toolablate.agents.chat import PATIENCE_SECONDS
from toolablate.agents.pacing.waits import in_line, is_blocking_others
from toolablate.traces.errors import ModelError
from toolablate.traces.records import Usage

# A tenth of a second's worth may come at once, so that late timers cost no throughput.
BURST_SECONDS = 0.1


@dataclass(slots=True)
class Allowance:
    """A token bucket. What is taken beyond what is there is owed, and waited for by those that come after; so even a
    request that is larger than the bucket passes. `now` is in seconds, by any one clock."""

    per_minute: float
    _level: float = field(init=False)
    _at: float | None = None

    def __post_init__(self) -> None:
        self._level = self._capacity

    @property
    def _capacity(self) -> float:
        return max(1.0, self.per_minute / 60 * BURST_SECONDS)

    def wait(self, amount: float, now: float) -> float:
        """Seconds until `amount` may be taken; 0 for at once."""
        self._refill(now)
        lacking = min(amount, self._capacity) - self._level
        # What a timer slept for may lack a rounding error.
        return lacking * 60 / self.per_minute if lacking > 1e-6 else 0.0

    def take(self, amount: float) -> None:
        """Takes it; a negative amount gives back what was not used."""
        self._level = min(self._capacity, self._level - amount)

    def _refill(self, now: float) -> None:
        passed = 0.0 if self._at is None else now - self._at
        self._at = now
        self._level = min(self._capacity, self._level + passed * self.per_minute / 60)


# How many requests may be in flight: grown by replies, halved by refusals.


FEW = 8
# Each reply lets two more in while nothing is known of the limit, so that the number triples from round to round.
FAST = 2.0
# Near a limit that was met, each reply lets so much of a place more in: one request in 25 tries whether there is more.
SLOW = 0.04
# After a halving it is back at this part of where the limit was met within a round or two.
RECOVERED = 0.8
# A limit that was met, and is not met again this far beyond it, is none any more.
PASSED = 1.25


@dataclass(slots=True)
class Window:
    """`most` is the most that there may ever be; `size` what is allowed now, at least 1.

    A refusal halves it. Requests that were sent before that can tell nothing new: each carries the `generation` in
    which it was sent, and only those of the present one count. This is the additive increase and multiplicative
    decrease of TCP (RFC 5681), with a threshold below which it grows fast.
    """

    most: int
    generation: int = 0
    size: float = field(init=False)
    _threshold: float = math.inf
    _met_at: float = math.inf
    _replied: bool = True

    def __post_init__(self) -> None:
        self.size = float(min(FEW, self.most))

    @property
    def places(self) -> int:
        return int(self.size)

    @property
    def is_opening(self) -> bool:
        """Whether no limit has been met so far, and there is room for more."""
        return self.generation == 0 and self.size < self.most

    def grow(self, generation: int, *, full: bool) -> None:
        """A reply came; `full` tells that all places were taken."""
        self._replied = True
        if not full or generation != self.generation:
            return
        if self.size < self._threshold:
            self.size = min(self.size + FAST, self._threshold, self.most)
        else:
            passed = self.size > self._met_at * PASSED + 1
            self.size = min(self.size + (FAST if passed else SLOW), self.most)

    def close(self, generation: int) -> bool:
        """A request met nobody; False where that is no news. One at a time is to try now."""
        if generation != self.generation:
            return False
        self.generation += 1
        self.size = 1.0
        return True

    def shrink(self, generation: int) -> bool:
        """A request was refused; False where that is no news."""
        if generation != self.generation:
            return False
        self.generation += 1
        # An outage, in which nothing is replied, says nothing of where the limit is.
        if self._replied:
            met_slowly = self.size > self._threshold
            self._met_at = self.size
            self._threshold = max(1.0, self.size * (RECOVERED if met_slowly else 0.5))
        self._replied = False
        self.size = max(1.0, self.size / 2)
        return True


# Places in line for the requests to one endpoint, first come, first served.


FIRST_BACKOFF_SECONDS = 1.0
LONGEST_BACKOFF_SECONDS = 30.0
EXPECTED_OUTPUT_TOKENS = 500.0
# A refusal comes soon, a reply may take minutes: a request that was not refused for so long after it was written has
# been taken. How far away the endpoint is shows in how long it took to connect; behind a proxy it may be farther.
LEAST_QUIET_SECONDS = 0.2
QUIET_CONNECTS = 2.0
# An endpoint that nothing has been heard of is tried so often, one request at a time, before the rest is let go.
TRIES_TO_REACH = 4


class EndpointPace:
    """Decides when requests are sent; belongs to one event loop, by whose clock it goes. None is no limit."""

    def __init__(
        self,
        address: str,
        *,
        requests_per_minute: float | None = None,
        tokens_per_minute: float | None = None,
        patience: float = PATIENCE_SECONDS,
    ) -> None:
        self.address = address
        self.patience = patience
        self.expected_output = EXPECTED_OUTPUT_TOKENS
        self.lines: list[EndpointLine] = []
        self.tickets = count()
        self._requests = Allowance(requests_per_minute) if requests_per_minute else None
        self._tokens = Allowance(tokens_per_minute) if tokens_per_minute else None
        self._alarm: asyncio.TimerHandle | None = None

    @property
    def counts_tokens(self) -> bool:
        return self._tokens is not None

    def expected(self, tokens: float, most: int | None) -> float:
        """What a request of so many tokens takes with its reply, of at `most` so many."""
        if not self.counts_tokens:
            return tokens
        return tokens + (self.expected_output if most is None else min(self.expected_output, most))

    def line(self, most: int, served: str = "", *, declared: bool = False) -> "EndpointLine":
        """A line for the requests of one model, of which at most `most` are in flight. `served` is the model's name in
        requests: lines of one served model share its limits. `declared` says that the endpoint is known to take
        `most`, so that they are not let in at the pace of its replies, but of its silence, until it refuses one."""
        line = EndpointLine(self, most, served, declared=declared)
        self.lines.append(line)
        return line

    def settle(self, estimated: float, usage: Usage) -> None:
        """Books what a request used; what is unknown stays as it was estimated."""
        if usage.output_tokens is not None:
            self.expected_output += 0.1 * (usage.output_tokens - self.expected_output)
        if self._tokens and usage.input_tokens is not None and usage.output_tokens is not None:
            self._tokens.take(usage.input_tokens + usage.output_tokens - estimated)

    def send_next(self) -> None:
        """Gives out the places that are free, in the order of the tickets; none overtakes one that waits for a rate."""
        now = asyncio.get_running_loop().time()
        while line := self._first_ready(now):
            tokens = line.waiting[0].tokens
            wait = max((rate.wait(amount, now) for rate, amount in self._rates(tokens)), default=0.0)
            if wait > 0:
                self._wake_at(now + wait)
                return
            for rate, amount in self._rates(tokens):
                rate.take(amount)
            line.let_in()
        resting = [line.rests_until for line in self.lines if line.has_room and line.rests_until > now]
        if resting:
            self._wake_at(min(resting))

    def _first_ready(self, now: float) -> "EndpointLine | None":
        ready = (line for line in self.lines if line.rests_until <= now and line.has_room)
        return min(ready, key=lambda line: line.waiting[0].ticket, default=None)

    def _rates(self, tokens: float) -> list[tuple[Allowance, float]]:
        rates = ((self._requests, 1.0), (self._tokens, tokens))
        return [(rate, amount) for rate, amount in rates if rate is not None]

    def _wake_at(self, time: float) -> None:
        if self._alarm is not None:
            self._alarm.cancel()
        self._alarm = asyncio.get_running_loop().call_at(time, self.send_next)


@dataclass(slots=True)
class _Waiting:
    ticket: int
    tokens: float
    first: bool
    called: "asyncio.Future[Place]"
    blocking: bool


@dataclass(frozen=True, slots=True)
class Place:
    """Leave to send one request, for which so many tokens were taken from the rate."""

    tokens: float
    generation: int
    sent_at: float
    listens: bool = False
    """Whether the line wants to be told when the request was `sent`."""


class LetGo(Exception):
    """One who has had no reply so far is not to wait for its first: the run is being stopped, or nothing can be reached
    at the model's address, which another was told."""


class Line(Protocol):
    """Where the requests of one model wait for their places: here, or on another machine. Every place that was entered
    has to be left, in one of four ways."""

    @property
    def counts_tokens(self) -> bool:
        """Whether it wants to know how long a request is."""
        ...

    async def enter(self, tokens: float = 0.0, most: int | None = None, *, first: bool = False) -> Place:
        """Waits for a place for a request of about so many tokens, whose reply has at `most` so many; `first` is that
        of one who has had no reply yet. Raises ModelError where the line was given up, LetGo where such a one need not
        wait any more."""
        ...

    def sent(self, place: Place) -> None:
        """The request was written. Where it is not refused soon, it has been taken, and lets in others."""
        ...

    def leave(self, place: Place) -> None:
        """The request ended in a way that tells nothing of how much the endpoint takes."""
        ...

    def replied(self, place: Place, usage: Usage | None = None) -> None:
        """The endpoint answered, be it with an error of this one request; `usage` is what the reply took."""
        ...

    def refused(self, place: Place, error: ModelError) -> None:
        """The endpoint has too much to do."""
        ...

    def unreached(self, place: Place, error: ModelError) -> ModelError:
        """No connection could be made; returns what the request is to fail with."""
        ...

    def let_go(self) -> None:
        """From now on none waits who has had no reply."""
        ...


class EndpointLine:
    """A `Line` in the process that paces the endpoint.

    `refusals` counts what was refused for the rate, by code, the last at `refused_at`; `rested` is for how many seconds
    the line has rested, the rest of the present one included, and `asked` what the endpoint asked for last.
    """

    def __init__(self, pace: EndpointPace, most: int, served: str = "", *, declared: bool = False) -> None:
        self.pace = pace
        self._declared = declared
        self._connected_in = math.inf
        self.served = served
        self.window = Window(most)
        self.waiting: deque[_Waiting] = deque()
        self.in_flight = 0
        self.rests_until = 0.0
        self.rested = 0.0
        self.asked: float | None = None
        self.refused_at = -math.inf
        self.refusals: Counter[str] = Counter()
        self._stopping = False
        self._answered_at = -math.inf
        self._refused_since: float | None = None
        self._backoffs = 0
        self._given_up: ModelError | None = None
        self._unreached = 0

    @property
    def name(self) -> str:
        """The model and the address, since others of the address may be served all the while."""
        return f"{self.served} at {self.pace.address}" if self.served else self.pace.address

    @property
    def has_room(self) -> bool:
        """Whether someone waits for whom there is a place."""
        while self.waiting and self.waiting[0].called.done():
            self.waiting.popleft()
        return bool(self.waiting) and (self.in_flight < self.window.places or self.waiting[0].blocking)

    @property
    def counts_tokens(self) -> bool:
        return self.pace.counts_tokens

    @property
    def _why_waiting(self) -> str:
        if self.rests_until > asyncio.get_running_loop().time():
            return "while its endpoint, which was busy or not there, was left alone"
        if self.in_flight >= self.window.places:
            return "behind others, of which as many were out as the endpoint or concurrency allows"
        return "for the rate that the plan allows"

    async def enter(self, tokens: float = 0.0, most: int | None = None, *, first: bool = False) -> Place:
        if first and (self._stopping or self._is_absent):
            raise LetGo
        if self._given_up is not None:
            raise _copied(self._given_up)
        tokens = self.pace.expected(tokens, most)
        called: asyncio.Future[Place] = asyncio.get_running_loop().create_future()
        waiting = _Waiting(next(self.pace.tickets), tokens, first, called, is_blocking_others())
        (self.waiting.appendleft if waiting.blocking else self.waiting.append)(waiting)
        self.pace.send_next()
        if waiting.called.done():
            return waiting.called.result()
        try:
            with in_line(self._why_waiting):
                return await waiting.called
        except asyncio.CancelledError:
            if waiting.called.done() and not waiting.called.cancelled() and waiting.called.exception() is None:
                self.leave(waiting.called.result())
            raise

    def let_go(self) -> None:
        self._stopping = True
        self._let_go_waiting()

    def _let_go_waiting(self) -> None:
        for waiting in self.waiting:
            if waiting.first and not waiting.called.done():
                waiting.called.set_exception(LetGo())

    @property
    def _is_absent(self) -> bool:
        return self._given_up is not None and self._unreached >= TRIES_TO_REACH

    def let_in(self) -> None:
        """Gives the first in line its place."""
        first = self.waiting.popleft()
        self.in_flight += 1
        now = asyncio.get_running_loop().time()
        first.called.set_result(Place(first.tokens, self.window.generation, now, self._listens))

    @property
    def _listens(self) -> bool:
        return self._declared and self.window.is_opening

    def sent(self, place: Place) -> None:
        loop = asyncio.get_running_loop()
        self._connected_in = min(self._connected_in, loop.time() - place.sent_at)
        loop.call_later(max(LEAST_QUIET_SECONDS, QUIET_CONNECTS * self._connected_in), self._was_taken, place)

    def _was_taken(self, place: Place) -> None:
        if self.window.is_opening:
            self.window.grow(place.generation, full=self.in_flight >= self.window.places)
            self.pace.send_next()

    def leave(self, place: Place) -> None:
        self.in_flight -= 1
        self.pace.send_next()

    def replied(self, place: Place, usage: Usage | None = None) -> None:
        self._refused_since, self._backoffs, self._given_up, self._unreached = None, 0, None, 0
        self._answered_at = max(self._answered_at, place.sent_at)
        self.window.grow(place.generation, full=self.in_flight >= self.window.places)
        if usage is not None:
            self.pace.settle(place.tokens, usage)
        self.leave(place)

    def refused(self, place: Place, error: ModelError) -> None:
        """The endpoint has too much to do. It is left alone for as long as it asked, and longer each time where
        that is not enough; a line that is refused for longer than the pace's patience is given up."""
        now = asyncio.get_running_loop().time()
        since = self._refused_since = now if self._refused_since is None else self._refused_since
        self.refusals[error.code] += 1
        self.refused_at = now
        asked = error.retry_after
        news = self.window.shrink(place.generation)
        # One that has replied is asked once more before it is believed: it may be a proxy's page that names the wait.
        odd = self._answered_at > -math.inf and since == now and news
        if odd and asked is not None and asked > self.pace.patience:
            self._rest(self._wait(None, news=True), error, since)
        elif asked is not None and asked > self.pace.patience and (news or self._answered_at == -math.inf):
            self._give_up(f"asks to be left alone for {asked:.0f} s", error)
        elif now - since > self.pace.patience:
            self._give_up(f"has refused every request for {now - since:.0f} s", error)
        elif news or (asked is not None and asked <= self.pace.patience):
            self._rest(self._wait(asked, news=news), error, since)
        self.leave(place)

    def unreached(self, place: Place, error: ModelError) -> ModelError:
        """No connection could be made; returns what the request is to fail with. While nothing has been heard of the
        endpoint, one request at a time finds out whether it is there, and when it is not, none waits any more."""
        now = asyncio.get_running_loop().time()
        if self._answered_at == -math.inf and self.window.close(place.generation):
            self._unreached += 1
            if self._unreached < TRIES_TO_REACH:
                self._rest(self._wait(None, news=True), error, now)
            else:
                message = f"{error.message}; it was tried {self._unreached} times, and nothing was ever heard of it"
                error = self._given_up = ModelError(message, hint=error.hint, code=error.code)
                self._let_go_waiting()
                self._tell_waiting()
        self.leave(place)
        return error

    def _wait(self, asked: float | None, *, news: bool) -> float:
        """Seconds. What was asked for is believed once; after that no wait is shorter than a backoff, so that an
        endpoint that always says "at once" is not asked all the time."""
        if not news:
            return asked or 0.0
        doublings = self._backoffs if asked is None else self._backoffs - 1
        backoff = min(FIRST_BACKOFF_SECONDS * 2.0**doublings, LONGEST_BACKOFF_SECONDS) if doublings >= 0 else 0.0
        self._backoffs = min(self._backoffs + 1, 10)
        return max(asked or 0.0, backoff)

    def _rest(self, seconds: float, error: ModelError, since: float) -> None:
        now = asyncio.get_running_loop().time()
        # Only ever longer than what was asked for: others who share the limit come back then too.
        until = now + seconds * (1 + random.random() / 20)  # noqa: S311 - jitter, not a secret
        for line in self.pace.lines:
            same = error.limit_of == "key" or (self.served and line.served == self.served)
            # Who was answered while this line was only refused does not share its limit, whatever the endpoint says.
            if line is self or (same and line._answered_at <= since):
                line._rest_until(until, now, error.retry_after)

    def _rest_until(self, until: float, now: float, asked: float | None) -> None:
        longer = until - max(self.rests_until, now)
        if longer > 0:
            self.rested += longer
            self.rests_until, self.asked = until, asked

    def _give_up(self, why: str, error: ModelError) -> None:
        """Gives up this line alone: whether a long wait is everybody's, the next requests of the others will show."""
        self._given_up = ModelError(f"{self.name} {why}; it said: {error.message}", code="endpoint_busy")
        self._tell_waiting()

    def _tell_waiting(self) -> None:
        assert self._given_up is not None
        while self.waiting:
            waiting = self.waiting.popleft()
            if not waiting.called.done():
                waiting.called.set_exception(_copied(self._given_up))


def _copied(error: ModelError) -> ModelError:
    """Raised in several tasks, one exception would collect the tracebacks of all."""
    return ModelError(error.message, hint=error.hint, code=error.code)
