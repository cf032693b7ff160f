"""Requests to one model that are collected into batches, made, waited for and read."""

import asyncio
import random
import uuid
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field
from typing import Any, TypeVar

from toolablate.agents.batches.api import MOST_BYTES, MOST_LINES, BatchApi, CameInBatch, Standing
from toolablate.agents.batches.kept import KeptBatch, KeptBatches
from toolablate.agents.chat import RetryPolicy, Tries
from toolablate.agents.pacing.line import LetGo
from toolablate.reports.numbers import counted
from toolablate.traces.errors import InternalError, ModelError, ToolablateError
from toolablate.traces.records import ModelReply

IDLE_SECONDS = 1.0
"""A batch is made when for so long nothing more was asked."""

_FIRST_POLL_SECONDS, _LONGEST_POLL_SECONDS = 0.25, 60.0
_RETRY = RetryPolicy(attempts=6)
_GONE = frozenset({"not_found"})

T = TypeVar("T")
Read = Callable[[CameInBatch], ModelReply]
"""Raises ModelError where what came is no reply."""


@dataclass(slots=True)
class _Asked:
    """One request by its name, with its line of a file and who waits for the reply."""

    name: str
    line: bytes
    read: Read
    reply: "asyncio.Future[ModelReply]"


@dataclass(slots=True)
class _Ended:
    """A batch that was read, with what nobody has asked for yet. Of an `old` one, which a former process read too, only
    replies are given again: what failed has had its consequences, and is asked anew."""

    standing: Standing
    came: dict[str, CameInBatch]
    old: bool


@dataclass(slots=True)
class ModelBatches:
    """The batches of one model. `tell` hears which are made, and which go on. Inside an event loop."""

    model: str
    api: BatchApi
    kept: KeptBatches
    tell: Callable[[str], None]
    idle_seconds: float = IDLE_SECONDS
    most_lines: int = MOST_LINES
    most_bytes: int = MOST_BYTES
    _queue: dict[str, _Asked] = field(default_factory=dict)
    _queued_bytes: int = 0
    _timer: asyncio.TimerHandle | None = None
    _waiting: dict[str, dict[str, _Asked]] = field(default_factory=dict)
    _ended: dict[str, _Ended] = field(default_factory=dict)
    _never_made: set[str] = field(default_factory=set)
    _given: set[str] = field(default_factory=set)
    _standings: dict[str, str] = field(default_factory=dict)
    _tasks: set["asyncio.Task[None]"] = field(default_factory=set)
    _let_go: bool = False

    async def ask(self, name: str, body: bytes, read: Read) -> ModelReply:
        """The reply to a request whose name no other has; where it was asked in a batch before, what came there.

        Raises ModelError with the codes of an endpoint's refusals and `batch_expired`, `batch_failed`,
        `batch_cancelled`, `batch_incomplete`; StoreError where a batch cannot be kept; LetGo where the run is being
        stopped.
        """
        if self._let_go:
            raise LetGo
        asked = _Asked(name, self.api.line(name, body), read, asyncio.get_running_loop().create_future())
        batch = None if name in self._given else self.kept.find(name)
        if batch is None or batch.token in self._never_made:
            self._enqueue(asked)
        elif batch.token in self._ended:
            self._deliver(asked, self._ended[batch.token])
        else:
            if batch.token not in self._waiting:
                self._start(self._take_up(batch))
            self._waiting.setdefault(batch.token, {})[name] = asked
        return await asked.reply

    @property
    def standing(self) -> tuple[str, ...]:
        """What is waited for now."""
        return tuple(f"waiting for {said}" for said in self._standings.values())

    def let_go(self) -> None:
        """Nobody is to wait any longer: batches that were made go on without us."""
        self._let_go = True
        for said in self._standings.values():
            self.tell(f"{said}: it goes on at the endpoint, and the same command goes on with it")
        waiting = [asked for group in (self._queue, *self._waiting.values()) for asked in group.values()]
        self._queue.clear()
        for asked in waiting:
            if not asked.reply.done():
                asked.reply.set_exception(LetGo())

    async def close(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    # What was asked, until it is in a file.

    def _enqueue(self, asked: _Asked) -> None:
        if self._queue and self._queued_bytes + len(asked.line) > self.most_bytes:
            self._send()
        self._queue[asked.name] = asked
        self._queued_bytes += len(asked.line)
        if self._timer is not None:
            self._timer.cancel()
        self._timer = asyncio.get_running_loop().call_later(self.idle_seconds, self._send)
        if len(self._queue) >= self.most_lines:
            self._send()

    def _send(self) -> None:
        if not self._queue:
            return
        token, group = uuid.uuid4().hex, dict(self._queue)
        self._queue.clear()
        self._queued_bytes = 0
        self._waiting[token] = group
        self._start(self._make(token))

    def _start(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    # A batch, from its making to its replies.

    async def _make(self, token: str) -> None:
        group = self._waiting[token]
        with _Failing(self, token):
            self.kept.begin(token, group)
            identity = await self._made(token, b"".join(asked.line for asked in group.values()))
            self.kept.made(token, identity)
            self.tell(f"{self.model}: {counted(len(group), 'request')} in batch {identity}")
            await self._read(KeptBatch(token, identity))

    async def _take_up(self, batch: KeptBatch) -> None:
        """Goes on with what a former process asked."""
        with _Failing(self, batch.token):
            identity = batch.id or await self._patiently(lambda: self.api.find(batch.token))
            if not identity:
                self._ask_anew(batch.token)
                return
            self.kept.made(batch.token, identity)
            self.tell(f"{self.model}: going on with batch {identity} of an earlier run")
            await self._read(KeptBatch(batch.token, identity, batch.read))

    async def _made(self, token: str, lines: bytes) -> str:
        """The id of the batch. A try that broke may have made it."""
        try:
            file = await self._patiently(lambda: self.api.upload(token, lines))
            tried = False

            async def create() -> str:
                nonlocal tried
                found = await self.api.find(token) if tried else ""
                tried = True
                return found or await self.api.create(token, file)

            return await self._patiently(create)
        except ModelError as error:
            if error.retryable or error.code == "unauthorized":
                raise
            said = f"the endpoint of {self.model} made no batch: {error.message}"
            hint = "without `batch` in the model's table, it is asked directly"
            raise ModelError(said, hint=hint, code=error.code) from None

    async def _read(self, batch: KeptBatch) -> None:
        """Waits until the batch has ended, and gives what came to those who asked."""
        try:
            standing = await self._ending(batch)
            came = await self._patiently(lambda: self.api.replies(standing))
        except ModelError as error:
            if error.code not in _GONE:
                raise
            self.tell(f"{self.model}: the endpoint knows batch {batch.id} no more; what it held is asked anew")
            self._ask_anew(batch.token)
            return
        self.kept.ended(batch.token)
        ended = self._ended[batch.token] = _Ended(standing, came, batch.read)
        for asked in self._waiting.pop(batch.token).values():
            self._deliver(asked, ended)

    async def _ending(self, batch: KeptBatch) -> Standing:
        """Polls for as long as it takes, also where the endpoint cannot be reached for hours."""
        seconds = _FIRST_POLL_SECONDS
        while True:
            said = f"batch {batch.id} of {self.model}"
            self._standings.setdefault(batch.token, said)
            try:
                standing = await self.api.standing(batch.id)
            except ModelError as error:
                if not error.retryable:
                    raise
                self._standings[batch.token] = f"{said} ({error.code})"
            else:
                if standing.has_ended:
                    return standing
                self._standings[batch.token] = f"{said} ({standing.status}, {standing.done}/{standing.total})"
            await asyncio.sleep(seconds)
            seconds = min(seconds * 1.5, _LONGEST_POLL_SECONDS)

    async def _patiently(self, attempt: Callable[[], Coroutine[Any, Any, T]]) -> T:
        tries = Tries(_RETRY)
        while True:
            try:
                return await attempt()
            except ModelError as error:
                if not tries.again(error, 0.0):
                    raise
                await asyncio.sleep(tries.delay(error, random.Random()))  # noqa: S311 - jitter, not a secret

    # What came, to who asked.

    def _deliver(self, asked: _Asked, ended: _Ended) -> None:
        if asked.reply.done():
            return
        came = ended.came.pop(asked.name, None)
        try:
            if came is None:
                raise _missing(ended.standing)
            reply = asked.read(came)
        except ModelError as error:
            if ended.old:
                self._enqueue(asked)
                return
            asked.reply.set_exception(error)
        except Exception as error:  # noqa: BLE001 - a bug in reading it must keep nobody waiting
            asked.reply.set_exception(_unreadable(self.model, error))
        else:
            asked.reply.set_result(reply)
        self._given.add(asked.name)

    def _ask_anew(self, token: str) -> None:
        self.kept.ended(token)
        self._never_made.add(token)
        for asked in self._waiting.pop(token).values():
            if not asked.reply.done():
                self._enqueue(asked)

    def stopped_waiting(self, token: str, error: ToolablateError | None) -> None:
        """A batch's task has ended, with the error that those who are left get."""
        self._standings.pop(token, None)
        for asked in self._waiting.pop(token, {}).values():
            if error is not None and not asked.reply.done():
                asked.reply.set_exception(error)


@dataclass(frozen=True, slots=True)
class _Failing:
    """What goes wrong with a batch is told to all who wait for it."""

    batches: ModelBatches
    token: str

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> bool:
        """A bug is told as well: who waits would wait for ever."""
        if isinstance(error, Exception) and not isinstance(error, ToolablateError):
            error = _unreadable(self.batches.model, error)
        known = error if isinstance(error, ToolablateError) else None
        self.batches.stopped_waiting(self.token, known)
        return known is not None


def _unreadable(model: str, error: Exception) -> InternalError:
    said = f"what came of a batch of {model} cannot be read ({type(error).__name__}: {error})"
    return InternalError(said, code="internal_error")


def _missing(standing: Standing) -> ModelError:
    """Why a batch that has ended has nothing for a request."""
    told = "; ".join(message for _, message in standing.errors if message) or standing.status
    said, name = f"batch {standing.id}", standing.status
    if name == "expired":
        return ModelError(f"{said} ended before this request was answered", code="batch_expired", retryable=True)
    if name == "completed":
        return ModelError(f"{said} has nothing for this request", code="batch_incomplete", retryable=True)
    if any(code == "token_limit_exceeded" for code, _ in standing.errors):
        hint = "batch = { requests = ... } in the model's table is the most that may wait at a time"
        return ModelError(f"{said} was refused: {told}", hint=hint, code="batch_failed")
    return ModelError(f"{said} was {'refused' if name == 'failed' else name}: {told}", code=f"batch_{name}")
