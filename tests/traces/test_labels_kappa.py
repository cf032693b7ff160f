"""Cohen's kappa of several kinds, and its interval."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from statsmodels.stats.inter_rater import cohens_kappa as of_statsmodels

from toolablate.analysis.agreement.kappa import cohens_kappa, kappa_interval, margins

KINDS = ("lock_in", "luck", "budget", "own_error")
PAIRS = st.lists(st.tuples(st.sampled_from(KINDS), st.sampled_from(KINDS)), max_size=60)
RUNS, SHARED = 800, 100
"""Runs, and how many of them share resamples, which are drawn only once for them."""


@given(PAIRS)
def test_it_is_that_of_statsmodels(pairs: list[tuple[str, str]]) -> None:
    found = cohens_kappa(margins([pairs]))
    if not pairs or len({kind for pair in pairs for kind in pair}) == 1:
        assert found is None
        return
    table = np.zeros((len(KINDS), len(KINDS)))
    for first, second in pairs:
        table[KINDS.index(first), KINDS.index(second)] += 1
    assert found == pytest.approx(of_statsmodels(table, return_results=False), abs=1e-12)


def test_no_interval_where_nothing_tells_how_much_it_varies() -> None:
    assert kappa_interval(margins([])) is None
    assert kappa_interval(margins([[("luck", "budget"), ("luck", "luck")]])) is None, "one question"
    assert kappa_interval(margins([[(kind, kind)] for kind in KINDS * 9])) is None, "they always agree"


def test_the_interval_does_not_depend_on_the_order_of_units() -> None:
    units = margins([[(kind, kind)] for kind in KINDS * 9] + [[("luck", "budget")]] * 4)
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
def test_the_interval_covers_the_truth(questions: int, trials: int, kappa: float, shares: tuple[float, ...]) -> None:
    """95 % within 2 %, with room for the chance of so few runs. The second repeats the first in the share `kappa` of
    trials and draws for itself in the others, so that kappa is what it is."""
    rng = np.random.default_rng(5)
    covered = 0
    for run in range(RUNS):
        shape = (questions, trials)
        first, own = (rng.choice(KINDS, shape, p=shares) for _ in range(2))
        second = np.where(rng.random(shape) < kappa, first, own)
        units = [list(zip(one.tolist(), other.tolist(), strict=True)) for one, other in zip(first, second, strict=True)]
        found = kappa_interval(margins(units), seed=run // SHARED, resamples=500)
        covered += found is not None and found[0] <= kappa <= found[1]
    assert covered / RUNS == pytest.approx(0.95, abs=0.02 + 2 * math.sqrt(0.05 * 0.95 / RUNS))
