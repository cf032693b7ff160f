"""What the rounds after the first will take, as far as that can be known before: what is likely, and the most."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass

from toolablate.analysis.arms import ladders
from toolablate.analysis.pairing import RIGHT, counts, mean
from toolablate.experiments.attributing.asking import Chosen, closings, searches, second_of
from toolablate.experiments.attributing.bisecting import bisects, likely_share, most_probes
from toolablate.experiments.attributing.choosing import ChosenTrial
from toolablate.experiments.attributing.mending import closings_of, compared_runs
from toolablate.experiments.attributing.program import first_round, second_round_at_most
from toolablate.experiments.attributing.rounds import Job, Rounds
from toolablate.experiments.counterfactual.estimate import Amount, Estimate, total_cost
from toolablate.traces.records import Condition, ReplayDesign
from toolablate.traces.store import Observation, Store

_Possible = tuple[Job, float]
"""Replays that may be wanted, and the share of them that is likely to be."""


@dataclass(frozen=True, slots=True)
class Foreseen:
    """What the rounds after the first are likely to take, and what they take at most; the same where that is known."""

    likely: Amount
    most: Amount


@dataclass(frozen=True, slots=True)
class Chance:
    """Of a trial: that a belief in the right answer falls in it, and that a reply to its replays cannot be read."""

    falls: float
    unread: float


def chances(
    chosen: Iterable[Observation], seen: Iterable[Observation], conditions: Mapping[str, Condition]
) -> dict[str, Chance]:
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
    bare = tuple(name for name, condition in conditions.items() if not condition.tools)
    before = {
        ladder.toolset: tuple(ladder.arms[kind] for kind in ("none", "scaffold", "offered") if kind in ladder.arms)
        for ladder in ladders(conditions)
    }

    def chance(of: Observation) -> Chance:
        arms = (right.get((of.model, of.question, arm)) for arm in before.get(of.condition, bare))
        falls = min((mean(scores) for scores in arms if scores), default=1.0)
        return Chance(falls, mean(unread[of.model, of.condition]))

    return {each.trial: chance(each) for each in chosen}


def foresee(rounds: Rounds, chosen: Chosen, likely: Mapping[str, Chance], missing: AbstractSet[str]) -> Foreseen:
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
        second = [(each, asked) for each, found in shown for asked in second_of(store, each, found, chosen.design)]
        last = closings(store, chosen.arms, (found for _, found in shown))
    known = rounds.estimate([*((each.case.trial, asked) for each, asked in second), *last])
    possible = [
        each
        for trial in chosen.trials
        if trial.case.trial in unknown
        for each in _possible(trial, likely[trial.case.trial], chosen.design)
    ]
    for place, (trial, asked) in enumerate(second):
        runs = known.by_place[place].missing if place in known.by_place else 0
        if compared_runs([asked]):
            possible += _unreadable(trial, likely[trial.case.trial].unread, runs)
    of_each = rounds.estimate([job for job, _ in possible], anew=True).by_place
    shares = [(each, possible[place][1]) for place, each in of_each.items()]
    return Foreseen(_with(known, shares), _with(known, [(each, 1.0) for each, _ in shares]))


def _with(known: Estimate, shares: Sequence[tuple[Amount, float]]) -> Amount:
    more = round(sum(share * each.missing for each, share in shares))
    costs = [None if each.usd is None else share * each.usd for each, share in shares]
    return Amount(known.missing + more, total_cost([known.usd, *costs]))


def _possible(trial: ChosenTrial, chance: Chance, design: ReplayDesign) -> Iterator[_Possible]:
    """What may be wanted of a trial besides round one, as long as what that finds is not known: never less than will
    be, from where it costs most."""
    case = trial.case
    second = second_round_at_most(case, design) if trial.is_wrong else ()
    for asked in most_probes(case, design):
        yield (case.trial, asked), likely_share(case, design)
    for asked in second:
        yield (case.trial, asked), chance.falls
    first, then = compared_runs(first_round(case, design)), compared_runs(second)
    runs = first + then
    if runs:
        yield from _unreadable(trial, chance.unread * (first + chance.falls * then) / runs, runs)


def _unreadable(trial: ChosenTrial, share: float, runs: int) -> Iterator[_Possible]:
    """The closings of so many runs."""
    asked = closings_of(trial.case, runs)
    if asked is not None:
        yield (trial.case.trial, asked), share
