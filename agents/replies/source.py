"""Models that are asked once, and models that are not asked any more."""

import asyncio
from functools import partial

from toolablate.agents.chat import ChatModel, ModelSource, NoReplyError
from toolablate.agents.replies.asked import Asked, asked
from toolablate.agents.replies.kept import Kept, NoReply
from toolablate.agents.replies.library import ReplyLibrary
from toolablate.traces.errors import ModelError
from toolablate.traces.records import Condition, ModelReply, ModelRequest, OpenAIModel, Question

# Replies that are none, after which the same is asked again. The others that are retried, such as a reply that the
# endpoint broke off, are failures of infrastructure, of which a replay has none.
NONE_OF_THE_MODEL = frozenset({"empty_reply"})


class ReplayedSource:
    """Answers from the library alone: there is no client, no key and no network. The library is its opener's."""

    def __init__(self, model: OpenAIModel, library: ReplyLibrary) -> None:
        self._model = model
        self._library = library

    def session(self, question: Question, condition: Condition, repeat: int) -> ChatModel:
        return ReplayedChat(self._model, self._library, repeat)

    async def close(self) -> None:
        """Holds nothing of its own."""


class RecordedSource:
    """Answers from the library what it holds, and asks `source` the rest, which is kept before it is given."""

    def __init__(self, source: ModelSource, model: OpenAIModel, library: ReplyLibrary) -> None:
        self._source = source
        self._model = model
        self._library = library

    def session(self, question: Question, condition: Condition, repeat: int) -> ChatModel:
        inner = self._source.session(question, condition, repeat)
        return RecordedChat(inner, self._model, self._library, repeat)

    async def close(self) -> None:
        await self._source.close()


class ReplayedChat:
    """One trial's requests. `_told` holds, by request, the replies that were none and after which it asked again."""

    def __init__(self, model: OpenAIModel, library: ReplyLibrary, repeat: int) -> None:
        self._model = model
        self._library = library
        self._repeat = repeat
        self._told: dict[bytes, list[NoReply]] = {}

    async def complete(self, request: ModelRequest, *, seconds: float) -> ModelReply:
        """Raises ModelError with the code `not_recorded`; NoReplyError where that is what was recorded."""
        wanted = asked(self._model, request, self._repeat)
        kept = self._library.get(wanted)
        if kept is None:
            raise self._library.not_recorded(wanted)
        return self._give(wanted, kept)

    def _give(self, wanted: Asked, kept: Kept) -> ModelReply:
        told = self._told.setdefault(wanted.key, [])
        if len(told) < len(kept.before):
            told.append(kept.before[len(told)])
            raise told[-1].error(retryable=True)
        if kept.code:
            raise NoReply(code=kept.code, message=kept.message, reply=kept.reply).error(retryable=False)
        return kept.reply


class RecordedChat(ReplayedChat):
    def __init__(self, inner: ChatModel, model: OpenAIModel, library: ReplyLibrary, repeat: int) -> None:
        super().__init__(model, library, repeat)
        self._inner = inner

    async def complete(self, request: ModelRequest, *, seconds: float) -> ModelReply:
        """Raises what the model's own client raises; StoreError where a reply cannot be kept."""
        wanted = asked(self._model, request, self._repeat)
        kept = self._library.get(wanted) or await self._asked(wanted, request, seconds)
        return self._give(wanted, kept)

    async def _asked(self, wanted: Asked, request: ModelRequest, seconds: float) -> Kept:
        """Joins who asks the same just now. Only who waits for another is held to `seconds` here; who asks is by the
        client, so that a reply which came is kept."""
        try:
            async with asyncio.timeout(seconds) as limit:
                ask = partial(self._ask, wanted, request, seconds, limit)
                return await self._library.flight.run(wanted.name, ask)
        except TimeoutError:
            if not limit.expired():
                raise
            message = f"{self._model.endpoint} did not reply within {seconds:g} s to the trial that asked it the same"
            raise ModelError(message, code="timeout", retryable=True) from None
        except NoReplyError as error:
            if error.code in NONE_OF_THE_MODEL:
                self._told.setdefault(wanted.key, []).append(NoReply.of(error))
            raise

    async def _ask(self, wanted: Asked, request: ModelRequest, seconds: float, limit: asyncio.Timeout) -> Kept:
        limit.reschedule(None)
        before = tuple(self._told.get(wanted.key, ()))
        try:
            kept = Kept(reply=await self._inner.complete(request, seconds=seconds), before=before)
        except NoReplyError as error:
            if error.retryable:
                raise
            kept = Kept(reply=error.reply, code=error.code, message=error.message, before=before)
        return await self._library.keep(wanted, kept)
