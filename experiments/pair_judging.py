"""Asks judges for their verdicts on pairs, and keeps each verdict in a file as it comes."""

import asyncio
import random
from collections import defaultdict, deque
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, TypeVar

from toolablate.agents import ModelSource, RetryPolicy
from toolablate.agents.pacing import pressures
from toolablate.agents.spending import estimated_tokens, rates_of
from toolablate.benchmarks.judging.answers import Ask
from toolablate.benchmarks.judging.pairs import ComparedTexts, Preference, by_text
from toolablate.experiments.diagnosing import refuse_too_dear
from toolablate.experiments.environment.replies import Asking, JudgeCosts, asked_lines, is_replayed, open_judges
from toolablate.experiments.plans.plan import RunnerSection
from toolablate.experiments.record_file import RecordFile
from toolablate.experiments.running.grading import JudgeCalls, JudgeQueue, JudgeWork, JudgeWorkers
from toolablate.experiments.running.launch import beating, interruptible, told_at_the_end
from toolablate.experiments.running.progress import RunProgress
from toolablate.experiments.running.runner import JudgeTask, StopSwitch
from toolablate.reports.numbers import counted, dollars
from toolablate.traces.errors import ToolablateError
from toolablate.traces.records import (
    Condition,
    JudgeCall,
    Model,
    ModelRequest,
    PairVerdict,
    Question,
    ServedModel,
    digest_json,
)
from toolablate.traces.terminal_text import one_line

T = TypeVar("T")

REPLY_TOKENS = 300
"""What a reply is taken to have. Those of a judge that thinks at length have more."""
_HEAD = b'{"version":1,"judge":"'


class JudgingPlan(Asking, Protocol):
    @property
    def runner(self) -> RunnerSection: ...


class PairMetric(Protocol):
    """What is asked about a pair in one order; `asks` is how often at most until there is a verdict."""

    @property
    def name(self) -> str: ...
    @property
    def version(self) -> int: ...
    @property
    def model(self) -> Model: ...
    @property
    def asks(self) -> int: ...
    def requests(self, texts: ComparedTexts) -> Sequence[ModelRequest]:
        """Those of the first asking, for an estimate of what they cost."""

    async def prefer(self, texts: ComparedTexts, ask: Ask) -> Preference: ...


@dataclass(frozen=True, slots=True)
class PairReading:
    """What one metric is to say of one pair in one order. `texts` are in the order of a and b, whichever is shown
    first; `question` and `condition` are what recorded replies are found by."""

    metric: PairMetric
    pair: str
    texts: ComparedTexts
    exchanged: bool
    question: Question
    condition: Condition

    @property
    def shown(self) -> ComparedTexts:
        """In the order in which they are shown."""
        return self.texts.exchanged() if self.exchanged else self.texts

    @property
    def key(self) -> tuple[str, int, str, str, bool]:
        return (self.metric.name, self.metric.version, self.pair, texts_digest(self.texts), self.exchanged)


class VerdictFile(RecordFile[PairVerdict]):
    """Verdicts by what they are on; of two on the same the later. `paid` has the replies to go on with where there is
    none yet. `in_use` says what else can be done while another process writes the file."""

    def __init__(self, path: Path, *, in_use: str) -> None:
        self.paid: dict[object, tuple[JudgeCall, ...]] = {}
        super().__init__(
            path,
            PairVerdict,
            lambda each: each.asked,
            head=_HEAD,
            what="verdict on a pair",
            in_use=in_use,
            latest=True,
        )

    def _keep(self, record: PairVerdict) -> None:
        self.paid[record.asked] = record.calls
        if not record.begun:
            super()._keep(record)


def texts_digest(texts: ComparedTexts) -> str:
    return digest_json([texts.question, texts.context, texts.reference, texts.a, texts.b, texts.language])


def lacking(readings: Iterable[PairReading], found: Mapping[object, PairVerdict]) -> list[PairReading]:
    """Those without a verdict; an unread one stands unless its metric may be asked more often by now: if it asks for
    what was not paid for yet."""
    return [
        each
        for each in readings
        if (kept := found.get(each.key)) is None or (kept.verdict is None and asyncio.run(_asks_more(each, kept)))
    ]


async def _asks_more(reading: PairReading, kept: PairVerdict) -> bool:
    async def refused(_: ModelRequest) -> JudgeCall:
        raise _NotPaid

    try:
        await reading.metric.prefer(reading.shown, PaidInTurn(kept.calls, refused))
    except _NotPaid:
        return True
    return False


class _NotPaid(Exception):
    """Nothing was asked so far that this would repeat."""


class PaidInTurn:
    """Gives again what was asked before, each reply once and in its order, and asks for what is beyond it. A request
    that is repeated is another draw, other than in a checklist's `PaidCalls`: trained judges are asked the same again.
    """

    def __init__(self, calls: Iterable[JudgeCall], ask: Ask) -> None:
        self._left: dict[str, deque[JudgeCall]] = defaultdict(deque)
        for call in calls:
            self._left[call.request.identity()].append(call)
        self._ask = ask

    async def __call__(self, request: ModelRequest) -> JudgeCall:
        left = self._left[request.identity()]
        return left.popleft() if left else await self._ask(request)


def estimated_cost(plan: JudgingPlan, wanted: Sequence[PairReading]) -> float | None:
    """US dollars, each metric asked once; None where a price is not known. Recorded replies cost nothing."""
    costs = [
        estimated_requests(
            plan, each.metric.model, ((request, REPLY_TOKENS) for request in each.metric.requests(each.texts))
        )
        for each in wanted
    ]
    return None if None in costs else sum(filter(None, costs))


def estimated_requests(plan: JudgingPlan, model: Model, requests: Iterable[tuple[ModelRequest, int]]) -> float | None:
    """US dollars, each asked once and replied to in that many tokens; None where the price is not known. Recorded
    replies cost nothing."""
    if not isinstance(model, ServedModel) or is_replayed(plan, model):
        return 0.0
    total = 0.0
    for request, written in requests:
        if model.price is None:
            return None
        read = estimated_tokens(request)
        rates = rates_of(model.price, read)
        total += (read * rates.input + written * rates.output) / 1e6
    return total


@dataclass(frozen=True, slots=True)
class PairWork:
    """How it went; see `JudgeWork`. `capped`: the rest was left because more was spent than is allowed."""

    stopped: bool = False
    judges: tuple[JudgeWork, ...] = ()
    slowed: tuple[str, ...] = ()
    capped: bool = False


def judge_pairs(
    plan: JudgingPlan,
    wanted: Sequence[PairReading],
    kept: VerdictFile,
    progress: RunProgress,
    max_cost: float | None = None,
    others: Sequence[tuple[ServedModel, Callable[[], ModelSource]]] = (),
) -> PairWork:
    """Asks the plan's judges for what is `wanted`, in random order, and keeps what comes at once: a killed run goes on
    where it was. An endpoint that fails gives no verdict. `others` are asked besides judges, see `open_judges`. Raises
    ToolablateError where nothing can be asked or kept."""
    return asyncio.run(_judge(plan, wanted, kept, progress, max_cost, others)) if wanted else PairWork()


async def _judge(
    plan: JudgingPlan,
    wanted: Sequence[PairReading],
    kept: VerdictFile,
    progress: RunProgress,
    max_cost: float | None,
    others: Sequence[tuple[ServedModel, Callable[[], ModelSource]]],
) -> PairWork:
    def make(sources: Mapping[str, ModelSource], retry: RetryPolicy) -> Callable[[PairReading], Made]:
        return _Asking(sources, retry, kept).make

    return await have_judged(plan, wanted, lambda each: each.metric.model, make, progress, "compare", max_cost, others)


Made = Awaitable[tuple[str | None, bool]]
"""Why there is no verdict (None where there is one), and whether a judge was asked."""


async def have_judged(
    plan: JudgingPlan,
    wanted: Sequence[T],
    model_of: Callable[[T], Model],
    maker: Callable[[Mapping[str, ModelSource], RetryPolicy], Callable[[T], Made]],
    progress: RunProgress,
    task: JudgeTask,
    max_cost: float | None = None,
    others: Sequence[tuple[ServedModel, Callable[[], ModelSource]]] = (),
) -> PairWork:
    """Has the plan's judges make what is `wanted`, in random order, each as many at once as its model allows; Ctrl-C
    lets those end that were begun. `maker` gets what is asked, by the names of judges and `others`, see `open_judges`.
    Raises ToolablateError where nothing can be asked or kept."""
    stop, lines = StopSwitch(), asked_lines(plan)
    costs = {model.name: JudgeCosts() for model in (*plan.judges, *(model for model, _ in others))}

    def is_spent() -> bool:
        return max_cost is not None and sum(each.known_usd for each in costs.values()) > max_cost

    async with AsyncExitStack() as stack:
        sources = await open_judges(plan, stack, lines, costs, progress.warn, others)
        queues = {name: JudgeQueue[T](name, spent) for name, spent in costs.items()}
        for each in random.sample(wanted, len(wanted)):
            queues[model_of(each).name].add(each)
        progress.grading(len(wanted), task)
        make = maker(sources, RetryPolicy(attempts=plan.runner.attempts, paced=True))
        workers: JudgeWorkers[T] = JudgeWorkers(make, lambda: stop.stopped or is_spent(), progress)
        async with beating(progress, lines, None, lambda: ()):
            with interruptible(stop, progress, lines):
                await workers.run(queues.values(), lambda each: model_of(each).concurrency)
    work = tuple(queue.work() for queue in queues.values() if queue.total)
    capped = is_spent() and any(queue.waiting for queue in queues.values())
    return PairWork(stop.stopped, work, told_at_the_end(pressures(lines.values())), capped)


def have_asked(
    plan: JudgingPlan,
    model: Model,
    wanted: Sequence[T],
    requests: Iterable[tuple[ModelRequest, int]],
    maker: Callable[[Mapping[str, ModelSource], RetryPolicy], Callable[[T], Made]],
    progress: RunProgress,
    task: JudgeTask,
    told: str,
    max_cost: float | None = None,
) -> PairWork:
    """Has one judge's model make what is `wanted`, as `have_judged` does. What that is, `told`, and what its requests
    are likely to cost is said first. Raises ToolablateError, before anything is spent for what is too dear."""
    cost = estimated_requests(plan, model, requests)
    if wanted:
        dear = f"at unknown cost: {model.name} has no price" if cost is None else f"for about ${cost:.4g}"
        progress.tell(f"{told} by {model.name}, {dear}")
    refuse_too_dear(cost, max_cost, f"{told} by {model.name}", model.name)
    if not wanted:
        return PairWork()
    return asyncio.run(have_judged(plan, wanted, lambda _: model, maker, progress, task, max_cost))


@dataclass(frozen=True, slots=True)
class _Asking:
    sources: Mapping[str, ModelSource]
    retry: RetryPolicy
    kept: VerdictFile

    async def make(self, reading: PairReading) -> tuple[str | None, bool]:
        metric = reading.metric
        chat = self.sources[metric.model.name].session(reading.question, reading.condition, 0)
        calls = JudgeCalls(chat, metric.model, self.retry, seed=f"{reading.pair} {metric.name} {reading.exchanged}")
        paid = list(self.kept.paid.get(reading.key, ()))
        before = len(paid)

        async def ask(request: ModelRequest) -> JudgeCall:
            call = await calls.ask(request)
            paid.append(call)
            return call

        try:
            said = await metric.prefer(reading.shown, PaidInTurn(tuple(paid), ask))
        except ToolablateError:
            if len(paid) > before:
                self.kept.append(self._record(reading, begun=True, verdict=None, calls=tuple(paid)))
            raise
        verdict = None if said.verdict is None else by_text(said.verdict, exchanged=reading.exchanged)
        scores = said.scores
        if scores is not None and reading.exchanged:
            scores = scores[1], scores[0]
        self.kept.append(
            self._record(reading, verdict=verdict, scores=scores, reason=said.reason, calls=tuple(said.calls))
        )
        return (said.reason if verdict is None else None), True

    def _record(self, reading: PairReading, **said: Any) -> PairVerdict:
        return PairVerdict(
            judge=reading.metric.name,
            wording=reading.metric.version,
            pair=reading.pair,
            texts=texts_digest(reading.texts),
            exchanged=reading.exchanged,
            **said,
        )


def work_told(work: PairWork, of: str = "verdict") -> list[str]:
    """What judges did and cost, and what kept the rest; plain lines for a terminal. `of` names what they made."""
    lines = []
    for each in work.judges:
        name = one_line(each.judge)
        asked = f"{counted(each.requests, 'request')}, {cost_told(each)}"
        lines.append(f"Judge {name}: {counted(each.graded, of)} ({asked})")
        lines += [f"{name}: {counted(left.count, of)} unread: {one_line(left.reason)}" for left in each.unscored]
        lines += [
            f"{name}: {counted(left.count, of)} could not be asked for: {left.code}; the same command tries"
            f" again. {one_line(left.message, max_chars=400)}"
            for left in each.ungraded
        ]
    return [*lines, *end_told(work)]


def cost_told(done: JudgeWork) -> str:
    return "cost unknown" if done.requests and done.unpriced == done.requests else dollars(done.cost_usd)


def end_told(work: PairWork) -> list[str]:
    """What kept the rest from being asked, and what slowed the work."""
    capped = ["--max-cost is spent; the same command goes on."] if work.capped else []
    return [*capped, *work.slowed]
