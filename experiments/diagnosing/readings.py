"""Judges read failures, side by side; each diagnosis is entered as it comes."""

import asyncio
import math
import random
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from toolablate.agents import ModelSource, RetryPolicy
from toolablate.agents.asking import ask
from toolablate.agents.pacing import LetGo
from toolablate.benchmarks.diagnosis import FailureJudge
from toolablate.experiments.judge_costs import JudgeCosts
from toolablate.experiments.judge_queue import GivenUp, JudgeQueue, JudgeWork
from toolablate.experiments.runner import StopSwitch, as_internal, first_error
from toolablate.experiments.watcher import Watcher
from toolablate.traces.errors import ToolablateError
from toolablate.traces.records import Condition, Diagnosis, JudgeCall, ModelRequest, OpenAIModel, Question
from toolablate.traces.store import Recorder, Store


@dataclass(frozen=True, slots=True)
class Reading:
    """What one judge is to make of one trial, with the question and the condition of that."""

    judge: FailureJudge
    trial: str
    question: Question
    condition: Condition


def standing(store: Store, trial: str, judge: FailureJudge) -> Diagnosis | None:
    """The judge's diagnosis of a trial, None where it is still to be made."""
    return next((each for each in store.diagnoses(trial) if judge.keeps(each)), None)


class Readings:
    """What judges read in one run. Several processes may read one store: each looks whether there is a diagnosis
    before it asks, so that at worst some are made twice, where the later one stands."""

    def __init__(
        self,
        recorder: Recorder,
        sources: Mapping[str, ModelSource],
        costs: Mapping[str, JudgeCosts],
        retry: RetryPolicy,
        watcher: Watcher,
        stop: StopSwitch,
        max_cost: float | None = None,
    ) -> None:
        self._recorder = recorder
        self._sources = sources
        self._retry = retry
        self._watcher = watcher
        self._stop = stop
        self._costs = costs
        self._max_cost = math.inf if max_cost is None else max_cost
        self._queues = {name: JudgeQueue[Reading](name, spent) for name, spent in costs.items()}

    @property
    def work(self) -> tuple[JudgeWork, ...]:
        """What each judge did, those left out that had nothing to do."""
        return tuple(queue.work() for queue in self._queues.values() if queue.total)

    @property
    def is_spent(self) -> bool:
        """Whether replies have cost more than is allowed. Those that are on their way then are still paid for."""
        return sum(each.known_usd for each in self._costs.values()) > self._max_cost

    @property
    def standing(self) -> tuple[str, ...]:
        """How far it is, in words."""
        return tuple(
            f"judge {name}: {queue.done:,} of {queue.total:,} failures read"
            for name, queue in self._queues.items()
            if queue.total
        )

    async def run(self, wanted: Sequence[Reading]) -> None:
        """Each judge reads as many at once as its model allows, until a stop is asked for or too much is spent. What
        infrastructure keeps from being read gets no diagnosis. Raises StoreError."""
        # In an order of its own, so that two processes that read one store do not go hand in hand.
        for reading in random.sample(wanted, len(wanted)):
            self._queues[reading.judge.model.name].add(reading)
        self._watcher.grading(len(wanted), "read")
        with Store(self._recorder.path) as opened:
            try:
                async with asyncio.TaskGroup() as group:
                    for queue in filter(lambda queue: queue.waiting, self._queues.values()):
                        concurrency = queue.waiting[0].judge.model.concurrency
                        for _ in range(min(concurrency, len(queue.waiting))):
                            group.create_task(self._work(queue, opened))
            except* ToolablateError as errors:
                raise first_error(errors) from None

    async def _work(self, queue: JudgeQueue[Reading], store: Store) -> None:
        while queue.waiting and not self._stop.stopped and not self.is_spent:
            reading = queue.waiting.popleft()
            try:
                diagnosis, asked = await self._read(reading, store)
            except LetGo:
                return
            except ToolablateError as error:
                if error.boundary == "store":
                    raise
                self._note(queue, error)
            except Exception as error:  # noqa: BLE001 - what a judge wrote must not be able to end a run
                self._note(queue, as_internal(error))
            else:
                lacking = diagnosis.reason if diagnosis.error_type is None else None
                self._watcher.graded(made=lacking is None)
                self._tell(queue, queue.ended(lacking, asked=asked))

    async def _read(self, reading: Reading, store: Store) -> tuple[Diagnosis, bool]:
        """The diagnosis, and whether the judge was asked for it: what another process has made meanwhile is left as it
        is."""
        made = standing(store, reading.trial, reading.judge)
        if made is not None:
            return made, False
        calls = _Calls(reading, self._sources[reading.judge.model.name], self._retry)
        events = store.trace(reading.trial).events
        diagnosis = await reading.judge.diagnose(reading.question, reading.trial, events, calls.ask)
        await self._recorder.diagnose([diagnosis])
        return diagnosis, True

    def _note(self, queue: JudgeQueue[Reading], error: ToolablateError) -> None:
        self._watcher.graded(made=False)
        self._tell(queue, queue.failed(error))

    def _tell(self, queue: JudgeQueue[Reading], given_up: GivenUp | None) -> None:
        if given_up is not None:
            self._watcher.judge_given_up(queue.judge, given_up.count, given_up.reason)


class _Calls:
    """What one reading asks of its judge's model."""

    def __init__(self, reading: Reading, source: ModelSource, retry: RetryPolicy) -> None:
        model = reading.judge.model
        self._chat = source.session(reading.question, reading.condition, 0)
        self._price = model.price if isinstance(model, OpenAIModel) else None
        self._rng = random.Random(f"{reading.trial} {reading.judge.name}")  # noqa: S311 - jitter, not a secret
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
