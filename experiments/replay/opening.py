"""What replays of trials of one plan stand on: opened once for many batches, as far as they need it."""

from collections.abc import Callable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from contextlib import AsyncExitStack
from dataclasses import dataclass, replace

from toolablate.agents import ModelSource, RetryPolicy
from toolablate.experiments.environment.environment import UNPROTECTED, needed, recorded_environment
from toolablate.experiments.environment.replies import JudgeCosts, asked_lines, open_judges, open_sources
from toolablate.experiments.plans.plan import Design
from toolablate.experiments.replay.changes import swapped_call
from toolablate.experiments.replay.fleet import PlanOnFleet, SendingExecutor
from toolablate.experiments.replay.kept_open import KeptOpen
from toolablate.experiments.replay.on_workers import placebos_to_send
from toolablate.experiments.replay.requests import (
    ForkedTrial,
    Group,
    Refusal,
    RefusedReplaysError,
    files_that_may_have_moved,
    settled,
)
from toolablate.experiments.replay.running import (
    SUBSTITUTES,
    Cap,
    CappedExecutor,
    ReplayEnvironment,
    ReplayExecutor,
    open_replay_environment,
    refuse_without_other_result,
    refuse_without_placebo,
    swap_of,
    with_placebo_sources,
)
from toolablate.experiments.running.launch import Opened
from toolablate.experiments.running.runner import Failures, Setting
from toolablate.experiments.scoring import Scorers
from toolablate.traces.errors import InputError
from toolablate.traces.records import (
    AgentModel,
    Condition,
    InterventionUse,
    Model,
    Rerun,
    Swap,
    ToolCall,
    canonical_json,
)

_PYTHON = "python"
"""The one tool that has a kernel."""


@dataclass(frozen=True, slots=True)
class Asked:
    """Who is asked: the models, by name, and what a run stands on beside them."""

    sources: Mapping[str, ModelSource]
    opened: Opened


class OpenedPlan:
    """What replays of trials of one plan stand on, from batch to batch. Of those that run `elsewhere`, what they are
    planned and graded with: neither kernels nor models."""

    def __init__(self, group: Group, warn: Callable[[str], None], *, live: bool, elsewhere: bool = False) -> None:
        # Its models are those of the first batch: what is opened names the models that it is for.
        self._plan = group.plan
        self._fingerprint = group.fingerprint
        self._warn = warn
        self._live = live
        self._elsewhere = elsewhere
        self._at_hand = KeptOpen(self._open_at_hand)
        self._environment = KeptOpen(self._open_environment)
        self._asked = KeptOpen(self._open_asked)
        self.scorers = Scorers(group.plan, warn)

    async def environment(self, group: Group, conditions: Sequence[Condition]) -> ReplayEnvironment:
        """Placebos are found anew where a batch has the first, and all else stays open."""
        agents = {f"agent {model.name}": model for model in group.plan.models if isinstance(model, AgentModel)}
        await self._at_hand.fit_for(agents | {_tools(each): each for each in conditions})
        return await self._environment.fit_for(agents | {_tools(each) + _changes(each): each for each in conditions})

    async def asked(self, group: Group, models: Sequence[Model], *, judged: bool) -> Asked:
        """What judges cost is counted from here on."""
        self._fingerprint = group.fingerprint
        needs: dict[str, Model | None] = {f"model {model.name}": model for model in models}
        asked = await self._asked.fit_for(needs | ({"judges": None} if judged else {}))
        for costs in asked.opened.costs.values():
            costs.begin()
        return asked

    async def close(self) -> None:
        async with AsyncExitStack() as stack:
            stack.push_async_callback(self._at_hand.close)
            stack.push_async_callback(self._environment.close)
            await stack.enter_async_context(self.scorers)
            stack.push_async_callback(self._asked.close)

    async def _open_at_hand(self, needs: Sequence[Condition | AgentModel], stack: AsyncExitStack) -> ReplayEnvironment:
        # It stands on what was at hand before.
        await self._environment.close()
        conditions = [each for each in needs if isinstance(each, Condition)]
        agents = tuple(each for each in needs if isinstance(each, AgentModel))
        if self._plan.sandbox.backend == UNPROTECTED and "sandbox" in needed(conditions):
            self._warn('sandbox = "none": code that models write runs unprotected')
        plan = self._plan.model_copy(update={"models": agents})
        with files_that_may_have_moved():
            return await open_replay_environment(plan, conditions, stack, live=self._live, tried=not self._elsewhere)

    async def _open_environment(self, needs: Sequence[Condition | AgentModel], _: AsyncExitStack) -> ReplayEnvironment:
        (at_hand,) = self._at_hand.opened
        with files_that_may_have_moved():
            return await with_placebo_sources(at_hand, [each for each in needs if isinstance(each, Condition)])

    async def _open_asked(self, needs: Sequence[Model | None], stack: AsyncExitStack) -> Asked:
        """Only questions that judges score need them: that is None among the needs."""
        plan = self._plan.model_copy(update={"models": tuple(each for each in needs if each is not None)})
        lines, retry = asked_lines(plan), RetryPolicy(attempts=plan.runner.attempts, paced=True)
        sources: Mapping[str, ModelSource] = {}
        if not self._elsewhere:
            sources = await open_sources(plan, self._fingerprint, stack, lines, self._warn)
        costs = {judge.name: JudgeCosts() for judge in plan.judges}
        judges = await open_judges(plan, stack, lines, costs, self._warn) if None in needs else {}
        return Asked(sources, Opened(judges, costs, lines, retry))


def _tools(condition: Condition) -> str:
    return canonical_json([use.model_dump(mode="json") for use in condition.tools])


def _changes(condition: Condition) -> str:
    return canonical_json(sorted({use.name for use in condition.interventions}))


@dataclass(frozen=True, slots=True)
class OpenedGroup:
    """`forked` are those of the group, with their trials; `missed` fills with the tools of calls that could not be
    answered."""

    forked: tuple[ForkedTrial, ...]
    fingerprint: Mapping[str, str]
    planned: Design
    setting: Setting
    opened: Opened
    missed: list[str]


def conditions_to_open(group: Group, finished: AbstractSet[str]) -> list[Condition]:
    """Those of the missing ones."""
    return [condition for forked in group.forked if forked.missing(finished) for condition in _standing(forked)]


async def open_group(
    group: Group, finished: AbstractSet[str], kept: OpenedPlan, cap: Cap, there: PlanOnFleet | None = None
) -> OpenedGroup:
    """Opens what the missing ones need and is not open; they run here, or `there`. Raises RefusedReplaysError for swaps
    whose text cannot be had, ToolablateError for what cannot be opened."""
    missing = [forked for forked in group.forked if forked.missing(finished)]
    conditions = conditions_to_open(group, finished)
    replay_environment = await kept.environment(group, conditions)
    group.forked = await _settled(group.forked, finished, replay_environment)
    planned, scorers = group.design(), kept.scorers
    # What only grades needs no key but its judges'.
    judged = any(map(scorers.is_judged, planned.questions))
    asked = await kept.asked(group, group.plan.models if missing else (), judged=judged)
    by_condition = {forked.trials[0].trial.condition: forked for forked in group.forked}
    coding = frozenset(identity for identity, forked in by_condition.items() if _codes(forked))
    sandboxed = "sandbox" in needed(conditions)
    executor: ReplayExecutor | SendingExecutor
    if there is None:
        environment = recorded_environment(replay_environment.tried if sandboxed else None, group.fingerprint)
        retry = asked.opened.retry
        executor = ReplayExecutor(by_condition, replay_environment, asked.sources, environment, retry)
    else:
        placebos = placebos_to_send(replay_environment)
        lines = asked.opened.lines
        executor = there.executor(by_condition, coding, placebos, group.fingerprint, lines, sandboxed=sandboxed)
    setting = Setting(
        CappedExecutor(executor, cap),
        scorers,
        cap.progress,
        Failures(),
        there.fleet.kernels if there else group.plan.runner.kernels,
        group.plan.runner.trial_seconds,
        coding=coding,
        retries=there.fleet.retries if there else 0,
    )
    return OpenedGroup(tuple(group.forked), group.fingerprint, planned, setting, asked.opened, executor.missed)


def _standing(forked: ForkedTrial) -> Sequence[Condition]:
    """The conditions whose needs are to be opened. A probe needs nothing; a placebo and an adversary need results and
    answers of other questions."""
    if not forked.calls:
        return ()
    change = forked.request.change
    substitute = SUBSTITUTES.get(change) if isinstance(change, str) and not forked.trials else None
    if substitute is None:
        return (forked.condition,)
    uses = (InterventionUse(name=substitute),)
    return forked.condition, forked.condition.model_copy(update={"interventions": uses})


def _codes(forked: ForkedTrial) -> bool:
    """Whether it may start a kernel: it has one and calls it, or its cells are to be run again."""
    if not forked.calls or "sandbox" not in needed([forked.condition]):
        return False
    change = forked.resumption.change if forked.resumption else None
    uncalled = isinstance(change, Rerun) and change.substitute != "placebo" and _PYTHON in change.tools
    return not uncalled or any(isinstance(each, ToolCall) and each.call.name == _PYTHON for each in forked.start.before)


async def _settled(
    group: Sequence[ForkedTrial], finished: AbstractSet[str], replay_environment: ReplayEnvironment
) -> list[ForkedTrial]:
    found, refusals = [], []
    for forked in group:
        try:
            if forked.missing(finished):
                refuse_without_placebo(forked, replay_environment)
            found.append(forked if forked.trials else settled(forked, await _swap(forked, replay_environment)))
        except InputError as error:
            refusals.append(Refusal(forked.place, error))
    if refusals:
        raise RefusedReplaysError({forked.place: forked.request for forked in group}, refusals)
    return found


async def _swap(forked: ForkedTrial, replay_environment: ReplayEnvironment) -> Swap:
    content, parent = forked.request.change, forked.parent
    assert isinstance(content, str)
    swapped = swapped_call(parent.conversation, forked.request.event, Swap(content=content, text=""))
    assert swapped is not None
    uses = (InterventionUse(name="placebo"),) if content == "placebo" else ()
    # An agent's tools run only inside of it.
    outside = replace(replay_environment, anew=replay_environment.anew - {"agent"})
    opened = outside.open_tools(parent, parent.condition, uses)
    if uses and swapped.recorded.call.name not in opened.askable:
        refuse_without_other_result(swapped.recorded.call.name, parent, replay_environment)
    return await swap_of(content, swapped.recorded, forked.start.before, opened)
