"""Reads a store and compares: what `compare` and the end of `run` share."""

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from toolablate.traces.analysis import Comparison, Observation, compare
from toolablate.traces.errors import InputError
from toolablate.traces.records import Run
from toolablate.traces.store import Store


@dataclass(frozen=True, slots=True)
class Compared:
    """The comparisons of a store; none where it holds a single condition, whose baseline stands alone.

    `left_out` counts ended trials of the store that the chosen run did not call for.
    """

    baseline: str
    left_out: int
    comparisons: tuple[Comparison, ...]


def compare_store(
    path: Path,
    *,
    baseline: str | None = None,
    by: Literal["domain"] | None = None,
    run: str = "latest",
    scorer: str | None = None,
    seed: int = 0,
) -> Compared:
    """Compares the trials that one run called for (its id, or `latest`), or `all` that the store holds.

    Baseline and scorers are by default those of the latest run. Raises InputError and StoreError.
    """
    with Store(path) as store:
        latest = _latest_run(store)
        observations = observe(store, run=run, scorer=scorer)
        ended = sum(row.answered + row.budget + row.failed for row in store.counts())
        order = [condition.name for condition in store.conditions()]
    name = baseline or latest.baseline
    comparisons = tuple(compare(observations, name, by=by, seed=seed, order=order))
    return Compared(name, ended - len(observations), comparisons)


def observe(store: Store, *, run: str = "all", scorer: str | None = None) -> list[Observation]:
    """The ended trials of one run (its id, or `latest`) or of `all`, with the scores of one scorer; by default with
    those of the latest run's scorers. Raises InputError for a run or scorer that is not there."""
    latest = _latest_run(store)
    known = store.scorers()
    scorers = [scorer] if scorer else [name for name in latest.scorers if name in known]
    chosen = {"latest": latest.id, "all": None}.get(run, run)
    return store.observations(run=chosen, scorers=scorers)


def _latest_run(store: Store) -> Run:
    runs = store.runs()
    if not runs:
        raise InputError(f"{store.path} holds no run yet", hint="toolablate run PLAN", code="empty_store")
    return runs[-1]
