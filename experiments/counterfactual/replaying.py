"""Takes a trial up again at one of its events, with one thing changed."""

import asyncio
from collections.abc import Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, replace
from os import PathLike
from pathlib import Path

from rich.console import Console

from toolablate.agents import Line, RetryPolicy, Start, require_capabilities
from toolablate.experiments.counterfactual.changing import changed_start, counterfactual, swapped_call
from toolablate.experiments.counterfactual.estimate import estimated_cost, refuse_too_dear
from toolablate.experiments.counterfactual.executor import ReplayExecutor
from toolablate.experiments.counterfactual.opening import ReplayWorld, open_replay_world
from toolablate.experiments.counterfactual.parent import Parent, plan_of, read_parent
from toolablate.experiments.counterfactual.texts import STAND_INS, Content, swap_of
from toolablate.experiments.failing import Failures
from toolablate.experiments.judge_costs import JudgeCosts
from toolablate.experiments.judges import judges_of
from toolablate.experiments.launch import Launched, Opened, carry_out
from toolablate.experiments.plan import Plan
from toolablate.experiments.progress import RunProgress
from toolablate.experiments.replies import asked_lines, open_judges, open_sources
from toolablate.experiments.runner import Setting
from toolablate.experiments.scoring import Scorers
from toolablate.experiments.trials import Design, PlannedTrial
from toolablate.experiments.watcher import Watcher
from toolablate.experiments.world import UNPROTECTED, bring_up_to_date, environment, world_of
from toolablate.traces.errors import InputError
from toolablate.traces.records import (
    Again,
    Condition,
    Drop,
    InterventionUse,
    ModelCall,
    ReplayChange,
    Resumption,
    Swap,
    Trial,
)
from toolablate.traces.store import Recorder, Store


@dataclass(frozen=True, slots=True)
class Replayed:
    """`trials` are the ids of the counterfactuals of the trial `parent`, one for each repeat, all under `condition`.
    `estimated_usd` is what those that were missing were thought to cost, None where no price is known."""

    parent: str
    condition: Condition
    trials: tuple[str, ...]
    estimated_usd: float | None
    launched: Launched


def replay(
    store: str | PathLike[str],
    trial: str,
    event: int,
    change: ReplayChange | Content | None = None,
    *,
    repeats: int = 1,
    plan: str | PathLike[str] | None = None,
    max_cost: float | None = None,
    live: bool = False,
    watcher: Watcher | None = None,
) -> Replayed:
    """Goes on with a trial of a store from an event of its conversation, counted from 0, and stores what comes of it as
    trials of their own: nothing that is recorded is changed, and repeats that are there are not run again.

    Before the event everything is as it was recorded. Then `change` is made: by default none, so that what follows is
    drawn anew; `null`, `placebo`, `gold` or `adversarial` stand for a swap of the tool call's result. After it a call
    in the words of the record gets the recorded result, and what else is asked of the web comes from the plan's
    archive, or, where `live` allows it, from the web itself.

    `plan` names the plan where its paths have moved. `max_cost` is in US dollars. Raises ToolablateError; what can be
    refused is refused before anything is spent or written.
    """
    asked = Path(plan) if plan is not None else None
    wanted = _Wanted(Path(store), trial, event, change or Again(), repeats, asked, max_cost, live)
    if watcher is not None:
        return asyncio.run(_replay(wanted, watcher))
    with RunProgress(Console(quiet=True)) as silent:
        return asyncio.run(_replay(wanted, silent))


@dataclass(frozen=True, slots=True)
class _Wanted:
    store: Path
    trial: str
    event: int
    change: ReplayChange | Content
    repeats: int
    plan: Path | None
    max_cost: float | None
    live: bool


@dataclass(frozen=True, slots=True)
class _Taken:
    """What is taken up, from where, in which world."""

    parent: Parent
    plan: Plan
    world: dict[str, str]
    start: Start
    scorers: Scorers


def _take_up(wanted: _Wanted) -> _Taken:
    bring_up_to_date(wanted.store)
    with Store(wanted.store) as opened:
        parent = read_parent(opened, wanted.trial)
        plan = plan_of(opened, parent, wanted.plan)
        parent = replace(parent, model=plan.models[0])
        world = world_of(plan, [parent.condition])
        opened.require_same_world(world)
    change = wanted.change
    tried = Swap(content=change, text="") if isinstance(change, str) else change
    start = changed_start(parent.conversation, wanted.event, tried, parent.condition)
    _refuse_dropped_turn(parent, start)
    scorers = Scorers(plan.questions, judges_of(plan))
    scorers.names([parent.question])
    return _Taken(parent, plan, world, start, scorers)


def _refuse_dropped_turn(parent: Parent, start: Start) -> None:
    """The reply that made a dropped call is another one's, and has it still."""
    resumed = parent.condition.resumed
    if resumed is None or not isinstance(resumed.change, Drop) or start.node != "act":
        return
    if not any(isinstance(each, ModelCall) for each in start.before[resumed.event :]):
        raise InputError(
            f"--from: event {len(start.before)} is of the turn from which this trial drops a call",
            hint=f"name the request that follows, or an event of trial {resumed.trial[:8]}",
            code="wrong_event",
        )


async def _replay(wanted: _Wanted, watcher: Watcher) -> Replayed:
    taken = _take_up(wanted)
    if taken.plan.sandbox.backend == UNPROTECTED:
        watcher.warn('sandbox = "none": code that models write runs unprotected')
    parent, change = taken.parent, wanted.change
    async with AsyncExitStack() as stack:
        conditions = _standing(parent, taken.start, change)
        world = await open_replay_world(taken.plan, conditions, stack, live=wanted.live)
        if isinstance(change, str):
            change = await _swap(change, wanted.event, parent, taken.start, world)
        planned, resumption = _design(parent, wanted, change)
        (condition,) = planned.conditions
        cost = _estimate(wanted, taken, planned, watcher)
        require_capabilities(parent.model, condition)
        lines = asked_lines(taken.plan)
        source = (await open_sources(taken.plan, taken.world, stack, lines))[parent.model.name]
        runner, where = taken.plan.runner, environment(world.tried, taken.world)
        retry = RetryPolicy(attempts=runner.attempts, paced=True)
        opened = await _judges(taken, stack, lines, retry)
        executor = ReplayExecutor(parent, condition, resumption, taken.start, world, source, where, retry)
        setting = Setting(executor, taken.scorers, watcher, Failures(), runner.kernels, runner.trial_seconds)
        recorder = stack.enter_context(Recorder(wanted.store))
        recorder.resume(taken.world, planned.conditions, [each.trial for each in planned.trials])
        launched = await carry_out(planned, setting, opened, recorder)
    trials = tuple(each.trial.id for each in planned.trials)
    return Replayed(parent.trace.trial.id, condition, trials, cost, launched)


async def _judges(taken: _Taken, stack: AsyncExitStack, lines: Mapping[str, Line], retry: RetryPolicy) -> Opened:
    """Only a question that judges score needs them."""
    costs = {judge.name: JudgeCosts() for judge in taken.plan.judges}
    judged = taken.scorers.is_judged(taken.parent.question)
    return Opened(await open_judges(taken.plan, stack, lines, costs) if judged else {}, costs, lines, retry)


def _estimate(wanted: _Wanted, taken: _Taken, planned: Design, watcher: Watcher) -> float | None:
    """US dollars for the trials that are missing, None where no price is known; told before anything is spent. Raises
    InputError where it is too much."""
    missing = _missing(wanted.store, planned)
    cost = estimated_cost(taken.parent, taken.start, planned.conditions[0].budget)
    total = None if cost is None else cost * missing
    watcher.tell(_told(missing, total))
    refuse_too_dear(total, wanted.max_cost)
    return total


def _standing(parent: Parent, start: Start, change: ReplayChange | Content) -> Sequence[Condition]:
    """The conditions whose needs are to be opened. A probe needs nothing; a placebo and an adversary need results and
    answers of other questions."""
    if start.node in ("final", "end"):
        return ()
    stand_in = STAND_INS.get(change) if isinstance(change, str) else None
    extra = (
        parent.condition.model_copy(update={"interventions": (InterventionUse(name=stand_in),)}) if stand_in else None
    )
    return (parent.condition, extra) if extra else (parent.condition,)


async def _swap(content: Content, event: int, parent: Parent, start: Start, world: ReplayWorld) -> Swap:
    swapped = swapped_call(parent.conversation, event, Swap(content=content, text=""))
    assert swapped is not None
    return await swap_of(content, swapped.recorded, start.before, world.open_tools(parent, parent.condition))


def _design(parent: Parent, wanted: _Wanted, change: ReplayChange) -> tuple[Design, Resumption]:
    """The counterfactual as a plan's trials are: so they run, are scored and counted as those are."""
    trial = parent.trace.trial
    resumption = Resumption(
        trial=trial.id, attempt=parent.trace.attempt, repeat=parent.origin.repeat, event=wanted.event, change=change
    )
    condition = counterfactual(parent.condition, resumption, parent.conversation)
    trials = [
        PlannedTrial(
            Trial(question=trial.question, model=trial.model, condition=condition.identity(), repeat=repeat),
            parent.question,
            parent.model,
            condition,
        )
        for repeat in range(wanted.repeats)
    ]
    return Design((parent.question,), (parent.model,), (condition,), tuple(trials)), resumption


def _missing(store: Path, planned: Design) -> int:
    with Store(store) as opened:
        (condition,) = planned.conditions
        ended = {trace.trial.id for trace in opened.traces(condition=condition.identity()) if trace.outcome != "failed"}
    return sum(each.trial.id not in ended for each in planned.trials)


def _told(missing: int, cost: float | None) -> str:
    trials = "1 trial" if missing == 1 else f"{missing} trials"
    if cost is None:
        return f"{trials} to run, at a cost that is not known: the model has no price"
    return f"{trials} to run, for about ${cost:.4g} by what the recorded trial cost from there on"
