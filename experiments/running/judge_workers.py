"""What judges are asked, by several workers at once and with patience, whatever it is that they are to judge."""

import asyncio
import math
import random
import time
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass
from typing import Generic, TypeVar

from toolablate.agents import ChatModel, RetryPolicy
from toolablate.agents.chat import ask
from toolablate.agents.pacing import LetGo
from toolablate.experiments.running.judge_queue import JudgeQueue
from toolablate.experiments.running.queueing import GivenUp
from toolablate.experiments.running.runner import as_internal, first_error
from toolablate.experiments.running.watcher import Watcher
from toolablate.traces.errors import ToolablateError
from toolablate.traces.records import JudgeCall, Model, ModelRequest, OpenAIModel

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class JudgeWorkers(Generic[T]):
    """`make` has one thing judged: why it got no grade (None where it got one), and whether the judge was asked.
    Nothing is begun once `is_over`."""

    make: Callable[[T], Awaitable[tuple[str | None, bool]]]
    is_over: Callable[[], bool]
    watcher: Watcher

    async def run(self, queues: Iterable[JudgeQueue[T]], concurrency: Callable[[T], int]) -> None:
        """Each queue by as many workers as its first thing's judge allows. Raises StoreError; what infrastructure keeps
        from being judged is noted in its queue."""
        try:
            async with asyncio.TaskGroup() as group:
                for queue in filter(lambda queue: queue.waiting, queues):
                    for _ in range(min(concurrency(queue.waiting[0]), len(queue.waiting))):
                        group.create_task(self._work(queue))
        except* ToolablateError as errors:
            raise first_error(errors) from None

    async def _work(self, queue: JudgeQueue[T]) -> None:
        while queue.waiting and not self.is_over():
            try:
                lacking, asked = await self.make(queue.waiting.popleft())
            except LetGo:
                return
            except ToolablateError as error:
                if error.boundary == "store":
                    raise
                self._note(queue, error)
            except Exception as error:  # noqa: BLE001 - what a judge wrote must not be able to end a run
                self._note(queue, as_internal(error))
            else:
                self.watcher.graded(made=lacking is None)
                self._tell(queue, queue.ended(lacking, asked=asked))

    def _note(self, queue: JudgeQueue[T], error: ToolablateError) -> None:
        self.watcher.graded(made=False)
        self._tell(queue, queue.failed(error))

    def _tell(self, queue: JudgeQueue[T], given_up: GivenUp | None) -> None:
        if given_up is not None:
            self.watcher.judge_given_up(queue.judge, given_up)


class JudgeCalls:
    """What one judgement asks of its judge's model; `seed` is that of the pauses between attempts."""

    def __init__(self, chat: ChatModel, model: Model, retry: RetryPolicy, *, seed: str) -> None:
        self._chat = chat
        self._price = model.price if isinstance(model, OpenAIModel) else None
        self._rng = random.Random(seed)  # noqa: S311 - jitter, not a secret
        self._retry = retry

    async def ask(self, request: ModelRequest) -> JudgeCall:
        """For one request the model's own `timeout_seconds` hold. Raises ModelError."""
        asked = await ask(
            self._chat,
            request,
            retry=self._retry,
            seconds=math.inf,
            price=self._price,
            rng=self._rng,
            clock=time.monotonic,
        )
        return JudgeCall(request=request, reply=asked.reply, cost_usd=asked.cost_usd)
