"""Has judges grade the answers of trials that have ended: their queue, their workers, what came of it."""

import asyncio
import math
import random
import re
import time
from collections import Counter, defaultdict, deque
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Generic, TypeVar

from toolablate.agents import ChatModel, ModelSource, RetryPolicy
from toolablate.agents.chat import ask
from toolablate.agents.pacing import LetGo, counting_waits
from toolablate.benchmarks.judging.checklists import ChecklistJudge
from toolablate.experiments.environment.replies import JudgeCosts
from toolablate.experiments.plans.plan import Design, PlannedTrial
from toolablate.experiments.running.progress import RunProgress
from toolablate.experiments.running.runner import (
    TRIALS_IN_A_ROW,
    EndpointStanding,
    GivenUp,
    StopSwitch,
    as_internal,
    first_error,
)
from toolablate.experiments.scoring import AnyJudge, Scorers
from toolablate.traces.errors import ScoringError, ToolablateError
from toolablate.traces.records import JudgeCall, Model, ModelReply, ModelRequest, Question, Score, ServedModel
from toolablate.traces.store import Recorder, Store

T = TypeVar("T")

# A reply without words is paid for as well.
_IN_VAIN = frozenset({"empty_reply"})


@dataclass(frozen=True, slots=True)
class Ungraded:
    """So many answers could not be graded for one reason; `message` is that of one of them, `hint` what may help."""

    code: str
    message: str
    hint: str
    count: int


@dataclass(frozen=True, slots=True)
class UnscoredAnswers:
    """So many answers have the verdict `unscored`, for one reason: the judge was asked, and gave no grade."""

    reason: str
    count: int


@dataclass(frozen=True, slots=True)
class JudgeWork:
    """What one judge of a plan did in a run, its re-gradings among it.

    `graded` counts answers that have a grade, those among them that another process was quicker to grade; `unscored`
    says why others have none, `ungraded` what kept the rest from being graded. `requests` is what was asked and replied
    to, without what a response cache gave; `empty` of them had a reply with no words in it. `cost_usd` is what
    those of known cost came to in US dollars, `unpriced` how many others there were.
    """

    judge: str
    graded: int
    unscored: tuple[UnscoredAnswers, ...]
    requests: int
    cost_usd: float
    unpriced: int
    ungraded: tuple[Ungraded, ...]
    empty: int = 0


@dataclass(slots=True)
class JudgeQueue(Generic[T]):
    """The gradings of one judge."""

    judge: str
    costs: JudgeCosts
    waiting: deque[T] = field(default_factory=deque)
    total: int = 0
    _graded: int = 0
    _endpoint: EndpointStanding = field(default_factory=lambda: EndpointStanding(_IN_VAIN))
    _unscored: Counter[str] = field(default_factory=Counter)
    _ungraded: dict[str, Ungraded] = field(default_factory=dict)

    @property
    def done(self) -> int:
        """How many have ended, graded or not."""
        return self._graded + self._unscored.total() + sum(each.count for each in self._ungraded.values())

    def add(self, grading: T) -> None:
        self.waiting.append(grading)
        self.total += 1

    def ended(self, lacking: str | None, *, asked: bool) -> GivenUp | None:
        """Takes note of what an answer has now, a grade or the reason why it is `lacking`, and gives up a judge that is
        asked and gives no grades."""
        if lacking is None:
            self._graded += 1
            self._endpoint.succeeded()
            return None
        self._unscored[lacking] += 1
        if not asked:
            return None
        # A model that replies and never grades can be no judge.
        endpoint = self._endpoint
        endpoint.has_replied, endpoint.failed_in_a_row = True, endpoint.failed_in_a_row + 1
        if endpoint.failed_in_a_row < TRIALS_IN_A_ROW:
            return None
        reason = f"{endpoint.failed_in_a_row} failed in a row, the last with: {lacking}"
        return self._give_up(ScoringError(lacking, code="no_grade"), reason)

    def failed(self, error: ToolablateError) -> GivenUp | None:
        """Takes note of a grading that could not be made, and gives up the others that would only fail like it."""
        self._count(error, 1)
        reason = self._endpoint.failed(error.code, error.message)
        return self._give_up(error, reason) if reason else None

    def work(self) -> JudgeWork:
        return JudgeWork(
            judge=self.judge,
            graded=self._graded,
            unscored=tuple(UnscoredAnswers(reason, count) for reason, count in self._unscored.most_common()),
            requests=self.costs.requests,
            cost_usd=self.costs.known_usd,
            unpriced=self.costs.unpriced,
            ungraded=tuple(sorted(self._ungraded.values(), key=lambda each: -each.count)),
            empty=self.costs.empty,
        )

    def _give_up(self, error: ToolablateError, reason: str) -> GivenUp | None:
        left = len(self.waiting)
        self.waiting.clear()
        if not left:
            return None
        self._count(error, left)
        return GivenUp(left, reason)

    def _count(self, error: ToolablateError, more: int) -> None:
        held = self._ungraded.get(error.code, Ungraded(error.code, error.message, error.hint, 0))
        self._ungraded[error.code] = replace(held, count=held.count + more)


# What judges are asked, by several workers at once and with patience, whatever it is that they are to judge.


@dataclass(frozen=True, slots=True)
class JudgeWorkers(Generic[T]):
    """`make` has one thing judged: why it got no grade (None where it got one), and whether the judge was asked.
    Nothing is begun once `is_over`."""

    make: Callable[[T], Awaitable[tuple[str | None, bool]]]
    is_over: Callable[[], bool]
    progress: RunProgress

    async def run(self, queues: Iterable[JudgeQueue[T]], concurrency: Callable[[T], int]) -> None:
        """Each queue by as many workers as its first thing's judge allows. Raises StoreError; what infrastructure keeps
        from being judged is noted in its queue."""
        with first_error():
            async with asyncio.TaskGroup() as group:
                for queue in filter(lambda queue: queue.waiting, queues):
                    for _ in range(min(concurrency(queue.waiting[0]), len(queue.waiting))):
                        group.create_task(self._work(queue))

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
                self.progress.graded(made=lacking is None)
                self._tell(queue, queue.ended(lacking, asked=asked))

    def _note(self, queue: JudgeQueue[T], error: ToolablateError) -> None:
        self.progress.graded(made=False)
        self._tell(queue, queue.failed(error))

    def _tell(self, queue: JudgeQueue[T], given_up: GivenUp | None) -> None:
        if given_up is not None:
            self.progress.judge_given_up(queue.judge, given_up)


class JudgeCalls:
    """What one judgement asks of its judge's model; `seed` is that of the pauses between attempts."""

    def __init__(self, chat: ChatModel, model: Model, retry: RetryPolicy, *, seed: str) -> None:
        self._chat = chat
        self._price = model.price if isinstance(model, ServedModel) else None
        self._rng = random.Random(seed)  # noqa: S311 - jitter, not a secret
        self._retry = retry

    async def ask(self, request: ModelRequest) -> JudgeCall:
        """For one request the model's own `timeout_seconds` hold. Raises ModelError."""
        call, _ = await self.timed(request)
        return call

    async def timed(self, request: ModelRequest) -> tuple[JudgeCall, float]:
        """And the seconds from when the request that was replied to went out until its reply."""
        timed = _TimedChat(self._chat)
        asked = await ask(
            timed,
            request,
            retry=self._retry,
            seconds=math.inf,
            price=self._price,
            rng=self._rng,
            clock=time.monotonic,
        )
        return JudgeCall(request=request, reply=asked.reply, cost_usd=asked.cost_usd), timed.seconds


@dataclass(slots=True)
class _TimedChat:
    """`seconds` are those of the last request, from when it went out: waits for its turn are none of the model's."""

    chat: ChatModel
    seconds: float = 0.0

    async def complete(self, request: ModelRequest, *, seconds: float) -> ModelReply:
        began = time.monotonic()
        with counting_waits() as waited:
            reply = await self.chat.complete(request, seconds=seconds)
        self.seconds = max(0.0, time.monotonic() - began - waited.seconds)
        return reply


@dataclass(frozen=True, slots=True)
class Grading:
    """What one judge is to make of one answer."""

    judge: AnyJudge
    planned: PlannedTrial

    @property
    def key(self) -> tuple[str, str]:
        return self.judge.name, self.planned.trial.id


def ungraded(store: Path, planned: Design, scorers: Scorers) -> list[Grading]:
    """The gradings that the store lacks: of trials that have ended and are scored by a judge, one by each judge; also
    of answers that a judge left unscored after fewer asks than it has now."""
    judged = {question.identity(): question for question in planned.questions if scorers.is_judged(question)}
    if not judged:
        return []
    takers = [judge for judge in scorers.judges if any(map(judge.takes, judged.values()))]
    with Store(store) as opened:
        lacking = [(judge, _lacking(opened, judge)) for judge in takers]
    return [
        Grading(judge, entry)
        for judge, trials in lacking
        for entry in planned.trials
        if entry.trial.id in trials
        and (question := judged.get(entry.trial.question)) is not None
        and judge.takes(question)
    ]


def left_unscored(store: Path, planned: Design, scorers: Scorers) -> int:
    """How many answers have no grade of a judge that was asked for it as often as it may be: only a plan with more asks
    or another judge goes on with them."""
    judged = {question.identity() for question in planned.questions if scorers.is_judged(question)}
    if not judged:
        return 0
    with Store(store) as opened:
        found = {
            judge.name: opened.trials_with_verdict("unscored", scorer=judge.name, version=judge.version)
            - _lacking(opened, judge)
            for judge in scorers.judges
        }
    trials = {entry.trial.id for entry in planned.trials if entry.trial.question in judged}
    return sum(len(trials & each) for each in found.values())


def _lacking(store: Store, judge: AnyJudge) -> frozenset[str]:
    left = store.trials_with_verdict("unscored", scorer=judge.name, version=judge.version)
    again = {trial for trial in left if _standing(store, trial, judge) is None}
    return store.unscored_trials(scorer=judge.name, version=judge.version) | again


def _standing(store: Store, trial: str, judge: AnyJudge) -> Score | None:
    """The judge's score of a trial, None where it is still to be made."""
    named = judge.name, judge.version
    found = (score for score in store.scores(trial) if (score.scorer, score.scorer_version) == named)
    return next((score for score in found if judge.keeps(score)), None)


def _of_twin(store: Store, trial: str, judge: AnyJudge) -> Score | None:
    """What the judge made of an answer before the plan changed its `unparsed`, which no judge is asked about."""
    made = _standing(store, trial, judge.twin())
    return (
        made.model_copy(update={"scorer": judge.name})
        if made is not None and (made.judgement or made.mapping)
        else None
    )


def _is_of_round(score: Score, again: int) -> bool:
    """Of the gradings of checklists, or of the same re-gradings: each has replies of its own."""
    said = re.findall(r",again=(\d+)(?=[,\]])", score.scorer)
    return score.scorer.startswith("checklist[") and (int(said[-1]) if said else 0) == again


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
        progress: RunProgress,
        stop: StopSwitch,
    ) -> None:
        self._recorder = recorder
        self._sources = sources
        self._costs = costs
        self._retry = retry
        self._progress = progress
        self._stop = stop
        self._queues: dict[str, JudgeQueue[Grading]] = {}
        self._tried: set[tuple[str, str]] = set()
        self._mapping: dict[tuple[str, int], asyncio.Lock] = defaultdict(asyncio.Lock)

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
        self._progress.grading(len(wanted))
        with Store(self._recorder.path) as opened:
            workers: JudgeWorkers[Grading] = JudgeWorkers(
                lambda each: self._outcome(each, opened), lambda: self._stop.stopped, self._progress
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
                score = await self._asked(grading, question, store)
            else:
                score = made
            score = score.model_copy(update={"target": question.key_identity()})
            if not await self._recorder.score([score]):
                return score, made is None
        return standing, False

    async def _asked(self, grading: Grading, question: Question, store: Store) -> Score:
        judge, trial = grading.judge, grading.planned.trial
        answer, ask = store.trace(trial.id).answer, self._calls(grading, grading.judge.model).ask
        if not isinstance(judge, ChecklistJudge):
            return await judge.grade(question, trial.id, answer, ask)
        target = question.key_identity()

        async def keep(score: Score) -> None:
            await self._recorder.score([score.model_copy(update={"target": target})])

        # One judge at a time has an answer, so that what the first one's mapper extracts is there for the others.
        async with self._mapping[trial.id, judge.again]:
            return await judge.grade(
                question,
                trial.id,
                answer,
                ask,
                ask_mapper=self._calls(grading, judge.mapping_model).ask,
                held=[each for each in store.scores(trial.id) if _is_of_round(each, judge.again)],
                keep=keep,
            )

    def _calls(self, grading: Grading, model: Model) -> JudgeCalls:
        judge, planned = grading.judge, grading.planned
        # By this number recorded replies are told apart that were asked for in the same words. Who gave the same answer
        # to a question is given the same grade, whatever the condition and the repeat, or the judge's moods would pass
        # for effects; a re-grading, which is to show those moods, has replies of its own.
        chat = self._sources[model.name].session(planned.question, planned.condition, judge.again)
        return JudgeCalls(chat, model, self._retry, seed=f"{planned.trial.id} {judge.name}")
