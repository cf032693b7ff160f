"""Shares of hits among flips and the rest, tested with questions as clusters."""

import numpy as np
import pytest
from scipy.stats import fisher_exact

from toolablate.analysis.found import by_condition, design_effect, share_test
from toolablate.analysis.statistics.p_values import fisher_p


@pytest.mark.parametrize(
    ("first", "second"),
    [((3, 4), (1, 4)), ((0, 10), (5, 12)), ((8, 9), (100, 400)), ((2, 2), (0, 2)), ((50, 120), (300, 1000))],
)
def test_fishers_test_is_that_of_scipy(first: tuple[int, int], second: tuple[int, int]) -> None:
    table = [[first[0], first[1] - first[0]], [second[0], second[1] - second[0]]]
    assert fisher_p(first, second) == pytest.approx(fisher_exact(table).pvalue, rel=1e-9)


def test_nothing_to_tell_apart_is_no_finding() -> None:
    assert fisher_p((0, 0), (3, 4)) == fisher_p((0, 3), (0, 4)) == fisher_p((3, 3), (4, 4)) == 1.0


def test_copies_of_a_question_count_as_one() -> None:
    rng = np.random.default_rng(0)
    hit, flip = rng.random(200) < 0.3, rng.random(200) < 0.2
    question = np.arange(200)
    alone = share_test(hit, flip, question)
    copied = share_test(np.repeat(hit, 4), np.repeat(flip, 4), np.repeat(question, 4))
    assert alone[1] == 200
    assert copied[1] == pytest.approx(200)
    assert copied[0] == pytest.approx(alone[0])


def test_trials_that_are_not_alike_in_both_are_independent() -> None:
    rng = np.random.default_rng(1)
    question = np.repeat(np.arange(500), 4)
    words = np.repeat(rng.random(500) < 0.3, 4)
    assert design_effect(words, rng.random(2000) < 0.2, question) == pytest.approx(1, abs=0.15)


@pytest.mark.deep
def test_a_word_of_the_question_is_found_to_matter_no_more_often_than_the_level_says() -> None:
    """Questions differ in their words and in how often they flip, and the two have nothing to do with each other."""
    rng = np.random.default_rng(2)
    found = plain = 0
    for _ in range(400):
        question = np.repeat(np.arange(100), 6)
        hit = rng.random(600) < np.repeat(rng.choice([0.02, 0.9], 100, p=[0.7, 0.3]), 6)
        flip = rng.random(600) < np.repeat(rng.choice([0.02, 0.8], 100, p=[0.8, 0.2]), 6)
        p, _ = share_test(hit, flip, question)
        assert p is not None
        found += p < 0.05
        plain += share_test(hit, flip, np.arange(600))[0] < 0.05  # type: ignore[operator]
    assert found <= 0.07 * 400
    assert plain > 0.2 * 400


def test_p_values_are_corrected_over_the_conditions_that_have_one() -> None:
    condition = np.repeat([0, 1, 2], 40)
    flip = np.tile(np.arange(40) < 20, 3) & (condition > 0)
    hit = flip & (condition == 1)
    rows = by_condition(
        *(["none", "python", "search"], "none"),
        condition=condition,
        hit=hit,
        flip=flip,
        scored=np.ones(120, dtype=bool),
        question=np.tile(np.arange(40), 3),
    )
    none, python, search = rows
    assert none.p is None
    assert python.p is not None
    assert python.corrected == pytest.approx(2 * python.p)
    assert (search.p, search.corrected) == (1.0, 1.0)
    assert (python.flips.percent, python.rest.percent, python.expected) == (100, 0, 0)
