"""Whether the place of an option matters: no model is accused for chance, or for harder questions."""

import random

import pytest
from scipy.stats import chi2_contingency, chisquare
from tests.benchmarks.encyclo_k.made_replies import drawn, fair, question, reply, shy_of_a

from toolablate.benchmarks.encyclo_k.analyses import accuracy_test, choice_test, tables


def test_one_stratum_is_pearsons_test() -> None:
    draws = random.Random(1)
    asked = [reply(question(n, draws.choice("ABCD")), draws.choice("AABCD")) for n in range(300)]
    table = [
        [sum(each.right == right and each.question.target.letters == (letter,) for each in asked) for letter in "ABCD"]  # type: ignore[union-attr]
        for right in (True, False)
    ]
    found = accuracy_test(asked)
    pearson = chi2_contingency(table)
    assert found.degrees == pearson.dof == 3
    assert found.statistic == pytest.approx(pearson.statistic * 299 / 300)
    wrong = [reply(question(n, "A"), draws.choice("BBCD")) for n in range(200)]
    counted = [sum(each.chosen == letter for each in wrong) for letter in "BCD"]
    chosen = choice_test(wrong)
    assert (chosen.degrees, chosen.statistic) == (2, pytest.approx(chisquare(counted).statistic))
    assert chosen.p_value == pytest.approx(chisquare(counted).pvalue)


@pytest.mark.deep
def test_a_model_without_preference_is_seldom_accused_and_one_with_it_is_found() -> None:
    found = [drawn(300, fair, seed) for seed in range(400)]
    for test in (accuracy_test, lambda replies: choice_test([each for each in replies if not each.right])):
        p_values = [test(replies).p_value for replies in found]
        assert all(p is not None for p in p_values)
        accused = sum(p < 0.05 for p in p_values if p is not None)
        assert 8 <= accused <= 34, "5 % of 400, though questions with late places are harder"
        shy = [test(drawn(800, shy_of_a, seed)).p_value for seed in range(40)]
        assert sum(p is not None and p < 0.05 for p in shy) >= 34


def test_places_are_counted_and_p_values_corrected_over_arms() -> None:
    replies = [*drawn(400, fair, 1, model="even"), *drawn(400, shy_of_a, 2, model="shy")]
    even, shy = tables(replies).positions
    assert (even.model, shy.model) == ("even", "shy")
    assert sum(each.chosen for each in even.positions) == 400
    assert sum(each.right.questions for each in even.positions) == 400
    wrong = sum(not each.right for each in replies[:400])
    assert sum(each.wrongly for each in even.positions) == wrong
    assert sum(each.wrongly_expected for each in even.positions) == pytest.approx(wrong)
    for bias in (even, shy):
        for test in (bias.by_right, bias.by_choice):
            assert test.p_value is not None
            assert test.p_holm is not None
            assert test.p_holm >= test.p_value
    assert shy.by_right.p_holm == pytest.approx(2 * (shy.by_right.p_value or 0))


def test_too_little_is_not_tested() -> None:
    (bias,) = tables(drawn(20, fair, 1)).positions
    assert bias.by_right.p_value is None
    assert tables([reply(question(1), "A")]).positions[0].by_choice.degrees == 0
