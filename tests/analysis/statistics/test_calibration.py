"""Whether tests and intervals do what they say: how often they err on data of which the truth is known."""

import math
from collections.abc import Callable, Sequence

import numpy as np
import pytest
import statsmodels.api as sm
from numpy.typing import NDArray
from scipy import stats
from statsmodels.stats.contingency_tables import mcnemar

from toolablate.analysis.effect import FEW_CLUSTERS, Effect, effect
from toolablate.analysis.pairing import Scored, even_difference, mean
from toolablate.analysis.statistics.intervals import bootstrap_interval, bootstrap_intervals, clustered_standard_error
from toolablate.analysis.statistics.p_values import sign_flip_p

RUNS = 2_000
SHARED = 100
"""Runs that share resamples, which are drawn only once for them."""
QUESTIONS = 400


@pytest.mark.parametrize(("lost", "won"), [(0, 0), (1, 0), (6, 0), (9, 3), (56, 142), (400, 350)])
def test_the_sign_flip_test_of_single_runs_is_mcnemars_exact_test(lost: int, won: int) -> None:
    theirs = mcnemar([[100, lost], [won, 200]], exact=True).pvalue
    assert sign_flip_p([-1.0] * lost + [1.0] * won + [0.0] * 300) == pytest.approx(theirs)


@pytest.mark.parametrize(
    ("questions", "share", "size"), [(100, 0.2, 0.029), (430, 0.1, 0.035), (430, 0.3, 0.041), (1667, 0.1, 0.042)]
)
def test_single_runs_find_an_effect_in_null_data_less_often_than_the_level(
    questions: int, share: float, size: float
) -> None:
    """Written out, not simulated: of the questions, a binomial number differs; of these, half in each direction."""
    differing = np.arange(questions + 1)
    chances = stats.binom.pmf(differing, questions, share)
    attained = sum(
        chance * _rejected(int(count)) for count, chance in zip(differing, chances, strict=True) if chance > 1e-9
    )
    assert attained == pytest.approx(size, abs=0.0006)


def _rejected(differing: int) -> float:
    below = stats.binom.cdf(np.arange(differing + 1), differing, 0.5)
    lost = int(np.searchsorted(below, 0.025))
    while lost and sign_flip_p([-1.0] * (lost - 1) + [1.0] * (differing - lost + 1)) >= 0.05:
        lost -= 1
    return float(2 * below[lost - 1]) if lost else 0.0


def _null(rng: np.random.Generator, repeats: int, clustered: bool) -> list[float]:
    """Differences of two arms that are alike, by independent unit: a text of several questions may be easy or hard for
    one arm, but is so for either equally often."""
    chance = rng.uniform(0.05, 0.95, size=QUESTIONS)
    units = rng.integers(0, QUESTIONS // 3, size=QUESTIONS) if clustered else np.arange(QUESTIONS)
    shifts = rng.normal(0, 0.15 if clustered else 0, size=(2, QUESTIONS))[:, units]
    before, after = (rng.binomial(repeats, np.clip(chance + shift, 0, 1)) / repeats for shift in shifts)
    return np.bincount(units, after - before).tolist()


@pytest.mark.deep
@pytest.mark.parametrize("clustered", [False, True], ids=["alone", "clustered"])
@pytest.mark.parametrize("repeats", [1, 3, 5])
def test_null_data_are_significant_one_time_in_twenty(repeats: int, clustered: bool) -> None:
    """5 % +- 1 %, but for single runs of independent questions, which the test above says cannot be so often."""
    rng = np.random.default_rng(2 * repeats + clustered)
    found = np.mean(
        [sign_flip_p(_null(rng, repeats, clustered), seed=seed, resamples=999) < 0.05 for seed in range(RUNS)]
    )
    least = 0.03 if repeats == 1 and not clustered else 0.04
    assert least <= found <= 0.06


def _known(rng: np.random.Generator, repeats: int, clustered: bool) -> tuple[list[float], list[float], list[float]]:
    """Differences, baseline scores and numbers of questions, summed by independent unit: half of the units lose 20
    points and half gain 10 in truth, -5 on average, of a base of 55."""
    sizes = rng.integers(1, 6, size=150) if clustered else np.ones(QUESTIONS, dtype=int)
    units = np.repeat(np.arange(len(sizes)), sizes)
    base, gain = rng.uniform(0.25, 0.85, size=len(sizes)), rng.choice([-0.2, 0.1], size=len(sizes))
    chance = base[units] + rng.uniform(-0.05, 0.05, size=len(units))
    before, after = (rng.binomial(repeats, p) / repeats for p in (chance, chance + gain[units]))
    return np.bincount(units, after - before).tolist(), np.bincount(units, before).tolist(), sizes.tolist()


@pytest.mark.deep
@pytest.mark.parametrize("clustered", [False, True], ids=["alone", "clustered"])
@pytest.mark.parametrize("repeats", [1, 3, 5])
def test_intervals_of_points_and_of_the_relative_change_cover_the_truth(repeats: int, clustered: bool) -> None:
    rng, covered = np.random.default_rng(10 + 2 * repeats + clustered), np.zeros(2)
    for run in range(RUNS):
        sums, bases, sizes = _known(rng, repeats, clustered)
        found = bootstrap_intervals([(sums, sizes), (sums, bases)], seed=run // SHARED, resamples=500)
        covered += [_holds(interval, truth) for interval, truth in zip(found, (-0.05, -0.05 / 0.55), strict=True)]
    assert covered / RUNS == pytest.approx([0.95, 0.95], abs=0.015)


def _holds(interval: tuple[float, float] | None, truth: float) -> bool:
    return interval is not None and interval[0] - 1e-9 <= truth <= interval[1] + 1e-9


def _share_covered(draw: NDArray[np.float64], truth: float) -> float:
    found = [
        bootstrap_interval(each.tolist(), [1] * len(each), seed=run // SHARED, resamples=500)
        for run, each in enumerate(draw)
    ]
    return float(np.mean([_holds(interval, truth) for interval in found]))


def _right_or_wrong(questions: int) -> tuple[NDArray[np.float64], float]:
    """Single runs of which a tenth lose and a tenth gain."""
    rng = np.random.default_rng(questions)
    return rng.choice([1.0, -1.0, 0.0], p=[0.1, 0.1, 0.8], size=(RUNS, questions)), 0.0


def _of_three(questions: int) -> tuple[NDArray[np.float64], float]:
    """Three repeats of questions that are likely right or likely wrong, of which an eighth lose nine tenths of that."""
    rng, shape = np.random.default_rng(questions), (RUNS, questions)
    before = np.where(rng.random(shape) < 0.5, 0.9, 0.2)
    after = np.where(rng.random(shape) < 0.125, 0.1 * before, before)
    return (rng.binomial(3, after) - rng.binomial(3, before)) / 3, -0.125 * 0.9 * 0.55


def _graded(questions: int) -> tuple[NDArray[np.float64], float]:
    """Scores such as F1: half of the questions do not change, the others by a lopsided amount, -1/6 on average."""
    rng, shape = np.random.default_rng(questions), (RUNS, questions)
    changes = rng.beta(1, 2, size=shape) - rng.beta(1, 1, size=shape)
    return np.where(rng.random(shape) < 0.5, 0, changes).round(4), -1 / 12


@pytest.mark.deep
@pytest.mark.parametrize("shape", [_right_or_wrong, _of_three, _graded], ids=["single", "repeats", "graded"])
def test_intervals_of_enough_questions_cover_and_fewer_are_marked(
    shape: Callable[[int], tuple[NDArray[np.float64], float]],
) -> None:
    for questions, least in ((FEW_CLUSTERS, 0.935), (3 * FEW_CLUSTERS, 0.94)):
        assert _share_covered(*shape(questions)) >= least - 2 * math.sqrt(0.05 * 0.95 / RUNS)
    covered = _share_covered(*shape(10))
    assert 0.8 <= covered < 0.945, "with normal quantiles in place of Student's it is .03 to .04 less"


def _clustered(sizes: Sequence[int], run: int) -> Effect:
    """Questions of a cluster move together, and a little apart; nothing differs on average."""
    rng, units = np.random.default_rng([run, len(sizes)]), np.repeat(np.arange(len(sizes)), sizes)
    moved = rng.normal(0, 0.3, size=len(sizes))[units] + rng.normal(0, 0.2, size=len(units))
    named = [("cluster", str(number)) for number in units]
    return effect([0.5] * len(units), (0.5 + moved).tolist(), named, seed=run // SHARED, resamples=500)


UNEQUAL = {
    "alike": [5] * 60,
    "every size": range(1, 61),
    "a few of eight": [8] * 5 + [1] * 150,
    "many of five": [5] * 20 + [1] * 60,
    "long tail": np.ceil(np.exp(np.random.default_rng(7).normal(0.5, 1.0, size=100))).astype(int).tolist(),
}


@pytest.mark.deep
@pytest.mark.parametrize("sizes", UNEQUAL.values(), ids=UNEQUAL)
def test_clusters_of_unequal_size_have_intervals_that_cover(sizes: Sequence[int]) -> None:
    found = [_clustered(sizes, run) for run in range(RUNS // 2)]
    assert not any(each.small for each in found)
    assert np.mean([_holds(each.ci95, 0.0) for each in found]) == pytest.approx(0.95, abs=0.02)
    assert np.mean([(each.p_value or 0) < 0.05 for each in found]) == pytest.approx(0.05, abs=0.02)


@pytest.mark.parametrize("sizes", [[10] + [1] * 59, [20] + [1] * 59, [50] + [1] * 99, [20] * 3 + [1] * 97])
def test_a_few_giants_among_clusters_are_marked_and_their_interval_is_wide(sizes: Sequence[int]) -> None:
    found = [_clustered(sizes, run) for run in range(400)]
    assert all(each.small for each in found)
    assert np.mean([_holds(each.ci95, 0.0) for each in found]) >= 0.94


def _arm(rng: np.random.Generator, chances: NDArray[np.float64], repeats: int, *, graded: bool, lost: float) -> Scored:
    values = rng.beta(4 * chances, 4 * (1 - chances), size=(repeats, len(chances))).T
    if not graded:
        values = (rng.random((len(chances), repeats)) < chances[:, None]).astype(float)
    kept = rng.random(values.shape) >= lost
    return {str(question): values[question, kept[question]].tolist() for question in np.flatnonzero(kept.any(axis=1))}


@pytest.mark.deep
@pytest.mark.parametrize(
    ("repeats", "lost", "graded", "least"),
    [
        ((1, 5), 0.0, True, 0.04),
        ((1, 5), 0.0, False, 0.015),  # single runs, of which few differ, cannot be significant so often
        ((3, 3), 0.1, True, 0.04),
        ((3, 3), 0.1, False, 0.04),
    ],
)
def test_uneven_repeats_are_significant_one_time_in_twenty(
    repeats: tuple[int, int], lost: float, graded: bool, least: float
) -> None:
    even, _ = _found_in_null_data(repeats, lost=lost, graded=graded)
    assert least <= even <= 0.06


@pytest.mark.deep
def test_the_mean_of_ten_repeats_less_one_is_not_what_the_test_is_for() -> None:
    even, plain = _found_in_null_data((1, 10), lost=0.0, graded=False)
    assert plain > 0.08
    assert even <= 0.05


def _found_in_null_data(repeats: tuple[int, int], *, lost: float, graded: bool) -> tuple[float, float]:
    """How often p < .05 over even repeats, and over all, where both arms are right one time in twenty (or score low):
    differences of uneven means are then far from symmetric."""
    rng, found = np.random.default_rng(21), np.zeros(2)
    for run in range(RUNS):
        before, after = (_arm(rng, np.full(100, 0.05), number, graded=graded, lost=lost) for number in repeats)
        both = [(before[question], after[question]) for question in sorted(before.keys() & after.keys())]
        even = [even_difference(old, new) for old, new in both]
        plain = [mean(new) - mean(old) for old, new in both]
        found += [sign_flip_p(each, seed=run, resamples=999) < 0.05 for each in (even, plain)]
    share_even, share_plain = (found / RUNS).tolist()
    return share_even, share_plain


def test_the_clustered_standard_error_is_that_of_statsmodels() -> None:
    rng = np.random.default_rng(2)
    units = rng.integers(0, 30, size=100)
    values = rng.normal(size=100) + rng.normal(size=30)[units]
    theirs = sm.OLS(values, np.ones(100)).fit(cov_type="cluster", cov_kwds={"groups": units})
    present = np.unique(units)
    sums, sizes = ([float(sum(side[units == unit])) for unit in present] for side in (values, np.ones(100)))
    assert clustered_standard_error(sums, sizes) == pytest.approx(theirs.bse[0])
    alone = clustered_standard_error(values.tolist(), [1.0] * 100)
    assert alone == pytest.approx(stats.sem(values))
    assert clustered_standard_error([1.0], [1.0]) is None


@pytest.mark.deep
def test_what_a_comparison_could_have_seen_is_found_four_times_in_five() -> None:
    """Differences are drawn around a mean that is just what their spread makes visible."""
    rng = np.random.default_rng(6)
    units = [("question", str(number)) for number in range(200)]

    def drawn(mean: float) -> tuple[Sequence[float], Sequence[float]]:
        before = rng.uniform(0.3, 0.6, size=200)
        return before.tolist(), (before + rng.normal(mean, 0.1, size=200)).tolist()

    visible = np.mean([effect(*drawn(0.0), units).detectable_points or 0 for _ in range(40)]) / 100
    assert visible == pytest.approx((1.96 + 0.8416) * 0.1 / math.sqrt(200), rel=0.04)
    found = [
        sign_flip_p([new - old for old, new in zip(*drawn(float(visible)), strict=True)], resamples=999) < 0.05
        for _ in range(1_000)
    ]
    assert np.mean(found) == pytest.approx(0.8, abs=0.03)
