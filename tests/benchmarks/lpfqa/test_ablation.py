"""Conditions against the baseline: rows as `compare` has them, every average by its name, and what sampling noise explains."""

import numpy as np
import pytest
from tests.benchmarks.lpfqa.boards import once, right, seen

from toolablate.analysis.comparison import compare
from toolablate.analysis.statistics.p_values import holm
from toolablate.benchmarks.lpfqa.scoreboard import ablation, scoreboard
from toolablate.benchmarks.lpfqa.scoreboard_results import Ablation
from toolablate.traces.store.summaries import TrialSummary

Trials = list[TrialSummary]


def ablated(trials: Trials, order: tuple[str, ...] = (), seed: int = 0) -> Ablation:
    found = ablation(trials, "none", order=order, seed=seed)
    assert found is not None
    return found


def _trials(scores: dict[str, tuple[int, int]], questions: int = 100) -> Trials:
    """Right answers of each model under the baseline and with python."""
    return [
        each
        for model, counts in scores.items()
        for condition, count in zip(("none", "python"), counts, strict=True)
        for each in seen(model, right(count, questions), condition=condition)
    ]


def test_rows_are_those_of_compare() -> None:
    trials = _trials({"a": (60, 30), "b": (40, 41)})
    for row, other in zip(ablated(trials).rows, compare(trials, "none"), strict=True):
        for name in ("model", "delta_points", "ci95", "delta_relative", "delta_relative_ci95", "p_value", "small"):
            assert getattr(row, name) == getattr(other, name)


def test_each_average_is_what_its_name_says() -> None:
    (average,) = ablated(_trials({"a": (80, 40), "b": (20, 15)})).averages
    assert (average.baseline_score, average.score) == pytest.approx((50, 27.5))
    assert average.mean_points == pytest.approx((-40 - 5) / 2)
    assert average.relative_of_means == pytest.approx(-45)
    assert average.mean_of_relatives == pytest.approx((-50 - 25) / 2)
    assert average.models == 2


def test_averages_are_the_means_of_the_rows_also_where_models_lack_questions() -> None:
    rng = np.random.default_rng(3)
    trials = []
    for model in "abc":
        for condition in ("none", "python"):
            values = [None if rng.random() < 0.1 else float(rng.random() < 0.5) for _ in range(60)]
            trials += seen(model, once(values), condition=condition)
    found = ablated(trials)
    (average,) = found.averages
    for ours, theirs in (("baseline_score", "baseline_score"), ("score", "score"), ("mean_points", "delta_points")):
        assert getattr(average, ours) == pytest.approx(np.mean([getattr(row, theirs) for row in found.rows]))
    assert average.questions == 60
    assert len({row.questions for row in found.rows}) > 1


def test_a_model_that_was_never_right_has_no_relative_change_and_their_mean_none() -> None:
    (average,) = ablated(_trials({"a": (0, 10), "b": (50, 50)})).averages
    assert (average.mean_of_relatives, average.relative_of_means) == (None, pytest.approx(20))


def test_p_values_are_corrected_over_rows_and_averages_together() -> None:
    found = ablated(_trials({"a": (60, 30), "b": (40, 36), "c": (50, 51)}))
    rows = [*found.rows, *found.averages]
    p_values = [row.p_value for row in rows]
    assert found.comparisons == len(p_values) == 4
    assert [row.p_holm for row in rows] == holm([p for p in p_values if p is not None])


def test_one_model_has_no_average_and_a_lone_baseline_no_table() -> None:
    assert ablated(_trials({"a": (6, 3)}, 10)).averages == ()
    assert scoreboard(seen("a", right(1, 2)), "none").ablation is None


def test_models_without_the_baseline_or_the_condition_are_passed_over() -> None:
    trials = [
        *_trials({"a": (6, 3), "b": (5, 5)}, 10),
        *seen("c", right(1, 10), condition="python"),
        *seen("d", right(1, 10)),
    ]
    found = ablated(trials)
    assert [row.model for row in found.rows] == ["a", "b"]
    assert found.averages[0].models == 2


def test_conditions_come_in_the_order_of_the_store() -> None:
    trials = [*_trials({"a": (6, 3)}, 10), *seen("a", right(2, 10), condition="browser")]
    assert [row.condition for row in ablated(trials, order=("none", "python", "browser")).rows] == [
        "python",
        "browser",
    ]


def _simulated(seed: int, shift: float) -> Trials:
    """Three models that share what is hard, of whom each lacks some trials; tools move half of the questions twice as
    far as `shift` says, and leave the others."""
    rng = np.random.default_rng([seed, 4])
    hard = rng.uniform(0.25, 0.75, 150)
    moved = np.where(rng.random(150) < 0.5, 2 * shift, 0.0)
    trials = []
    for model in "abc":
        for condition, chance in (("none", hard), ("python", hard + moved)):
            drawn = rng.binomial(1, chance).astype(float).tolist()
            spoiled = (rng.random(150) < 0.04).tolist()
            values = [None if gone else value for gone, value in zip(spoiled, drawn, strict=True)]
            trials += seen(model, once(values), condition=condition)
    return trials


@pytest.mark.deep
def test_the_average_finds_nothing_in_nothing_and_its_intervals_hold_the_truth() -> None:
    """5 % of null data are significant, 95 % of intervals hold the truth, with what 120 runs leave to chance."""
    p_values, held, relative = [], [], []
    for seed in range(120):
        (null,) = ablated(_simulated(seed, 0.0), seed=seed).averages
        p_values.append(null.p_value or 0.0)
        (real,) = ablated(_simulated(seed, -0.1), seed=seed).averages
        assert real.ci95 is not None
        assert real.relative_of_means_ci95 is not None
        held.append(real.ci95[0] <= -10 <= real.ci95[1])
        relative.append(real.relative_of_means_ci95[0] <= -20 <= real.relative_of_means_ci95[1])
    assert np.mean(np.array(p_values) < 0.05) <= 0.1
    assert min(np.mean(held), np.mean(relative)) >= 0.9
