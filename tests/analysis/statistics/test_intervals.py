"""tests.analysis.statistics.test_intervals"""

import itertools
import math
import random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from toolablate.analysis.statistics.intervals import bootstrap_interval, clustered_share, wilson_interval
from toolablate.analysis.statistics.p_values import _beyond, sign_flip_p

DIFFERENCES = st.lists(st.sampled_from([-1.0, -0.5, 0.0, 0.25, 1.0]), min_size=1, max_size=12)


@given(DIFFERENCES)
def test_sign_flip_is_exact(differences: list[float]) -> None:
    observed = abs(math.fsum(differences))
    flips = itertools.product((-1, 1), repeat=len(differences))
    sums = [abs(math.fsum(s * d for s, d in zip(signs, differences, strict=True))) for signs in flips]
    brute = sum(total >= observed - 1e-9 for total in sums) / len(sums)
    assert sign_flip_p(differences) == pytest.approx(brute)


def test_sign_flip_of_right_or_wrong_is_mcnemars_exact_test_at_any_size() -> None:
    differences = [1.0] * 142 + [-1.0] * 56 + [0.0] * 1469
    assert sign_flip_p(differences) == pytest.approx(stats.binomtest(56, 198).pvalue)


def test_sign_flip_agrees_with_scipy_where_it_must_sample() -> None:
    differences = np.random.default_rng(1).normal(0.15, 1, size=60)
    theirs = stats.permutation_test(
        (differences, np.zeros(60)),
        lambda x, y, axis: np.mean(x - y, axis=axis),
        permutation_type="samples",
        vectorized=True,
        n_resamples=20_000,
        rng=np.random.default_rng(2),
    )
    assert sign_flip_p(differences.tolist(), resamples=20_000) == pytest.approx(theirs.pvalue, abs=0.02)


def test_a_sampled_p_value_is_never_zero_and_looks_closer_where_it_is_small() -> None:
    differences = np.random.default_rng(1).uniform(1, 2, size=60).tolist()
    assert sign_flip_p(differences, resamples=1_000) == 1 / 10_001
    assert sign_flip_p(differences) == 1 / 100_001


@pytest.mark.deep
def test_a_second_look_keeps_the_test_valid() -> None:
    """Null data have a p-value below any level no more often than it says, also below what the first look can tell."""
    rng, runs = np.random.default_rng(3), 20_000
    found = np.array([sign_flip_p(rng.normal(size=30).tolist(), seed=run, resamples=50) for run in range(runs)])
    for level in (0.004, 0.01, 0.05, 0.2, 0.5):
        assert np.mean(found <= level) <= level + 3 * math.sqrt(level * (1 - level) / runs)
    assert np.mean(found <= 0.05) >= 0.05 - 3 * math.sqrt(0.05 * 0.95 / runs) - 0.005


@given(st.lists(st.floats(-1, 1), min_size=1, max_size=11), st.integers(0, 3))
def test_flips_drawn_eight_at_once_are_flips(values: list[float], seed: int) -> None:
    """Against all signs, written out."""
    signs = np.array(list(itertools.product((-1, 1), repeat=len(values))))
    sums = np.abs(signs @ np.array(values))
    observed = float(np.quantile(sums, 0.7)) - 1e-9
    drawn = _beyond(np.array(values), observed, np.random.default_rng(seed), 20_000) / 20_000
    assert drawn == pytest.approx(np.mean(sums >= observed), abs=0.02)


@pytest.mark.parametrize("differences", [[], [0.0], [0.0] * 50, [1e-15, -1e-15]])
def test_nothing_that_differs_gives_p_one(differences: list[float]) -> None:
    assert sign_flip_p(differences) == 1.0


@pytest.mark.parametrize(("sums", "sizes"), [([], []), ([1.0], [1]), ([0.0] * 9, [1] * 9), ([2.0, 1.0], [2, 1])])
def test_no_interval_where_the_data_show_no_spread(sums: list[float], sizes: list[int]) -> None:
    assert bootstrap_interval(sums, sizes) is None


@pytest.mark.parametrize("seed", range(3))
def test_interval_agrees_with_scipy(seed: int) -> None:
    differences = np.random.default_rng(seed).exponential(1.0, size=80)
    theirs = stats.bootstrap(
        (differences,), np.mean, method="BCa", n_resamples=20_000, rng=np.random.default_rng(9), vectorized=True
    ).confidence_interval
    ours = bootstrap_interval(differences.tolist(), [1] * 80, resamples=20_000)
    assert ours == pytest.approx((theirs.low, theirs.high), abs=0.02)


def test_clusters_widen_the_interval_as_they_should() -> None:
    """Ten questions of one source that all move together are worth one question."""
    together = [1.0, -1.0, 1.0, 0.0, 1.0, 0.0, 1.0, 1.0, -1.0, 0.0] * 3
    alone = bootstrap_interval(together, [1] * 30)
    clustered = bootstrap_interval([10 * value for value in together], [10] * 30)
    ignored = bootstrap_interval(together * 10, [1] * 300)
    assert clustered == pytest.approx(alone)
    assert ignored is not None
    assert alone is not None
    assert (ignored[1] - ignored[0]) * 2 < alone[1] - alone[0]


@pytest.mark.deep
def test_interval_of_many_different_values_is_bounded_in_memory_and_repeatable() -> None:
    differences = np.random.default_rng(0).uniform(-1, 1, size=2_000).tolist()
    first = bootstrap_interval(differences, [1] * 2_000, seed=5)
    assert first == bootstrap_interval(differences[::-1], [1] * 2_000, seed=5)
    assert first != bootstrap_interval(differences, [1] * 2_000, seed=6)


def _differences(rng: np.random.Generator, size: int, up: float, down: float) -> list[float]:
    return rng.choice([1.0, -1.0, 0.0], p=[up, down, 1 - up - down], size=size).tolist()


def test_null_data_are_significant_one_time_in_twenty() -> None:
    """A sign-flip test on lattice data errs on the careful side: at most 5 %, not far below."""
    rng = np.random.default_rng(42)
    share = np.mean([sign_flip_p(_differences(rng, 400, 0.15, 0.15)) < 0.05 for _ in range(2_000)])
    assert 0.03 <= share <= 0.05 + 3 * math.sqrt(0.05 * 0.95 / 2_000)


@pytest.mark.deep
@pytest.mark.parametrize(("up", "down"), [(0.15, 0.15), (0.3, 0.1), (0.05, 0.15)])
def test_intervals_cover_the_truth(up: float, down: float) -> None:
    rng = np.random.default_rng(7)
    runs, truth, covered = 1_000, up - down, 0
    for seed in range(runs):
        interval = bootstrap_interval(_differences(rng, 100, up, down), [1] * 100, seed=seed, resamples=2_000)
        covered += interval is not None and interval[0] <= truth <= interval[1]
    assert 0.92 <= covered / runs <= 0.975


def test_few_clusters_have_wider_intervals_than_the_plain_bootstrap() -> None:
    """At 10 by a seventh at least: Student's quantile for the normal one, and n - 1 for n."""
    differences = np.random.default_rng(4).normal(size=10)
    theirs = stats.bootstrap((differences,), np.mean, method="BCa", rng=np.random.default_rng(1)).confidence_interval
    ours = bootstrap_interval(differences.tolist(), [1] * 10)
    assert ours is not None
    assert (ours[1] - ours[0]) / (theirs.high - theirs.low) > 1.14


@pytest.mark.parametrize(("above", "known"), [(3, False), (12, False), (60, True), (100, True)])
def test_whether_a_relative_change_has_an_interval_does_not_hang_on_the_seed(above: int, known: bool) -> None:
    changes = np.random.default_rng(0).choice([-1.0, 0.0], size=100).tolist()
    bases = [1.0] * above + [0.0] * (100 - above)
    found = {bootstrap_interval(changes, bases, seed=seed, resamples=500) is not None for seed in range(50)}
    assert found == {known}


def test_a_giant_among_clusters_gives_no_interval_that_is_narrower() -> None:
    """Levels so far out that the formula would come back from its pole."""
    rng = np.random.default_rng(5)
    moved = rng.normal(size=60)
    alone = bootstrap_interval(moved.tolist(), [1] * 60)
    giant = bootstrap_interval([20 * moved[0], *moved[1:].tolist()], [20] + [1] * 59)
    assert alone is not None
    assert giant is not None
    assert giant[1] - giant[0] > alone[1] - alone[0]


# Shares of cases in clusters.


def test_a_share_of_independent_cases_has_wilsons_interval() -> None:
    hits = [place < 7 for place in range(20)]
    mean, interval = clustered_share(hits, list(range(20)))
    assert (mean, interval) == (0.35, pytest.approx(wilson_interval(0.35, 20)))
    assert interval == pytest.approx((0.1812, 0.5671), abs=1e-4)  # Newcombe 1998's method 3, 7 of 20
    none, below = clustered_share([False] * 20, [place // 2 for place in range(20)])
    assert (none, below) == (0, (0, pytest.approx(wilson_interval(0, 10)[1])))
    with pytest.raises(ValueError, match="no case"):
        clustered_share([], [])


def test_the_interval_of_a_share_covers_the_truth_where_repeats_agree() -> None:
    drawn = random.Random(3)
    covered = {"clusters": 0, "cases": 0}
    for _ in range(200):
        chances = [drawn.betavariate(0.6, 1.4) for _ in range(50)]
        hits = [drawn.random() < chance for chance in chances for _ in range(8)]
        mean, (low, high) = clustered_share(hits, [place // 8 for place in range(400)])
        covered["clusters"] += low <= 0.3 <= high
        low, high = wilson_interval(mean, 400)
        covered["cases"] += low <= 0.3 <= high
    assert covered["clusters"] >= 184
    assert covered["cases"] < 170
