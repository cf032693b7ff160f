"""Components of variance, against known ones."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from statsmodels.stats.power import NormalIndPower

from toolablate.analysis.statistics.p_values import sign_flip_p
from toolablate.analysis.statistics.variance import (
    MOST_REPEATS,
    Components,
    design_effect,
    detectable,
    paired_standard_error,
    questions_needed,
    repeats_needed,
    resampled_components,
    smallest_p,
    variance_components,
)


def scores(rng: np.random.Generator, p: np.ndarray, repeats: int) -> list[list[float]]:
    return (rng.random((len(p), repeats)) < p[:, None]).astype(float).tolist()


def mean_and_error(found: list[float]) -> tuple[float, float]:
    return float(np.mean(found)), float(np.std(found) / math.sqrt(len(found)))


@pytest.mark.deep
def test_components_are_unbiased_at_any_numbers_of_repeats() -> None:
    rng = np.random.default_rng(1)
    found = []
    between, before_within, after_within = [], [], []
    for _ in range(1_500):
        p = rng.beta(2, 1, 40)
        r = np.clip(p + rng.choice([-0.3, 0, 0.2], 40), 0, 1)
        between.append(np.var(r - p, ddof=1))
        before_within.append(np.mean(p * (1 - p)))
        after_within.append(np.mean(r * (1 - r)))
        before = scores(rng, p[:20], 2) + scores(rng, p[20:], 5)
        components = variance_components(before, scores(rng, r, 3), range(40))
        assert components is not None
        assert components.questions == components.clusters == 40
        assert components.repeats == (2, 5)
        found.append(components)
    for truth, name in ((before_within, "within_before"), (after_within, "within_after")):
        mean, error = mean_and_error([getattr(each, name) for each in found])
        assert mean == pytest.approx(np.mean(truth), abs=3 * error)
    # Where it is not cut at 0, which is where the total says that it would be negative.
    uncut = [each.between if not each.cut else raw(each) for each in found]
    mean, error = mean_and_error(uncut)
    assert mean == pytest.approx(np.mean(between), abs=3 * error)


def raw(found: Components) -> float:
    """Half of the questions have 2 repeats before and half 5, all have 3 after; within a question's group its mean
    variance is not kept, so the cut is undone by the mean of both, which is right in expectation."""
    assert found.within_before is not None
    assert found.within_after is not None
    return found.total - found.within_before * (1 / 2 + 1 / 5) / 2 - found.within_after / 3


@pytest.mark.deep
@pytest.mark.parametrize("sizes", [[4] * 15, [1, 2, 3, 6, 8] * 4])
def test_clusters_count_as_what_they_are_worth(sizes: list[int]) -> None:
    """The variance of the mean, as said and as it is over many studies."""
    rng = np.random.default_rng(2)
    units = np.repeat(np.arange(len(sizes)), sizes)
    said, means = [], []
    for _ in range(1_500):
        of_cluster = rng.choice([-0.3, 0.0, 0.4], len(sizes))[units]
        p = np.full(len(units), 0.5)
        before, after = scores(rng, p, 3), scores(rng, p + of_cluster, 3)
        found = variance_components(before, after, units.tolist())
        assert found is not None
        assert found.clusters == len(sizes)
        assert found.within_before is not None
        assert found.within_after is not None
        assert found.clustered is not None
        within = (found.within_before + found.within_after) / 2
        said.append(paired_standard_error(len(units), found.clustered, within, 3) ** 2)
        means.append(np.mean(after) - np.mean(before))
    assert np.mean(said) == pytest.approx(np.var(means), rel=0.12)


def test_a_component_below_0_is_cut_and_said_to_be() -> None:
    """Two questions of opposite chance: the same mean difference, so less spread than chance alone would make."""
    found = variance_components([[1.0, 0.0], [0.0, 1.0]], [[0.0, 1.0], [1.0, 0.0]], ["a", "b"])
    assert found is not None
    assert (found.between, found.clustered, found.cut) == (0.0, 0.0, True)
    # Twice as much as scores in [0, 1] can vary was seen within, by chance.
    assert (found.within_before, found.within_after, found.total) == (0.25, 0.25, 0.0)


def test_without_repeats_nothing_parts_chance_from_differences() -> None:
    found = variance_components([[1.0], [0.0], [1.0]], [[0.0], [1.0], [1.0]], [1, 2, 3])
    assert found is not None
    assert (found.within_before, found.within_after, found.between, found.clustered) == (None,) * 4
    assert found.total == pytest.approx(1.0)
    assert found.repeats == (1, 1)
    assert not found.cut


def mixed(rng: np.random.Generator, repeated: int) -> Components:
    """100 questions of which every other gains .4, so .04 between and .21 within; some have three repeats."""
    p, r = np.full(100, 0.3), 0.3 + np.arange(100) % 2 * 0.4
    often = np.arange(100) < repeated
    before, after = scores(rng, p, 3), scores(rng, r, 3)
    kept = [[each if many else each[:1] for each, many in zip(arm, often, strict=True)] for arm in (before, after)]
    found = variance_components(*kept, range(100))
    assert found is not None
    return found


@pytest.mark.deep
def test_questions_with_a_single_score_count_as_well_where_others_have_more() -> None:
    rng = np.random.default_rng(4)
    found = [mixed(rng, 50) for _ in range(1_500)]
    assert {(each.questions, each.repeated, each.repeats) for each in found} == {(100, 50, (1, 3))}
    # Half of the questions have one score and half three: the mean of 1 and 1/3 of what varies within.
    mean, error = mean_and_error([each.total - (each.within_before + each.within_after) * 2 / 3 for each in found])
    assert mean == pytest.approx(0.04, abs=3 * error + 0.04 / 99)
    assert np.mean([each.between for each in found]) == pytest.approx(0.04, abs=3 * error + 0.01), "some are cut at 0"
    # Those of which two or nine in a hundred have repeats say what differs, not what of it is chance.
    for few in (2, 9):
        assert (mixed(rng, few).questions, mixed(rng, few).between, mixed(rng, few).within_before) == (100, None, None)


@pytest.mark.deep
@pytest.mark.parametrize(("number", "least"), [(40, 0.89), (200, 0.91)])
def test_resampled_components_cover_the_truth(number: int, least: float) -> None:
    """Of what a design with 1, 3 or 10 repeats could see: between + 2 within / repeats, from 3 repeats. An interval from
    few questions is too narrow, for a variance more so than for a mean."""
    kinds = np.array([[0.95, 0.95], [0.6, 0.8], [0.6, 0.4], [0.9, 0.7]])
    between = np.var(kinds[:, 1] - kinds[:, 0])
    within = np.mean(kinds * (1 - kinds))
    covered = np.zeros(3)
    for seed in range(500):
        rng = np.random.default_rng(seed)
        p, r = kinds[rng.integers(0, len(kinds), number)].T
        found = resampled_components(scores(rng, p, 3), scores(rng, r, 3), range(number), seed=seed, resamples=400)
        assert found.clustered is not None
        assert found.within is not None
        for place, repeats in enumerate((1, 3, 10)):
            low, high = np.quantile(found.clustered + 2 * found.within / repeats, [0.025, 0.975])
            covered[place] += low <= between + 2 * within / repeats <= high
    assert (covered / 500 >= least).all()
    assert (covered / 500 <= 0.98).all()


def test_without_repeats_the_whole_variance_is_resampled() -> None:
    rng = np.random.default_rng(1)
    found = resampled_components(scores(rng, np.full(60, 0.5), 1), scores(rng, np.full(60, 0.5), 1), range(60))
    assert (found.clustered, found.within) == (None, None)
    assert np.quantile(found.total, 0.025) < 0.5 < np.quantile(found.total, 0.975)


def test_two_independent_questions_are_the_least() -> None:
    assert variance_components([], [], []) is None
    assert variance_components([[1.0, 0.0]] * 3, [[1.0, 0.0]] * 3, ["one"] * 3) is None
    with pytest.raises(ValueError, match="without a score"):
        variance_components([[], [1.0]], [[0.0], [1.0]], [1, 2])


def test_design_effect_of_clusters() -> None:
    assert design_effect(range(9)) == 1.0
    assert design_effect([1, 1, 1, 2, 2, 2]) == 3.0
    assert design_effect([1, 1, 1, 2]) == pytest.approx(2.5)


# What a design can see, against the figures, statsmodels and simulated studies.


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


@pytest.mark.deep
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
