"""How far predictions of who failed when are right, by set and by length, beside constants and random guesses."""

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TypeVar

from toolablate.analysis.effect import Accuracy, accuracy
from toolablate.benchmarks.who_and_when.runs import FailedRun, Prediction, load_failed_runs, load_predictions

LENGTHS = ((1, 7), (8, 10), (11, 30), (31, 70), (71, None))
"""Steps of a run, from and to."""

ALL = "all"

PUBLISHED = {"algorithm_generated": 47.5, "hand_crafted": 29.3}
"""For scale, the best step accuracies that we know of, in percent: West et al. (2025), "Abduct, Act, Predict:
Scaffolding Causal Inference for Automated Failure Attribution in Multi-Agent Systems", arXiv 2509.10401. 29.3 is 17 of
58 runs; 47.46, as it is written there, is no number of 126."""


@dataclass(frozen=True, slots=True)
class GradedRun:
    """What was said of one run; the shares are 0 or 1, of a random guess what is to be expected.

    length         in steps
    missing        nothing was said of it
    agent, step    is right; `within_1`, `within_3`: the step is at most so far from the right one
    both           agent and step are right
    by_substring   the right step's digits stand in the predicted one's, as the published scorer has it
    """

    run: str
    of_set: str
    question: str
    length: int
    missing: bool
    agent: float
    step: float
    within_1: float
    within_3: float
    both: float
    by_substring: float


@dataclass(frozen=True, slots=True)
class Baseline:
    """`expected`: its figures are no draws, so that no interval is given."""

    name: str
    graded: tuple[GradedRun, ...]
    expected: bool = False


@dataclass(frozen=True, slots=True)
class Row:
    """One method on one group of runs; a run of which nothing was said is wrong.

    `by_substring` is in percent, and so is what the accuracies hold. Runs on one question are one cluster.
    """

    method: str
    group: str
    runs: int
    missing: int
    agent: Accuracy
    step: Accuracy
    within_1: Accuracy
    within_3: Accuracy
    both: Accuracy
    by_substring: float


@dataclass(frozen=True, slots=True)
class WhoAndWhen:
    """`predicted` by set, by length and of all; empty where there are only baselines. `elsewhere`: of so many runs the
    step to blame is, by its own name, another agent's than the one to blame."""

    runs: int
    elsewhere: int
    predicted: tuple[Row, ...]
    baselines: tuple[Row, ...]
    published: dict[str, float]


def rows(method: str, graded: Sequence[GradedRun], *, seed: int = 0) -> tuple[Row, ...]:
    """By set, by length whatever the set, and of all where there are several sets."""
    sets = list(dict.fromkeys(each.of_set for each in graded))
    found = [row_of(method, name, [each for each in graded if each.of_set == name], seed=seed) for name in sets]
    for least, most in LENGTHS:
        some = [each for each in graded if each.length >= least and (most is None or each.length <= most)]
        if some:
            found.append(row_of(method, _steps(least, most), some, seed=seed))
    if len(sets) > 1:
        found.append(row_of(method, ALL, graded, seed=seed))
    return tuple(found)


def row_of(method: str, group: str, graded: Sequence[GradedRun], *, expected: bool = False, seed: int = 0) -> Row:
    """Raises ValueError of no run."""
    if not graded:
        raise ValueError("there is no share of no run")

    def share(value: Callable[[GradedRun], float]) -> Accuracy:
        values = [value(each) for each in graded]
        if expected:
            clusters = len({each.question for each in graded})
            return Accuracy(len(values), clusters, 100 * sum(values) / len(values), None, small=False)
        return accuracy(values, [("cluster", each.question) for each in graded], seed=seed)

    return Row(
        method=method,
        group=group,
        runs=len(graded),
        missing=sum(each.missing for each in graded),
        agent=share(lambda each: each.agent),
        step=share(lambda each: each.step),
        within_1=share(lambda each: each.within_1),
        within_3=share(lambda each: each.within_3),
        both=share(lambda each: each.both),
        by_substring=100 * sum(each.by_substring for each in graded) / len(graded),
    )


def who_and_when_json(found: WhoAndWhen) -> str:
    """The fields of the records; what is unknown is null."""
    return json.dumps(asdict(found), ensure_ascii=False, indent=2)


def _steps(least: int, most: int | None) -> str:
    return f"{least} or more steps" if most is None else f"{least} to {most} steps"


# How far predictions are right.


Weighed = Iterable[tuple[float, Prediction]]
"""Predictions of one run with the chance of each; they sum to 1, or to less where it may be that none is made."""


def graded_predictions(runs: Sequence[FailedRun], predictions: Mapping[str, Prediction]) -> tuple[GradedRun, ...]:
    """Of all runs, in their order; one without a prediction is wrong."""
    return tuple(
        graded(run, [(1.0, predictions[run.id])] if run.id in predictions else [], missing=run.id not in predictions)
        for run in runs
    )


def graded(run: FailedRun, guesses: Weighed, *, missing: bool = False) -> GradedRun:
    """What is to be expected of guesses with these chances."""
    totals = [0.0] * 6
    for chance, guess in guesses:
        for place, holds in enumerate(_holds(run, guess)):
            totals[place] += chance * holds
    return GradedRun(run.id, run.of_set, run.question, len(run.steps), missing, *(min(1.0, total) for total in totals))


def _holds(run: FailedRun, guess: Prediction) -> tuple[bool, ...]:
    """In the order of Graded's shares."""
    agent = guess.agent is not None and guess.agent.casefold() == run.agent.casefold()
    away = None if guess.step is None else abs(guess.step - run.step)
    return (
        agent,
        away == 0,
        away is not None and away <= 1,
        away is not None and away <= 3,
        agent and away == 0,
        guess.step is not None and str(run.step) in str(guess.step),
    )


# What there is to be had without reading a run: baselines, each fitted to the very set that it is scored on.


Value = TypeVar("Value", int, str)


def baselines(runs: Sequence[FailedRun]) -> tuple[Baseline, ...]:
    """Of runs of one set, or of several that are taken for one.

    best constant step                 always the step that is most often right (of equals the first), and whose it is
    best constant agent                always the agent that is most often to blame, at the step where it speaks first
    random step                        any step, each as likely, and whose it is; as is to be expected of such draws
    last step                          the last, and whose it is
    first step of the busiest agent    of the agent that has most steps in the run, of equals the first to speak
    """
    step = _commonest([run.step for run in runs])
    agent = _commonest([run.agent for run in runs])
    return (
        Baseline(f"best constant step ({step})", tuple(graded(run, _at(run, step)) for run in runs)),
        Baseline(f"best constant agent ({agent})", tuple(graded(run, _first_of(run, agent)) for run in runs)),
        Baseline("random step", tuple(graded(run, _random(run)) for run in runs), expected=True),
        Baseline("last step", tuple(graded(run, _at(run, len(run.steps) - 1)) for run in runs)),
        Baseline("first step of the busiest agent", tuple(graded(run, _first_of(run, _busiest(run))) for run in runs)),
    )


def _commonest(values: Sequence[Value]) -> Value:
    counts = Counter(values)
    return min(counts, key=lambda value: (-counts[value], value))


def _busiest(run: FailedRun) -> str:
    # A Counter keeps the order in which agents first spoke, and max() the first of equals.
    counts = Counter(step.agent for step in run.steps)
    return max(counts, key=counts.__getitem__)


def _at(run: FailedRun, step: int) -> Weighed:
    """In a run that ends before this step, nobody is named."""
    return [(1.0, Prediction(run.steps[step].agent if step < len(run.steps) else None, step))]


def _first_of(run: FailedRun, agent: str) -> Weighed:
    first = next((place for place, step in enumerate(run.steps) if step.agent == agent), None)
    return [(1.0, Prediction(agent, first))]


def _random(run: FailedRun) -> Weighed:
    return [(1 / len(run.steps), Prediction(step.agent, place)) for place, step in enumerate(run.steps)]


# Who&When from files: what the command line does with it.


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
