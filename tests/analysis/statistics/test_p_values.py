"""Corrections for several comparisons at once, against statsmodels and by simulation."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from statsmodels.stats.multitest import multipletests

from toolablate.analysis.statistics.p_values import benjamini_hochberg, holm, sign_flip_p

P_VALUES = st.lists(st.floats(0, 1) | st.sampled_from([0.01, 0.05, 1.0]), min_size=1, max_size=20)
RUNS = 2_000
ERROR = 3 * math.sqrt(0.05 * 0.95 / RUNS)


@pytest.mark.deep
@settings(max_examples=25, deadline=None)
@given(P_VALUES)
def test_corrected_p_values_are_those_of_statsmodels(p_values: list[float]) -> None:
    assert holm(p_values) == pytest.approx(multipletests(p_values, method="holm")[1])
    assert benjamini_hochberg(p_values) == pytest.approx(multipletests(p_values, method="fdr_bh")[1])


def test_nothing_to_correct_is_nothing() -> None:
    assert holm([]) == benjamini_hochberg([]) == []
    assert holm([0.2]) == benjamini_hochberg([0.2]) == [0.2]


def _of_a_shared_baseline(rng: np.random.Generator, effects: NDArray[np.float64]) -> list[float]:
    """P-values of conditions with these effects on 200 questions: all against the same trials of one baseline, so that
    a lucky baseline makes all of them look bad at once."""
    chance = rng.uniform(0.2, 0.8, size=200)
    baseline = rng.random(200) < chance
    arms = rng.random((len(effects), 200)) < chance + effects[:, None]
    return [sign_flip_p((arm.astype(float) - baseline).tolist()) for arm in arms]


@pytest.mark.deep
def test_holm_and_benjamini_hochberg_find_nothing_in_null_data_of_a_shared_baseline() -> None:
    rng, any_holm, any_bh, any_plain = np.random.default_rng(3), 0, 0, 0
    for _ in range(RUNS):
        p_values = _of_a_shared_baseline(rng, np.zeros(6))
        any_plain += min(p_values) < 0.05
        any_holm += min(holm(p_values)) < 0.05
        any_bh += min(benjamini_hochberg(p_values)) < 0.05
    assert any_plain / RUNS > 0.1, "without a correction, one table in ten or more finds something"
    assert any_holm / RUNS <= 0.05 + ERROR
    assert any_bh / RUNS <= 0.05 + ERROR


@pytest.mark.deep
def test_errors_stay_below_their_level_where_half_of_the_conditions_do_something() -> None:
    rng, effects = np.random.default_rng(4), np.array([0.0, 0.0, 0.0, 0.15, 0.15, -0.15])
    families, shares, found_holm, found_bh = 0, [], 0, 0
    for _ in range(RUNS):
        p_values = _of_a_shared_baseline(rng, effects)
        by_holm, by_bh = (np.array(correct(p_values)) < 0.05 for correct in (holm, benjamini_hochberg))
        families += bool(by_holm[:3].any())
        shares.append(by_bh[:3].sum() / max(1, by_bh.sum()))
        found_holm, found_bh = found_holm + by_holm[3:].sum(), found_bh + by_bh[3:].sum()
    assert families / RUNS <= 0.05 + ERROR
    assert np.mean(shares) <= 0.05 + ERROR
    assert found_bh > found_holm > 1.5 * RUNS, "which finds more of the true ones"


def test_independent_null_p_values_give_holm_its_level() -> None:
    rng = np.random.default_rng(5)
    found = np.mean([min(holm(rng.random(10).tolist())) < 0.05 for _ in range(10_000)])
    assert found == pytest.approx(0.05, abs=0.007)
