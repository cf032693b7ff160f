"""P-values of several comparisons at once."""

from collections.abc import Sequence


def holm(p_values: Sequence[float]) -> list[float]:
    """Each p-value corrected, in the given order, so that the chance of any false finding among all of them stays below
    the level, however they depend on each other.

    Source: Holm (1979), "A simple sequentially rejective multiple test procedure", Scandinavian Journal of Statistics.
    """
    corrected, highest = [1.0] * len(p_values), 0.0
    for rank, place in enumerate(_ascending(p_values)):
        highest = max(highest, min(1.0, (len(p_values) - rank) * p_values[place]))
        corrected[place] = highest
    return corrected


def benjamini_hochberg(p_values: Sequence[float]) -> list[float]:
    """Each p-value corrected, in the given order, so that the expected share of false findings among those below a
    level stays below that level. Proven where p-values are independent or positively dependent, as with a shared
    baseline.

    Source: Benjamini and Hochberg (1995), "Controlling the false discovery rate", JRSS B 57; Benjamini and Yekutieli
    (2001), "The control of the false discovery rate in multiple testing under dependency", Annals of Statistics 29.
    """
    corrected, lowest = [1.0] * len(p_values), 1.0
    for rank, place in reversed(list(enumerate(_ascending(p_values), start=1))):
        lowest = min(lowest, len(p_values) / rank * p_values[place])
        corrected[place] = lowest
    return corrected


def _ascending(p_values: Sequence[float]) -> list[int]:
    return sorted(range(len(p_values)), key=p_values.__getitem__)
