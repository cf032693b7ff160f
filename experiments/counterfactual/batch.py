"""Many trials taken up again in one go: one world, one recorder, and each parent read once."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from collections.abc import Set as AbstractSet
from contextlib import AsyncExitStack
from dataclasses import dataclass
from os import PathLike
from pathlib import Path

from rich.console import Console

from toolablate.experiments.counterfactual.capping import Cap
from toolablate.experiments.counterfactual.estimate import Estimate, estimated, refuse_too_dear, told
from toolablate.experiments.counterfactual.running import OpenedGroup, open_group
from toolablate.experiments.counterfactual.taking_up import take_up
from toolablate.experiments.counterfactual.wanted import Wanted
from toolablate.experiments.running.launch import Launched, carry_out
from toolablate.experiments.running.progress import RunProgress
from toolablate.experiments.running.runner import StopSwitch
from toolablate.experiments.running.watcher import Watcher
from toolablate.traces.records import Condition
from toolablate.traces.store import Recorder, Store


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
    """`replayed` is in the order of what was wanted. `spent_usd` is what was paid for replies that came now, judges'
    among them, as far as their cost is known."""

    replayed: tuple[Replayed, ...]
    launched: Launched
    estimated_usd: float | None
    spent_usd: float


def replay_many(
    store: str | PathLike[str],
    wanted: Sequence[Wanted],
    *,
    plan: str | PathLike[str] | None = None,
    max_cost: float | None = None,
    live: bool = False,
    watcher: Watcher | None = None,
) -> Batch:
    """Does what `replay` does for each of these, as one run; what several of them call for is run once, and what is
    there is not run again. Where all is there, nothing is opened but the store.

    `plan` names the plan of all of them where its paths have moved. `max_cost` is in US dollars for all together: what
    is thought to cost more is refused, and what turns out to is not gone on with. Raises ToolablateError; what can be
    refused is refused before anything is spent or written, with RefusedError for those of which that is so.
    """
    asked = _Asked(Path(store), tuple(wanted), Path(plan) if plan is not None else None, max_cost, live)
    if watcher is not None:
        return asyncio.run(_replay_many(asked, watcher))
    with RunProgress(Console(quiet=True)) as silent:
        return asyncio.run(_replay_many(asked, silent))


def estimate_many(
    store: str | PathLike[str],
    wanted: Sequence[Wanted],
    *,
    plan: str | PathLike[str] | None = None,
    anew: bool = False,
) -> Estimate:
    """What `replay_many` would run, and for how much, or would run `anew` if none were there; nothing is opened but the
    store. Raises InputError and StoreError as it does."""
    with Store(store) as opened:
        groups = take_up(opened, wanted, Path(plan) if plan is not None else None)
        finished = frozenset[str]() if anew else opened.finished_resumptions()
        return estimated([taken for group in groups for taken in group.taken], finished)


@dataclass(frozen=True, slots=True)
class _Asked:
    store: Path
    wanted: tuple[Wanted, ...]
    plan: Path | None
    max_cost: float | None
    live: bool


async def _replay_many(asked: _Asked, watcher: Watcher) -> Batch:
    with Store(asked.store) as opened:
        groups = take_up(opened, asked.wanted, asked.plan)
        finished = opened.finished_resumptions()
    estimate = estimated([taken for group in groups for taken in group.taken], finished)
    watcher.tell(told(estimate))
    refuse_too_dear(estimate.usd, asked.max_cost)
    if not groups:
        return Batch((), _together(asked.store, ()), estimate.usd, 0.0)
    cap = Cap(asked.max_cost, watcher)
    async with AsyncExitStack() as stack:
        ready = [await open_group(group, finished, stack, cap, live=asked.live) for group in groups]
        recorder = stack.enter_context(Recorder(asked.store))
        for each in ready:
            recorder.resume(each.world, each.planned.conditions, [entry.trial for entry in each.planned.trials])
        launched = _together(asked.store, [run async for run in _runs(ready, finished, recorder, cap.stop)])
    spent = cap.spent + sum(work.cost_usd for work in launched.judges)
    return Batch(_replayed(ready, estimate, launched), launched, estimate.usd, spent)


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
    taken = sorted((each for group in ready for each in group.taken), key=lambda each: each.place)
    return tuple(
        Replayed(
            each.parent.trial.id,
            each.condition,
            tuple(entry.trial.id for entry in each.trials),
            estimate.by_place[each.place].usd,
            launched,
        )
        for each in taken
    )
