"""Asks an endpoint the way a trial does, and tells what it refused from what says nothing about it."""

import asyncio
from dataclasses import dataclass

from toolablate.agents.chat import ChatModel, NoReplyError
from toolablate.agents.connect import connect
from toolablate.agents.retry import BUSY_CODES
from toolablate.traces.errors import ModelError
from toolablate.traces.records import (
    ChoiceTarget,
    Condition,
    Message,
    ModelReply,
    ModelRequest,
    OpenAIModel,
    Question,
    ToolSpec,
    Usage,
)

# Twelve; one more where the first fails with the plan's sampling parameters and is made again without them; and those
# that are made again because the endpoint was busy or broke down.
MOST_REPEATS = 3
MOST_REQUESTS = 13 + MOST_REPEATS
MOST_TOKENS_IN = 6_000
MOST_TOKENS_OUT = 12_000

# The other codes (a rate limit, an outage, no money left, a filter) would have met any request.
_REFUSALS = ("bad_request", "not_found", "unknown_model")
_PASSING = BUSY_CODES | {"server_error"}
# Replies that are none by the model's way or a filter's, to a request that was taken.
_TAKEN = ("empty_reply", "content_filter")
_LONGEST_WAIT_SECONDS = 30.0
_LOST_AFTER = 3

TOOL = ToolSpec(
    name="read_number",
    description="Gives the number that is stored under a name.",
    parameters={
        "type": "object",
        "properties": {"name": {"type": "string", "description": "the name"}},
        "required": ["name"],
        "additionalProperties": False,
    },
)
# Sources are opened for a question; no endpoint sees it.
_NOBODYS = Question(id="probe", prompt="probe", choices=("yes", "no"), target=ChoiceTarget(letters=("A",)))


@dataclass(frozen=True, slots=True)
class Taken:
    """The request was accepted."""

    reply: ModelReply


@dataclass(frozen=True, slots=True)
class Refused:
    """The endpoint does not take such a request."""

    said: str


@dataclass(frozen=True, slots=True)
class Unclear:
    """No answer that says anything about the request."""

    code: str
    said: str


Outcome = Taken | Refused | Unclear


class Asker:
    """Counts what it asks, and what that took. After a few requests in a row without a clear answer it asks no more.

    A request is made up to `attempts` times, and not more than MOST_REPEATS are made again in all. Raises ValueError
    where there is to be no attempt at all.
    """

    def __init__(self, *, attempts: int = 2) -> None:
        if attempts < 1:
            raise ValueError(f"attempts should be at least 1, and not {attempts}")
        self._attempts = attempts
        self._repeats = 0
        self._unclear = 0
        self.requests = 0
        self.usage = Usage()
        self.replies: list[ModelReply] = []

    async def ask(self, model: OpenAIModel, request: ModelRequest) -> Outcome:
        """Raises InputError where the model cannot be asked at all: no key, no address."""
        if self._unclear >= _LOST_AFTER:
            return Unclear("given_up", f"not asked: {self._unclear} requests in a row got no clear answer")
        source = connect(model)
        try:
            chat = source.session(_NOBODYS, Condition(name="probe"), 0)
            outcome = await self._ask(chat, request, model.timeout_seconds)
        finally:
            await source.close()
        self._unclear = self._unclear + 1 if isinstance(outcome, Unclear) else 0
        if isinstance(outcome, Taken):
            self.replies.append(outcome.reply)
        return outcome

    async def _ask(self, chat: ChatModel, request: ModelRequest, seconds: float) -> Outcome:
        for left in reversed(range(self._attempts)):
            self.requests += 1
            try:
                reply = await chat.complete(request, seconds=seconds)
                self.usage = self.usage + reply.usage
                return Taken(reply)
            except NoReplyError as error:
                self.usage = self.usage + error.reply.usage
                if error.code in _TAKEN:
                    return Taken(error.reply)
                failed: ModelError = error
            except ModelError as error:
                failed = error
            if failed.code in _REFUSALS:
                return Refused(failed.message)
            if failed.code not in _PASSING or not left or self._repeats == MOST_REPEATS:
                break
            self._repeats += 1
            await asyncio.sleep(min(failed.retry_after or 1.0, _LONGEST_WAIT_SECONDS))
        return Unclear(failed.code, failed.message)


def saying(text: str, **options: object) -> ModelRequest:
    """A request with one message of the user's."""
    return ModelRequest.model_validate({"messages": (Message(role="user", content=text),), **options})
