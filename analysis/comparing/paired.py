"""Reads a store and compares: what `compare` and the end of `run` share."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from toolablate.analysis import (
    Comparison,
    Flip,
    Floor,
    GroupBy,
    MissDifference,
    MissRate,
    Observation,
    RefusedCalls,
    compare,
    flips,
    floors,
    miss_differences,
    miss_rates,
    refused_calls,
)
from toolablate.analysis.comparing.kernel_changes import changed_kernels
from toolablate.analysis.comparing.scorer_names import scorer_meant
from toolablate.traces.errors import InputError
from toolablate.traces.records import Run
from toolablate.traces.store import Store


@dataclass(frozen=True, slots=True)
class Paired:
    """Ended trials to compare, the baseline's name and the order of the conditions.

    `left_out` counts ended trials of the store that the chosen run did not call for; `warning` says what makes the
    trials less alike than a comparison wants them, "" where nothing does.
    """

    observations: tuple[Observation, ...]
    baseline: str
    order: tuple[str, ...]
    left_out: int
    warning: str

    def compare(self, *, by: Sequence[GroupBy] = (), seed: int = 0, harm: bool = True) -> list[Comparison]:
        return compare(self.observations, self.baseline, by=by, seed=seed, order=self.order, harm=harm)

    def flips(self) -> list[Flip]:
        return flips(self.observations, self.baseline, order=self.order)

    def floors(self) -> list[Floor]:
        return floors(self.observations, self.baseline, order=self.order)

    def miss_rates(self) -> list[MissRate]:
        return miss_rates(self.observations, self.order)

    def miss_differences(self, *, seed: int = 0) -> list[MissDifference]:
        return miss_differences(self.observations, self.order, seed=seed)

    def refused_calls(self) -> list[RefusedCalls]:
        return refused_calls(self.observations, self.order)


def read_paired(path: Path, *, baseline: str | None = None, run: str = "latest", scorer: str | None = None) -> Paired:
    """The trials that one run called for (`latest`, or the beginning of its id), or `all` that the store holds.

    Baseline and scorers are by default that run's; for `all`, the latest run's. Raises InputError and StoreError.
    """
    with Store(path) as store, store.at_one_moment():
        return paired(store, baseline=baseline, run=run, scorer=scorer)


def paired(store: Store, *, baseline: str | None = None, run: str = "latest", scorer: str | None = None) -> Paired:
    """The same of a store that is open."""
    observations = observe(store, run=run, scorer=scorer)
    chosen = chosen_run(store, run)
    return Paired(
        observations=tuple(observations),
        baseline=baseline or chosen.baseline,
        order=tuple(condition.name for condition in store.conditions()),
        left_out=store.ended_trials() - len(observations),
        warning=changed_kernels(store.environments(run=None if run == "all" else chosen.id)),
    )


def observe(
    store: Store, *, run: str = "all", scorer: str | None = None, beside: str | None = None
) -> list[Observation]:
    """The ended trials that `run` stands for as in `read_paired`, with the scores of one scorer; by default with those
    of that run's scorers. `beside` keeps to those of a trial's question and model, by its whole id. Raises InputError
    for a run or scorer that is not there."""
    chosen = chosen_run(store, run)
    known, trials = store.scorers(), None if run == "all" else chosen.id
    scorers = [scorer_meant(known, scorer)] if scorer else [name for name in chosen.scorers if name in known]
    if scorers or not chosen.scorers:
        return store.observations(run=trials, scorers=scorers, beside=beside)
    # What others made of the trials must not be taken for the scores of those that have not scored yet.
    observations = store.observations(run=trials, scorers=known[:1], beside=beside)
    return [replace(seen, value=None, verdict=None) for seen in observations]


def read_refused_calls(path: Path) -> list[RefusedCalls]:
    """Of all trials of plans that a store holds, whatever their scores. Raises StoreError."""
    with Store(path) as store, store.at_one_moment():
        # Any scorer will do, and where there are several one has to be named.
        return refused_calls(
            store.observations(scorers=store.scorers()[:1]), [condition.name for condition in store.conditions()]
        )


def chosen_run(store: Store, run: str) -> Run:
    """The one whose id begins so, or the latest. Raises InputError where there is none, or several."""
    runs = store.runs()
    if not runs:
        raise InputError(f"{store.path} holds no run yet", hint="toolablate run PLAN", code="empty_store")
    found = runs if run in ("latest", "all") else [each for each in runs if each.id.startswith(run)]
    if not found or (len(found) > 1 and found is not runs):
        shown = ", ".join(each.id[:10] for each in runs[-5:])
        raise InputError(
            f"--run: {run!r} is not one run of {store.path}", hint=f"the last: {shown}", code="unknown_run"
        )
    return found[-1]
