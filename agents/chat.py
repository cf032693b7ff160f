"""What a model is to an agent, how one is opened, and a request outside of any trial, retried where that helps."""

import asyncio
import random
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from toolablate.agents.spending import Spending
from toolablate.tools.user_code import is_ours, load_own, open_own, registered, said_of
from toolablate.traces.errors import InputError, InternalError, ModelError, ToolablateError
from toolablate.traces.plugins import MISSING, told
from toolablate.traces.records import (
    AgentModel,
    Budget,
    Condition,
    ImportedModel,
    Model,
    ModelReply,
    ModelRequest,
    Price,
    Question,
    SimulatedModel,
)


class NoReplyError(ModelError):
    """A reply came that is none: empty, or stopped by a filter. `reply` is what came, which was paid for."""

    def __init__(self, message: str, reply: ModelReply, *, code: str, retryable: bool = False) -> None:
        super().__init__(message, code=code, retryable=retryable)
        self.reply = reply


class ChatModel(Protocol):
    """A model within one trial."""

    async def complete(self, request: ModelRequest, *, seconds: float) -> ModelReply:
        """Replies within `seconds`, or raises `ModelError`; never turns a failed request into a reply."""
        ...


class ModelSource(Protocol):
    """A model for all its trials: holds the connections or the script. Scripted and simulated models need to know
    which question is asked; a real one ignores it and sees nothing but the request."""

    def session(self, question: Question, condition: Condition, repeat: int) -> ChatModel: ...

    async def close(self) -> None: ...


# When and after how long something that failed is tried again.


# An endpoint that says so refuses for the number of requests, not for what is in them.
BUSY_CODES = frozenset({"rate_limited", "overloaded"})

# What refuses everything for so long, or asks for a longer wait, is given up.
PATIENCE_SECONDS = 300.0


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """How often a request is attempted, and the waits between the attempts, in seconds.

    `attempts` and `tool_attempts` count the first one. The wait doubles from `base_seconds` up to `cap_seconds`; where
    the other side named a wait it is honoured, up to `retry_after_cap_seconds`.

    Where the model is `paced`, an endpoint that is busy is waited for in its line, which gives up an endpoint that
    refuses everything: such a refusal is no attempt. A call that is refused more than `refusals` times waits by itself
    too, and fails once that has lasted for `patience_seconds`: others are answered meanwhile, so it alone is refused.
    """

    attempts: int = 4
    paced: bool = False
    refusals: int = 16
    patience_seconds: float = PATIENCE_SECONDS
    tool_attempts: int = 3
    base_seconds: float = 1.0
    cap_seconds: float = 30.0
    retry_after_cap_seconds: float = 120.0

    def delay(self, attempt: int, error: ToolablateError, rng: random.Random) -> float:
        """Seconds to wait after attempt number `attempt` (from 1) failed with `error`.

        The jitter only ever adds to a wait that was asked for, so that trials which were refused together do not come
        back together.
        """
        if error.retry_after is None:
            return self.backoff(attempt, rng)
        longest = min(self.base_seconds, self.cap_seconds, 1.0)
        return min(error.retry_after, self.retry_after_cap_seconds) + longest * rng.random()

    def backoff(self, attempt: int, rng: random.Random) -> float:
        """Seconds to wait after attempt number `attempt` (from 1), where the other side named no wait."""
        # The exponent is bounded, since a float overflows at 2.0 ** 1024.
        longest = min(self.cap_seconds, self.base_seconds * 2.0 ** min(attempt - 1, 30))
        return longest * (0.5 + rng.random() / 2)


@dataclass(slots=True)
class Tries:
    """The tries of one call to a model that have failed."""

    policy: RetryPolicy
    failed: int = 0
    refused: int = 0
    _refused_since: float = 0.0

    @property
    def number(self) -> int:
        return self.failed + self.refused

    def again(self, error: ToolablateError, now: float) -> bool:
        """Takes note of a try that failed, at second `now` by any one clock; whether there is to be another."""
        if not self._is_refusal(error):
            self.failed += 1
            return error.retryable and self.failed < self.policy.attempts
        self.refused += 1
        if self.refused == 1:
            self._refused_since = now
        lasts = now - self._refused_since
        return error.retryable and (self._refused_seldom or lasts <= self.policy.patience_seconds)

    def delay(self, error: ToolablateError, rng: random.Random) -> float:
        """Seconds to wait before the next; none where the model's line waits."""
        if not self._is_refusal(error):
            return self.policy.delay(self.failed, error, rng)
        return 0.0 if self._refused_seldom else self.policy.backoff(self.refused - self.policy.refusals, rng)

    @property
    def _refused_seldom(self) -> bool:
        return self.refused <= self.policy.refusals

    def _is_refusal(self, error: ToolablateError) -> bool:
        return self.policy.paced and error.code in BUSY_CODES


# From a model's record to something that replies.


def connect(model: Model, *, playbook: Path | None = None) -> ModelSource:
    """Opens a model for all its trials, inside a running event loop.

    What opens it is named by its provider in the entry-point group `toolablate.providers`: it is called with the
    model's record and returns a `ModelSource`. Ours stand in the same group.

    `playbook` is the file that a simulated model reads where its record names none, or "builtin". Raises InputError
    where a key, script or playbook is missing or cannot be used, or the model is asked for what its endpoint cannot
    take; it makes no request.
    """
    there_are = f"there are {', '.join(registered('providers'))}" if registered("providers") else MISSING
    if isinstance(model, ImportedModel):
        raise InputError(
            f"model {model.name!r} was imported from a log and cannot be asked", hint=there_are, code="imported"
        )
    if isinstance(model, AgentModel):
        from toolablate.agents.langgraph_agents.source import AgentSource

        return AgentSource(model)
    if model.provider not in registered("providers"):
        raise InputError(
            f"model {model.name!r}: there is no provider {model.provider!r}", hint=there_are, code="unknown_provider"
        )
    opening: Any = load_own(model.provider, "providers")
    options = {"builtin": playbook} if isinstance(model, SimulatedModel) else {}
    source: ModelSource = open_own(
        model.provider, "providers", lambda: opening(model, **options), ("session", "close"), "a ModelSource"
    )
    return (
        source if is_ours(model.provider, "providers") else _PackageSource(source, said_of(model.provider, "providers"))
    )


@dataclass(frozen=True, slots=True)
class _PackageSource:
    """A model of another package: what it raises that is no ModelError, an exit among it, is a failure of the runner
    that names the package, and never the end of a run."""

    source: ModelSource
    said: str

    def session(self, question: Question, condition: Condition, repeat: int) -> ChatModel:
        with _failing(self.said):
            return _PackageChat(self.source.session(question, condition, repeat), self.said)

    async def close(self) -> None:
        await self.source.close()


@dataclass(frozen=True, slots=True)
class _PackageChat:
    chat: ChatModel
    said: str

    async def complete(self, request: ModelRequest, *, seconds: float) -> ModelReply:
        with _failing(self.said):
            return await self.chat.complete(request, seconds=seconds)


def _failing(said: str) -> AbstractContextManager[None]:
    return told(f"{said} failed", code="internal_error", passing=(ToolablateError,), kind=InternalError)


# One request outside of any trial, tried again where that may help.


@dataclass(frozen=True, slots=True)
class PricedReply:
    """`cost_usd` is in US dollars, None where it is unknown; it has in it what was paid for replies that were none."""

    reply: ModelReply
    cost_usd: float | None


async def ask(
    chat: ChatModel,
    request: ModelRequest,
    *,
    retry: RetryPolicy,
    seconds: float,
    price: Price | None,
    rng: random.Random,
    clock: Callable[[], float],
) -> PricedReply:
    """The model's reply; each try may take `seconds`, waits not counted. `clock` tells seconds, from any beginning.

    Raises the ModelError of the last try.
    """
    spending, tries = Spending(Budget(), price), Tries(retry)
    while True:
        try:
            reply = await chat.complete(request, seconds=seconds)
        except ModelError as error:
            if isinstance(error, NoReplyError):
                spending.charge(request, error.reply, of_use=False)
            if not tries.again(error, clock()):
                raise
            delay = tries.delay(error, rng)
        else:
            spending.charge(request, reply)
            return PricedReply(reply, spending.cost_usd)
        await asyncio.sleep(delay)
