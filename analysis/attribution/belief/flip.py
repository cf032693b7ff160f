"""The step at which a belief in the right answer falls and never comes back."""

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from toolablate.analysis.attribution.belief.levels import Cuts, cuts
from toolablate.analysis.attribution.belief.trajectory import Trajectory

RESAMPLES = 500
TOLERANCE = 10.0**-9


@dataclass(frozen=True, slots=True)
class Flip:
    """Where the belief turned.

    step        the first probed step after the fall, and `after` the last before it: where steps between them were not
                probed, the fall is somewhere there
    before      the level of the share of right answers up to the fall, and `level` right after it
    confidence  share of resamples of the probes' samples in which it is at the same step; a resample is noisier than
                the probes, so that the step is right more often than this says
    """

    after: int
    step: int
    before: float
    level: float
    confidence: float


def flip_step(found: Trajectory, tau: float, *, seed: int = 0, resamples: int = RESAMPLES) -> Flip | None:
    """The first fall of at least `tau` that never recovers; None where there is none.

    Single shares of few samples fall and rise by chance: of a belief that stays what it is, the shares of four samples
    a step fall by .2 for good in seven trajectories of ten. So the rule is put to levels, which are pooled over the
    steps that they last (`levels.cuts`): the fall is between two neighbouring levels, the first at least `tau` above
    the second, and every later level lies at least tau / 2 below the one before the fall. Half, because a belief that
    came back more than half of the way would be called another one by no one; and no more than half, because noise in
    both levels must not undo a fall of `tau` that is one. Neighbouring levels differ by more than chance, which keeps
    a fall from being found where none is, and misses those that so few samples cannot show.

    By simulation over twelve steps: a belief that stays or rises has a flip in at most 4 % (tau of .2 to .5). A fall of
    tau + .2 is found at its very step, for tau = .2, .3, .5, in 37, 56, 82 % with four samples a step; in 65, 81, 96 %
    with eight; in 89, 96, 99 % with sixteen; in 97 % and more with thirty-two. A belief that falls for one to three
    steps and recovers is called a flip in 13, 8, 2 % with four samples, in 7, 2, 0 % with sixteen. One that slides down
    over many steps has no such step, but its levels look like stairs: the flip is then at one of them, with a low
    confidence. Raises ValueError where tau is not in (0, 1].
    """
    if not 0 < tau <= 1:
        raise ValueError(f"tau is a fall of a share, above 0 and at most 1; found {tau}")
    samples = np.array([belief.samples for belief in found.beliefs])
    shares = np.array([belief.right.mean for belief in found.beliefs])
    right = np.rint(shares * samples).astype(np.int64)
    (levels,) = cuts(right[None], samples)
    place = _fall(right, samples, levels, tau)
    if place is None:
        return None
    drawn = np.random.default_rng(seed).binomial(samples, shares, size=(resamples, len(samples)))
    again = [_fall(row, samples, each, tau) for row, each in zip(drawn, cuts(drawn, samples), strict=True)]
    heights = dict(zip(levels, _heights(right, samples, levels), strict=False))
    return Flip(
        after=found.beliefs[place - 1].step,
        step=found.beliefs[place].step,
        before=heights[levels[levels.index(place) - 1]],
        level=heights[place],
        confidence=again.count(place) / resamples,
    )


def _fall(right: NDArray[np.int64], samples: NDArray[np.int64], levels: Cuts, tau: float) -> int | None:
    """The place at which the level after it begins."""
    heights = _heights(right, samples, levels)
    for number, (before, after) in enumerate(pairwise(heights), start=1):
        if before - after >= tau - TOLERANCE and max(heights[number:]) <= before - tau / 2 + TOLERANCE:
            return levels[number]
    return None


def _heights(right: NDArray[np.int64], samples: NDArray[np.int64], levels: Cuts) -> list[float]:
    return [float(right[begin:end].sum() / samples[begin:end].sum()) for begin, end in pairwise(levels)]
