"""Models that are asked once, and models that are not asked any more."""

import asyncio
import time
from functools import partial

from toolablate.agents.chat import ChatModel, ModelSource, NoReplyError
from toolablate.agents.pacing.waits import counting_waits, note_in_line, note_wait
from toolablate.agents.replies.cache import ResponseCache
from toolablate.agents.replies.keeping import Keeping
from toolablate.agents.replies.recorded import NONE_OF_THE_MODEL, AskedRequest, Came, KeptReply, NoReply, asked
from toolablate.traces.errors import ModelError
from toolablate.traces.records import Condition, ModelReply, ModelRequest, Question, ServedModel

# What the endpoint says to this very request whenever it is made.
REFUSALS = frozenset({"context_length", "content_filter"})

JOINS = 2


class ReplayedSource:
    """Answers from the cache alone: there is no client, no key and no network. The cache is its opener's."""

    def __init__(self, model: ServedModel, cache: ResponseCache) -> None:
        self._model = model
        self._cache = cache

    def session(self, question: Question, condition: Condition, repeat: int) -> ChatModel:
        return ReplayedChat(self._model, self._cache, repeat)

    async def close(self) -> None:
        """Holds nothing of its own."""


class RecordedSource:
    """Answers from the cache what it holds, and asks `source` the rest, which is kept before it is given."""

    def __init__(self, source: ModelSource, model: ServedModel, cache: ResponseCache) -> None:
        self._source = source
        self._model = model
        self._cache = cache

    def session(self, question: Question, condition: Condition, repeat: int) -> ChatModel:
        inner = self._source.session(question, condition, repeat)
        return RecordedChat(inner, self._model, self._cache, repeat)

    async def close(self) -> None:
        await self._source.close()


class _KeptChat:
    """One trial's requests. `_told` holds, by request, the replies that were none and after which it asked again."""

    def __init__(self, model: ServedModel, repeat: int) -> None:
        self._model = model
        self._repeat = repeat
        self._told: dict[bytes, list[NoReply]] = {}

    def _give(self, wanted: AskedRequest, kept: KeptReply) -> ModelReply:
        told = self._told.setdefault(wanted.key, [])
        if len(told) < len(kept.before):
            told.append(kept.before[len(told)])
            raise told[-1].error(retryable=True)
        return kept.given()


class ReplayedChat(_KeptChat):
    def __init__(self, model: ServedModel, cache: ResponseCache, repeat: int) -> None:
        super().__init__(model, repeat)
        self._cache = cache

    async def complete(self, request: ModelRequest, *, seconds: float) -> ModelReply:
        """Raises ModelError with the code `not_recorded`; NoReplyError where that is what was recorded."""
        wanted = asked(self._model, request, self._repeat)
        kept = self._cache.get(wanted)
        if kept is None:
            raise self._cache.not_recorded(wanted)
        return self._give(wanted, kept)


class RecordedChat(_KeptChat):
    def __init__(self, inner: ChatModel, model: ServedModel, cache: Keeping, repeat: int) -> None:
        super().__init__(model, repeat)
        self._cache = cache
        self._inner = inner

    async def complete(self, request: ModelRequest, *, seconds: float) -> ModelReply:
        """Raises what the model's own client raises; StoreError where a reply cannot be kept."""
        wanted = asked(self._model, request, self._repeat)
        kept = self._cache.get(wanted) or await self._asked(wanted, request, seconds)
        return self._give(wanted, kept)

    async def _asked(self, wanted: AskedRequest, request: ModelRequest, seconds: float) -> KeptReply:
        """Joins who asks the same just now. What that took longer than the endpoint itself was a wait. Who would have
        had less time than the endpoint took gets no reply, as if it had asked by itself. Where the request of another
        has failed, all of that was a wait; who has met that twice asks by itself."""
        for _ in range(JOINS):
            began = time.monotonic()
            came = await self._joined(wanted, request, seconds)
            took = time.monotonic() - began
            if came.by is self or not came.failed_once:
                note_wait(max(0.0, took - came.seconds))
                return self._taken(wanted, came, seconds)
            note_wait(took)
            kept = self._cache.get(wanted)
            if kept is not None:
                return kept
        return await self._ask_alone(wanted, request, seconds)

    async def _joined(self, wanted: AskedRequest, request: ModelRequest, seconds: float) -> Came:
        try:
            return await self._cache.flight.run(wanted.name, partial(self._ask, wanted, request, seconds))
        except asyncio.CancelledError:
            if not self._cache.is_out(wanted.name):
                note_in_line()
            raise

    def _taken(self, wanted: AskedRequest, came: Came, seconds: float) -> KeptReply:
        if came.by is not self and came.seconds > seconds:
            raise self._too_late(seconds)
        if isinstance(came.what, NoReplyError) and came.what.code in NONE_OF_THE_MODEL:
            self._told.setdefault(wanted.key, []).append(NoReply.of(came.what))
        if isinstance(came.what, ModelError):
            raise came.what
        return came.what

    def _too_late(self, seconds: float) -> ModelError:
        return ModelError(f"{self._model.endpoint} did not reply within {seconds:g} s", code="timeout", retryable=True)

    async def _ask(self, wanted: AskedRequest, request: ModelRequest, seconds: float) -> Came:
        """For all who join: their waits are counted by each of them."""
        async with self._cache.turn(wanted) as had:
            if had is not None:
                return Came(had, 0.0, self)
            began = time.monotonic()
            with counting_waits() as waited, self._cache.asking(wanted.name, waited):
                what = await self._tried(wanted, request, seconds)
            took = time.monotonic() - began - waited.seconds
            return Came(await self._cache.keep(wanted, what) if isinstance(what, KeptReply) else what, took, self)

    async def _ask_alone(self, wanted: AskedRequest, request: ModelRequest, seconds: float) -> KeptReply:
        what = await self._tried(wanted, request, seconds)
        came = Came(await self._cache.keep(wanted, what) if isinstance(what, KeptReply) else what, 0.0, self)
        return self._taken(wanted, came, seconds)

    async def _tried(self, wanted: AskedRequest, request: ModelRequest, seconds: float) -> KeptReply | ModelError:
        before = tuple(self._told.get(wanted.key, ()))
        try:
            return KeptReply(reply=await self._inner.complete(request, seconds=seconds), before=before)
        except NoReplyError as error:
            if error.retryable:
                return error
            return KeptReply(reply=error.reply, code=error.code, message=error.message, before=before)
        except ModelError as error:
            if error.code not in REFUSALS:
                return error
            return KeptReply(code=error.code, message=error.message, hint=error.hint, before=before)
