"""Agreement beyond what chance gives, of two who sort trials into several kinds.

Source: Cohen (1960), "A Coefficient of Agreement for Nominal Scales", Educational and Psychological Measurement 20.
"""

import math
from collections.abc import Iterable, Sequence

from toolablate.analysis.agreement.jackknife import Figures, jackknifed_interval
from toolablate.analysis.statistics import RESAMPLES

Pair = tuple[str, str]
"""What the first and the second say of one trial."""


def nominal_kappa(pairs: Iterable[Pair]) -> float | None:
    """(observed - expected) / (1 - expected), where `observed` is the share of trials of which both say the same, and
    `expected` the share of which they would if each kept its shares of kinds and drew them by chance (Cohen 1960). None
    where there are no trials, or both say one and the same of all of them."""
    given = list(pairs)
    return _kappa(_figures(given, _kinds(given)))


def nominal_kappa_interval(
    units: Sequence[Sequence[Pair]], *, seed: int = 0, resamples: int = RESAMPLES
) -> tuple[float, float] | None:
    """The 95 % interval of the kappa of all trials, by a bootstrap over independent units (questions) with the pairs of
    each.

    None where kappa is undefined with or without some unit, or where nothing says how much it varies: fewer than two
    units, or no trial of which the two say different things.
    """
    kinds = _kinds([pair for each in units for pair in each])
    if not any(first != second for each in units for first, second in each):
        return None
    found = jackknifed_interval(
        _kappa,
        [_figures(each, kinds) for each in units],
        [float(len(each)) for each in units],
        seed=seed,
        resamples=resamples,
    )
    return None if found is None else (max(-1.0, found[0]), min(1.0, found[1]))


def _kinds(pairs: Iterable[Pair]) -> dict[str, int]:
    return {kind: place for place, kind in enumerate(sorted({kind for pair in pairs for kind in pair}))}


def _figures(pairs: Iterable[Pair], kinds: dict[str, int]) -> Figures:
    """The trials of which both say the same, then how often each kind is said by the first, then by the second."""
    counts = [0.0] * (1 + 2 * len(kinds))
    for first, second in pairs:
        counts[0] += first == second
        counts[1 + kinds[first]] += 1
        counts[1 + len(kinds) + kinds[second]] += 1
    return tuple(counts)


def _kappa(figures: Figures) -> float | None:
    agreed, said = figures[0], figures[1:]
    first, second = said[: len(said) // 2], said[len(said) // 2 :]
    trials = round(math.fsum(first))
    # Both sides times the square of the trials, so that it stays among whole numbers.
    expected = sum(round(one) * round(other) for one, other in zip(first, second, strict=True))
    beyond = trials * trials - expected
    return (trials * round(agreed) - expected) / beyond if beyond else None
