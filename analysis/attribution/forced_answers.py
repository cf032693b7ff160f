"""What is lost by having to answer at once: forced answers beside free ones from the same state."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from toolablate.analysis.pairing import mean


@dataclass(frozen=True, slots=True)
class Forcing:
    """The share of right answers that is kept when they are forced, in [0, 1], and its relative standard error. Where
    none is kept, forced answers tell nothing.

    questions  that it is estimated from; without any nothing is assumed to be lost, and nothing is known of it
    """

    kept: float = 1.0
    relative_error: float = 0.0
    questions: int = 0

    def as_free(self, runs: int, right: float) -> tuple[float, float]:
        """Forced answers as so many free ones, and how many of these are right. A share of free answers that is known
        from forced ones varies more than one of as many free ones, by the loss and by what is not known of it: at a
        share of one half n forced answers have the variance ((2 - kept) / kept / n + relative_error ** 2) / 4 (delta
        method)."""
        if not runs or not self.kept:
            return 0.0, 0.0
        worth = runs / ((2 - self.kept) / self.kept + runs * self.relative_error**2)
        return worth, min(1.0, right / runs / self.kept) * worth


@dataclass(frozen=True, slots=True)
class ForcedAndFree:
    """Of one question scores of answers from the same state, each in [0, 1]."""

    forced: Sequence[float]
    free: Sequence[float]


_FEWEST = 5
"""Questions that it is estimated from at least."""


def forcing_of(questions: Iterable[ForcedAndFree]) -> Forcing:
    """The ratio of mean scores over questions, forced to free, at most 1, with the standard error of a ratio estimator
    (Cochran 1977, "Sampling techniques", section 6.4)."""
    pairs = [(mean(each.forced), mean(each.free)) for each in questions if each.forced and each.free]
    free = math.fsum(pair[1] for pair in pairs)
    forced = math.fsum(pair[0] for pair in pairs)
    if len(pairs) < _FEWEST or not free:
        return Forcing()
    if not forced:
        # Nothing is kept: forced answers tell nothing.
        return Forcing(kept=0.0, relative_error=1.0, questions=len(pairs))
    ratio = forced / free
    spread = math.fsum((left - ratio * right) ** 2 for left, right in pairs) * len(pairs) / (len(pairs) - 1)
    error = math.sqrt(spread) / free
    return Forcing(min(1.0, ratio), error / ratio, len(pairs))
