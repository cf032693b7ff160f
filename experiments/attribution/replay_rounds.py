"""Attribution by replay: estimates the replays of chosen trials and runs them in rounds."""

import asyncio
import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field, replace
from os import PathLike
from pathlib import Path

from toolablate.analysis.attribution.evidence import Explained
from toolablate.analysis.attribution.replay_rules import is_wrong_and_replayed
from toolablate.analysis.from_store import observe
from toolablate.analysis.pairing import counts, mean
from toolablate.experiments.attribution.cases import Case, scorers_of
from toolablate.experiments.attribution.explained import Gathered, explained
from toolablate.experiments.attribution.planned_replays import (
    ROUNDS,
    arms_without_calls,
    at_most_undecided,
    begun,
    compared_runs,
    end_at_most,
    first_round,
    may_have_risen,
    re_ask,
    re_asks_of,
    run_again,
    undecided,
    unparsed_arms,
    without_results,
    without_results_at_most,
)
from toolablate.experiments.attribution.readings_cache import readings_of
from toolablate.experiments.attribution.replay_evidence import Outcomes, flip_of, outcomes_of, unparsed_replays
from toolablate.experiments.attribution.sampled_trials import ChosenTrial, candidates, choose, refuse_other_scorers
from toolablate.experiments.replay.batch import (
    Amount,
    Batch,
    Estimate,
    Replays,
    estimate_many,
    open_replays,
    refuse_too_dear,
    total_cost,
)
from toolablate.experiments.replay.replayed_tools import UnrecordedPages, UnrecordedSearch, UnrecordedTool
from toolablate.experiments.replay.requests import RefusedReplaysError, ReplayRequest
from toolablate.experiments.running.progress import RunProgress
from toolablate.reports.numbers import counted, dollars
from toolablate.tools import Resources, Tool, Toolset, expanded_uses, open_interventions, open_tools, resource_of
from toolablate.tools.guards.guard import NoGuard
from toolablate.tools.interventions import InterventionSetting
from toolablate.tools.python import no_files
from toolablate.traces.errors import InputError
from toolablate.traces.records import (
    Condition,
    InterventionUse,
    ModelCall,
    ReplayDesign,
    ReplayPurposeKind,
    ToolCall,
    Trace,
    clean_text,
)
from toolablate.traces.store import FailureCount, Recorder, Store

_TOO_DEAR = ("too_dear", "unknown_cost")
_OF_THE_PLAN = ("no_plan", "other_model")
"""Refusals that `--plan` mends, and that are told at once."""


@dataclass(frozen=True, slots=True)
class RefusedReplays:
    """So many `replays` for this `purpose` that cannot be made: `reason` is the code of the error, `message` what it
    says of the first of them, and of what can be done."""

    purpose: ReplayPurposeKind
    reason: str
    message: str
    replays: int


@dataclass(slots=True)
class Rounds:
    """The rounds of one attribution. `estimated` is what those so far were thought to cost, in US dollars, None where
    that is not known; `spent` is what they cost as far as that is known, `charged` what counts against `max_cost`."""

    store: Path
    plan: Path | None
    max_cost: float | None
    live: bool
    progress: RunProgress
    cluster: str | None = None
    estimated: float | None = 0.0
    spent: float = 0.0
    charged: float = 0.0
    stopped: bool = False
    _trials: set[str] = field(default_factory=set)
    _failed: list[FailureCount] = field(default_factory=list)
    _refused: dict[ReplayRequest, InputError] = field(default_factory=dict)

    def estimate(self, requests: Sequence[ReplayRequest], *, anew: bool = False) -> Estimate:
        """Of those that can be made, each by its place among `requests`; of those that are missing, or of all as if
        they were made `anew`. Raises InputError where none can for want of the plan."""
        left = dict(enumerate(requests))
        while True:
            try:
                found = estimate_many(self.store, list(left.values()), plan=self.plan, anew=anew)
            except RefusedReplaysError as error:
                refused = _refusals(list(left.values()), error)
                left = {place: request for place, request in left.items() if request not in refused}
            else:
                return replace(found, by_place={place: found.by_place[nth] for nth, place in enumerate(left)})

    async def run(self, replays: Replays, requests: Sequence[ReplayRequest]) -> None:
        """Those that can be made, in their order as many as fit into what is left to spend. Raises ToolablateError."""
        batch = await self._run(replays, requests)
        if batch is None:
            return
        thought = batch.estimated_usd
        self.estimated = None if self.estimated is None or thought is None else self.estimated + thought
        self.spent += batch.spent_usd
        # An endpoint that does not report what it took would seem to cost nothing.
        self.charged += max(batch.spent_usd, thought or 0.0)
        self.stopped = self.stopped or batch.launched.stopped
        self._failed += batch.launched.failures
        self._trials.update(*(each.trials for each in batch.replayed))

    @property
    def failures(self) -> tuple[FailureCount, ...]:
        """By model, place and code, with the words of the first."""
        found: dict[tuple[str, str | None, str], FailureCount] = {}
        for each in self._failed:
            key = each.model, each.boundary, each.code
            before = found.get(key)
            found[key] = replace(before, count=before.count + each.count) if before else each
        return tuple(found.values())

    @property
    def refused(self) -> tuple[RefusedReplays, ...]:
        """By what they are for and why, in the order in which they were refused."""
        replays: Counter[tuple[ReplayPurposeKind, str]] = Counter()
        said: dict[tuple[ReplayPurposeKind, str], str] = {}
        for request, error in self._refused.items():
            key = request.purposes[0].kind, error.code
            replays[key] += request.repeats
            said.setdefault(key, "; ".join(filter(None, (error.message, error.hint))))
        return tuple(RefusedReplays(*key, said[key], number) for key, number in replays.items())

    def counts(self, earlier: AbstractSet[str]) -> tuple[int, int]:
        """The replays that were asked for and could be made, now and by `earlier` rounds, and how many of these have
        not ended."""
        trials = self._trials | earlier
        with Store(self.store) as opened:
            return len(trials), len(trials - opened.finished_resumptions())

    async def _run(self, replays: Replays, requests: Sequence[ReplayRequest]) -> Batch | None:
        while (left := self._left(requests)) and not self.stopped:
            try:
                return await replays.run(left, max_cost=self._to_spend())
            except RefusedReplaysError as error:
                self._refused |= _refusals(left, error)
            except InputError as error:
                if error.code not in _TOO_DEAR:
                    raise
                too_dear = self._too_dear(left)
                self.progress.warn(f"{counted(_replays(too_dear), 'replay')} left out: {error.message}")
                self._refused |= dict.fromkeys(too_dear, error)
        return None

    def _too_dear(self, requests: Sequence[ReplayRequest]) -> list[ReplayRequest]:
        """Those that do not fit into what is left to spend; all of them where no cost is known."""
        left, costs = self._to_spend() or 0.0, self.estimate(requests).by_place
        found: list[ReplayRequest] = []
        for place, request in enumerate(requests):
            cost = costs[place].usd if place in costs else None
            if cost is None or cost > left:
                found.append(request)
            else:
                left -= cost
        return found or list(requests)

    def _to_spend(self) -> float | None:
        return None if self.max_cost is None else max(0.0, self.max_cost - self.charged)

    def _left(self, requests: Sequence[ReplayRequest]) -> list[ReplayRequest]:
        return [request for request in dict.fromkeys(requests) if request not in self._refused]


def _refusals(requests: Sequence[ReplayRequest], error: RefusedReplaysError) -> dict[ReplayRequest, InputError]:
    """Raises InputError for what naming the plan would mend."""
    for each in error.refusals:
        if each.error.code in _OF_THE_PLAN:
            raise each.error
    return {requests[each.place]: each.error for each in error.refusals}


def _replays(requests: Sequence[ReplayRequest]) -> int:
    return sum(each.repeats for each in requests)


# What the results of a trial would be where its tools found nothing.


_STARTED = ("sandbox", "mcp")
"""What tools stand on that would have to be started; they say nothing in words of their own."""


async def nothing_found(case: Case, trace: Trace, condition: Condition) -> Mapping[int, str]:
    """By the events of `Case.shown`, in the words of the substitute `sham`, which calls nobody. Raises InputError where
    a function of the user's own cannot be imported."""
    toolset = Toolset(
        _tools(trace, condition), open_interventions((InterventionUse(name="sham"),), InterventionSetting())
    )
    calls = {event: trace.events[event] for event in case.shown}
    async with toolset:
        return {
            event: clean_text((await toolset.call(made.call)).output)
            for event, made in calls.items()
            if isinstance(made, ToolCall)
        }


def _tools(trace: Trace, condition: Condition) -> list[Tool]:
    uses = [use for use in expanded_uses(condition.tools) if resource_of(use) not in _STARTED]
    resources = Resources(search=UnrecordedSearch(), pages=UnrecordedPages())
    opened: list[Tool] = [each.tool for each in open_tools(uses, resources, no_files, NoGuard())]
    there = {tool.spec.name for tool in opened}
    offered = next((event.request.tools for event in trace.events if isinstance(event, ModelCall)), ())
    return [*opened, *(UnrecordedTool(spec) for spec in offered if spec.name not in there)]


# What the rounds ask of the trials that are chosen, by what is stored of their replays.


@dataclass(frozen=True, slots=True)
class Chosen:
    """`arms` are trials of the arms that the trials are compared with, of which no answer could be read, `again` those
    of arms in which nothing is called."""

    design: ReplayDesign
    trials: Sequence[ChosenTrial]
    arms: Sequence[str]
    scorers: Sequence[str]
    again: Sequence[str] = ()

    def outcomes(self, store: Store, case: Case) -> Outcomes:
        found = store.counterfactuals(scorers=self.scorers, trial=case.trial)
        return outcomes_of(case, found.get(case.trial, ()))

    def all_outcomes(self, store: Store) -> Iterator[tuple[ChosenTrial, Outcomes]]:
        found = store.counterfactuals(scorers=self.scorers)
        return ((each, outcomes_of(each.case, found.get(each.case.trial, ()))) for each in self.trials)


def first_requests(path: Path, chosen: Chosen) -> list[ReplayRequest]:
    """Arms are run again whatever they come to: so they bear on the decomposition as well."""
    with Store(path) as store:
        arms = [run_again(store, trial, chosen.design) for trial in chosen.again]
    of_trials = [request for each in chosen.trials for request in first_round(each, chosen.design)]
    return [*of_trials, *(request for request in arms if request is not None)]


def begun_requests(path: Path, chosen: Chosen) -> list[ReplayRequest]:
    """Of rounds that were stopped."""
    with Store(path) as store:
        return [
            request
            for each, outcomes in chosen.all_outcomes(store)
            if each.is_wrong
            for request in begun(each, outcomes, chosen.design)
        ]


def undecided_requests(path: Path, chosen: Chosen, found: Gathered[Explained]) -> list[ReplayRequest]:
    """Of wrong trials, by what is known of all; of right ones their end, where they may have come to know."""
    evidence = {each.evidence.inputs.trial: each.evidence for each in found.explained}
    with Store(path) as store:
        requests: list[ReplayRequest] = []
        for each, outcomes in chosen.all_outcomes(store):
            known = evidence.get(each.case.trial)
            if known is not None and is_wrong_and_replayed(known):
                requests += undecided(each, known, outcomes, found.rates, chosen.design)
            requests += may_have_risen(each, outcomes, chosen.design)
        return requests


async def requests_without_results(path: Path, chosen: Chosen) -> list[ReplayRequest]:
    with Store(path) as store:
        return [
            request
            for each, outcomes in chosen.all_outcomes(store)
            for request in await without_results_of(store, each, outcomes, chosen.design)
        ]


async def without_results_of(
    store: Store, trial: ChosenTrial, outcomes: Outcomes, design: ReplayDesign
) -> tuple[ReplayRequest, ...]:
    """Of a wrong trial, where its belief falls."""
    flip = flip_of(trial.case, outcomes) if trial.is_wrong and design.each_result else None
    if flip is None:
        return ()
    nothing = await nothing_found(trial.case, store.trace(trial.case.trial), trial.condition)
    return without_results(trial.case, flip, nothing, design)


def last_requests(path: Path, chosen: Chosen) -> list[ReplayRequest]:
    with Store(path) as store:
        return re_asks(store, chosen.arms, (outcomes for _, outcomes in chosen.all_outcomes(store)))


def re_asks(store: Store, arms: Iterable[str], found: Iterable[Outcomes]) -> list[ReplayRequest]:
    """A run may serve for several purposes, and one of an arm for several trials."""
    replays = (trial for outcomes in found for trial in unparsed_replays(outcomes))
    asked = (re_ask(store, trial) for trial in dict.fromkeys((*arms, *replays)))
    return [each for each in asked if each is not None]


# What the rounds after the first will take, before anything is asked: what is likely, and the most.


LIKELY_SHARE = 0.15
"""Of the most that undecided trials can take, what they take, as measured on synthetic failures."""


@dataclass(frozen=True, slots=True)
class Foreseen:
    """What the rounds after the first are likely to take, and what they take at most; the same where that is known."""

    likely: Amount
    most: Amount


async def foresee(
    rounds: Rounds, chosen: Chosen, missing: AbstractSet[str], undecided: AbstractSet[str], unread: float
) -> Foreseen:
    """Of trials whose first round is `missing` some, and of those that are `undecided`; `unread` is the share of
    replies that cannot be read. Raises ToolablateError."""
    with Store(rounds.store) as store:
        shown = [(each, found) for each, found in chosen.all_outcomes(store) if each.case.trial not in missing]
        without = [
            (each.case, request)
            for each, found in shown
            if each.case.trial not in undecided
            for request in await without_results_of(store, each, found, chosen.design)
        ]
        asked_again = re_asks(store, chosen.arms, (found for _, found in shown))
    left = [each for each in begun_requests(rounds.store, chosen) if each.trial not in missing]
    certain = rounds.estimate([*(request for _, request in without), *asked_again, *left])
    runs: Counter[str] = Counter()
    for place, (case, request) in enumerate(without):
        if place in certain.by_place and compared_runs([request]):
            runs[case.trial] += certain.by_place[place].missing
    later: list[ReplayRequest] = []
    for each in chosen.trials:
        case = each.case
        then: tuple[ReplayRequest, ...] = ()
        if each.is_wrong and case.trial in missing | undecided:
            then = (*at_most_undecided(case, chosen.design), *without_results_at_most(case, chosen.design))
        elif case.trial in missing | undecided:
            then = end_at_most(each, chosen.design)
        later += then
        runs[case.trial] += compared_runs(then)
        if case.trial in missing:
            runs[case.trial] += compared_runs(first_round(each, chosen.design))
        asked = re_asks_of(case, math.ceil(unread * runs[case.trial]))
        later += [] if asked is None else [asked]
    most = rounds.estimate(later, anew=True).by_place.values()
    return Foreseen(_with(certain, most, LIKELY_SHARE), _with(certain, most, 1.0))


def _with(known: Estimate, later: Iterable[Amount], share: float) -> Amount:
    more = list(later)
    costs = [None if each.usd is None else share * each.usd for each in more]
    return Amount(
        known.missing + math.ceil(share * sum(each.missing for each in more)), total_cost([known.usd, *costs])
    )


# Attribution by replay: chooses trials, says what their replays cost, and runs them.


@dataclass(frozen=True, slots=True)
class Attributed:
    """What an attribution by replay has run. `chosen` counts the trials, `replays` the counterfactuals that the design
    asks for and that can be made, `missing` those of them that have not ended; `estimated_usd` is what those that were
    run were thought to cost, None where no price is known, and `spent_usd` what they did, as far as that is known.
    `refused` are those that cannot be made, `failures` those that failed in this call; `stopped` tells that the user
    stopped it, or `max_cost` did where replays turned out dearer than thought.
    """

    design: ReplayDesign
    chosen: int
    replays: int
    missing: int
    estimated_usd: float | None
    spent_usd: float
    refused: tuple[RefusedReplays, ...]
    stopped: bool
    failures: tuple[FailureCount, ...] = ()


def attribute(
    store: str | PathLike[str],
    design: ReplayDesign,
    *,
    models: Sequence[str] = (),
    conditions: Sequence[str] = (),
    run: str = "all",
    plan: str | PathLike[str] | None = None,
    max_cost: float | None = None,
    live: bool = False,
    cluster: str | None = None,
    progress: RunProgress | None = None,
) -> Attributed:
    """Replays the trials of conditions with tools that the design chooses, as far as that is not done yet, and keeps
    the design in the store. Killed or stopped, the same call does the rest.

    `models` and `conditions` keep to those of these names, `run` to the trials of one run. `plan` names the plan where
    its paths have moved; `max_cost` is in US dollars; `live` allows to ask the web for what is not recorded; `cluster`
    is the address of workers that run replays, "none" for this machine, by default what the plan says. What it will
    cost is told before anything is spent. Raises InputError where that is too much, and for names that are not
    there; ToolablateError.
    """
    progress = progress or RunProgress()
    rounds = Rounds(Path(store), Path(plan) if plan is not None else None, max_cost, live, progress, cluster)
    with Store(rounds.store) as opened:
        seen = observe(opened, run=run, scorer=design.scorer or None)
        chosen = choose(opened, design, seen, models=models, conditions=conditions)
        chooseable = candidates(opened, design, seen, models=models, conditions=conditions)
        conditions_of = opened.conditions_of(seen)
        arms = tuple(unparsed_arms(chooseable, seen, conditions_of))
        again = arms_without_calls(chosen, seen, conditions_of, opened.runs()[-1].baseline)
        scorers = scorers_of(opened, design, run)
        refuse_other_scorers(opened, [each.case.trial for each in chosen], scorers, rounds.plan)

    def known() -> Gathered[Explained]:
        return explained(
            rounds.store,
            run=run,
            models=models,
            conditions=conditions,
            scorer=design.scorer or None,
            design=design,
            kept=readings_of(rounds.store),
        )

    unread = mean([float(each.verdict == "unparsed") for each in seen if counts(each)] or [0.0])
    whole = Chosen(design, chosen, arms, scorers, again)
    _run(rounds, whole, known, unread)
    replays, missing = rounds.counts(_in_rounds(rounds.store, whole))
    return Attributed(
        *(design, len(chosen), replays, missing),
        *(rounds.estimated, rounds.spent, rounds.refused, rounds.stopped),
        failures=rounds.failures,
    )


def _in_rounds(path: Path, chosen: Chosen) -> set[str]:
    """The ids of replays that rounds have asked for, also those of an earlier call."""
    with Store(path) as store:
        return {
            replay.trial
            for _, outcomes in chosen.all_outcomes(store)
            for purpose, replays in outcomes.items()
            if purpose.kind in ROUNDS
            for replay in replays
        }


def _run(rounds: Rounds, chosen: Chosen, known: Callable[[], Gathered[Explained]], unread: float) -> None:
    requests = first_requests(rounds.store, chosen)
    estimate = rounds.estimate(requests)
    missing = {requests[place].trial for place, each in estimate.by_place.items() if each.missing}
    undecided = {each.trial for each in undecided_requests(rounds.store, chosen, known())}
    then = asyncio.run(foresee(rounds, chosen, missing, undecided - missing, unread))
    trials = counted(len(chosen.trials), "trial")
    rounds.progress.tell(
        f"{trials} to be replayed: {_amount(Amount(estimate.missing, estimate.usd))}, and {_told(then)}"
    )
    refuse_too_dear(estimate.usd, rounds.max_cost)
    with Recorder(rounds.store) as recorder:
        recorder.keep_design(chosen.design)
    asyncio.run(_all_rounds(rounds, chosen, known, requests))


async def _all_rounds(
    rounds: Rounds, chosen: Chosen, known: Callable[[], Gathered[Explained]], first: Sequence[ReplayRequest]
) -> None:
    """What replays stand on is opened once for all of them."""
    path = rounds.store
    async with open_replays(
        path, plan=rounds.plan, live=rounds.live, cluster=rounds.cluster, progress=rounds.progress
    ) as replays:
        await rounds.run(replays, first)
        # What failed just now is for the next call.
        asked = set(first)
        begun = await replays.meanwhile(lambda: begun_requests(path, chosen))
        await rounds.run(replays, [each for each in begun if each not in asked])
        await rounds.run(replays, await replays.meanwhile(lambda: last_requests(path, chosen)))
        await _decide(rounds, replays, chosen, known)
        await rounds.run(replays, await requests_without_results(path, chosen))
        await rounds.run(replays, await replays.meanwhile(lambda: last_requests(path, chosen)))


async def _decide(rounds: Rounds, replays: Replays, chosen: Chosen, known: Callable[[], Gathered[Explained]]) -> None:
    """All undecided trials side by side, so that each round is one batch."""
    asked: set[ReplayRequest] = set()
    while not rounds.stopped:
        # What is wanted once more did not end: that is for the next run.
        undecided = await replays.meanwhile(lambda: undecided_requests(rounds.store, chosen, known()))
        wanted = [each for each in undecided if each not in asked]
        if not wanted:
            return
        asked.update(wanted)
        await rounds.run(replays, wanted)
        await rounds.run(replays, await replays.meanwhile(lambda: last_requests(rounds.store, chosen)))


def _told(then: Foreseen) -> str:
    if not then.most.missing:
        return "nothing after that"
    if then.likely == then.most:
        return f"then {_amount(then.most)} more by what these show"
    return f"then about {_amount(then.likely)} more by what these show, at most {_amount(then.most)}"


def _amount(of: Amount) -> str:
    cost = "at a cost that is not known" if of.usd is None else f"for about {dollars(of.usd)}"
    return f"{counted(of.missing, 'replay')} {cost}"
