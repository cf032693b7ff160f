"""Arms of one model, question by question."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from toolablate.analysis.effect import Effect, arms_effect, too_few
from toolablate.analysis.noise import Chance, chance, right
from toolablate.analysis.pairing import Arm, Scored, Unit, mean, scored, unit
from toolablate.analysis.statistics import bootstrap_intervals, by_unit
from toolablate.traces.store import Observation


@dataclass(frozen=True, slots=True)
class Drawing:
    """How chance is drawn: the seed of bootstrap and permutations, and how many of each."""

    seed: int
    resamples: int


@dataclass(frozen=True, slots=True)
class Known:
    """A mean in points, its 95 % interval, and whether that rests on too few questions to cover what it says."""

    points: float
    ci95: tuple[float, float] | None
    small: bool


class Trials:
    """All ended trials of one model, by the labels of conditions."""

    def __init__(self, observations: Iterable[Observation], drawing: Drawing) -> None:
        arms: dict[str, Arm] = defaultdict(lambda: defaultdict(list))
        self._units: dict[str, Unit] = {}
        self._drawing = drawing
        self.simulated = False
        for seen in observations:
            arms[seen.condition][seen.question].append(seen)
            self._units[seen.question] = unit(seen)
            self.simulated = self.simulated or seen.simulated
        self._asked = {label: frozenset(arm) for label, arm in arms.items()}
        self._scored: dict[str, Scored] = {label: scored(arm) for label, arm in arms.items()}

    @property
    def labels(self) -> frozenset[str]:
        return frozenset(self._asked)

    def asked(self, labels: Iterable[str]) -> set[str]:
        """The questions that were asked under any of these."""
        return {question for label in labels for question in self._asked[label]}

    def scored(self, labels: Iterable[str]) -> list[str]:
        """The questions that are scored under all of these, by name."""
        return sorted(set.intersection(*(set(self._scored[label]) for label in labels)))

    def means(self, label: str, questions: Sequence[str]) -> list[float]:
        """The score of each question under one condition, in [0, 1]."""
        return [mean(self._scored[label][question]) for question in questions]

    def clusters(self, questions: Iterable[str]) -> int:
        """How many independent ones they are."""
        return len(set(self._units_of(questions)))

    def compared(self, before: str, after: str, questions: Sequence[str]) -> tuple[Effect, Chance]:
        """One condition against another, over questions that are scored under both: the effect, and the flips."""
        sides = self._scored[before], self._scored[after]
        found = arms_effect(
            *sides,
            questions,
            self._units_of(questions),
            seed=self._drawing.seed,
            resamples=self._drawing.resamples,
        )
        return found, chance(*(right([side[question] for question in questions]) for side in sides))

    def means_known(self, questions: Sequence[str], columns: Sequence[Sequence[float]]) -> list[Known]:
        """Of columns of values in [-1, 1], one for each question: what is known of their means, all from the same
        resamples."""
        sizes, *sums = by_unit(self._units_of(questions), [1.0] * len(questions), *columns)
        intervals = bootstrap_intervals(
            [(each, sizes) for each in sums], seed=self._drawing.seed, resamples=self._drawing.resamples
        )
        return [
            Known(
                points=100 * mean(values),
                ci95=None if interval is None else (100 * interval[0], 100 * interval[1]),
                small=too_few(each, sizes),
            )
            for values, interval, each in zip(columns, intervals, sums, strict=True)
        ]

    def _units_of(self, questions: Iterable[str]) -> list[Unit]:
        return [self._units[question] for question in questions]
