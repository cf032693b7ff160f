"""What a model is to an agent: something that replies to a request, opened once per model and once per trial."""

from typing import Protocol

from toolablate.traces.errors import ModelError
from toolablate.traces.records import Condition, ModelReply, ModelRequest, Question


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
