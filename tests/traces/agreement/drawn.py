"""Grades of two scorers of which the truth is known."""

from collections.abc import Sequence

import numpy as np

from toolablate.analysis.agreement.kappa import Table


def tables(
    rng: np.random.Generator, questions: int, repeats: int, kappa: float, correct: float, *, sizes: Sequence[int] = ()
) -> list[Table]:
    """One for each question, or with `sizes` for each cluster of so many questions. Both scorers call the share
    `correct` of all trials correct, and agree beyond chance by `kappa`: in that share of trials the second repeats the
    first, in the others it draws for itself. With repeats or clusters it depends on the question, or the cluster, how
    often the first calls correct and how often the second repeats it."""
    of = np.repeat(np.arange(len(sizes)), sizes) if len(sizes) else np.arange(questions)
    alone = repeats == 1 and not len(sizes)
    units = int(of.max()) + 1
    right = np.full(units, correct) if alone else rng.beta(2 * correct, 2 * (1 - correct), units)
    repeated = np.full(units, kappa) if alone else rng.beta(4 * kappa, 4 * (1 - kappa), units)
    shape = (len(of), repeats)
    first = rng.random(shape) < right[of][:, None]
    own = rng.random(shape) < correct
    second = np.where(rng.random(shape) < repeated[of][:, None], first, own)
    cells = [
        np.bincount(of, each.sum(axis=1), minlength=units).astype(int)
        for each in (first & second, first & ~second, ~first & second, ~first & ~second)
    ]
    return [Table(*map(int, row)) for row in zip(*cells, strict=True)]
