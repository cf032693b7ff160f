"""What a design can see, against the issue's figures, statsmodels and simulated studies."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from statsmodels.stats.power import NormalIndPower

from toolablate.analysis.statistics.p_values import sign_flip_p
from toolablate.analysis.statistics.variance import (
    MOST_REPEATS,
    detectable,
    paired_standard_error,
    questions_needed,
    repeats_needed,
    smallest_p,
)

QUESTIONS, BETWEEN, WITHIN = 430, 0.02, 0.075


@pytest.mark.parametrize(("repeats", "points"), [(1, "5.6"), (3, "3.6"), (5, "3.0"), (8, "2.7")])
def test_points_of_a_design_of_430_questions(repeats: int, points: str) -> None:
    assert f"{100 * detectable(paired_standard_error(QUESTIONS, BETWEEN, WITHIN, repeats)):.1f}" == points


@pytest.mark.parametrize("alpha", [0.05, 0.05 / 12])
@pytest.mark.parametrize("power", [0.5, 0.8, 0.99])
@pytest.mark.parametrize("questions", [10, 430])
def test_statsmodels_says_the_same(alpha: float, power: float, questions: int) -> None:
    spread = math.sqrt(BETWEEN + 2 * WITHIN / 3)
    theirs = NormalIndPower().solve_power(None, nobs1=questions, alpha=alpha, power=power, ratio=0)
    ours = detectable(paired_standard_error(questions, BETWEEN, WITHIN, 3), alpha=alpha, power=power)
    assert ours == pytest.approx(theirs * spread, rel=1e-3)


@pytest.mark.parametrize(("repeats", "share"), [(1, 0.77), (3, 0.8)])
def test_the_sign_flip_test_finds_what_it_could_see_four_times_in_five(repeats: int, share: float) -> None:
    """Right-or-wrong scores with these very variances: some questions gain, some are chance, the others are sure. With
    one repeat the test is the exact McNemar test, which keeps below its level and so finds a little less."""
    effect = detectable(paired_standard_error(QUESTIONS, BETWEEN, WITHIN, repeats))
    gain = (BETWEEN + effect**2) / effect
    gaining = effect / gain
    unsure = (WITHIN - gaining * (1 - gain**2) / 4) / 0.25
    rng = np.random.default_rng(repeats)
    found = []
    for seed in range(800):
        kinds = rng.random(QUESTIONS)
        p = np.where(kinds < gaining, (1 - gain) / 2, np.where(kinds < gaining + unsure, 0.5, 1.0))
        r = np.where(kinds < gaining, (1 + gain) / 2, p)
        differences = (rng.binomial(repeats, r) - rng.binomial(repeats, p)) / repeats
        found.append(sign_flip_p(differences.tolist(), seed=seed, resamples=500) < 0.05)
    assert np.mean(found) == pytest.approx(share, abs=0.03)


SHARES = st.floats(0.001, 0.25)


@given(st.floats(0.001, 0.5), SHARES, SHARES, st.integers(1, 20), st.floats(0.5, 0.99))
def test_questions_needed_are_the_fewest(
    effect: float, between: float, within: float, repeats: int, power: float
) -> None:
    def seen(questions: int) -> float:
        return detectable(paired_standard_error(questions, between, within, repeats), power=power)

    needed = questions_needed(effect, between, within, repeats, power=power)
    assert seen(needed) <= effect * (1 + 1e-9)
    assert needed == 1 or seen(needed - 1) > effect * (1 - 1e-9)


@given(st.floats(0.005, 0.5), SHARES, SHARES, st.integers(10, 2_000))
def test_repeats_needed_are_the_fewest(effect: float, between: float, within: float, questions: int) -> None:
    def seen(repeats: int) -> float:
        return detectable(paired_standard_error(questions, between, within, repeats))

    needed = repeats_needed(effect, between, within, questions)
    if needed is None:
        assert seen(MOST_REPEATS) >= effect * (1 - 1e-6)
    else:
        assert seen(needed) <= effect * (1 + 1e-6)
        assert needed <= MOST_REPEATS
        assert needed == 1 or seen(needed - 1) > effect * (1 - 1e-6)


def test_so_many_repeats_that_only_questions_would_help_are_none() -> None:
    needed = [repeats_needed(effect, 0.0, 0.075, 400) for effect in (0.0018, 0.0017, 0.000001)]
    assert (needed[0] or 0) > 900
    assert needed[1:] == [None, None]


@pytest.mark.parametrize("units", [1, 2, 5, 6, 12])
def test_the_smallest_p_is_that_of_units_that_all_differ_alike(units: int) -> None:
    assert sign_flip_p([1.0] * units) == pytest.approx(smallest_p(units))
    assert smallest_p(5_000) == 0.0


def test_levels_as_small_as_a_computer_writes_have_a_quantile() -> None:
    assert 37 < detectable(1.0, alpha=1e-300) < 39
