"""What effects a design can detect: from the variances of an earlier run, or from assumed ones."""

import json
import math
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Literal

import numpy as np

from toolablate.analysis.arms import Contrast
from toolablate.analysis.pairing import Arm, Pair, pairs, scored_in_both, unit
from toolablate.analysis.statistics.intervals import Floats
from toolablate.analysis.statistics.variance import (
    MOST_REPEATS,
    Components,
    Resampled,
    design_effect,
    detectable,
    paired_standard_error,
    questions_needed,
    repeats_needed,
    resampled_components,
    smallest_p,
    variance_components,
)
from toolablate.traces.store import TrialSummary

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
    contrast                         of a ladder, whose neighbouring arms these two are: its name; else empty
    measured                     what they were estimated from; None where they are assumed
    simulated                    a simulated model: no measurement of a real one
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
    contrast: str
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


BETWEEN = 0.02
WITHIN = 0.075


@dataclass(frozen=True, slots=True)
class VarianceEstimate:
    """Variances, and what they would have been had other questions been asked; None where they are assumed."""

    variances: Variances
    resampled: Resampled | None


def assumed_variances(design: PairedDesign, between: float = BETWEEN, within: float = WITHIN) -> VarianceEstimate:
    """`between` is of questions that stand alone; where they share clusters, the worst is assumed: that all questions
    of one cluster have the same true difference."""
    clustered = between * design.design_effect
    return VarianceEstimate(
        Variances("", "", "", "", None, False, clustered, within, clustered, within, None, None), None
    )


def measured_variances(
    summaries: Iterable[TrialSummary],
    baseline: str,
    order: Sequence[str] = (),
    *,
    contrasts: Sequence[Contrast] = (),
) -> tuple[list[VarianceEstimate], list[str]]:
    """Of each model and condition of an earlier run, in the order of `compare`, then of each model and contrast; and
    the names of those that have fewer than two independent questions. Raises InputError where no trial of the baseline
    ended."""
    seen = list(summaries)
    found: list[VarianceEstimate] = []
    left_out: list[str] = []
    compared = [(pair, "") for pair in pairs(seen, baseline, order)]
    for contrast in contrasts:
        of_contrast = [each for each in seen if each.condition in (contrast.before, contrast.after)]
        compared += [(pair, contrast.name) for pair in pairs(of_contrast, contrast.before)]
    for pair, name in compared:
        estimate = _measured(pair, name)
        if estimate is None:
            left_out.append(f"{pair.model} {name or pair.condition}")
        else:
            found.append(estimate)
    return found, left_out


def _measured(pair: Pair, contrast: str) -> VarianceEstimate | None:
    shared = scored_in_both(pair.scored_before, pair.scored_after)
    before, after = ([arm[question] for question in shared] for arm in (pair.scored_before, pair.scored_after))
    units = [unit(pair.after[question][0]) for question in shared]
    found = variance_components(before, after, units)
    if found is None:
        return None
    resampled = resampled_components(before, after, units)
    if found.within_before is None or found.within_after is None or found.clustered is None:
        # One trial each: twice the variance within, and that between, add up to what was seen.
        parts = found.total, 0.0, 0.0, found.total / 2
    else:
        within = (found.within_before + found.within_after) / 2
        parts = found.clustered, within, found.clustered, within
    variances = Variances(
        pair.model,
        pair.baseline,
        pair.condition,
        contrast,
        found,
        _simulated(pair.before) or _simulated(pair.after),
        *parts,
        between_ci95=_interval(resampled.clustered),
        within_ci95=_interval(resampled.within),
    )
    return VarianceEstimate(variances, resampled)


def _simulated(arm: Arm) -> bool:
    return any(seen.simulated for trials in arm.values() for seen in trials)


def _interval(found: Floats | None) -> Interval | None:
    if found is None:
        return None
    low, high = np.nanquantile(found, [0.025, 0.975])
    return float(low), float(high)


REPEATS = (1, 2, 3, 5, 8, 10)
MOST_POINTS = 100.0


def paired_design(clusters: Sequence[str], repeats: int, comparisons: int) -> PairedDesign:
    """`clusters` has that of each question, "" for one that stands alone."""
    # Such a question is a cluster of its own, and never meets one of the same name.
    units: list[Hashable] = [cluster or number for number, cluster in enumerate(clusters)]
    return PairedDesign(len(units), len(set(units)), design_effect(units), repeats, comparisons)


def power_table(
    design: PairedDesign, aim: Aim, estimates: Sequence[VarianceEstimate], left_out: Sequence[str] = ()
) -> PowerTable:
    """For each comparison: what 1, 2, 3, 5, 8 and 10 repeats and the design's own can show."""
    sights = tuple(_sight(design, aim, each) for each in estimates)
    return PowerTable(design, aim, sights, smallest_p(design.clusters), tuple(left_out))


def _sight(design: PairedDesign, aim: Aim, estimate: VarianceEstimate) -> Sight:
    levels = aim.alpha, aim.alpha / design.comparisons
    rows = tuple(
        AtRepeats(count, *(_smallest(design, aim, estimate, count, alpha) for alpha in levels))
        for count in sorted({*REPEATS, design.repeats})
    )
    return Sight(estimate.variances, rows, *(_needed(design, aim, estimate, alpha) for alpha in levels))


def _smallest(design: PairedDesign, aim: Aim, estimate: VarianceEstimate, repeats: int, alpha: float) -> Smallest:
    variances = estimate.variances

    def points(between: float, within: float = 0.0) -> float:
        error = paired_standard_error(design.questions, between, within, repeats)
        return 100 * detectable(error, alpha=alpha, power=aim.power)

    if not _varies(variances):
        return Smallest(None, None, None, "nothing varied", None)
    needed = _questions(design, aim, variances, repeats, alpha)
    least, most = points(variances.between_least, variances.within_most), points(variances.between, variances.within)
    if smallest_p(design.clusters) >= alpha or most > MOST_POINTS:
        return Smallest(None, None, None, "too few questions", needed)
    spread = [between + 2 * within / repeats for between, within in _resampled(estimate)]
    ends = (np.nanquantile(spread[0], 0.025), np.nanquantile(spread[-1], 0.975)) if spread else None
    return Smallest(most, least, None if ends is None else (points(ends[0]), points(ends[1])), "", needed)


def _resampled(estimate: VarianceEstimate) -> list[tuple[Floats, Floats]]:
    """Variances between and within, of each resample: first if all that nothing parts is within, then if it is all
    between. The same one where they are parted; nothing where they are assumed."""
    found = estimate.resampled
    if found is None:
        return []
    if found.clustered is not None and found.within is not None:
        return [(found.clustered, found.within)]
    none = np.zeros(len(found.total))
    return [(none, found.total / 2), (found.total, none)]


def _questions(design: PairedDesign, aim: Aim, variances: Variances, repeats: int, alpha: float) -> int | None:
    if aim.effect_points is None:
        return None
    effect = aim.effect_points / 100
    needed = questions_needed(effect, variances.between, variances.within, repeats, alpha=alpha, power=aim.power)
    # However large an effect is, the test needs so many clusters to reach its level.
    fewest = math.floor(1 - math.log2(alpha)) + 1
    return max(needed, math.ceil(fewest * design.questions / design.clusters))


def _needed(design: PairedDesign, aim: Aim, estimate: VarianceEstimate, alpha: float) -> Needed | None:
    if aim.effect_points is None or not _varies(estimate.variances) or smallest_p(design.clusters) >= alpha:
        return None
    effect = aim.effect_points / 100

    def repeats(between: float, within: float) -> int | None:
        return repeats_needed(effect, between, within, design.questions, alpha=alpha, power=aim.power)

    own = repeats(estimate.variances.between, estimate.variances.within)
    found = [
        sorted(repeats(*each) or MOST_REPEATS + 1 for each in zip(*(part.tolist() for part in parts), strict=True))
        for parts in _resampled(estimate)
    ]
    if not found:
        return Needed(own, None)
    ends = found[0][int(0.025 * len(found[0]))], found[-1][int(0.975 * len(found[-1]))]
    return Needed(own, (_of_most(ends[0]), _of_most(ends[1])))


def _of_most(repeats: int) -> int | None:
    return repeats if repeats <= MOST_REPEATS else None


def _varies(variances: Variances) -> bool:
    return bool(variances.between or variances.within)
