"""What the rounds ask of the trials that are chosen, by what is stored of their replays."""

import asyncio
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from toolablate.experiments.attributing.bisecting import bisects, searched
from toolablate.experiments.attributing.case import Case
from toolablate.experiments.attributing.choosing import ChosenTrial
from toolablate.experiments.attributing.mending import closing, unparsed_replays
from toolablate.experiments.attributing.nothing import nothing_found
from toolablate.experiments.attributing.outcomes import Outcomes, flip_of, outcomes_of
from toolablate.experiments.attributing.program import Asked, first_round, probes, second_round
from toolablate.experiments.attributing.rounds import Job
from toolablate.traces.records import ReplayDesign
from toolablate.traces.store import Store


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


def first_jobs(chosen: Chosen) -> list[Job]:
    return [(each.case.trial, asked) for each in chosen.trials for asked in _first_of(each.case, chosen.design)]


def searches(store: Store, cases: Mapping[str, Case], chosen: Chosen) -> dict[str, Asked]:
    """What the bisections of these trials want next; of those that have come to their end, nothing."""
    found = {trial: searched(case, chosen.outcomes(store, case), chosen.design) for trial, case in cases.items()}
    return {trial: asked for trial, asked in found.items() if asked is not None}


def second_jobs(path: Path, chosen: Chosen) -> list[Job]:
    with Store(path) as store:
        return [
            (each.case.trial, asked)
            for each, outcomes in chosen.all_outcomes(store)
            for asked in second_of(store, each, outcomes, chosen.design)
        ]


def second_of(store: Store, trial: ChosenTrial, outcomes: Outcomes, design: ReplayDesign) -> tuple[Asked, ...]:
    """Of a wrong trial, where its belief falls."""
    flip = flip_of(outcomes) if trial.is_wrong else None
    if flip is None:
        return ()
    nothing = asyncio.run(nothing_found(trial.case, store.trace(trial.case.trial), trial.condition))
    return second_round(trial.case, flip, nothing, design)


def last_jobs(path: Path, chosen: Chosen) -> list[Job]:
    with Store(path) as store:
        return closings(store, chosen.arms, (outcomes for _, outcomes in chosen.all_outcomes(store)))


def closings(store: Store, arms: Iterable[str], found: Iterable[Outcomes]) -> list[Job]:
    """A run may serve for several purposes, and one of an arm for several trials."""
    replays = (trial for outcomes in found for trial in unparsed_replays(outcomes))
    asked = ((trial, closing(store, trial)) for trial in dict.fromkeys((*arms, *replays)))
    return [(trial, each) for trial, each in asked if each is not None]


def _first_of(case: Case, design: ReplayDesign) -> tuple[Asked, ...]:
    return first_round(case, design) if bisects(case, design) else (*probes(case, design), *first_round(case, design))
