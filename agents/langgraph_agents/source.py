"""The chat models of an agent as one model: each request is answered by the one that the agent asked."""

import asyncio
from collections.abc import Awaitable, Callable
from contextvars import ContextVar
from dataclasses import dataclass

from langchain_core.language_models import BaseChatModel
from langchain_core.outputs import ChatResult
from langsmith.run_helpers import tracing_context
from pydantic import SecretStr, ValidationError

from toolablate.agents.chat import ChatModel, NoReplyError
from toolablate.agents.endpoint.requirements import SECRET_FROM_LENGTH, blanking
from toolablate.agents.endpoint.wire import bad_reply
from toolablate.agents.langchain.failures import model_error
from toolablate.agents.langchain.messages import read
from toolablate.agents.langgraph_agents.seam import INSIDE_MODEL
from toolablate.agents.pacing.waits import watched_sending
from toolablate.traces.errors import InternalError, ModelError
from toolablate.traces.records import AgentModel, Condition, ModelReply, ModelRequest, Question


@dataclass(slots=True)
class Original:
    """A request as the agent made it. `ask` makes it, with what the record leaves out of it left out; `result` is what
    the model gave to the last try."""

    chat: BaseChatModel
    ask: Callable[[ModelRequest], Awaitable[ChatResult]]
    result: ChatResult | None = None

    @property
    def endpoint(self) -> str:
        return self.class_path

    @property
    def class_path(self) -> str:
        return f"{type(self.chat).__module__}:{type(self.chat).__qualname__}"

    @property
    def wire_name(self) -> str:
        named = (getattr(self.chat, key, None) for key in ("model_name", "model", "model_id"))
        return next((name for name in named if isinstance(name, str) and name), type(self.chat).__name__)


def keys_blanked(chat: BaseChatModel) -> Callable[[str], str]:
    """What takes the keys of a chat model out of a text."""
    held = [value for value in vars(chat).values() if isinstance(value, SecretStr)]
    keys = [key for value in held if len(key := value.get_secret_value()) >= SECRET_FROM_LENGTH]

    def blank(text: str) -> str:
        for key in keys:
            text = blanking(key)(text)
        return text

    return blank if keys else str


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
        allowed, safe = min(seconds, self.model.timeout_seconds), keys_blanked(original.chat)
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
