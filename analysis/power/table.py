import math
from collections.abc import Hashable, Sequence

import numpy as np

from toolablate.analysis.power.records import (
    Aim,
    AtRepeats,
    Needed,
    PairedDesign,
    PowerTable,
    Sight,
    Smallest,
    Variances,
)
from toolablate.analysis.power.variances import Estimate
from toolablate.analysis.statistics import (
    design_effect,
    detectable,
    paired_standard_error,
    questions_needed,
    repeats_needed,
    smallest_p,
)
from toolablate.analysis.statistics.numerals import Floats
from toolablate.analysis.statistics.power import MOST_REPEATS

REPEATS = (1, 2, 3, 5, 8, 10)
MOST_POINTS = 100.0


def paired_design(clusters: Sequence[str], repeats: int, comparisons: int) -> PairedDesign:
    """`clusters` has that of each question, "" for one that stands alone."""
    # Such a question is a cluster of its own, and never meets one of the same name.
    units: list[Hashable] = [cluster or number for number, cluster in enumerate(clusters)]
    return PairedDesign(len(units), len(set(units)), design_effect(units), repeats, comparisons)


def power_table(
    design: PairedDesign, aim: Aim, estimates: Sequence[Estimate], left_out: Sequence[str] = ()
) -> PowerTable:
    """For each comparison: what 1, 2, 3, 5, 8 and 10 repeats and the design's own can show."""
    sights = tuple(_sight(design, aim, each) for each in estimates)
    return PowerTable(design, aim, sights, smallest_p(design.clusters), tuple(left_out))


def _sight(design: PairedDesign, aim: Aim, estimate: Estimate) -> Sight:
    levels = aim.alpha, aim.alpha / design.comparisons
    rows = tuple(
        AtRepeats(count, *(_smallest(design, aim, estimate, count, alpha) for alpha in levels))
        for count in sorted({*REPEATS, design.repeats})
    )
    return Sight(estimate.variances, rows, *(_needed(design, aim, estimate, alpha) for alpha in levels))


def _smallest(design: PairedDesign, aim: Aim, estimate: Estimate, repeats: int, alpha: float) -> Smallest:
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


def _resampled(estimate: Estimate) -> list[tuple[Floats, Floats]]:
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


def _needed(design: PairedDesign, aim: Aim, estimate: Estimate, alpha: float) -> Needed | None:
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
