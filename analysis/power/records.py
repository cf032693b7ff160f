import json
from dataclasses import asdict, dataclass
from typing import Literal

from toolablate.analysis.statistics import Components

Interval = tuple[float, float]


@dataclass(frozen=True, slots=True)
class PairedDesign:
    """questions     that every condition asks
    clusters         independent units among them: questions that share a source are one
    design_effect    by how much clusters raise the variance of a mean, at worst
    repeats          of each question
    comparisons      conditions other than the baseline, times models
    """

    questions: int
    clusters: int
    design_effect: float
    repeats: int
    comparisons: int


@dataclass(frozen=True, slots=True)
class Aim:
    """With what probability `power` a two-sided test at level `alpha` is to find an effect; `effect_points`, where
    given, is the one that is to be found."""

    power: float = 0.8
    alpha: float = 0.05
    effect_points: float | None = None


@dataclass(frozen=True, slots=True)
class Variances:
    """What one comparison's paired differences vary by, in squared shares.

    model, baseline, condition   whose they are; empty where they are assumed
    rung                         of a ladder, whose neighbouring arms these two are: its name; else empty
    measured                     what they were estimated from; None where they are assumed
    simulated                    the model is a stand-in, so they say nothing of a real one
    between                      over questions of the true difference, clusters counted in: times `design_effect`
    within                       of one trial's score around its question's mean, the mean of both conditions
    between_least, within_most   these are `between` and `within`, but where nothing parts them in the earlier run (no
                                 repeats, or too few): there the truth is between all of the one and all of the other
    between_ci95, within_ci95    95 % percentile intervals over the earlier run's independent questions; None where
                                 variances are assumed, and of what nothing parts
    """

    model: str
    baseline: str
    condition: str
    rung: str
    measured: Components | None
    simulated: bool
    between: float
    within: float
    between_least: float
    within_most: float
    between_ci95: Interval | None
    within_ci95: Interval | None

    @property
    def parted(self) -> bool:
        """Whether it is known what of the variance is chance."""
        return self.measured is None or self.measured.between is not None


@dataclass(frozen=True, slots=True)
class Smallest:
    """The smallest effect that a test at one level finds, in percentage points.

    points         None where nothing tells (`unknown`)
    least_points   the same but where nothing parts the variances: there, what it would be if all variance were within
                     questions
    ci95           what it could be as well, for all that the earlier run tells: a 95 % percentile interval over its
                     independent questions, of both where nothing parts the variances; None where these are assumed
    unknown        why there is no figure: nothing varied; or the design's questions are too few for the test to reach
                     its level however large the effect, or to see any below 100 points. Else empty
    questions      how many the effect aimed at would take; None where none is aimed at, or nothing varied
    """

    points: float | None
    least_points: float | None
    ci95: Interval | None
    unknown: Literal["", "nothing varied", "too few questions"]
    questions: int | None


@dataclass(frozen=True, slots=True)
class AtRepeats:
    """What so many repeats can show, at level alpha and at alpha / comparisons, as in the first step of Holm's
    correction."""

    repeats: int
    plain: Smallest
    corrected: Smallest


@dataclass(frozen=True, slots=True)
class Needed:
    """How many repeats the effect aimed at would take on the design's questions; None stands for more than 1,000.
    `ci95` as in `Smallest`."""

    repeats: int | None
    ci95: tuple[int | None, int | None] | None


@dataclass(frozen=True, slots=True)
class Sight:
    """What one comparison can show at each number of repeats. `needed`, `corrected_needed`: None where no effect is
    aimed at, or nothing varied, or the questions are too few at any number of repeats."""

    variances: Variances
    rows: tuple[AtRepeats, ...]
    needed: Needed | None
    corrected_needed: Needed | None


@dataclass(frozen=True, slots=True)
class PowerTable:
    """`smallest_p` is the smallest p-value that the design's questions allow; `left_out` names the comparisons of the
    earlier run with too few questions to say anything."""

    design: PairedDesign
    aim: Aim
    sights: tuple[Sight, ...]
    smallest_p: float
    left_out: tuple[str, ...] = ()


def power_json(table: PowerTable) -> str:
    """The fields of `PowerTable`; what is unknown is null."""
    return json.dumps(asdict(table), ensure_ascii=False, indent=2)
