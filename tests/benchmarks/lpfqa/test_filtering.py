"""Without the questions that no model gets right, and those that all do: the rule, what it biases, its intervals."""

import numpy as np
import pytest
from tests.benchmarks.lpfqa.boards import once, percents, right, seen

from toolablate.benchmarks.lpfqa.scoreboard import answered, scoreboard
from toolablate.benchmarks.lpfqa.scoreboard import filtered as without_extremes
from toolablate.benchmarks.lpfqa.scoreboard_results import Filtered

NAMES = "abcdefghijkl"


def filtered(*models: list[list[float | None]], domains: tuple[str, ...] = ()) -> Filtered:
    trials = [each for name, values in zip(NAMES, models, strict=False) for each in seen(name, values, domains=domains)]
    found = without_extremes(answered(trials, "none"), NAMES[: len(models)])
    assert found is not None
    return found


def test_one_right_repeat_of_one_model_keeps_a_question_and_one_wrong_one_too() -> None:
    one = [[0.0, 0.0], [0.0, 1.0], [1.0, 1.0], [1.0, 1.0]]
    other = [[0.0, 0.0], [0.0, 0.0], [1.0, 0.0], [1.0, 1.0]]
    found = filtered(one, other, domains=("law", "law", "law", "maths"))
    assert (found.unsolved, found.always) == (("q0000",), ("q0003",))
    assert [(each.name, each.questions) for each in found.sets] == [("all", 4), ("solved", 3), ("told_apart", 2)]
    assert [each.domains for each in found.sets] == [
        (("law", 3), ("maths", 1)),
        (("law", 2), ("maths", 1)),
        (("law", 2), ("maths", 0)),
    ]
    assert percents(found.sets[0].scores) == {"a": "62.50", "b": "37.50"}
    assert percents(found.sets[1].scores) == {"a": "83.33", "b": "50.00"}
    assert percents(found.sets[2].scores) == {"a": "75.00", "b": "25.00"}
    assert found.sets[2].mean == pytest.approx(50)


def test_a_question_that_some_model_has_no_score_of_is_in_no_set() -> None:
    found = filtered(once([0.0, 0.0, 1.0, 1.0]), once([0.0, None, 1.0, 0.0]))
    assert (found.left_out, found.unsolved, found.sets[0].questions) == (1, ("q0000",), 3)
    assert percents(found.sets[0].scores) == {"a": "66.67", "b": "33.33"}


def test_right_is_a_score_of_one_half_or_more() -> None:
    found = filtered(once([0.5, 0.4]), once([0.5, 0.0]))
    assert (found.always, found.unsolved) == (("q0000",), ("q0001",))


def test_nothing_may_be_left() -> None:
    found = filtered(right(1, 2), right(1, 2))
    assert [each.questions for each in found.sets] == [2, 1, 0]
    assert (found.sets[2].mean, found.sets[2].scores[0].accuracy.percent, found.sets[2].scores[0].best) == (
        None,
        None,
        False,
    )


def test_of_one_model_nothing_is_chosen() -> None:
    found = scoreboard(seen("a", right(1, 2)), "none")
    assert (found.filtered, found.tiers) == (None, None)
    without = scoreboard([*seen("a", right(1, 2)), *seen("b", once([None, None]))], "none")
    assert without.filtered is None


def _chances(rng: np.random.Generator, models: int, questions: int) -> np.ndarray:
    hard = rng.normal(-0.6, 2, questions)
    return 1 / (1 + np.exp(-(hard + rng.normal(0, 0.7, (models, questions)))))


def test_scores_of_what_some_model_got_right_are_too_high_for_the_same_questions() -> None:
    """What the view warns of: the chances of the models on the very questions that are kept are lower."""
    rng = np.random.default_rng(1)
    over = []
    for _ in range(30):
        chances = _chances(rng, 4, 200)
        values = rng.binomial(1, chances).astype(float)
        found = filtered(*(once(row.tolist()) for row in values))
        kept = np.setdiff1d(np.arange(200), [int(name[1:]) for name in found.unsolved])
        over.append((found.sets[1].mean or 0.0) - 100 * chances[:, kept].mean())
    assert np.mean(over) > 3 * np.std(over) / np.sqrt(len(over))
    assert 1 < np.mean(over) < 10


@pytest.mark.deep
def test_intervals_are_those_of_the_whole_procedure() -> None:
    """Of other questions of the kind, chosen in the same way by the same models."""
    big = _chances(np.random.default_rng(7), 3, 200_000)
    values = np.random.default_rng(8).binomial(1, big)
    some = values.any(axis=0)
    truth = {"solved": 100 * values[0, some].mean(), "told_apart": 100 * values[0, some & ~values.all(axis=0)].mean()}
    held = []
    for seed in range(150):
        rng = np.random.default_rng([seed, 2])
        found = filtered(*(once(row.tolist()) for row in rng.binomial(1, _chances(rng, 3, 150)).astype(float)))
        for each in found.sets[1:]:
            low, high = each.scores[0].accuracy.ci95 or (0, 0)
            held.append(low <= truth[each.name] <= high)
    assert 0.92 <= np.mean(held) <= 0.98
