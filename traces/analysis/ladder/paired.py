"""Differences of one model's arms, question by question, and what they are worth."""

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from toolablate.traces.analysis.effect import FEW_CLUSTERS, FEW_DIFFERING
from toolablate.traces.analysis.pairing import Arm, Unit, mean_scores, unit
from toolablate.traces.analysis.statistics import bootstrap_interval, sign_flip_p
from toolablate.traces.store import Observation

TOLERANCE = 10.0**-9

Scores = Mapping[str, float]
"""The mean over repeats of each question's score under one condition, in [0, 1]."""


@dataclass(frozen=True, slots=True)
class Chance:
    """How chance is drawn: the seed of bootstrap and permutations, and how many of each."""

    seed: int
    resamples: int


class Trials:
    """All ended trials of one model, by the labels of conditions."""

    def __init__(self, observations: Iterable[Observation]) -> None:
        self._arms: dict[str, Arm] = defaultdict(lambda: defaultdict(list))
        self._units: dict[str, Unit] = {}
        self.simulated = False
        for seen in observations:
            self._arms[seen.condition][seen.question].append(seen)
            self._units[seen.question] = unit(seen)
            self.simulated = self.simulated or seen.simulated
        self._scores: dict[str, Scores] = {label: mean_scores(arm) for label, arm in self._arms.items()}

    @property
    def labels(self) -> frozenset[str]:
        return frozenset(self._arms)

    def asked(self, labels: Iterable[str]) -> set[str]:
        """The questions that were asked under any of these."""
        return {question for label in labels for question in self._arms[label]}

    def scores(self, label: str) -> Scores:
        return self._scores[label]

    def scored(self, labels: Iterable[str]) -> list[str]:
        """The questions that are scored under all of these, by name."""
        return sorted(set.intersection(*(set(self._scores[label]) for label in labels)))

    def clusters(self, questions: Iterable[str]) -> int:
        return len({self._units[question] for question in questions})

    def few(self, questions: Sequence[str], values: Sequence[float]) -> bool:
        """Whether these are too few, or too few that differ from 0, for an interval that covers what it says."""
        sums, _ = self._by_unit(questions, values)
        return len(sums) < FEW_CLUSTERS or sum(abs(total) > TOLERANCE for total in sums) < FEW_DIFFERING

    def interval(self, questions: Sequence[str], values: Sequence[float], chance: Chance) -> tuple[float, float] | None:
        """95 % interval of the mean of values in [-1, 1], in points."""
        sums, sizes = self._by_unit(questions, values)
        found = bootstrap_interval(sums, sizes, seed=chance.seed, resamples=chance.resamples)
        return None if found is None else (100 * found[0], 100 * found[1])

    def p_value(self, questions: Sequence[str], values: Sequence[float], chance: Chance) -> float:
        """Two-sided sign-flip test that the mean of values is 0."""
        return sign_flip_p(self._by_unit(questions, values)[0], seed=chance.seed, resamples=chance.resamples)

    def _by_unit(self, questions: Sequence[str], values: Sequence[float]) -> tuple[list[float], list[int]]:
        """The values of questions summed by independent unit, and how many questions each unit has."""
        grouped: dict[Unit, list[float]] = defaultdict(list)
        for question, value in zip(questions, values, strict=True):
            grouped[self._units[question]].append(value)
        return [math.fsum(group) for group in grouped.values()], [len(group) for group in grouped.values()]


def percent(values: Sequence[float]) -> float | None:
    """The mean in percent; None of nothing."""
    return 100 * math.fsum(values) / len(values) if values else None
