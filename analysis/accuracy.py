"""How often questions are answered right."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from toolablate.analysis.effect import FEW_CLUSTERS, FEW_DIFFERING
from toolablate.analysis.pairing import RIGHT, Unit
from toolablate.analysis.statistics import bootstrap_interval, by_unit, effective_clusters


@dataclass(frozen=True, slots=True)
class Accuracy:
    """A mean score over questions, of each question's mean over its repeats.

    questions, clusters  that it rests on; questions that share a cluster are one
    percent              None where there is no question
    ci95                 its 95 % interval by a bootstrap over clusters, in percent; None where the data cannot tell
    small                clusters worth fewer of one weight than FEW_CLUSTERS, or fewer than FEW_DIFFERING questions
                         right, or wrong, so that the interval covers the truth less often than it says
    """

    questions: int
    clusters: int
    percent: float | None
    ci95: tuple[float, float] | None
    small: bool


def accuracy(
    scores: Sequence[float], units: Sequence[Unit], *, weights: Sequence[float] | None = None, seed: int = 0
) -> Accuracy:
    """Of questions with these mean scores in [0, 1] and their units. With `weights` it is the weighted mean, and its
    interval that of a ratio of two sums over clusters."""
    weighed = [1.0] * len(scores) if weights is None else list(weights)
    sums, sizes = by_unit(units, [weight * score for score, weight in zip(scores, weighed, strict=True)], weighed)
    # Scaled to a mean of one, since the bootstrap rounds what it is given.
    scale = len(sizes) / math.fsum(sizes) if sizes else 1.0
    found = bootstrap_interval([scale * each for each in sums], [scale * each for each in sizes], seed=seed)
    right = sum(score >= RIGHT for score in scores)
    return Accuracy(
        questions=len(scores),
        clusters=len(sums),
        percent=100 * math.fsum(sums) / math.fsum(sizes) if scores else None,
        ci95=None if found is None else (100 * found[0], 100 * found[1]),
        small=effective_clusters(sizes) < FEW_CLUSTERS or min(right, len(scores) - right) < FEW_DIFFERING,
    )
