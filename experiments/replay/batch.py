"""Many replays in one go: estimated, refused where too dear, and run with one recorder."""

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from os import PathLike
from pathlib import Path
from typing import TypeVar

from toolablate.agents import Start
from toolablate.agents.spending import estimated_tokens, rates_of
from toolablate.experiments.cluster.opening import own_store
from toolablate.experiments.plans.plan import Plan
from toolablate.experiments.plans.sections import ClusterSection
from toolablate.experiments.plans.written import keeping_env
from toolablate.experiments.replay.fleet import PlanOnFleet, ReplayFleet
from toolablate.experiments.replay.opening import OpenedGroup, OpenedPlan, conditions_to_open, open_group
from toolablate.experiments.replay.requests import (
    Content,
    ForkedTrial,
    Group,
    Parent,
    RefusedReplaysError,
    ReplayRequest,
    fork_trials,
)
from toolablate.experiments.replay.running import Cap
from toolablate.experiments.running.launch import Launched, carry_out
from toolablate.experiments.running.progress import RunProgress
from toolablate.experiments.running.runner import StopSwitch
from toolablate.reports.numbers import counted
from toolablate.traces.errors import InputError
from toolablate.traces.records import (
    Again,
    Budget,
    Condition,
    Message,
    ModelCall,
    ModelRequest,
    Price,
    ReplayChange,
    ServedModel,
)
from toolablate.traces.store import Recorder, Store
from toolablate.traces.terminal_text import one_line

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Amount:
    """So many trials that are missing, and what they will cost in US dollars, None where no price is known."""

    missing: int
    usd: float | None


@dataclass(frozen=True, slots=True)
class Estimate:
    """How many trials were requested, how many of these are missing, and what they will cost in US dollars, None where
    no price is known. `by_place` is that of each replay; a trial that several call for counts for the first."""

    trials: int
    missing: int
    usd: float | None
    by_place: Mapping[int, Amount]


def estimated(forked_trials: Sequence[ForkedTrial], finished: AbstractSet[str]) -> Estimate:
    """`finished` are the counterfactuals that the store has."""
    known, trials, missing = set(finished), set[str](), 0
    by_place: dict[int, Amount] = {}
    unnamed = 0
    for forked in sorted(forked_trials, key=lambda forked: forked.place):
        count = forked.missing(known)
        missing += count
        unnamed += 0 if forked.trials else count
        ids = {entry.trial.id for entry in forked.trials}
        trials |= ids
        known |= ids
        cost = _of_one(forked) if count else 0.0
        by_place[forked.place] = Amount(count, None if cost is None else cost * count)
    return Estimate(len(trials) + unnamed, missing, total_cost([each.usd for each in by_place.values()]), by_place)


def _of_one(forked: ForkedTrial) -> float | None:
    return total_cost([estimated_cost(forked.parent, forked.start, forked.condition.budget), forked.parent.grading_usd])


def told(estimate: Estimate) -> str:
    replays = counted(estimate.missing, "replay")
    if estimate.usd is None:
        return f"{replays} to run, at unknown cost: a model or judge has no price"
    return f"{replays} to run, for an estimated ${estimate.usd:.4g}"


def estimated_cost(parent: Parent, start: Start, budget: Budget) -> float | None:
    """US dollars for one trial, None where the price is not known: what the parent paid from the event on; of a probe,
    and where the parent asked nothing more, one request that reads all that was said; with a larger budget, as many
    requests more as it has turns, at what the parent's cost on average."""
    if not isinstance(parent.model, ServedModel):
        return 0.0
    asked = [each for each in parent.conversation if isinstance(each, ModelCall)]
    rest = asked[len([each for each in start.before if isinstance(each, ModelCall)]) :]
    if start.node == "end":
        return 0.0
    if start.node == "final" or not rest:
        return _one_request(parent.model.price, asked, start)
    known = total_cost([each.cost_usd for each in rest])
    more = budget.turns - parent.condition.budget.turns
    mean = total_cost([each.cost_usd for each in asked])
    if known is None or mean is None or more <= 0:
        return known
    return known + more * mean / len(asked)


def refuse_too_dear(cost: float | None, max_cost: float | None) -> None:
    """Raises InputError where all of it would cost more than allowed, or nobody knows what."""
    if max_cost is None or (cost is not None and cost <= max_cost):
        return
    if cost is None:
        raise InputError(
            "--max-cost: the cost is unknown: a model or judge has no price",
            hint="give it a price in the plan, or leave --max-cost out",
            code="unknown_cost",
        )
    raise InputError(
        f"--max-cost: this would cost about ${cost:.4g}, and ${max_cost:.4g} are allowed",
        hint="ask for fewer runs, or allow more; nothing was spent",
        code="too_dear",
    )


def _one_request(price: Price | None, asked: Sequence[ModelCall], start: Start) -> float | None:
    """By the tokens that the next recorded request had for its length, since scripts and tokenizers differ, and with as
    long a reply as the last one."""
    if price is None:
        return None
    before = sum(isinstance(each, ModelCall) for each in start.before)
    like = asked[min(before, len(asked) - 1)]
    messages = (*start.messages, Message(role="user", content=start.closing))
    read = estimated_tokens(ModelRequest(messages=messages, tools=like.request.tools))
    if like.reply.usage.input_tokens is not None:
        read = round(read * like.reply.usage.input_tokens / max(1, estimated_tokens(like.request)))
    last = asked[-1].reply
    wrote = last.usage.output_tokens or len(last.message.content) // 4
    rates = rates_of(price, read)
    return (read * rates.input + wrote * rates.output) / 1e6


def total_cost(costs: Sequence[float | None]) -> float | None:
    """None where one of them is not known."""
    known = [cost for cost in costs if cost is not None]
    return sum(known) if len(known) == len(costs) else None


# Many trials forked in one go: one environment, one recorder, and each parent read once.


@dataclass(frozen=True, slots=True)
class Replayed:
    """`trials` are the ids of the counterfactuals of the trial `parent`, one for each repeat, all under `condition`.
    `estimated_usd` is what those that were missing were thought to cost, None where no price is known; `launched` says
    how it went with all that was asked for at once."""

    parent: str
    condition: Condition
    trials: tuple[str, ...]
    estimated_usd: float | None
    launched: Launched


@dataclass(frozen=True, slots=True)
class Batch:
    """`replayed` is in the order of the requests. `spent_usd` is what was paid for replies that came now, judges'
    among them, as far as their cost is known."""

    replayed: tuple[Replayed, ...]
    launched: Launched
    estimated_usd: float | None
    spent_usd: float


def replay_many(
    store: str | PathLike[str],
    requests: Sequence[ReplayRequest],
    *,
    plan: str | PathLike[str] | None = None,
    max_cost: float | None = None,
    live: bool = False,
    cluster: str | None = None,
    progress: RunProgress | None = None,
) -> Batch:
    """Does what `replay` does for each of these, as one run; what several of them call for is run once, and what is
    there is not run again. Where all is there, nothing is opened but the store.

    `plan` names the plan of all of them where its paths have moved. `max_cost` is in US dollars for all together: what
    is thought to cost more is refused, and what turns out to is not gone on with. `cluster` is the address of workers
    that run them, "none" for this machine, by default what the plan says. Raises ToolablateError; what can be
    refused is refused before anything is spent or written, with RefusedReplaysError for those of which that is so.
    """

    async def alone() -> Batch:
        async with open_replays(store, plan=plan, live=live, cluster=cluster, progress=progress) as replays:
            return await replays.run(requests, max_cost=max_cost)

    return asyncio.run(alone())


def estimate_many(
    store: str | PathLike[str],
    requests: Sequence[ReplayRequest],
    *,
    plan: str | PathLike[str] | None = None,
    anew: bool = False,
) -> Estimate:
    """What `replay_many` would run, and for how much, or would run `anew` if none were there; nothing is opened but the
    store. Raises InputError and StoreError as it does."""
    with Store(store) as opened:
        groups = fork_trials(opened, requests, Path(plan) if plan is not None else None)
        finished = frozenset[str]() if anew else opened.finished_resumptions()
        return estimated([forked for group in groups for forked in group.forked], finished)


@asynccontextmanager
async def open_replays(
    store: str | PathLike[str],
    *,
    plan: str | PathLike[str] | None = None,
    live: bool = False,
    cluster: str | None = None,
    progress: RunProgress | None = None,
) -> "AsyncIterator[Replays]":
    """For batches of replays one after the other, each as `replay_many` does it: sandbox, tools, models and workers are
    opened when a batch first needs them, and closed at the end."""
    async with AsyncExitStack() as stack:
        where = Path(plan) if plan is not None else None
        yield Replays(Path(store), where, live, progress or RunProgress(), stack, cluster)


@dataclass(slots=True)
class Replays:
    """Batches of replays of trials of one store, which stand on what is opened once; the stack closes it."""

    store: Path
    plan: Path | None
    live: bool
    progress: RunProgress
    stack: AsyncExitStack
    cluster: str | None = None
    _plans: dict[str, Plan] = field(default_factory=dict)
    _opened: dict[int, OpenedPlan] = field(default_factory=dict)
    _fleet: ReplayFleet | None = None

    async def run(self, requests: Sequence[ReplayRequest], *, max_cost: float | None = None) -> Batch:
        """Does what `replay_many` does. Raises ToolablateError; what was opened stays open."""
        store, progress = self.store, self.progress
        groups, finished = await self.meanwhile(lambda: self._forked(requests))
        estimate = estimated([forked for group in groups for forked in group.forked], finished)
        if estimate.missing:
            progress.tell(told(estimate))
        refuse_too_dear(estimate.usd, max_cost)
        if not groups:
            return Batch((), _together(store, ()), estimate.usd, 0.0)
        cap = Cap(max_cost, progress)
        kept = [self._kept(group) for group in groups]
        there = await self._there(groups, finished)
        ready = [
            await open_group(group, finished, opened, cap, there.get(id(group)))
            for group, opened in zip(groups, kept, strict=True)
        ]
        if self._fleet is not None:
            self._fleet.forget_other_batches()
        with Recorder(store) as recorder:
            for each in ready:
                recorder.resume(
                    each.fingerprint, each.planned.conditions, [entry.trial for entry in each.planned.trials]
                )
            launched = _together(store, [run async for run in _runs(ready, finished, recorder, cap.stop)])
        if not self.live and (missed := [name for each in ready for name in each.missed]):
            tools = ", ".join(one_line(name, max_chars=80) for name in dict.fromkeys(missed))
            progress.warn(
                f"{counted(len(missed), 'call')} of {tools} not in the record returned an error: such replays may be"
                " wrong for want of a result; --live asks the tool"
            )
        spent = cap.spent + sum(work.cost_usd for work in launched.judges)
        return Batch(_replayed(ready, estimate, launched), launched, estimate.usd, spent)

    async def meanwhile(self, work: Callable[[], T]) -> T:
        """What the work gives, which may take minutes. Workers that are there are listened to meanwhile: one that
        nobody hears of for long ends itself."""
        if self._fleet is None or not self._fleet.is_open:
            return work()
        return await asyncio.to_thread(work)

    def _forked(self, requests: Sequence[ReplayRequest]) -> tuple[list[Group], frozenset[str]]:
        with Store(self.store) as opened:
            return fork_trials(opened, requests, self.plan, self._plans), opened.finished_resumptions()

    def _section(self, group: Group) -> ClusterSection | None:
        return group.whole.on_cluster(self.cluster).cluster

    async def _there(self, groups: Sequence[Group], finished: AbstractSet[str]) -> dict[int, PlanOnFleet]:
        """What runs groups whose plan, or who asks, wants them on workers. Plans that name different clusters share the
        first."""
        wanted = [
            (group, section)
            for group in groups
            if (section := self._section(group)) and any(forked.missing(finished) for forked in group.forked)
        ]
        if not wanted:
            return {}
        if self._fleet is None:
            section = wanted[0][1]
            own_store(section, self.store, self.stack)
            self._fleet = ReplayFleet(section, self.store, self.progress, live=self.live)
            self.stack.push_async_callback(self._fleet.close)
        stand_on = []
        for group, _ in wanted:
            conditions = conditions_to_open(group, finished)
            # The driver opens first what workers ask it for.
            stand_on.append((group, conditions, await self._kept(group).environment(group, conditions)))
        return await self._fleet.fit_for(stand_on)

    def _kept(self, group: Group) -> OpenedPlan:
        # Each plan is read once, and its groups are told apart by that.
        if id(group.whole) not in self._opened:
            if group.plan.file is not None:
                self.stack.enter_context(keeping_env(group.plan.file.parent))
            elsewhere = self._section(group) is not None
            opened = OpenedPlan(group, self.progress.warn, live=self.live, elsewhere=elsewhere)
            self.stack.push_async_callback(opened.close)
            self._opened[id(group.whole)] = opened
        return self._opened[id(group.whole)]


async def _runs(
    ready: Sequence[OpenedGroup], finished: AbstractSet[str], recorder: Recorder, stop: StopSwitch
) -> AsyncIterator[Launched]:
    """Of one plan after the other. Once a stop is asked for, the rest is left to the next time."""
    for each in ready:
        if stop.stopped:
            yield _left_out(each, finished, recorder.path)
        else:
            yield await carry_out(each.planned, each.setting, each.opened, recorder, stop=stop)


def _left_out(group: OpenedGroup, finished: AbstractSet[str], store: Path) -> Launched:
    trials = {entry.trial.id for entry in group.planned.trials}
    missing = len(trials - finished)
    return Launched(
        run="",
        store=store,
        planned=len(trials),
        done_before=len(trials) - missing,
        missing=missing,
        elsewhere=0,
        unscored=(),
        ungraded=0,
        stopped=True,
        failures=(),
        judges=(),
        slowed=(),
    )


def _together(store: Path, runs: Sequence[Launched]) -> Launched:
    return Launched(
        run="",
        store=store,
        planned=sum(run.planned for run in runs),
        done_before=sum(run.done_before for run in runs),
        missing=sum(run.missing for run in runs),
        elsewhere=sum(run.elsewhere for run in runs),
        unscored=tuple(left for run in runs for left in run.unscored),
        ungraded=sum(run.ungraded for run in runs),
        stopped=any(run.stopped for run in runs),
        failures=tuple(failure for run in runs for failure in run.failures),
        judges=tuple(work for run in runs for work in run.judges),
        slowed=tuple(text for run in runs for text in run.slowed),
    )


def _replayed(ready: Sequence[OpenedGroup], estimate: Estimate, launched: Launched) -> tuple[Replayed, ...]:
    forked = sorted((each for group in ready for each in group.forked), key=lambda each: each.place)
    return tuple(
        Replayed(
            each.parent.trial.id,
            each.condition,
            tuple(entry.trial.id for entry in each.trials),
            estimate.by_place[each.place].usd,
            launched,
        )
        for each in forked
    )


# Takes a trial up again at one of its events, with one thing changed.


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
    cluster: str | None = None,
    progress: RunProgress | None = None,
) -> Replayed:
    """Goes on with a trial of a store from an event of its conversation, counted from 0, and stores what comes of it as
    trials of their own: nothing that is recorded is changed, and repeats that are there are not run again.

    Before the event everything is as it was recorded. Then `change` is made: by default none, so that what follows is
    drawn anew; `null`, `placebo`, `gold` or `adversarial` stand for a swap of the tool call's result. After it a call
    in the words of the record gets the recorded result, and what else is asked of the web comes from the plan's
    archive, or, where `live` allows it, from the web itself.

    `plan` names the plan where its paths have moved. `max_cost` is in US dollars. `cluster` is as of `replay_many`.
    Raises ToolablateError; what can be refused is refused before anything is spent or written.
    """
    request = ReplayRequest(trial, event, change or Again(), repeats)
    try:
        batch = replay_many(
            store, [request], plan=plan, max_cost=max_cost, live=live, cluster=cluster, progress=progress
        )
    except RefusedReplaysError as refused:
        raise refused.refusals[0].error from None
    return batch.replayed[0]
