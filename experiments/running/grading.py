"""Has judges grade the answers of trials that have ended."""

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from toolablate.agents import ModelSource, RetryPolicy
from toolablate.benchmarks.judging.answers import Judge
from toolablate.experiments.plans.trials import Design, PlannedTrial
from toolablate.experiments.running.judge_queue import JudgeQueue, JudgeWork
from toolablate.experiments.running.judge_workers import JudgeCalls, JudgeWorkers
from toolablate.experiments.running.runner import StopSwitch
from toolablate.experiments.running.watcher import Watcher
from toolablate.experiments.scoring.scoring import Scorers
from toolablate.experiments.world.judge_costs import JudgeCosts
from toolablate.traces.records import Score
from toolablate.traces.store import Recorder, Store


@dataclass(frozen=True, slots=True)
class Grading:
    """What one judge is to make of one answer."""

    judge: Judge
    planned: PlannedTrial

    @property
    def key(self) -> tuple[str, str]:
        return self.judge.name, self.planned.trial.id


def ungraded(store: Path, planned: Design, scorers: Scorers) -> list[Grading]:
    """The gradings that the store lacks: of trials that have ended and are scored by a judge, one by each judge; also
    of answers that a judge left unscored after fewer asks than it has now."""
    judged = {question.identity() for question in planned.questions if scorers.is_judged(question)}
    if not judged:
        return []
    entries = [entry for entry in planned.trials if entry.trial.question in judged]
    with Store(store) as opened:
        lacking = [(judge, _lacking(opened, judge)) for judge in scorers.judges]
    return [Grading(judge, entry) for judge, trials in lacking for entry in entries if entry.trial.id in trials]


def _lacking(store: Store, judge: Judge) -> frozenset[str]:
    left = store.trials_with_verdict("unscored", scorer=judge.name, version=judge.version)
    again = {trial for trial in left if _standing(store, trial, judge) is None}
    return store.unscored_trials(scorer=judge.name, version=judge.version) | again


def _standing(store: Store, trial: str, judge: Judge) -> Score | None:
    """The judge's score of a trial, None where it is still to be made."""
    named = judge.name, judge.version
    found = (score for score in store.scores(trial) if (score.scorer, score.scorer_version) == named)
    return next((score for score in found if judge.keeps(score)), None)


def _of_twin(store: Store, trial: str, judge: Judge) -> Score | None:
    """What the judge made of an answer before the plan changed its `unparsed`, which no judge is asked about."""
    made = _standing(store, trial, judge.twin())
    return made.model_copy(update={"scorer": judge.name}) if made is not None and made.judgement is not None else None


class Gradings:
    """The gradings of one run. Each score is entered as it comes, so that nothing that was paid for is asked again.

    Several processes may grade one store: each looks whether an answer is graded before it asks, so that at worst
    some are graded twice, where the later score stands.
    """

    def __init__(
        self,
        recorder: Recorder,
        sources: Mapping[str, ModelSource],
        costs: Mapping[str, JudgeCosts],
        retry: RetryPolicy,
        watcher: Watcher,
        stop: StopSwitch,
    ) -> None:
        self._recorder = recorder
        self._sources = sources
        self._costs = costs
        self._retry = retry
        self._watcher = watcher
        self._stop = stop
        self._queues: dict[str, JudgeQueue[Grading]] = {}
        self._tried: set[tuple[str, str]] = set()

    @property
    def work(self) -> tuple[JudgeWork, ...]:
        """What each judge did, those left out that had nothing to do."""
        return tuple(queue.work() for queue in self._queues.values())

    @property
    def standing(self) -> tuple[str, ...]:
        """How far it is, in words; nothing before it begins."""
        return tuple(
            f"judge {name}: {queue.done:,} of {queue.total:,} answers graded" for name, queue in self._queues.items()
        )

    async def run(self, look: Callable[[], Sequence[Grading]]) -> None:
        """Makes the gradings that are found to be lacking, until no new ones are found: another process may end trials
        meanwhile. Each judge makes as many at once as its model allows, until a stop is asked for.

        What infrastructure keeps from being graded gets no score. Raises StoreError, which ends the run.
        """
        while not self._stop.stopped:
            wanted = [grading for grading in look() if grading.key not in self._tried]
            if not wanted:
                return
            self._tried.update(grading.key for grading in wanted)
            await self._make(wanted)

    async def _make(self, wanted: Sequence[Grading]) -> None:
        # In an order of its own, so that two processes that grade one store do not go hand in hand.
        shuffled = random.sample(wanted, len(wanted))
        for grading in sorted(shuffled, key=lambda each: each.judge.again):
            name = grading.judge.model.name
            self._queues.setdefault(name, JudgeQueue(name, self._costs[name])).add(grading)
        self._watcher.grading(len(wanted))
        with Store(self._recorder.path) as opened:
            workers: JudgeWorkers[Grading] = JudgeWorkers(
                lambda each: self._outcome(each, opened), lambda: self._stop.stopped, self._watcher
            )
            await workers.run(self._queues.values(), lambda each: each.judge.model.concurrency)

    async def _outcome(self, grading: Grading, store: Store) -> tuple[str | None, bool]:
        score, asked = await self._grade(grading, store)
        return score.reason if score.verdict == "unscored" else None, asked

    async def _grade(self, grading: Grading, store: Store) -> tuple[Score, bool]:
        """The score, and whether the judge was asked for it: what another process has graded meanwhile is left as it
        is. By the key that the store has by now; where that is mended while the judge thinks, it is asked once more."""
        judge, trial = grading.judge, grading.planned.trial
        while (standing := _standing(store, trial.id, judge)) is None:
            question = store.question(trial.question)
            made = _of_twin(store, trial.id, judge)
            if made is None:
                answer = store.trace(trial.id).answer
                score = await judge.grade(question, trial.id, answer, self._calls(grading).ask)
            else:
                score = made
            score = score.model_copy(update={"target": question.key_identity()})
            if not await self._recorder.score([score]):
                return score, made is None
        return standing, False

    def _calls(self, grading: Grading) -> JudgeCalls:
        judge, planned = grading.judge, grading.planned
        # By this number recorded replies are told apart that were asked for in the same words. Who gave the same answer
        # to a question is given the same grade, whatever the condition and the repeat, or the judge's moods would pass
        # for effects; a re-grading, which is to show those moods, has replies of its own.
        chat = self._sources[judge.model.name].session(planned.question, planned.condition, judge.again)
        return JudgeCalls(chat, judge.model, self._retry, seed=f"{planned.trial.id} {judge.name}")
