"""Which replays a chosen trial needs, what each is for, and what the stored ones came to."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain, combinations
from typing import TYPE_CHECKING, Literal, TypeVar

from toolablate.analysis.arms import ladders
from toolablate.analysis.attribution.belief import BeliefFlip, Probe, Trajectory, flip_step, trajectory
from toolablate.analysis.attribution.bisection import Ask, Cost, Search, search, search_cost
from toolablate.analysis.attribution.decomposition import ToolKind
from toolablate.analysis.pairing import RIGHT
from toolablate.analysis.shapley import ALL_ORDERS
from toolablate.analysis.shapley import design as orders
from toolablate.experiments.attribution.cases import Case, ending_of
from toolablate.traces.records import (
    Again,
    AnswerNow,
    Condition,
    ReplayChange,
    ReplayDesign,
    Rerun,
    Resumption,
    SetAside,
    ShownResult,
    Swap,
)
from toolablate.traces.store import Counterfactual, Store, TrialSummary

if TYPE_CHECKING:
    # Reading what replays came to needs nothing of what runs them.
    from toolablate.experiments.replay.requests import Content

PurposeKind = Literal["probe", "closing", "set_aside", "extended", "repaired", "rollout", "pivotal", "shapley"]

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Purpose:
    """What a replay is for.

    step     of a probe: its number among the steps of the trial
    swapped  of a rollout: the kinds of tools that give placebos
    event    of pivotal: the call whose result it is about
    kept     of pivotal: whether the result is as it was
    real     of shapley: the results that are as they were, by their numbers among `Case.shown`
    """

    kind: PurposeKind
    step: int | None = None
    swapped: frozenset[ToolKind] = frozenset()
    event: int | None = None
    kept: bool = True
    real: frozenset[int] = frozenset()


@dataclass(frozen=True, slots=True)
class Asked:
    """So many runs that go on from an event with one change, for this purpose."""

    purpose: Purpose
    event: int
    change: "ReplayChange | Content"
    repeats: int


def probe(case: Case, step: int, samples: int) -> Asked:
    """So many answers that are asked for at once before a step."""
    return Asked(Purpose("probe", step=step), case.steps[step], AnswerNow(), samples)


def probes(case: Case, design: ReplayDesign) -> tuple[Asked, ...]:
    """Of round one, after every step."""
    return tuple(probe(case, step, design.samples) for step in range(len(case.steps)))


def first_round(case: Case, design: ReplayDesign) -> tuple[Asked, ...]:
    """The rest of round one. Nothing where no request was answered."""
    return tuple(_first_round(case, design))


def second_round(
    case: Case, flip: BeliefFlip | None, nothing: Mapping[int, str], design: ReplayDesign
) -> tuple[Asked, ...]:
    """Of a trial that is wrong. `nothing` is what each result of `Case.shown` is where its tool finds nothing."""
    return tuple(_second_round(case, flip, nothing, design)) if flip else ()


def second_round_at_most(case: Case, design: ReplayDesign) -> tuple[Asked, ...]:
    """As much as round two can be, whatever round one finds, from where it costs most."""
    if not case.results or case.last is None:
        return ()
    pivotal = Asked(
        Purpose("pivotal", event=case.results[0].event), case.results[0].event, Again(), 2 * design.rollouts
    )
    if not 2 <= len(case.shown) <= ALL_ORDERS:
        return (pivotal,)
    choices = len(orders(len(case.shown)).subsets)
    return (pivotal, Asked(Purpose("shapley"), case.last, Rerun(), choices * design.rollouts))


def purposes_of(resumption: Resumption, case: Case) -> tuple[Purpose, ...]:
    """What a stored replay of the trial is for: of a trial whose first result is a fault the run that repairs it is
    also the one with the same results. Nothing for replays that are of no such program, as those that someone asked for
    by hand, and for those of another attempt."""
    if (resumption.trial, resumption.attempt) != (case.trial, case.attempt):
        return ()
    event = resumption.event
    match resumption.change:
        case AnswerNow() if event in case.steps:
            return (Purpose("probe", step=case.steps.index(event)),)
        case AnswerNow() if event == case.ending:
            return (Purpose("closing"),)
        case SetAside() if case.results and event == case.steps[-1]:
            return (Purpose("set_aside"),)
        case Again() if _is_result(case, event):
            return (Purpose("pivotal", event=event),)
        case Swap(content="null") if _is_result(case, event):
            return (Purpose("pivotal", event=event, kept=False),)
        case Rerun() as change:
            return tuple(_of_rerun(change, event, case))
        case _:
            return ()


def _first_round(case: Case, design: ReplayDesign) -> Iterator[Asked]:
    if case.last is None:
        return
    if case.ending is not None:
        yield Asked(Purpose("closing"), case.ending, AnswerNow(), design.samples)
    if case.budget is not None:
        yield Asked(Purpose("extended"), case.last, _extended(case), design.rollouts)
    if not case.results:
        return
    yield Asked(Purpose("set_aside"), case.steps[-1], SetAside(), design.samples)
    rollouts = {subset: _rollout(case, subset) for subset in _subsets(case.used)}
    if case.fault is not None and (case.fault, _repaired(case)) != (case.results[0].event, rollouts[frozenset()]):
        yield Asked(Purpose("repaired"), case.fault, _repaired(case), design.rollouts)
    for subset, change in rollouts.items():
        yield Asked(Purpose("rollout", swapped=subset), case.results[0].event, change, design.rollouts)


def _second_round(case: Case, flip: BeliefFlip, nothing: Mapping[int, str], design: ReplayDesign) -> Iterator[Asked]:
    turned_by = case.turned_by(flip)
    if turned_by is not None:
        kept, without = Purpose("pivotal", event=turned_by), Purpose("pivotal", event=turned_by, kept=False)
        yield Asked(kept, turned_by, Again(), design.rollouts)
        yield Asked(without, turned_by, "null", design.rollouts)
    if case.last is None or not 2 <= len(case.shown) <= ALL_ORDERS:
        return
    for real in orders(len(case.shown)).subsets:
        hidden = (event for number, event in enumerate(case.shown) if number not in real)
        change = Rerun(shown=tuple(ShownResult(event=event, text=nothing[event]) for event in hidden))
        yield Asked(Purpose("shapley", real=real), case.last, change, design.rollouts)


def _extended(case: Case) -> Rerun:
    return Rerun(budget=case.budget)


def _repaired(case: Case) -> Rerun:
    return Rerun(budget=case.budget, sound=True)


def _rollout(case: Case, swapped: frozenset[ToolKind]) -> Rerun:
    return Rerun(
        stand_in="placebo" if swapped else None,
        tools=case.named(swapped),
        budget=case.budget,
        sound=case.fault is not None,
    )


def _of_rerun(change: Rerun, event: int, case: Case) -> Iterator[Purpose]:
    if event == case.last and change == Rerun(shown=change.shown):
        hidden = {each.event for each in change.shown}
        if hidden <= set(case.shown):
            yield Purpose("shapley", real=frozenset(n for n, each in enumerate(case.shown) if each not in hidden))
    if event == case.last and case.budget is not None and change == _extended(case):
        yield Purpose("extended")
    if case.fault is not None and event == case.fault and change == _repaired(case):
        yield Purpose("repaired")
    if case.results and event == case.results[0].event:
        yield from (
            Purpose("rollout", swapped=subset) for subset in _subsets(case.used) if change == _rollout(case, subset)
        )


def _is_result(case: Case, event: int) -> bool:
    return any(result.event == event for result in case.results)


def _subsets(of: frozenset[ToolKind]) -> Iterator[frozenset[ToolKind]]:
    kinds = sorted(of)
    chosen = chain.from_iterable(combinations(kinds, size) for size in range(len(kinds) + 1))
    return (frozenset(each) for each in chosen)


# What the stored replays of a trial came to, by what they are for.


TAU = 0.3
"""How far a belief in the right answer has to fall for a flip."""

Outcomes = Mapping[Purpose, Sequence[Counterfactual]]
"""A trial's replays by what they are for, in the order of their repeats, those that did not end among them."""


def outcomes_of(case: Case, counterfactuals: Iterable[Counterfactual]) -> Outcomes:
    """Of the counterfactuals of its trial, as `Store.counterfactuals` gives them."""
    found: dict[Purpose, list[Counterfactual]] = defaultdict(list)
    for each in counterfactuals:
        for purpose in purposes_of(each.resumption, case):
            found[purpose].append(each)
    return found


def belief_of(outcomes: Outcomes) -> Trajectory | None:
    """By the probes that there are, None without any."""
    probes = [
        probe
        for purpose, replays in outcomes.items()
        if purpose.step is not None and (probe := _probe(purpose.step, replays)) is not None
    ]
    return trajectory(probes) if probes else None


def flip_of(outcomes: Outcomes) -> BeliefFlip | None:
    """Where the belief falls by TAU for good."""
    found = belief_of(outcomes)
    return flip_step(found, TAU) if found else None


def is_right(replay: Counterfactual) -> bool:
    return replay.value is not None and replay.value >= RIGHT


def _probe(step: int, replays: Sequence[Counterfactual]) -> Probe | None:
    scored = [each for each in replays if each.value is not None]
    options: dict[str, int] = defaultdict(int)
    for each in scored:
        if each.verdict != "unparsed":
            # A judge reads no answer out of a reply: its verdict is all that tells replies apart.
            options[", ".join(each.answered) or str(each.verdict)] += 1
    unreadable = len(scored) - sum(options.values())
    return Probe(step, options, unreadable, sum(map(is_right, scored))) if scored else None


# Probes that a bisection asks for: the search of a trial, as far as what is stored lets it go.


MOST = 8
"""How many times the design's samples a step is asked for at most, where fewer do not tell."""


def bisects(case: Case, design: ReplayDesign) -> bool:
    """Whether the design wants it, and it takes fewer answers, as far as can be told before, than asking after every
    step does."""
    if design.steps == "all" or len(case.steps) < 2:
        return False
    return _cost(plan_of(case, design)).samples_expected < len(case.steps) * design.samples


def searched(case: Case, outcomes: Outcomes, design: ReplayDesign) -> Asked | None:
    """What the search wants next that is not stored, None where it has come to its end. It is made again from its
    beginning, which what is stored answers the same each time: so a run that was killed goes on where it was."""
    asking = search(plan_of(case, design))
    asked: dict[int, int] = {}
    try:
        ask = next(asking)
        while True:
            begin = asked.get(ask.step, 0)
            right = _given(outcomes, ask, begin)
            if right is None:
                return probe(case, ask.step, begin + ask.samples)
            asked[ask.step] = begin + ask.samples
            ask = asking.send(right)
    except StopIteration:
        return None


def plan_of(case: Case, design: ReplayDesign) -> Search:
    """Of a trial of several steps."""
    return Search(len(case.steps) - 1, tau=TAU, batch=design.samples, most=MOST * design.samples)


def most_probes(case: Case, design: ReplayDesign) -> tuple[Asked, ...]:
    """As many as the search takes at most, all at the last step, where the model reads most; none without one."""
    if not bisects(case, design):
        return ()
    return (probe(case, len(case.steps) - 1, _cost(plan_of(case, design)).samples_at_most),)


def likely_share(case: Case, design: ReplayDesign) -> float:
    """Of `most_probes`, what a search takes on average."""
    cost = _cost(plan_of(case, design))
    return cost.samples_expected / cost.samples_at_most


def _given(outcomes: Outcomes, ask: Ask, begin: int) -> int | None:
    """How many of the samples are right, None where some are missing."""
    replays = outcomes.get(Purpose("probe", step=ask.step), ())[begin : begin + ask.samples]
    given = [each for each in replays if each.value is not None]
    return sum(map(is_right, given)) if len(given) == ask.samples else None


@lru_cache(maxsize=256)
def _cost(plan: Search) -> Cost:
    return search_cost(plan)


# Answers that could not be read, of the runs that a trial is compared with: each is asked for once more, as the
# trial's own is, so that the loss of its form is not taken for anything else.


COMPARED: frozenset[PurposeKind] = frozenset({"rollout", "extended", "repaired", "pivotal", "shapley"})
"""Replays that run to their end. Of the others each is asked for its answer alone."""


def closing(store: Store, trial: str) -> Asked | None:
    """What is asked of a run whose answer could not be read, None where it gave none."""
    ending = ending_of(store.conversation(trial))
    return None if ending is None else Asked(Purpose("closing"), ending, AnswerNow(), 1)


def unparsed_replays(outcomes: Outcomes) -> Iterator[str]:
    """The ids of replays of a trial whose answer could not be read."""
    for purpose, replays in outcomes.items():
        if purpose.kind in COMPARED:
            yield from (each.trial for each in replays if each.verdict == "unparsed")


def compared_runs(wanted: Iterable[Asked]) -> int:
    """The runs of which the answer may turn out to be unreadable, and is then asked for again."""
    return sum(asked.repeats for asked in wanted if asked.purpose.kind in COMPARED)


def closings_of(case: Case, runs: int) -> Asked | None:
    """One of each of so many replays of a trial, asked of the trial itself; None where there are none."""
    event = case.last if case.ending is None else case.ending
    return Asked(Purpose("closing"), event, AnswerNow(), runs) if runs and event is not None else None


def unparsed_arms(
    candidates: Sequence[TrialSummary], seen: Sequence[TrialSummary], conditions: Mapping[str, Condition]
) -> Iterator[str]:
    """The ids of trials of the same questions and models, under the arms that the candidates are compared with, whose
    answer could not be read; also of candidates that are not chosen, since the levels of arms must not depend on the
    lot. `conditions` has those of all trials by the names that these show."""
    of_ladders = {ladder.toolset: frozenset(ladder.arms.values()) - {ladder.toolset} for ladder in ladders(conditions)}
    bare = frozenset(name for name, condition in conditions.items() if not condition.tools)
    arms = {(each.model, each.question, arm) for each in candidates for arm in of_ladders.get(each.condition, bare)}
    return (
        each.trial
        for each in seen
        if each.verdict == "unparsed"
        and each.outcome != "failed"
        and (each.model, each.question, each.condition) in arms
    )
