"""How far predictions of who failed when are right, by set and by length, beside what needs no reading."""

import json
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass

from toolablate.analysis.effect import Accuracy, accuracy

LENGTHS = ((1, 7), (8, 10), (11, 30), (31, 70), (71, None))
"""Steps of a run, from and to."""

ALL = "all"

PUBLISHED = {"algorithm_generated": 47.5, "hand_crafted": 29.3}
"""For scale, the best step accuracies that we know of, in percent: West et al. (2025), "Abduct, Act, Predict:
Scaffolding Causal Inference for Automated Failure Attribution in Multi-Agent Systems", arXiv 2509.10401. 29.3 is 17 of
58 runs; 47.46, as it is written there, is no number of 126."""


@dataclass(frozen=True, slots=True)
class Graded:
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
    graded: tuple[Graded, ...]
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


def rows(method: str, graded: Sequence[Graded], *, seed: int = 0) -> tuple[Row, ...]:
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


def row_of(method: str, group: str, graded: Sequence[Graded], *, expected: bool = False, seed: int = 0) -> Row:
    """Raises ValueError of no run."""
    if not graded:
        raise ValueError("there is no share of no run")

    def share(value: Callable[[Graded], float]) -> Accuracy:
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
