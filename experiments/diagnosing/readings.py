"""Judges read failures, side by side; each diagnosis is entered as it comes."""

import math
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from toolablate.agents import ModelSource, RetryPolicy
from toolablate.benchmarks.judging.failures import FailureJudge
from toolablate.experiments.running.judge_queue import JudgeQueue, JudgeWork
from toolablate.experiments.running.judge_workers import JudgeCalls, JudgeWorkers
from toolablate.experiments.running.runner import StopSwitch
from toolablate.experiments.running.watcher import Watcher
from toolablate.experiments.world.judge_costs import JudgeCosts
from toolablate.traces.records import Condition, Diagnosis, Question
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
            workers: JudgeWorkers[Reading] = JudgeWorkers(
                lambda each: self._outcome(each, opened), lambda: self._is_over, self._watcher
            )
            await workers.run(self._queues.values(), lambda each: each.judge.model.concurrency)

    @property
    def _is_over(self) -> bool:
        return self._stop.stopped or self.is_spent

    async def _outcome(self, reading: Reading, store: Store) -> tuple[str | None, bool]:
        diagnosis, asked = await self._read(reading, store)
        return diagnosis.reason if diagnosis.error_type is None else None, asked

    async def _read(self, reading: Reading, store: Store) -> tuple[Diagnosis, bool]:
        """The diagnosis, and whether the judge was asked for it: what another process has made meanwhile is left as it
        is."""
        made = standing(store, reading.trial, reading.judge)
        if made is not None:
            return made, False
        events, calls = store.trace(reading.trial).events, self._calls(reading)
        diagnosis = await reading.judge.diagnose(reading.question, reading.trial, events, calls.ask)
        await self._recorder.diagnose([diagnosis])
        return diagnosis, True

    def _calls(self, reading: Reading) -> JudgeCalls:
        model = reading.judge.model
        chat = self._sources[model.name].session(reading.question, reading.condition, 0)
        return JudgeCalls(chat, model, self._retry, seed=f"{reading.trial} {reading.judge.name}")
