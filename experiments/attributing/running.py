"""Attribution by replay: chooses trials, says what their replays cost, and runs them."""

import asyncio
from collections.abc import Iterable, Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from os import PathLike
from pathlib import Path

from rich.console import Console

from toolablate.experiments.attributing.bisecting import bisects, most_probes, searched
from toolablate.experiments.attributing.case import Case
from toolablate.experiments.attributing.choosing import ChosenTrial, candidates, choose, scorers_of
from toolablate.experiments.attributing.mending import closing, closings_at_most, unparsed_arms, unparsed_replays
from toolablate.experiments.attributing.nothing import nothing_found
from toolablate.experiments.attributing.outcomes import Outcomes, flip_of, outcomes_of
from toolablate.experiments.attributing.program import (
    Asked,
    first_round,
    probes,
    second_round,
    second_round_at_most,
)
from toolablate.experiments.attributing.rounds import Job, Refused, Rounds
from toolablate.experiments.attributing.scorers import refuse_other_scorers
from toolablate.experiments.comparing.paired import observe
from toolablate.experiments.counterfactual import Estimate
from toolablate.experiments.counterfactual.estimate import refuse_too_dear
from toolablate.experiments.running.progress import RunProgress
from toolablate.experiments.running.watcher import Watcher
from toolablate.experiments.world.world import bring_up_to_date
from toolablate.traces.analysis.attribution.belief import Flip
from toolablate.traces.records import ReplayDesign
from toolablate.traces.store import Recorder, Store
from toolablate.traces.terminal import counted
from toolablate.traces.terminal.numbers import dollars


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
    refused: tuple[Refused, ...]
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
    watcher: Watcher | None = None,
) -> Attributed:
    """Replays the trials of conditions with tools that the design chooses, as far as that is not done yet, and keeps
    the design in the store. Killed or stopped, the same call does the rest.

    `models` and `conditions` keep to those of these names, `run` to the trials of one run. `plan` names the plan where
    its paths have moved; `max_cost` is in US dollars; `live` allows to ask the web for what is not recorded. What it
    will cost is told before anything is spent. Raises InputError where that is too much, and for names that are not
    there; ToolablateError.
    """
    with RunProgress(Console(quiet=True)) if watcher is None else nullcontext(watcher) as told:
        rounds = Rounds(Path(store), Path(plan) if plan is not None else None, max_cost, live, told)
        bring_up_to_date(rounds.store)
        with Store(rounds.store) as opened:
            seen = observe(opened, run=run, scorer=design.scorer or None)
            chosen = choose(opened, design, seen, models=models, conditions=conditions)
            chooseable = candidates(opened, design, seen, models=models, conditions=conditions)
            arms = tuple(unparsed_arms(chooseable, seen, opened.conditions_of(seen)))
            scorers = scorers_of(opened, design, run)
            refuse_other_scorers(opened, [each.case.trial for each in chosen], scorers, rounds.plan)
        _run(rounds, _Chosen(design, chosen, arms, scorers))
    replays, missing = rounds.counts()
    return Attributed(
        *(design, len(chosen), replays, missing),
        *(rounds.estimated, rounds.spent, rounds.refused, rounds.stopped),
    )


@dataclass(frozen=True, slots=True)
class _Chosen:
    """`arms` are trials of the arms that they are compared with, of which no answer could be read."""

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


def _run(rounds: Rounds, chosen: _Chosen) -> None:
    jobs = [(each.case.trial, asked) for each in chosen.trials for asked in _first_of(each.case, chosen.design)]
    estimate = _told(rounds, chosen, jobs)
    refuse_too_dear(estimate.usd, rounds.max_cost)
    with Recorder(rounds.store) as recorder:
        recorder.keep_design(chosen.design)
    rounds.run(jobs)
    _bisect(rounds, chosen)
    rounds.run(_second_jobs(rounds.store, chosen))
    rounds.run(_last_jobs(rounds.store, chosen))


def _told(rounds: Rounds, chosen: _Chosen, jobs: Sequence[Job]) -> Estimate:
    """What round one takes, and what the rest takes at most, as long as what round one finds is not known."""
    estimate = rounds.estimate(jobs)
    known = not estimate.missing and not any(bisects(each.case, chosen.design) for each in chosen.trials)
    rest = rounds.estimate(_rest(rounds.store, chosen) if known else _rest_at_most(rounds.store, chosen))
    trials, bound = counted(len(chosen.trials), "trial"), "" if known else "at most "
    rounds.watcher.tell(
        f"{trials} to be replayed: {_amount(estimate)}, and then {bound}{_amount(rest)} more by what these show"
    )
    return estimate


def _first_of(case: Case, design: ReplayDesign) -> tuple[Asked, ...]:
    return first_round(case, design) if bisects(case, design) else (*probes(case, design), *first_round(case, design))


def _rest(store: Path, chosen: _Chosen) -> list[Job]:
    return [*_second_jobs(store, chosen), *_last_jobs(store, chosen)]


def _rest_at_most(store: Path, chosen: _Chosen) -> list[Job]:
    with Store(store) as opened:
        closings = _closings(opened, chosen.arms)
    return [*closings, *((each.case.trial, asked) for each in chosen.trials for asked in _at_most(each, chosen.design))]


def _at_most(trial: ChosenTrial, design: ReplayDesign) -> Sequence[Asked]:
    second = second_round_at_most(trial.case, design) if trial.is_wrong else ()
    return (*most_probes(trial.case, design), *second, *closings_at_most(trial.case, design))


def _bisect(rounds: Rounds, chosen: _Chosen) -> None:
    """All searches side by side, so that each round is one batch."""
    cases = {each.case.trial: each.case for each in chosen.trials if bisects(each.case, chosen.design)}
    asked: dict[str, Asked] = {}
    while cases and not rounds.stopped:
        with Store(rounds.store) as opened:
            found = {
                trial: searched(case, chosen.outcomes(opened, case), chosen.design) for trial, case in cases.items()
            }
        # Where the same is wanted once more, some of it did not end: that is for the next run.
        asked = {trial: wants for trial, wants in found.items() if wants is not None and wants != asked.get(trial)}
        cases = {trial: cases[trial] for trial in asked}
        rounds.run(list(asked.items()))


def _second_jobs(store: Path, chosen: _Chosen) -> list[Job]:
    with Store(store) as opened:
        return [
            (each.case.trial, asked)
            for each, outcomes in chosen.all_outcomes(opened)
            if each.is_wrong and (flip := flip_of(outcomes)) is not None
            for asked in _second_of(opened, each, flip, chosen.design)
        ]


def _second_of(store: Store, trial: ChosenTrial, flip: Flip, design: ReplayDesign) -> tuple[Asked, ...]:
    nothing = asyncio.run(nothing_found(trial.case, store.trace(trial.case.trial), trial.condition))
    return second_round(trial.case, flip, nothing, design)


def _last_jobs(store: Path, chosen: _Chosen) -> list[Job]:
    with Store(store) as opened:
        replays = (trial for _, outcomes in chosen.all_outcomes(opened) for trial in unparsed_replays(outcomes))
        return _closings(opened, (*chosen.arms, *replays))


def _closings(store: Store, trials: Iterable[str]) -> list[Job]:
    """A run may serve for several purposes, and one of an arm for several trials."""
    asked = ((trial, closing(store, trial)) for trial in dict.fromkeys(trials))
    return [(trial, each) for trial, each in asked if each is not None]


def _amount(estimate: Estimate) -> str:
    cost = "at a cost that is not known" if estimate.usd is None else f"for about {dollars(estimate.usd)}"
    return f"{counted(estimate.missing, 'replay')} {cost}"
