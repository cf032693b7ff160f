"""Whether tests and intervals do what they say: how often they err on data of which the truth is known."""

import math
from collections.abc import Callable, Sequence

import numpy as np
import pytest
import statsmodels.api as sm
from numpy.typing import NDArray
from scipy import stats
from statsmodels.stats.contingency_tables import mcnemar

from toolablate.traces.analysis import FEW_CLUSTERS, bootstrap_interval, sign_flip_p
from toolablate.traces.analysis.effect import effect
from toolablate.traces.analysis.statistics import bootstrap_intervals, clustered_standard_error

RUNS = 2_000
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


@pytest.mark.parametrize("clustered", [False, True], ids=["alone", "clustered"])
@pytest.mark.parametrize("repeats", [1, 3, 5])
def test_intervals_of_points_and_of_the_relative_change_cover_the_truth(repeats: int, clustered: bool) -> None:
    rng, covered = np.random.default_rng(10 + 2 * repeats + clustered), np.zeros(2)
    for seed in range(RUNS):
        sums, bases, sizes = _known(rng, repeats, clustered)
        found = bootstrap_intervals([(sums, sizes), (sums, bases)], seed=seed, resamples=1_000)
        covered += [_holds(interval, truth) for interval, truth in zip(found, (-0.05, -0.05 / 0.55), strict=True)]
    assert covered / RUNS == pytest.approx([0.95, 0.95], abs=0.015)


def _holds(interval: tuple[float, float] | None, truth: float) -> bool:
    return interval is not None and interval[0] - 1e-9 <= truth <= interval[1] + 1e-9


def _share_covered(draw: NDArray[np.float64], truth: float) -> float:
    found = [
        bootstrap_interval(run.tolist(), [1] * len(run), seed=seed, resamples=1_500) for seed, run in enumerate(draw)
    ]
    return float(np.mean([_holds(interval, truth) for interval in found]))


def _binary(questions: int) -> NDArray[np.float64]:
    rng = np.random.default_rng(questions)
    return rng.choice([1.0, -1.0, 0.0], p=[0.1, 0.1, 0.8], size=(RUNS, questions))


def _graded(questions: int) -> NDArray[np.float64]:
    """Scores such as F1: half of the questions do not change, the others by a lopsided amount, -1/6 on average."""
    rng, shape = np.random.default_rng(questions), (RUNS, questions)
    return np.where(rng.random(shape) < 0.5, 0, rng.beta(1, 2, size=shape) - rng.beta(1, 1, size=shape)).round(4)


@pytest.mark.parametrize(("draw", "truth"), [(_binary, 0.0), (_graded, -1 / 12)], ids=["binary", "graded"])
def test_few_questions_have_intervals_that_cover_less_than_they_say(
    draw: Callable[[int], NDArray[np.float64]], truth: float
) -> None:
    few, enough = (_share_covered(draw(questions), truth) for questions in (FEW_CLUSTERS // 2, FEW_CLUSTERS))
    assert few < 0.935 <= enough + 3 * math.sqrt(0.05 * 0.95 / RUNS)
    assert enough > few


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
