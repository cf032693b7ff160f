"""What repeats of one condition tell of chance: how often a question would flip although nothing had changed.

A question's repeats are a sequence of booleans, whether each was right; independent draws of one probability.
"""

import math
from collections.abc import Sequence

Repeats = Sequence[bool]


def flips_between_runs(before: Sequence[Repeats], after: Sequence[Repeats]) -> float:
    """How many questions one run of the first condition gets right and one run of the second gets wrong, expected over
    the choice of the two runs: the sum over questions of p (1 - r), unbiased. With one repeat each it is a count."""
    return math.fsum(_share(old) * (1 - _share(new)) for old, new in zip(before, after, strict=True))


def noise_flips(repeats: Sequence[Repeats]) -> float | None:
    """How many questions flip from right to wrong between two runs of one condition, by chance alone: the sum over
    questions of p (1 - p), unbiased from the pairs of different repeats. None where a question has fewer than two."""
    if any(len(drawn) < 2 for drawn in repeats) or not repeats:
        return None
    return math.fsum(sum(drawn) * (len(drawn) - sum(drawn)) / (len(drawn) * (len(drawn) - 1)) for drawn in repeats)


def _share(drawn: Repeats) -> float:
    return sum(drawn) / len(drawn)
