"""Has judges read failures: the cause that each names is kept in the store."""

import asyncio
import math
import random
from collections.abc import Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass
from functools import cache
from os import PathLike
from pathlib import Path

from toolablate.agents import ModelSource, RetryPolicy
from toolablate.agents.pacing import pressures
from toolablate.agents.spending import estimated_tokens, rates_of
from toolablate.analysis.arms import has_ladder
from toolablate.analysis.from_store import observe
from toolablate.analysis.pairing import RIGHT, counts
from toolablate.benchmarks.judging.failures import FailureJudge
from toolablate.experiments.environment.replies import JudgeCosts, asked_lines, is_replayed, open_judges
from toolablate.experiments.plans.plan import Plan
from toolablate.experiments.replay.requests import Parents
from toolablate.experiments.running.grading import JudgeCalls, JudgeQueue, JudgeWork, JudgeWorkers, Ungraded
from toolablate.experiments.running.launch import beating, interruptible, told_at_the_end
from toolablate.experiments.running.progress import RunProgress
from toolablate.experiments.running.runner import StopSwitch
from toolablate.reports.numbers import counted, dollars
from toolablate.traces.errors import InputError
from toolablate.traces.records import Condition, Diagnosis, Question, ServedModel
from toolablate.traces.store import Recorder, Store
from toolablate.traces.terminal_text import one_line


@dataclass(frozen=True, slots=True)
class FailureReading:
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
        progress: RunProgress,
        stop: StopSwitch,
        max_cost: float | None = None,
    ) -> None:
        self._recorder = recorder
        self._sources = sources
        self._retry = retry
        self._progress = progress
        self._stop = stop
        self._costs = costs
        self._max_cost = math.inf if max_cost is None else max_cost
        self._queues = {name: JudgeQueue[FailureReading](name, spent) for name, spent in costs.items()}

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

    async def run(self, wanted: Sequence[FailureReading]) -> None:
        """Each judge reads as many at once as its model allows, until a stop is asked for or too much is spent. What
        infrastructure keeps from being read gets no diagnosis. Raises StoreError."""
        # In an order of its own, so that two processes that read one store do not go hand in hand.
        for reading in random.sample(wanted, len(wanted)):
            self._queues[reading.judge.model.name].add(reading)
        self._progress.grading(len(wanted), "read")
        with Store(self._recorder.path) as opened:
            workers: JudgeWorkers[FailureReading] = JudgeWorkers(
                lambda each: self._outcome(each, opened), lambda: self._is_over, self._progress
            )
            await workers.run(self._queues.values(), lambda each: each.judge.model.concurrency)

    @property
    def _is_over(self) -> bool:
        return self._stop.stopped or self.is_spent

    async def _outcome(self, reading: FailureReading, store: Store) -> tuple[str | None, bool]:
        diagnosis, asked = await self._read(reading, store)
        return diagnosis.reason if diagnosis.error_type is None else None, asked

    async def _read(self, reading: FailureReading, store: Store) -> tuple[Diagnosis, bool]:
        """The diagnosis, and whether the judge was asked for it: what another process has made meanwhile is left as it
        is."""
        made = standing(store, reading.trial, reading.judge)
        if made is not None:
            return made, False
        events, calls = store.trace(reading.trial).events, self._calls(reading)
        diagnosis = await reading.judge.diagnose(reading.question, reading.trial, events, calls.ask)
        await self._recorder.diagnose([diagnosis])
        return diagnosis, True

    def _calls(self, reading: FailureReading) -> JudgeCalls:
        model = reading.judge.model
        chat = self._sources[model.name].session(reading.question, reading.condition, 0)
        return JudgeCalls(chat, model, self._retry, seed=f"{reading.trial} {reading.judge.name}")


# What it will cost to have failures read: told before anything is spent.


REPLY_TOKENS = 400
"""What a reply is taken to have, thoughts included. Those of a judge that thinks at length have more."""


def estimated_cost(plan: Plan, wanted: Sequence[FailureReading], store: Store) -> float | None:
    """US dollars, each judge asked once about each failure; None where the price of one is not known. What a response
    cache gives, and a scripted judge, cost nothing."""
    total = 0.0
    for reading in wanted:
        model = reading.judge.model
        if not isinstance(model, ServedModel) or is_replayed(plan, model):
            continue
        if model.price is None:
            return None
        read = estimated_tokens(reading.judge.request(reading.question, store.trace(reading.trial).events))
        rates = rates_of(model.price, read)
        total += (read * rates.input + REPLY_TOKENS * rates.output) / 1e6
    return total


def told(wanted: Sequence[FailureReading], cost: float | None) -> str:
    failures = f"{counted(len({reading.trial for reading in wanted}), 'failure')} to be read"
    judges = counted(len({reading.judge.name for reading in wanted}), "judge")
    if cost is None:
        return f"{failures} by {judges}, at unknown cost: a judge has no price"
    return f"{failures} by {judges}, for about ${cost:.4g} by the length of what is read"


def refuse_too_dear(cost: float | None, max_cost: float | None, what: str = "", model: str = "") -> None:
    """Raises InputError where all of it would cost more than allowed, or nobody knows what. Where it is no judges that
    are asked, `what` names what is to be done, and `model` who is asked."""
    if max_cost is None or (cost is not None and cost <= max_cost):
        return
    if cost is None:
        raise InputError(
            f"--max-cost: the cost is unknown: {model or 'a judge'} has no price",
            hint=f"give {'it' if model else 'the judge'} a price in the plan, or leave --max-cost out",
            code="unknown_cost",
        )
    raise InputError(
        f"--max-cost: {what or 'the judges'} would cost about ${cost:.4g}, and ${max_cost:.4g} are allowed",
        hint=f"{'' if what else 'name fewer judges, or '}allow more; nothing was spent",
        code="too_dear",
    )


# Has the judges of a plan read the wrong trials of a store's conditions with tools.


@dataclass(frozen=True, slots=True)
class Diagnosed:
    """How it went. `wrong` counts the trials to be read, `missing` the diagnoses that they lack: one by each judge.
    `estimated_usd` is what those that were missing before were thought to cost, None where no price is known.
    `judges` says what each did, where an answer that is graded is a failure that has labels; `slowed` what endpoints
    refused, and how long they were waited for. `capped`: the rest was left because more was spent than is allowed."""

    store: Path
    wrong: int
    missing: int
    estimated_usd: float | None
    stopped: bool
    judges: tuple[JudgeWork, ...]
    slowed: tuple[str, ...]
    capped: bool = False

    @property
    def spent_usd(self) -> float:
        """What replies cost, those of unknown cost left out."""
        return sum(work.cost_usd for work in self.judges)


def diagnose(
    store: str | PathLike[str],
    *,
    judges: Sequence[str] = (),
    scorer: str = "",
    models: Sequence[str] = (),
    conditions: Sequence[str] = (),
    run: str = "all",
    plan: str | PathLike[str] | None = None,
    max_cost: float | None = None,
    progress: RunProgress | None = None,
) -> Diagnosed:
    """Has judges say of each wrong trial of a condition with tools why it is wrong, told neither what is right nor
    under which condition it was. What is in the store is not asked for again, so the same call goes on where a stopped
    or killed one ended; a judge that cannot be reached makes no diagnosis.

    `judges` are names of the plan's `[[judges]]`, by default all. `scorer` is the one whose scores say what is wrong,
    by default the run's. `models` and `conditions` keep to those of these names, `run` to the trials of one run. `plan`
    names the plan where its paths have moved. Nothing is begun where it is thought to cost more than `max_cost` US
    dollars, nor once more than that is spent. Raises ToolablateError; what can be refused is refused before anything
    is spent or written.
    """
    progress = progress or RunProgress()
    with Store(store) as opened:
        wrong = _wrong(opened, scorer, models, conditions, run)
        if not wrong:
            return Diagnosed(Path(store), 0, 0, 0.0, stopped=False, judges=(), slowed=())
        found = plan_with_judges(opened, wrong[0], Path(plan) if plan is not None else None, judges)
        readers = tuple(FailureJudge(model, found.judging.asks) for model in found.judges)
        wanted = _lacking(opened, readers, wrong)
        cost = estimated_cost(found, wanted, opened)
    if wanted:
        progress.tell(told(wanted, cost))
    refuse_too_dear(cost, max_cost)
    work = asyncio.run(_read(Path(store), found, wanted, max_cost, progress)) if wanted else _Work()
    with Store(store) as opened:
        missing = len(_lacking(opened, readers, wrong))
    return Diagnosed(Path(store), len(wrong), missing, cost, work.stopped, work.judges, work.slowed, work.capped)


@dataclass(frozen=True, slots=True)
class _Work:
    stopped: bool = False
    judges: tuple[JudgeWork, ...] = ()
    slowed: tuple[str, ...] = ()
    capped: bool = False


def _wrong(store: Store, scorer: str, models: Sequence[str], conditions: Sequence[str], run: str) -> list[str]:
    """The ids of the wrong trials of conditions whose tools speak for themselves."""
    seen = [each for each in observe(store, run=run, scorer=scorer or None) if counts(each)]
    with_tools = {name for name, condition in store.conditions_of(seen).items() if has_ladder(condition)}
    return [
        each.trial
        for each in seen
        if each.condition in with_tools
        and each.condition in (conditions or with_tools)
        and each.model in (models or (each.model,))
        and each.value is not None
        and each.value < RIGHT
    ]


def plan_with_judges(store: Store, trial: str, path: Path | None, judges: Sequence[str]) -> Plan:
    """The plan of a trial with these of its judges. Raises InputError where it has no such ones."""
    plan = Parents(store, path).take(trial)[1]
    named = [model.name for model in plan.judges]
    if not named:
        raise InputError(
            "judges: missing; the plan of these trials names none, and judges are to be asked",
            hint='put a table [[judges]] into the plan, with provider = "openai", a name and an endpoint, and name the'
            " plan: --plan PLAN",
            code="no_judge",
        )
    for name in judges:
        if name not in named:
            raise InputError(
                f"--judge: the plan has no judge {name!r}",
                hint=f"its judges are {', '.join(named)}; name a plan that has others: --plan PLAN",
                code="unknown_judge",
            )
    chosen = tuple(model for model in plan.judges if model.name in (judges or named))
    return plan.model_copy(update={"judges": chosen})


def _lacking(store: Store, judges: Sequence[FailureJudge], wrong: Sequence[str]) -> list[FailureReading]:
    """The readings that the store lacks."""
    kept = {(each.trial, judge.name) for each in store.all_diagnoses() for judge in judges if judge.keeps(each)}
    question, condition = cache(store.question), cache(store.condition)
    found: list[FailureReading] = []
    for trial in wrong:
        lacking = [judge for judge in judges if (trial, judge.name) not in kept]
        if lacking:
            of = store.trace(trial).trial
            found += [FailureReading(judge, trial, question(of.question), condition(of.condition)) for judge in lacking]
    return found


async def _read(
    store: Path, plan: Plan, wanted: Sequence[FailureReading], max_cost: float | None, progress: RunProgress
) -> _Work:
    stop, lines = StopSwitch(), asked_lines(plan)
    costs = {model.name: JudgeCosts() for model in plan.judges}
    async with AsyncExitStack() as stack:
        sources = await open_judges(plan, stack, lines, costs, progress.warn)
        recorder = stack.enter_context(Recorder(store))
        retry = RetryPolicy(attempts=plan.runner.attempts, paced=True)
        readings = Readings(recorder, sources, costs, retry, progress, stop, max_cost)
        async with beating(progress, lines, recorder, lambda: readings.standing):
            with interruptible(stop, progress, lines):
                await readings.run(wanted)
    slowed = told_at_the_end(pressures(lines.values()))
    return _Work(stop.stopped, readings.work, slowed, readings.is_spent)


# How a reading of failures went, in words.


def diagnoses_told(done: Diagnosed) -> tuple[str, ...]:
    """What judges did and cost, and what is left unread, and why; plain lines for a terminal."""
    if not done.wrong:
        return ("No trial of a condition with tools is wrong: there is nothing to read.",)
    lines = [line for work in done.judges for line in _of(work)]
    failed = sum(reason.count for work in done.judges for reason in work.ungraded)
    if (left := done.missing - failed) > 0:
        why = " (you stopped it)" if done.stopped else " (--max-cost is spent)" if done.capped else ""
        lines.append(f"{counted(left, 'failure')} not read yet{why}; the same command reads them.")
    if not lines:
        lines.append(f"{counted(done.wrong, 'failure')} read already: no judge was asked.")
    return (*lines, *done.slowed)


def _of(work: JudgeWork) -> list[str]:
    name = one_line(work.judge)
    return [
        f"Judge {name}: {counted(work.graded, 'failure')} labelled{_spent(work)}",
        *(
            f"{name}: {counted(each.count, 'failure')} without labels: {one_line(each.reason)}"
            for each in work.unscored
        ),
        *(f"{name}: {_why_not(reason)}" for reason in work.ungraded),
    ]


def _why_not(reason: Ungraded) -> str:
    said = "; ".join(one_line(text, max_chars=400) for text in (reason.message, reason.hint) if text)
    return f"{counted(reason.count, 'failure')} could not be read: {reason.code}; the same command tries again. {said}"


def _spent(work: JudgeWork) -> str:
    if not work.requests:
        return "" if work.ungraded else " (without asking it)"
    cost = "cost unknown" if work.unpriced == work.requests else dollars(work.cost_usd)
    unknown = f" + {counted(work.unpriced, 'request')} of unknown cost" if 0 < work.unpriced < work.requests else ""
    return f" ({counted(work.requests, 'request')}, {cost}{unknown})"
