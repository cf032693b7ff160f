"""The chat models of an agent as one model: each request is answered by the one that the agent asked."""

import asyncio
import math
import re
import weakref
from collections.abc import Awaitable, Callable, Mapping
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any

from langchain_core.language_models import BaseChatModel
from langchain_core.outputs import ChatResult
from langsmith.run_helpers import tracing_context
from pydantic import BaseModel, SecretBytes, SecretStr, ValidationError

from toolablate.agents.chat import ChatModel, NoReplyError
from toolablate.agents.endpoint.wire import bad_reply
from toolablate.agents.langchain.failures import model_error
from toolablate.agents.langchain.messages import read
from toolablate.agents.langgraph_agents.seam import INSIDE_MODEL
from toolablate.agents.pacing.waits import watched_sending
from toolablate.traces.errors import InternalError, ModelError
from toolablate.traces.records import AgentModel, Condition, ModelReply, ModelRequest, Question


@dataclass(slots=True)
class Original:
    """A request as the agent made it. `ask` makes it, with what the record leaves out of it left out; `identity` tells
    which of the agent's models is asked, and how; `blank` takes secrets out of a text; `number` is that among the
    trial's requests that ask the same, from 0; `result` is what the model gave to the last try."""

    chat: BaseChatModel
    ask: Callable[[ModelRequest], Awaitable[ChatResult]]
    identity: Mapping[str, Any] = field(default_factory=dict)
    blank: Callable[[str], str] = str
    number: int = 0
    result: ChatResult | None = None

    @property
    def endpoint(self) -> str:
        return self.class_path

    @property
    def class_path(self) -> str:
        return _path(type(self.chat))

    @property
    def wire_name(self) -> str:
        named = (getattr(self.chat, key, None) for key in ("model_name", "model", "model_id"))
        return next((name for name in named if isinstance(name, str) and name), type(self.chat).__name__)


def keys_of(chat: BaseChatModel) -> list[str]:
    """The keys that a chat model holds."""
    return [value.get_secret_value() for value in vars(chat).values() if isinstance(value, SecretStr)]


# What tells an agent's models apart.


# What is the record's own part of a request.
_IN_RECORD = ("tools", "functions", "tool_choice", "function_call", "toolConfig")
_SECRET_NAME = re.compile(r"(?i)key|secret|passw|credential|header|cookie|(^|_)(auth\w*|token)$")
_DEEPEST = 8
_known: dict[int, tuple["weakref.ref[BaseChatModel]", dict[str, Any]]] = {}


def identity_of(chat: BaseChatModel, kwargs: Mapping[str, Any], blank: Callable[[str], str]) -> dict[str, Any]:
    """The class of a chat model, its parameters, and the arguments of a request that the record does not have; without
    keys. What is no JSON value is named by its class, since it may be another object in each process."""
    asked = {name: value for name, value in kwargs.items() if name not in _IN_RECORD}
    identity = {"class": _path(type(chat)), "parameters": _parameters(chat), "kwargs": _plain(asked)}
    return {name: _blanked(value, blank) for name, value in identity.items() if value}


def _parameters(chat: BaseChatModel) -> dict[str, Any]:
    """As they were when it was first asked: a class may count in them."""
    known = _known.get(id(chat))
    if known is None or known[0]() is not chat:
        number = id(chat)
        gone = weakref.ref(chat, lambda _: _known.pop(number, None))
        known = _known[number] = gone, _fields(chat, BaseChatModel, 0)
    return known[1]


def _fields(value: BaseModel, base: type[BaseModel], depth: int) -> dict[str, Any]:
    held = {name: vars(value).get(name) for name in type(value).model_fields if name not in base.model_fields}
    return {name: _plain(each, depth + 1) for name, each in held.items() if not _is_secret(name, each)}


def _is_secret(name: str, value: object) -> bool:
    return isinstance(value, SecretStr | SecretBytes) or (
        _SECRET_NAME.search(name) is not None and not isinstance(value, bool | int | float | None)
    )


def _plain(value: Any, depth: int = 0) -> Any:
    if value is None or isinstance(value, str | bool | int):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    if isinstance(value, BaseModel) and depth < _DEEPEST:
        base = BaseChatModel if isinstance(value, BaseChatModel) else BaseModel
        return {"class": _path(type(value)), **_fields(value, base, depth)}
    if isinstance(value, Mapping) and depth < _DEEPEST:
        return {str(name): _plain(each, depth + 1) for name, each in value.items() if not _is_secret(str(name), each)}
    if isinstance(value, list | tuple) and depth < _DEEPEST:
        return [_plain(each, depth + 1) for each in value]
    return _path(value if isinstance(value, type) else type(value))


def _path(kind: type) -> str:
    return f"{kind.__module__}:{kind.__qualname__}"


def _blanked(value: Any, blank: Callable[[str], str]) -> Any:
    if isinstance(value, str):
        return blank(value)
    if isinstance(value, dict):
        return {name: _blanked(each, blank) for name, each in value.items()}
    return [_blanked(each, blank) for each in value] if isinstance(value, list) else value


ORIGINAL: ContextVar[Original | None] = ContextVar("original", default=None)


class AgentSource:
    """A `ModelSource`. It holds nothing: the agent has its models."""

    def __init__(self, model: AgentModel) -> None:
        self._model = model

    def session(self, question: Question, condition: Condition, repeat: int) -> ChatModel:
        return AgentChat(self._model)

    async def close(self) -> None:
        """The clients are the agent's."""


@dataclass(frozen=True, slots=True)
class AgentChat:
    model: AgentModel

    async def complete(self, request: ModelRequest, *, seconds: float) -> ModelReply:
        """Raises ModelError, with one of the codes of `langchain.failures`."""
        original = ORIGINAL.get()
        if original is None:
            raise InternalError("an agent's model is asked only by its agent")
        allowed, safe = min(seconds, self.model.timeout_seconds), original.blank
        if (sent := watched_sending()) is not None:
            sent()
        inside = INSIDE_MODEL.set(True)
        try:
            # A LANGSMITH_TRACING left over from another project must not send benchmark questions to a third party.
            with tracing_context(enabled=False):
                async with asyncio.timeout(allowed) as deadline:
                    original.result = await original.ask(request)
            message = original.result.generations[0].message
        except (Exception, SystemExit) as error:  # noqa: BLE001 - the class is anybody's
            if isinstance(error, TimeoutError) and deadline.expired():
                told = f"{original.class_path} did not reply within {allowed:g} s"
                raise ModelError(told, code="timeout", retryable=True) from None
            raise model_error(error, original, key_variable="", safe=safe) from None
        finally:
            INSIDE_MODEL.reset(inside)
        turn = sum(each.role == "assistant" for each in request.messages)
        try:
            return read(message, turn, safe)
        except NoReplyError as error:
            # What an empty reply means is the agent's to say.
            if error.code == "empty_reply":
                return error.reply
            raise
        except ValidationError as error:
            raise bad_reply(f"the reply cannot be recorded: {error.errors()[0]['msg'][:200]}") from None
