"""Difficulty by pass rate over models, and beside the labels of questions."""

import math

from tests.benchmarks.lpfqa.boards import once, percents, seen

from toolablate.benchmarks.lpfqa.scoreboard import scoreboard
from toolablate.benchmarks.lpfqa.scoreboard_results import Tiers


def tiers(passed: list[int], models: int, *, labels: tuple[str, ...] = ()) -> Tiers:
    """Of questions that so many of the models get right."""
    trials = [
        each
        for number in range(models)
        for each in seen(f"m{number}", once([float(number < count) for count in passed]), difficulties=labels)
    ]
    found = scoreboard(trials, "none").tiers
    assert found is not None
    return found


def test_both_bounds_are_medium() -> None:
    found = tiers(list(range(11)), 10)
    assert [each.tier for each in found.questions] == ["hard"] * 3 + ["medium"] * 3 + ["easy"] * 5
    assert [round(each.pass_rate) for each in found.questions] == list(range(0, 101, 10))


def test_a_pass_rate_is_exact_whatever_the_repeats() -> None:
    """The mean of these fifths is 30 %, and a little more in floats."""
    rights = {"a": 0, "b": 2, "c": 2, "d": 2}
    trials = [each for model, count in rights.items() for each in seen(model, [[1.0] * count + [0.0] * (5 - count)])]
    assert math.fsum(count / 5 for count in rights.values()) / 4 > 0.3
    found = scoreboard(trials, "none").tiers
    assert found is not None
    assert [(each.tier, each.pass_rate) for each in found.questions] == [("medium", 30.0)]


def test_accuracy_by_tier_and_labels_beside_them() -> None:
    found = tiers([4, 2, 0, 1], 4, labels=("L1", "L1", "L3", ""))
    assert [(each.tier, each.questions) for each in found.tiers] == [("easy", 1), ("medium", 1), ("hard", 2)]
    assert percents(found.tiers[2].scores) == {"m0": "50.00", "m1": "0.00", "m2": "0.00", "m3": "0.00"}
    assert found.tiers[1].mean == 50
    assert [(row.label, row.easy, row.medium, row.hard, row.pass_rate) for row in found.labels] == [
        ("L1", 1, 1, 0, 75),
        ("L3", 0, 0, 1, 0),
        ("", 0, 0, 1, 25),
    ]


def test_questions_without_any_label_have_no_table_of_them() -> None:
    assert tiers([1], 2).labels == ()


def test_a_question_that_some_model_has_no_score_of_has_no_tier() -> None:
    found = scoreboard([*seen("a", once([1.0, None])), *seen("b", once([0.0, 1.0]))], "none").tiers
    assert found is not None
    assert (found.left_out, [each.question for each in found.questions]) == (1, ["q0000"])
