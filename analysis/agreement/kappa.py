"""Agreement beyond chance: Cohen's kappa of two and Krippendorff's alpha of any number of people, with intervals.

Sources: Cohen (1960), "A Coefficient of Agreement for Nominal Scales", Educational and Psychological Measurement 20;
Krippendorff (2011), "Computing Krippendorff's Alpha-Reliability", University of Pennsylvania.
"""

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from toolablate.analysis.statistics.intervals import RESAMPLES, Figures, jackknifed_interval

Pair = tuple[str, str]
"""What the first and the second say of one trial."""

Margins = tuple[int, ...]
"""The trials of which both say the same, then how often each kind is said by the first, then by the second."""


@dataclass(frozen=True, slots=True)
class CrossTable:
    """Trials by what two scorers say of each: correct or not."""

    both: int
    first_only: int
    second_only: int
    neither: int

    @property
    def trials(self) -> int:
        return self.both + self.first_only + self.second_only + self.neither

    @property
    def agreed(self) -> int:
        return self.both + self.neither

    def __add__(self, other: "CrossTable") -> "CrossTable":
        return CrossTable(
            self.both + other.both,
            self.first_only + other.first_only,
            self.second_only + other.second_only,
            self.neither + other.neither,
        )

    @property
    def margins(self) -> Margins:
        first, second = self.both + self.first_only, self.both + self.second_only
        return self.agreed, first, self.trials - first, second, self.trials - second


def margins(units: Sequence[Sequence[Pair]]) -> list[Margins]:
    """Of each unit's pairs, over the kinds that any of them has."""
    named = sorted({kind for each in units for pair in each for kind in pair})
    kinds = {kind: place for place, kind in enumerate(named)}
    found = []
    for each in units:
        counts = [0] * (1 + 2 * len(kinds))
        for first, second in each:
            counts[0] += first == second
            counts[1 + kinds[first]] += 1
            counts[1 + len(kinds) + kinds[second]] += 1
        found.append(tuple(counts))
    return found


def cohens_kappa(units: Sequence[Margins]) -> float | None:
    """(observed - expected) / (1 - expected), where `observed` is the share of trials of which both say the same, and
    `expected` the share of which they would if each kept its shares of kinds and drew them by chance (Cohen 1960). None
    where there are no trials, or both say one and the same of all of them: they then agree by chance as well as by
    judgement."""
    return _kappa(tuple(map(sum, zip(*units, strict=True)))) if units else None


def kappa_interval(
    units: Sequence[Margins], *, seed: int = 0, resamples: int = RESAMPLES
) -> tuple[float, float] | None:
    """The 95 % interval of the kappa of all trials, by a bootstrap over independent units (questions).

    None where kappa is undefined with or without some unit, or where nothing says how much it varies: fewer than two
    units, or no trial of which the two say different things.
    """
    sizes = [_trials(each) for each in units]
    if not any(each[0] < size for each, size in zip(units, sizes, strict=True)):
        return None
    found = jackknifed_interval(_kappa, units, [float(size) for size in sizes], seed=seed, resamples=resamples)
    return None if found is None else (max(-1.0, found[0]), min(1.0, found[1]))


def _trials(found: Figures) -> int:
    return round(sum(found[1:]) / 2)


def _kappa(found: Figures) -> float | None:
    agreed, *said = map(round, found)
    trials, kinds = sum(said) // 2, len(said) // 2
    # Both sides times the square of the trials, so that it stays among whole numbers.
    expected = sum(one * other for one, other in zip(said[:kinds], said[kinds:], strict=True))
    beyond = trials * trials - expected
    return (trials * agreed - expected) / beyond if beyond else None


# Krippendorff's alpha, for nominal kinds.


Coincidences = tuple[float, ...]
"""Disagreeing pairs of values, each trial's weighed by 1 / (its values - 1); then how often each kind is said."""


def coincidences(units: Sequence[Sequence[Sequence[str]]]) -> list[Coincidences]:
    """Of each unit's trials, each with the values that people gave it; a trial of fewer than two values counts for
    nothing."""
    named = sorted({kind for each in units for values in each for kind in values})
    kinds = {kind: place for place, kind in enumerate(named)}
    found = []
    for each in units:
        figures = [0.0] * (1 + len(kinds))
        for values in each:
            if len(values) > 1:
                counts = Counter(values)
                alike = sum(count * (count - 1) for count in counts.values())
                figures[0] += (len(values) * (len(values) - 1) - alike) / (len(values) - 1)
                for kind, count in counts.items():
                    figures[1 + kinds[kind]] += count
        found.append(tuple(figures))
    return found


def krippendorffs_alpha(units: Sequence[Coincidences]) -> float | None:
    """1 - observed / expected disagreement (Krippendorff 2011, section B). None where no trial has two values, or all
    values are of one kind."""
    return _alpha(tuple(map(math.fsum, zip(*units, strict=True)))) if units else None


def alpha_interval(
    units: Sequence[Coincidences], *, seed: int = 0, resamples: int = RESAMPLES
) -> tuple[float, float] | None:
    """The 95 % interval, by a bootstrap over independent units. None where alpha is undefined with or without some
    unit, or no two values differ."""
    paired = [each for each in units if any(each[1:])]
    if not any(each[0] for each in paired):
        return None
    sizes = [math.fsum(each[1:]) for each in paired]
    found = jackknifed_interval(_alpha, paired, sizes, seed=seed, resamples=resamples)
    return None if found is None else (max(-1.0, found[0]), min(1.0, found[1]))


def _alpha(found: Figures) -> float | None:
    differing, *said = found
    values = math.fsum(said)
    # Below 1e-9 is what differences of sums leave of nothing.
    expected = values**2 - math.fsum(count**2 for count in said)
    return 1 - (values - 1) * differing / expected if values > 1 and expected > 1e-9 else None
