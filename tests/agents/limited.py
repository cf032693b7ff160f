"""An endpoint in the test's own loop, whose limits can be met, and trials that ask it."""

import asyncio
import math
from collections.abc import Sequence
from typing import Literal

from toolablate.agents.pacing import Line, PacedSource, watched_sending
from toolablate.traces.errors import ModelError
from toolablate.traces.records import (
    ChoiceTarget,
    Condition,
    Message,
    ModelReply,
    ModelRequest,
    Question,
    Usage,
)

REQUEST = ModelRequest(messages=(Message(role="user", content="x" * 400),))
REPLY = ModelReply(message=Message(role="assistant", content="A"), finish_reason="stop")
QUESTION = Question(id="q", prompt="?", choices=("a", "b"), target=ChoiceTarget(letters=("A",)))


Holder = Literal["", "key", "model"]


def _busy(retry_after: float | None, code: str, limit_of: Holder) -> ModelError:
    error = ModelError("slow down", code=code, retryable=True, retry_after=retry_after)
    error.limit_of = limit_of
    return error


def now() -> float:
    return asyncio.get_running_loop().time()


class Endpoint:
    """Answers after `seconds`; refuses what is more than `at_once` in flight, and everything before `opens`."""

    def __init__(
        self,
        seconds: float = 1.0,
        at_once: float = math.inf,
        opens: float = 0.0,
        asks: float | None = None,
        limit_of: Holder = "",
    ) -> None:
        self.limit_of = limit_of
        self.refuses_after = 0.0
        self.seconds, self.at_once, self.opens, self.asks = seconds, at_once, opens, asks
        self.code = "rate_limited"
        self.usage = Usage(input_tokens=100, output_tokens=100)
        self.sent: list[float] = []
        self.refused: list[float] = []
        self.in_flight = self.peak = 0

    def session(self, question: Question, condition: Condition, repeat: int) -> "Endpoint":
        return self

    async def close(self) -> None:
        return None

    async def complete(self, request: ModelRequest, *, seconds: float) -> ModelReply:
        self.sent.append(now())
        if told := watched_sending():
            told()
        if self.refuses_after:
            await asyncio.sleep(self.refuses_after)
        if self.in_flight >= self.at_once or now() < self.opens:
            self.refused.append(now())
            raise _busy(self.asks, self.code, self.limit_of)
        self.in_flight += 1
        self.peak = max(self.peak, self.in_flight)
        try:
            await asyncio.sleep(self.seconds)
        finally:
            self.in_flight -= 1
        return REPLY.model_copy(update={"usage": self.usage})


async def ask_until_answered(line: Line, endpoint: Endpoint) -> float:
    """Asks as a trial does, as often as it is refused for the rate; returns when it was answered."""
    model = PacedSource(endpoint, line).session(QUESTION, Condition(name="c"), 0)
    while True:
        try:
            await model.complete(REQUEST, seconds=60)
        except ModelError as error:
            if not error.retryable:
                raise
        else:
            return now()


async def ask_many(line: Line, endpoint: Endpoint, count: int) -> list[float]:
    return await asyncio.gather(*(ask_until_answered(line, endpoint) for _ in range(count)))


def most_within(times: Sequence[float], seconds: float) -> int:
    return max(sum(start <= time < start + seconds for time in times) for start in times)
