"""Reads a store and compares: what `compare` and the end of `run` share."""

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from toolablate.traces.analysis import Comparison, compare
from toolablate.traces.errors import InputError
from toolablate.traces.store import Store


@dataclass(frozen=True, slots=True)
class Compared:
    """The comparisons of a store; none where it holds a single condition, whose baseline stands alone."""

    baseline: str
    comparisons: tuple[Comparison, ...]


def compare_store(
    path: Path,
    *,
    baseline: str | None = None,
    by: Literal["domain"] | None = None,
    run: str | None = None,
    scorer: str | None = None,
    seed: int = 0,
) -> Compared:
    """Compares all that a store holds, or the trials that one run called for (`latest`, or its id).

    Baseline and scorers are by default those of the latest run. Raises InputError and StoreError.
    """
    with Store(path) as store:
        runs = store.runs()
        if not runs:
            raise InputError(f"{path} holds no run yet", hint="toolablate run PLAN", code="empty_store")
        chosen = runs[-1].id if run == "latest" else run
        known = store.scorers()
        scorers = [scorer] if scorer else [name for name in runs[-1].scorers if name in known]
        observations = store.observations(run=chosen, scorers=scorers)
        order = [condition.name for condition in store.conditions()]
    name = baseline or runs[-1].baseline
    return Compared(name, tuple(compare(observations, name, by=by, seed=seed, order=order)))
