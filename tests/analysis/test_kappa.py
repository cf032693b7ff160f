"""Cohen's kappa and its interval."""

import math
from collections.abc import Iterable, Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from statsmodels.stats.inter_rater import cohens_kappa as of_statsmodels
from tests.analysis.gradings import tables

from toolablate.analysis.agreement.kappa import CrossTable, cohens_kappa, kappa_interval, margins

COUNTS = st.integers(0, 300)
RUNS = 1_000
SHARED = 100
"""Runs that share resamples, which are drawn only once for them."""


def interval(tables: Sequence[CrossTable], **options: int) -> tuple[float, float] | None:
    return kappa_interval([each.margins for each in tables], **options)


@given(COUNTS, COUNTS, COUNTS, COUNTS)
def test_it_is_that_of_statsmodels(both: int, first: int, second: int, neither: int) -> None:
    table = CrossTable(both, first, second, neither)
    found = cohens_kappa([table.margins])
    if {both, neither} & {table.trials}:
        assert found is None
        return
    theirs = of_statsmodels(np.array([[both, first], [second, neither]]), return_results=False)
    assert found == pytest.approx(theirs, abs=1e-12)


def test_by_hand_and_at_the_edges() -> None:
    assert cohens_kappa([CrossTable(20, 5, 10, 15).margins]) == pytest.approx((0.7 - 0.5) / (1 - 0.5))
    assert cohens_kappa([CrossTable(10, 0, 0, 10).margins]) == 1
    assert cohens_kappa([CrossTable(0, 10, 10, 0).margins]) == -1
    assert cohens_kappa([CrossTable(30, 10, 0, 0).margins]) == 0, "one of them always says the same"
    assert cohens_kappa([CrossTable(0, 40, 0, 0).margins]) == 0
    assert [
        cohens_kappa([each.margins])
        for each in (CrossTable(40, 0, 0, 0), CrossTable(0, 0, 0, 40), CrossTable(0, 0, 0, 0))
    ] == [None] * 3


def test_no_interval_where_nothing_tells_how_much_it_varies() -> None:
    assert interval([]) is None
    assert interval([CrossTable(3, 1, 1, 3)]) is None
    assert interval([CrossTable(1, 0, 0, 0)] * 50) is None, "undefined"
    assert interval([CrossTable(1, 0, 0, 0)] * 25 + [CrossTable(0, 0, 0, 1)] * 25) is None, "always agreed"
    assert interval([CrossTable(1, 0, 0, 0)] * 50 + [CrossTable(0, 1, 0, 0)]) is None, "undefined without one unit"


def test_the_interval_holds_kappa_and_keeps_within_the_possible() -> None:
    units = [CrossTable(1, 0, 0, 0)] * 60 + [CrossTable(0, 0, 0, 1)] * 30 + [CrossTable(0, 1, 0, 0)] * 2
    low, high = interval(units) or (math.nan, math.nan)
    assert -1 <= low < (cohens_kappa([CrossTable(60, 2, 0, 30).margins]) or 0) < high <= 1
    assert interval(units[::-1]) == (low, high), "the order of units says nothing"


@pytest.mark.deep
@pytest.mark.parametrize(
    ("questions", "repeats", "kappa", "correct"),
    [(100, 1, 0.6, 0.5), (100, 3, 0.6, 0.9), (400, 1, 0.2, 0.9), (400, 3, 0.2, 0.5), (400, 3, 0.9, 0.5)],
)
def test_the_interval_covers_the_truth(questions: int, repeats: int, kappa: float, correct: float) -> None:
    """95 % +- 1.5 %, with room for the chance of so few runs."""
    rng = np.random.default_rng(3)
    drawn = (tables(rng, questions, repeats, kappa, correct) for _ in range(RUNS))
    assert _share_covered(drawn, kappa) == pytest.approx(0.95, abs=0.015 + 2 * math.sqrt(0.05 * 0.95 / RUNS))


@pytest.mark.deep
def test_the_interval_covers_the_truth_of_clusters_that_differ_in_size() -> None:
    rng, sizes = np.random.default_rng(4), [1] * 100 + [4] * 30
    drawn = (tables(rng, 0, 1, 0.6, 0.5, sizes=sizes) for _ in range(RUNS))
    assert _share_covered(drawn, 0.6) == pytest.approx(0.95, abs=0.015 + 2 * math.sqrt(0.05 * 0.95 / RUNS))


def _share_covered(drawn: Iterable[list[CrossTable]], kappa: float) -> float:
    found = [interval(units, seed=run // SHARED, resamples=500) for run, units in enumerate(drawn)]
    return float(np.mean([each is not None and each[0] <= kappa <= each[1] for each in found]))


# Cohen's kappa of several kinds, and its interval.


KINDS = ("lock_in", "sampling_noise", "budget", "own_error")
PAIRS = st.lists(st.tuples(st.sampled_from(KINDS), st.sampled_from(KINDS)), max_size=60)
RUNS_OF_KINDS, SHARED_OF_KINDS = 800, 100
"""Runs, and how many of them share resamples, which are drawn only once for them."""


@given(PAIRS)
def test_of_several_kinds_it_is_that_of_statsmodels(pairs: list[tuple[str, str]]) -> None:
    found = cohens_kappa(margins([pairs]))
    if not pairs or len({kind for pair in pairs for kind in pair}) == 1:
        assert found is None
        return
    table = np.zeros((len(KINDS), len(KINDS)))
    for first, second in pairs:
        table[KINDS.index(first), KINDS.index(second)] += 1
    assert found == pytest.approx(of_statsmodels(table, return_results=False), abs=1e-12)


def test_of_several_kinds_no_interval_where_nothing_tells_how_much_it_varies() -> None:
    assert kappa_interval(margins([])) is None
    assert kappa_interval(margins([[("sampling_noise", "budget"), ("sampling_noise", "sampling_noise")]])) is None, (
        "one question"
    )
    assert kappa_interval(margins([[(kind, kind)] for kind in KINDS * 9])) is None, "they always agree"


def test_the_interval_does_not_depend_on_the_order_of_units() -> None:
    units = margins([[(kind, kind)] for kind in KINDS * 9] + [[("sampling_noise", "budget")]] * 4)
    low, high = kappa_interval(units) or (math.nan, math.nan)
    assert -1 <= low < (cohens_kappa(units) or 0) < high <= 1
    assert kappa_interval(units[::-1]) == (low, high)


@pytest.mark.parametrize(
    ("questions", "trials", "kappa", "shares"),
    [
        (60, 1, 0.5, (0.4, 0.3, 0.2, 0.1)),
        (150, 1, 0.7, (0.4, 0.3, 0.2, 0.1)),
        (150, 3, 0.2, (0.7, 0.1, 0.1, 0.1)),
    ],
)
def test_of_several_kinds_the_interval_covers_the_truth(
    questions: int, trials: int, kappa: float, shares: tuple[float, ...]
) -> None:
    """95 % within 2 %, with room for the chance of so few runs. The second repeats the first in the share `kappa` of
    trials and draws for itself in the others, so that kappa is what it is."""
    rng = np.random.default_rng(5)
    covered = 0
    for run in range(RUNS_OF_KINDS):
        shape = (questions, trials)
        first, own = (rng.choice(KINDS, shape, p=shares) for _ in range(2))
        second = np.where(rng.random(shape) < kappa, first, own)
        units = [list(zip(one.tolist(), other.tolist(), strict=True)) for one, other in zip(first, second, strict=True)]
        found = kappa_interval(margins(units), seed=run // SHARED_OF_KINDS, resamples=500)
        covered += found is not None and found[0] <= kappa <= found[1]
    assert covered / RUNS_OF_KINDS == pytest.approx(0.95, abs=0.02 + 2 * math.sqrt(0.05 * 0.95 / RUNS_OF_KINDS))
