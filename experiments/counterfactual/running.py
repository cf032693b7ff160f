"""What replays of trials of one plan stand on, opened for those of them that are missing."""

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from contextlib import AsyncExitStack
from dataclasses import dataclass

from toolablate.agents import Line, ModelSource, RetryPolicy
from toolablate.experiments.counterfactual.capping import Cap, CappedExecutor
from toolablate.experiments.counterfactual.changing import swapped_call
from toolablate.experiments.counterfactual.executor import ReplayExecutor
from toolablate.experiments.counterfactual.opening import ReplayWorld, open_replay_world
from toolablate.experiments.counterfactual.parent import files_that_may_have_moved
from toolablate.experiments.counterfactual.placebos import refuse_without_placebo
from toolablate.experiments.counterfactual.taking_up import Group, TakenUp, settled
from toolablate.experiments.counterfactual.texts import STAND_INS, swap_of
from toolablate.experiments.counterfactual.wanted import Refusal, RefusedError
from toolablate.experiments.plans.plan import Plan
from toolablate.experiments.plans.trials import Design
from toolablate.experiments.running.failing import Failures
from toolablate.experiments.running.launch import Opened
from toolablate.experiments.running.runner import Setting
from toolablate.experiments.world.judge_costs import JudgeCosts
from toolablate.experiments.world.replies import asked_lines, open_judges, open_sources
from toolablate.experiments.world.world import UNPROTECTED, environment, needed
from toolablate.traces.errors import InputError
from toolablate.traces.records import Condition, InterventionUse, Rerun, Swap, ToolCall

_PYTHON = "python"
"""The one tool that has a kernel."""


@dataclass(frozen=True, slots=True)
class OpenedGroup:
    """`taken` are those of the group, with their trials."""

    taken: tuple[TakenUp, ...]
    world: Mapping[str, str]
    planned: Design
    setting: Setting
    opened: Opened


async def open_group(
    group: Group, finished: AbstractSet[str], stack: AsyncExitStack, cap: Cap, *, live: bool
) -> OpenedGroup:
    """Opens what the missing ones need; the stack closes it. Raises RefusedError for swaps whose text cannot be had,
    ToolablateError for what cannot be opened."""
    missing = [taken for taken in group.taken if taken.missing(finished)]
    conditions = [condition for taken in missing for condition in _standing(taken)]
    if group.plan.sandbox.backend == UNPROTECTED and "sandbox" in needed(conditions):
        cap.watcher.warn('sandbox = "none": code that models write runs unprotected')
    with files_that_may_have_moved():
        world = await open_replay_world(group.plan, conditions, stack, live=live)
    group.taken = await _settled(group.taken, finished, world)
    planned, scorers = group.design(), await stack.enter_async_context(group.scorers())
    # What only grades needs no key but its judges'.
    asked = group.plan if missing else group.plan.model_copy(update={"models": ()})
    lines, runner = asked_lines(asked), group.plan.runner
    sources: Mapping[str, ModelSource] = await open_sources(asked, group.world, stack, lines)
    retry = RetryPolicy(attempts=runner.attempts, paced=True)
    judged = any(map(scorers.is_judged, planned.questions))
    opened = await _judges(group.plan, stack, lines, retry, judged=judged)
    by_condition = {taken.trials[0].trial.condition: taken for taken in group.taken}
    executor = ReplayExecutor(by_condition, world, sources, environment(world.tried, group.world), retry)
    setting = Setting(
        CappedExecutor(executor, cap),
        scorers,
        cap.watcher,
        Failures(),
        runner.kernels,
        runner.trial_seconds,
        coding=frozenset(identity for identity, taken in by_condition.items() if _codes(taken)),
    )
    return OpenedGroup(tuple(group.taken), group.world, planned, setting, opened)


def _standing(taken: TakenUp) -> Sequence[Condition]:
    """The conditions whose needs are to be opened. A probe needs nothing; a placebo and an adversary need results and
    answers of other questions."""
    if not taken.calls:
        return ()
    change = taken.wanted.change
    stand_in = STAND_INS.get(change) if isinstance(change, str) and not taken.trials else None
    if stand_in is None:
        return (taken.condition,)
    uses = (InterventionUse(name=stand_in),)
    return taken.condition, taken.condition.model_copy(update={"interventions": uses})


def _codes(taken: TakenUp) -> bool:
    """Whether it may start a kernel: it has one and calls it, or its cells are to be run again."""
    if not taken.calls or "sandbox" not in needed([taken.condition]):
        return False
    change = taken.resumption.change if taken.resumption else None
    uncalled = isinstance(change, Rerun) and change.stand_in != "placebo" and _PYTHON in change.tools
    return not uncalled or any(isinstance(each, ToolCall) and each.call.name == _PYTHON for each in taken.start.before)


async def _settled(group: Sequence[TakenUp], finished: AbstractSet[str], world: ReplayWorld) -> list[TakenUp]:
    found, refusals = [], []
    for taken in group:
        try:
            if taken.missing(finished):
                refuse_without_placebo(taken, world)
            found.append(taken if taken.trials else settled(taken, await _swap(taken, world)))
        except InputError as error:
            refusals.append(Refusal(taken.place, error))
    if refusals:
        raise RefusedError({taken.place: taken.wanted for taken in group}, refusals)
    return found


async def _swap(taken: TakenUp, world: ReplayWorld) -> Swap:
    content, parent = taken.wanted.change, taken.parent
    assert isinstance(content, str)
    swapped = swapped_call(parent.conversation, taken.wanted.event, Swap(content=content, text=""))
    assert swapped is not None
    opened = world.open_tools(parent, parent.condition)
    return await swap_of(content, swapped.recorded, taken.start.before, opened)


async def _judges(
    plan: Plan, stack: AsyncExitStack, lines: Mapping[str, Line], retry: RetryPolicy, *, judged: bool
) -> Opened:
    """Only questions that judges score need them."""
    costs = {judge.name: JudgeCosts() for judge in plan.judges}
    return Opened(await open_judges(plan, stack, lines, costs) if judged else {}, costs, lines, retry)
