"""Rank correlations beside those of scipy, and how often they find something in nothing."""

import numpy as np
import pytest
from scipy import stats

from toolablate.benchmarks.lpfqa.ranks import rank_correlation

TIED = ([50.5, 47.9, 54.4, 49.5, 49.5, 47.6], [83.2, 84.8, 87.1, 87.5, 85.0, 84.5])


@pytest.mark.parametrize("seed", range(5))
def test_values_are_those_of_scipy_ties_included(seed: int) -> None:
    rng = np.random.default_rng(seed)
    ours, theirs = (rng.integers(0, 5, size=12).astype(float).tolist() for _ in range(2))
    found = rank_correlation(ours, theirs, resamples=50)
    assert found.spearman.value == pytest.approx(stats.spearmanr(ours, theirs).statistic)
    assert found.kendall.value == pytest.approx(stats.kendalltau(ours, theirs).statistic)
    assert (found.models, found.exact) == (12, False)


def test_few_models_are_tested_by_all_their_orders() -> None:
    found = rank_correlation(*TIED)
    assert found.exact
    for mine, theirs in ((found.spearman, stats.spearmanr), (found.kendall, stats.kendalltau)):
        reference = stats.permutation_test(
            (TIED[0],),
            lambda shuffled, of=theirs: of(shuffled, TIED[1]).statistic,
            permutation_type="pairings",
            n_resamples=1_000,
        )
        # scipy doubles the smaller tail, which for some tied rankings is more.
        both = np.mean(np.abs(reference.null_distribution) >= abs(reference.statistic) - 1e-9)
        assert mine.p_value == pytest.approx(both)


def test_kendall_without_ties_is_scipys_exact_test() -> None:
    ours, theirs = [1.0, 2, 3, 4, 5, 6, 7], [2.0, 1, 4, 3, 7, 5, 6]
    found = rank_correlation(ours, theirs)
    assert found.kendall.p_value == pytest.approx(stats.kendalltau(ours, theirs, method="exact").pvalue)


def test_rankings_without_order_have_no_correlation_and_two_models_no_test() -> None:
    flat = rank_correlation([1.0, 1, 1, 1], [1.0, 2, 3, 4])
    assert (flat.spearman.value, flat.spearman.p_value, flat.kendall.value) == (None, None, None)
    two = rank_correlation([1.0, 2], [2.0, 1])
    assert (two.spearman.value, two.spearman.p_value) == (-1.0, None)


def test_scores_that_differ_in_their_last_bits_are_tied() -> None:
    assert rank_correlation([0.1 + 0.2, 0.3, 0.5], [1, 1, 2]).kendall.value == pytest.approx(1)


@pytest.mark.deep
@pytest.mark.parametrize(("models", "ties"), [(5, False), (7, True), (12, False)])
def test_unrelated_rankings_are_significant_at_most_one_time_in_twenty(models: int, ties: bool) -> None:
    rng = np.random.default_rng(models)
    found = []
    for seed in range(500):
        ours, theirs = (rng.normal(size=models) for _ in range(2))
        if ties:
            ours, theirs = np.round(ours), np.round(theirs * 2)
        each = rank_correlation(ours.tolist(), theirs.tolist(), seed=seed, resamples=199)
        found.append([one.p_value is not None and one.p_value < 0.05 for one in (each.spearman, each.kendall)])
    assert np.mean(found, axis=0).max() <= 0.065
    assert np.mean(found) >= 0.01
