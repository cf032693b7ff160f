"""Attribution by replay: estimates the replays of chosen trials and runs them in rounds."""

import asyncio
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field, replace
from os import PathLike
from pathlib import Path

from toolablate.analysis.arms import ladders
from toolablate.analysis.from_store import observe
from toolablate.analysis.pairing import RIGHT, counts, mean
from toolablate.experiments.attribution.cases import Case, scorers_of
from toolablate.experiments.attribution.planned_replays import (
    all_early_answers,
    bisects,
    compared_runs,
    first_round,
    likely_share,
    most_early_answers,
    re_ask,
    re_asks_of,
    searched,
    second_round,
    second_round_at_most,
    unparsed_arms,
)
from toolablate.experiments.attribution.replay_evidence import Outcomes, flip_of, outcomes_of, unparsed_replays
from toolablate.experiments.attribution.sampled_trials import ChosenTrial, candidates, choose, refuse_other_scorers
from toolablate.experiments.replay.batch import (
    Amount,
    Batch,
    Estimate,
    estimate_many,
    refuse_too_dear,
    replay_many,
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
from toolablate.traces.store import Recorder, Store, TrialSummary

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
    estimated: float | None = 0.0
    spent: float = 0.0
    charged: float = 0.0
    stopped: bool = False
    _trials: set[str] = field(default_factory=set)
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

    def run(self, requests: Sequence[ReplayRequest]) -> None:
        """Those that can be made. What does not fit into what is left to spend is left out as a whole. Raises
        ToolablateError."""
        batch = self._run(requests)
        if batch is None:
            return
        thought = batch.estimated_usd
        self.estimated = None if self.estimated is None or thought is None else self.estimated + thought
        self.spent += batch.spent_usd
        # An endpoint that does not report what it took would seem to cost nothing.
        self.charged += max(batch.spent_usd, thought or 0.0)
        self.stopped = self.stopped or batch.launched.stopped
        self._trials.update(*(each.trials for each in batch.replayed))

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

    def counts(self) -> tuple[int, int]:
        """The replays that were asked for and could be made, and how many of these have not ended."""
        with Store(self.store) as opened:
            return len(self._trials), len(self._trials - opened.finished_resumptions())

    def _run(self, requests: Sequence[ReplayRequest]) -> Batch | None:
        while (left := self._left(requests)) and not self.stopped:
            try:
                return replay_many(
                    self.store,
                    left,
                    plan=self.plan,
                    max_cost=self._to_spend(),
                    live=self.live,
                    progress=self.progress,
                )
            except RefusedReplaysError as error:
                self._refused |= _refusals(left, error)
            except InputError as error:
                if error.code not in _TOO_DEAR:
                    raise
                self.progress.warn(f"{counted(_replays(left), 'replay')} left out: {error.message}")
                self._refused |= dict.fromkeys(left, error)
        return None

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
    """`arms` are trials of the arms that the trials are compared with, of which no answer could be read."""

    design: ReplayDesign
    trials: Sequence[ChosenTrial]
    arms: Sequence[str]
    scorers: Sequence[str]

    def outcomes(self, store: Store, case: Case) -> Outcomes:
        found = store.counterfactuals(scorers=self.scorers, trial=case.trial)
        return outcomes_of(case, found.get(case.trial, ()))

    def all_outcomes(self, store: Store) -> Iterator[tuple[ChosenTrial, Outcomes]]:
        found = store.counterfactuals(scorers=self.scorers)
        return ((each, outcomes_of(each.case, found.get(each.case.trial, ()))) for each in self.trials)


def first_requests(chosen: Chosen) -> list[ReplayRequest]:
    return [request for each in chosen.trials for request in _first_of(each.case, chosen.design)]


def searches(store: Store, cases: Mapping[str, Case], chosen: Chosen) -> dict[str, ReplayRequest]:
    """What the bisections of these trials want next; of those that have come to their end, nothing."""
    found = {trial: searched(case, chosen.outcomes(store, case), chosen.design) for trial, case in cases.items()}
    return {trial: asked for trial, asked in found.items() if asked is not None}


def second_requests(path: Path, chosen: Chosen) -> list[ReplayRequest]:
    with Store(path) as store:
        return [
            request
            for each, outcomes in chosen.all_outcomes(store)
            for request in second_of(store, each, outcomes, chosen.design)
        ]


def second_of(store: Store, trial: ChosenTrial, outcomes: Outcomes, design: ReplayDesign) -> tuple[ReplayRequest, ...]:
    """Of a wrong trial, where its belief falls."""
    flip = flip_of(outcomes) if trial.is_wrong else None
    if flip is None:
        return ()
    nothing = asyncio.run(nothing_found(trial.case, store.trace(trial.case.trial), trial.condition))
    return second_round(trial.case, flip, nothing, design)


def last_requests(path: Path, chosen: Chosen) -> list[ReplayRequest]:
    with Store(path) as store:
        return re_asks(store, chosen.arms, (outcomes for _, outcomes in chosen.all_outcomes(store)))


def re_asks(store: Store, arms: Iterable[str], found: Iterable[Outcomes]) -> list[ReplayRequest]:
    """A run may serve for several purposes, and one of an arm for several trials."""
    replays = (trial for outcomes in found for trial in unparsed_replays(outcomes))
    asked = (re_ask(store, trial) for trial in dict.fromkeys((*arms, *replays)))
    return [each for each in asked if each is not None]


def _first_of(case: Case, design: ReplayDesign) -> tuple[ReplayRequest, ...]:
    return (
        first_round(case, design)
        if bisects(case, design)
        else (*all_early_answers(case, design), *first_round(case, design))
    )


# What the rounds after the first will take, as far as that can be known before: what is likely, and the most.


_Possible = tuple[ReplayRequest, float]
"""Replays that may be wanted, and the share of them that is likely to be."""


@dataclass(frozen=True, slots=True)
class Foreseen:
    """What the rounds after the first are likely to take, and what they take at most; the same where that is known."""

    likely: Amount
    most: Amount


@dataclass(frozen=True, slots=True)
class AnswerChance:
    """Of a trial: that a belief in the right answer falls in it, and that a reply to its replays cannot be read."""

    falls: float
    unread: float


def chances(
    chosen: Iterable[TrialSummary], seen: Iterable[TrialSummary], conditions: Mapping[str, Condition]
) -> dict[str, AnswerChance]:
    """By the trials' ids. A belief can fall where it is right before any result is shown, as it is said to be by the
    arms without results: the share of right trials of the same question under that of them which has fewest. What
    cannot be read is the share under the trial's own condition. `conditions` has those of all trials by the names that
    these show."""
    right: dict[tuple[str, str, str], list[float]] = defaultdict(list)
    unread: dict[tuple[str, str], list[float]] = defaultdict(list)
    for each in seen:
        if counts(each):
            right[each.model, each.question, each.condition].append(float((each.value or 0.0) >= RIGHT))
            unread[each.model, each.condition].append(float(each.verdict == "unparsed"))
    no_tools = tuple(name for name, condition in conditions.items() if not condition.tools)
    before = {
        ladder.toolset: tuple(ladder.arms[kind] for kind in ("none", "scaffold", "offered") if kind in ladder.arms)
        for ladder in ladders(conditions)
    }

    def chance(of: TrialSummary) -> AnswerChance:
        arms = (right.get((of.model, of.question, arm)) for arm in before.get(of.condition, no_tools))
        falls = min((mean(scores) for scores in arms if scores), default=1.0)
        return AnswerChance(falls, mean(unread[of.model, of.condition]))

    return {each.trial: chance(each) for each in chosen}


def foresee(rounds: Rounds, chosen: Chosen, likely: Mapping[str, AnswerChance], missing: AbstractSet[str]) -> Foreseen:
    """Of trials all of whose first round is there by what it has shown, and of others, those that are `missing` some,
    by chance. Raises ToolablateError."""
    with Store(rounds.store) as store:
        bisected = {
            each.case.trial: each.case
            for each in chosen.trials
            if each.case.trial not in missing and bisects(each.case, chosen.design)
        }
        unknown = missing | searches(store, bisected, chosen).keys()
        shown = [(each, found) for each, found in chosen.all_outcomes(store) if each.case.trial not in unknown]
        second = [request for each, found in shown for request in second_of(store, each, found, chosen.design)]
        last = re_asks(store, chosen.arms, (found for _, found in shown))
    known = rounds.estimate([*second, *last])
    possible = [
        each
        for trial in chosen.trials
        if trial.case.trial in unknown
        for each in _possible(trial, likely[trial.case.trial], chosen.design)
    ]
    cases = {each.case.trial: each.case for each in chosen.trials}
    for place, request in enumerate(second):
        runs = known.by_place[place].missing if place in known.by_place else 0
        if compared_runs([request]):
            possible += _unreadable(cases[request.trial], likely[request.trial].unread, runs)
    of_each = rounds.estimate([request for request, _ in possible], anew=True).by_place
    shares = [(each, possible[place][1]) for place, each in of_each.items()]
    return Foreseen(_with(known, shares), _with(known, [(each, 1.0) for each, _ in shares]))


def _with(known: Estimate, shares: Sequence[tuple[Amount, float]]) -> Amount:
    more = round(sum(share * each.missing for each, share in shares))
    costs = [None if each.usd is None else share * each.usd for each, share in shares]
    return Amount(known.missing + more, total_cost([known.usd, *costs]))


def _possible(trial: ChosenTrial, chance: AnswerChance, design: ReplayDesign) -> Iterator[_Possible]:
    """What may be wanted of a trial besides round one, as long as what that finds is not known: never less than will
    be, from where it costs most."""
    case = trial.case
    second = second_round_at_most(case, design) if trial.is_wrong else ()
    for asked in most_early_answers(case, design):
        yield asked, likely_share(case, design)
    for asked in second:
        yield asked, chance.falls
    first, then = compared_runs(first_round(case, design)), compared_runs(second)
    runs = first + then
    if runs:
        yield from _unreadable(case, chance.unread * (first + chance.falls * then) / runs, runs)


def _unreadable(case: Case, share: float, runs: int) -> Iterator[_Possible]:
    """The answer re-asks of so many runs."""
    request = re_asks_of(case, runs)
    if request is not None:
        yield request, share


# Attribution by replay: chooses trials, says what their replays cost, and runs them.


@dataclass(frozen=True, slots=True)
class Attributed:
    """What an attribution by replay has run. `chosen` counts the trials, `replays` the counterfactuals that the design
    asks for and that can be made, `missing` those of them that have not ended; `estimated_usd` is what those that were
    run were thought to cost, None where no price is known, and `spent_usd` what they did, as far as that is known.
    `refused` are those that cannot be made; `stopped` tells that the user stopped it, or `max_cost` did where replays
    turned out dearer than thought.
    """

    design: ReplayDesign
    chosen: int
    replays: int
    missing: int
    estimated_usd: float | None
    spent_usd: float
    refused: tuple[RefusedReplays, ...]
    stopped: bool


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
    progress: RunProgress | None = None,
) -> Attributed:
    """Replays the trials of conditions with tools that the design chooses, as far as that is not done yet, and keeps
    the design in the store. Killed or stopped, the same call does the rest.

    `models` and `conditions` keep to those of these names, `run` to the trials of one run. `plan` names the plan where
    its paths have moved; `max_cost` is in US dollars; `live` allows to ask the web for what is not recorded. What it
    will cost is told before anything is spent. Raises InputError where that is too much, and for names that are not
    there; ToolablateError.
    """
    progress = progress or RunProgress()
    rounds = Rounds(Path(store), Path(plan) if plan is not None else None, max_cost, live, progress)
    with Store(rounds.store) as opened:
        seen = observe(opened, run=run, scorer=design.scorer or None)
        chosen = choose(opened, design, seen, models=models, conditions=conditions)
        chooseable = candidates(opened, design, seen, models=models, conditions=conditions)
        labelled = opened.conditions_of(seen)
        arms = tuple(unparsed_arms(chooseable, seen, labelled))
        scorers = scorers_of(opened, design, run)
        refuse_other_scorers(opened, [each.case.trial for each in chosen], scorers, rounds.plan)
    _run(rounds, Chosen(design, chosen, arms, scorers), chances((each.seen for each in chosen), seen, labelled))
    replays, missing = rounds.counts()
    return Attributed(
        *(design, len(chosen), replays, missing),
        *(rounds.estimated, rounds.spent, rounds.refused, rounds.stopped),
    )


def _run(rounds: Rounds, chosen: Chosen, likely: Mapping[str, AnswerChance]) -> None:
    requests = first_requests(chosen)
    estimate = rounds.estimate(requests)
    missing = {requests[place].trial for place, each in estimate.by_place.items() if each.missing}
    trials, then = counted(len(chosen.trials), "trial"), foresee(rounds, chosen, likely, missing)
    rounds.progress.tell(
        f"{trials} to be replayed: {_amount(Amount(estimate.missing, estimate.usd))}, and {_told(then)}"
    )
    refuse_too_dear(estimate.usd, rounds.max_cost)
    with Recorder(rounds.store) as recorder:
        recorder.keep_design(chosen.design)
    rounds.run(requests)
    _bisect(rounds, chosen)
    rounds.run(second_requests(rounds.store, chosen))
    rounds.run(last_requests(rounds.store, chosen))


def _bisect(rounds: Rounds, chosen: Chosen) -> None:
    """All searches side by side, so that each round is one batch."""
    cases = {each.case.trial: each.case for each in chosen.trials if bisects(each.case, chosen.design)}
    asked: dict[str, ReplayRequest] = {}
    while cases and not rounds.stopped:
        with Store(rounds.store) as opened:
            found = searches(opened, cases, chosen)
        # Where the same is wanted once more, some of it did not end: that is for the next run.
        asked = {trial: wants for trial, wants in found.items() if wants != asked.get(trial)}
        cases = {trial: cases[trial] for trial in asked}
        rounds.run(list(asked.values()))


def _told(then: Foreseen) -> str:
    if not then.most.missing:
        return "nothing after that"
    if then.likely == then.most:
        return f"then {_amount(then.most)} more by what these show"
    return f"then about {_amount(then.likely)} more by what these show, at most {_amount(then.most)}"


def _amount(of: Amount) -> str:
    cost = "at a cost that is not known" if of.usd is None else f"for about {dollars(of.usd)}"
    return f"{counted(of.missing, 'replay')} {cost}"
