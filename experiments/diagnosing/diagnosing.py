"""Has the judges of a plan read the wrong trials of a store's conditions with tools."""

import asyncio
from collections.abc import Sequence
from contextlib import AsyncExitStack, nullcontext
from dataclasses import dataclass
from functools import cache
from os import PathLike
from pathlib import Path

from rich.console import Console

from toolablate.agents import RetryPolicy
from toolablate.agents.pacing import pressures
from toolablate.analysis.arms import has_ladder
from toolablate.analysis.from_store import observe
from toolablate.analysis.pairing import RIGHT, counts
from toolablate.benchmarks.judging.failures import FailureJudge
from toolablate.experiments.counterfactual.parent import Parents
from toolablate.experiments.diagnosing.estimate import estimated_cost, refuse_too_dear, told
from toolablate.experiments.diagnosing.readings import Reading, Readings
from toolablate.experiments.plans.plan import Plan
from toolablate.experiments.running.beside import beating, interruptible
from toolablate.experiments.running.judge_queue import JudgeWork
from toolablate.experiments.running.progress import RunProgress
from toolablate.experiments.running.runner import StopSwitch
from toolablate.experiments.running.slowness import told_at_the_end
from toolablate.experiments.running.watcher import Watcher
from toolablate.experiments.world.judge_costs import JudgeCosts
from toolablate.experiments.world.replies import asked_lines, open_judges
from toolablate.traces.errors import InputError
from toolablate.traces.store import Recorder, Store


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
    watcher: Watcher | None = None,
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
    with RunProgress(Console(quiet=True)) if watcher is None else nullcontext(watcher) as told_to:
        with Store(store) as opened:
            wrong = _wrong(opened, scorer, models, conditions, run)
            if not wrong:
                return Diagnosed(Path(store), 0, 0, 0.0, stopped=False, judges=(), slowed=())
            found = _plan_of(opened, wrong[0], Path(plan) if plan is not None else None, judges)
            readers = tuple(FailureJudge(model, found.judging.asks) for model in found.judges)
            wanted = _lacking(opened, readers, wrong)
            cost = estimated_cost(found, wanted, opened)
        if wanted:
            told_to.tell(told(wanted, cost))
        refuse_too_dear(cost, max_cost)
        work = asyncio.run(_read(Path(store), found, wanted, max_cost, told_to)) if wanted else _Work()
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


def _plan_of(store: Store, trial: str, path: Path | None, judges: Sequence[str]) -> Plan:
    """The plan of a trial with these of its judges. Raises InputError where it has no such ones."""
    plan = Parents(store, path).take(trial)[1]
    named = [model.name for model in plan.judges]
    if not named:
        raise InputError(
            "judges: missing; the plan of these trials names none, and judges are to read them",
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


def _lacking(store: Store, judges: Sequence[FailureJudge], wrong: Sequence[str]) -> list[Reading]:
    """The readings that the store lacks."""
    kept = {(each.trial, judge.name) for each in store.all_diagnoses() for judge in judges if judge.keeps(each)}
    question, condition = cache(store.question), cache(store.condition)
    found: list[Reading] = []
    for trial in wrong:
        lacking = [judge for judge in judges if (trial, judge.name) not in kept]
        if lacking:
            of = store.trace(trial).trial
            found += [Reading(judge, trial, question(of.question), condition(of.condition)) for judge in lacking]
    return found


async def _read(store: Path, plan: Plan, wanted: Sequence[Reading], max_cost: float | None, watcher: Watcher) -> _Work:
    stop, lines = StopSwitch(), asked_lines(plan)
    costs = {model.name: JudgeCosts() for model in plan.judges}
    async with AsyncExitStack() as stack:
        sources = await open_judges(plan, stack, lines, costs)
        recorder = stack.enter_context(Recorder(store))
        retry = RetryPolicy(attempts=plan.runner.attempts, paced=True)
        readings = Readings(recorder, sources, costs, retry, watcher, stop, max_cost)
        async with beating(watcher, lines, recorder, lambda: readings.standing):
            with interruptible(stop, watcher, lines):
                await readings.run(wanted)
    slowed = told_at_the_end(pressures(lines.values()))
    return _Work(stop.stopped, readings.work, slowed, readings.is_spent)
