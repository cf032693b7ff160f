"""Attribution by replay: chooses trials, says what their replays cost, and runs them."""

from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from os import PathLike
from pathlib import Path

from rich.console import Console

from toolablate.analysis.from_store import observe
from toolablate.experiments.attributing.asking import Chosen, first_jobs, last_jobs, searches, second_jobs
from toolablate.experiments.attributing.bisecting import bisects
from toolablate.experiments.attributing.choosing import candidates, choose, scorers_of
from toolablate.experiments.attributing.foreseen import Chance, Foreseen, chances, foresee
from toolablate.experiments.attributing.mending import unparsed_arms
from toolablate.experiments.attributing.program import Asked
from toolablate.experiments.attributing.rounds import Refused, Rounds
from toolablate.experiments.attributing.scorers import refuse_other_scorers
from toolablate.experiments.counterfactual.estimate import Amount, refuse_too_dear
from toolablate.experiments.running.progress import RunProgress
from toolablate.experiments.running.watcher import Watcher
from toolablate.reports.numbers import counted, dollars
from toolablate.traces.records import ReplayDesign
from toolablate.traces.store import Recorder, Store


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


def _run(rounds: Rounds, chosen: Chosen, likely: Mapping[str, Chance]) -> None:
    jobs = first_jobs(chosen)
    estimate = rounds.estimate(jobs)
    missing = {jobs[place][0] for place, each in estimate.by_place.items() if each.missing}
    trials, then = counted(len(chosen.trials), "trial"), foresee(rounds, chosen, likely, missing)
    rounds.watcher.tell(
        f"{trials} to be replayed: {_amount(Amount(estimate.missing, estimate.usd))}, and {_told(then)}"
    )
    refuse_too_dear(estimate.usd, rounds.max_cost)
    with Recorder(rounds.store) as recorder:
        recorder.keep_design(chosen.design)
    rounds.run(jobs)
    _bisect(rounds, chosen)
    rounds.run(second_jobs(rounds.store, chosen))
    rounds.run(last_jobs(rounds.store, chosen))


def _bisect(rounds: Rounds, chosen: Chosen) -> None:
    """All searches side by side, so that each round is one batch."""
    cases = {each.case.trial: each.case for each in chosen.trials if bisects(each.case, chosen.design)}
    asked: dict[str, Asked] = {}
    while cases and not rounds.stopped:
        with Store(rounds.store) as opened:
            found = searches(opened, cases, chosen)
        # Where the same is wanted once more, some of it did not end: that is for the next run.
        asked = {trial: wants for trial, wants in found.items() if wants != asked.get(trial)}
        cases = {trial: cases[trial] for trial in asked}
        rounds.run(list(asked.items()))


def _told(then: Foreseen) -> str:
    if not then.most.missing:
        return "nothing after that"
    if then.likely == then.most:
        return f"then {_amount(then.most)} more by what these show"
    return f"then about {_amount(then.likely)} more by what these show, at most {_amount(then.most)}"


def _amount(of: Amount) -> str:
    cost = "at a cost that is not known" if of.usd is None else f"for about {dollars(of.usd)}"
    return f"{counted(of.missing, 'replay')} {cost}"
