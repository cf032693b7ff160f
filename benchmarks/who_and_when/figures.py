"""Who&When from files: what the command line does with it."""

from collections.abc import Iterator, Sequence
from pathlib import Path

from toolablate.benchmarks.who_and_when import (
    FailedRun,
    baselines,
    graded_predictions,
    load_failed_runs,
    load_predictions,
)
from toolablate.benchmarks.who_and_when.shares import ALL, PUBLISHED, Row, WhoAndWhen, row_of, rows


def read_who_and_when(data: Path, predictions: Path | None = None, *, seed: int = 0) -> WhoAndWhen:
    """The figures of predictions beside those of baselines, or of these alone. Raises InputError."""
    runs = load_failed_runs(data)
    given = None if predictions is None else load_predictions(predictions, runs)
    groups = _groups(runs)
    return WhoAndWhen(
        runs=len(runs),
        elsewhere=sum(run.steps[run.step].agent != run.agent for run in runs),
        predicted=() if given is None else rows("predictions", graded_predictions(runs, given), seed=seed),
        baselines=tuple(row for group, some in groups.items() for row in _baselines(group, some, seed)),
        published={group: figure for group, figure in PUBLISHED.items() if group in groups},
    )


def _groups(runs: Sequence[FailedRun]) -> dict[str, list[FailedRun]]:
    """By set, and all where there are several."""
    found: dict[str, list[FailedRun]] = {}
    for run in runs:
        found.setdefault(run.of_set, []).append(run)
    return found if len(found) < 2 else {**found, ALL: list(runs)}


def _baselines(group: str, runs: Sequence[FailedRun], seed: int) -> Iterator[Row]:
    for each in baselines(runs):
        yield row_of(each.name, group, each.graded, expected=each.expected, seed=seed)
