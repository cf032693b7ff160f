"""Ranks, and how often their intervals hold the true one."""

import numpy as np
import pytest
from numpy.typing import NDArray

from toolablate.benchmarks.lpfqa.ranks import competition_ranks, rank_intervals

RUNS = 250


def test_equal_scores_share_the_better_rank() -> None:
    assert competition_ranks([50.5, 51.2, 49.5, 54.4, 49.5, 47.6]) == [3, 2, 4, 1, 4, 6]
    assert competition_ranks([0.1 + 0.2, 0.3]) == [1, 1]
    assert competition_ranks([]) == []


def test_clear_differences_leave_one_rank_and_equal_models_all() -> None:
    rng = np.random.default_rng(1)
    values = rng.binomial(1, np.array([[0.9], [0.6], [0.3]]), size=(3, 400)).astype(float)
    assert rank_intervals(values, np.ones_like(values)) == [(1, 1), (2, 2), (3, 3)]
    same = np.repeat(values[:1], 3, axis=0)
    assert rank_intervals(same, np.ones_like(same)) == [(1, 3)] * 3


def test_models_of_which_one_is_always_right_and_one_never_are_told_apart() -> None:
    values = np.array([[1.0] * 50, [0.0] * 50])
    assert rank_intervals(values, np.ones_like(values)) == [(1, 1), (2, 2)]
    assert rank_intervals(values[:, :2], np.ones((2, 2))) == [(1, 2), (1, 2)]


def test_what_the_data_cannot_tell_is_unknown() -> None:
    assert rank_intervals([], []) == []
    assert rank_intervals([[1.0]], [[1.0]]) == [None]
    few = rank_intervals([[1.0, 0.0, 0.0, 0.0], [0.0, 1.0, 1.0, 0.0]], [[1.0, 0.0, 0.0, 0.0], [1.0] * 4])
    assert few == [None, (1, 2)]


def _drawn(
    rng: np.random.Generator, truth: NDArray[np.float64], questions: int, repeats: int, held: int
) -> NDArray[np.float64]:
    """Scores summed by cluster: questions are hard or easy for all models, and a cluster somewhat so for one."""
    clusters = questions // held
    hard = np.repeat(rng.normal(0, 1.5, clusters), held)
    own = np.repeat(rng.normal(0, 0.8, (len(truth), clusters)), held, axis=1)
    chance = 1 / (1 + np.exp(-(truth[:, None] + hard + own)))
    drawn: NDArray[np.float64] = rng.binomial(repeats, chance) / repeats
    return drawn.reshape(len(truth), clusters, held).sum(axis=2)


@pytest.mark.deep
@pytest.mark.parametrize(
    ("truth", "questions", "repeats", "held"),
    [
        ([0.0] * 6, 150, 1, 1),
        ([0.0] * 6, 40, 1, 1),
        ([0.0] * 6, 240, 3, 3),
        ([-0.8, 0.0, 0.0, 0.0, 0.8], 100, 1, 1),
        (list(np.linspace(-0.3, 0.3, 12)), 120, 3, 1),
    ],
)
def test_intervals_hold_the_true_ranks(truth: list[float], questions: int, repeats: int, held: int) -> None:
    """All ranks that equally good models share; 95 % with what 250 runs of dependent models leave to chance."""
    first = [1 + sum(other > one for other in truth) for one in truth]
    last = [len(truth) - sum(other < one for other in truth) for one in truth]
    held_true = []
    for seed in range(RUNS):
        sums = _drawn(np.random.default_rng([seed, 1]), np.array(truth), questions, repeats, held)
        found = rank_intervals(sums, np.full_like(sums, held), seed=seed, resamples=600)
        held_true.append(
            [
                each is not None and each[0] <= best and worst <= each[1]
                for each, best, worst in zip(found, first, last, strict=True)
            ]
        )
    assert np.mean(held_true) >= 0.925


def test_percentile_intervals_of_resampled_ranks_would_not() -> None:
    """Why the intervals are not simply what resamples rank: equal models lose the first rank, or the last."""
    rng = np.random.default_rng(0)
    kept = []
    for _ in range(RUNS):
        sums = _drawn(rng, np.zeros(6), 120, 1, 1)
        often = rng.multinomial(120, np.full(120, 1 / 120), size=200)
        scores = often @ sums.T
        ranks = 1 + (scores[:, None, :] > scores[:, :, None]).sum(axis=2)
        low, high = np.quantile(ranks, [0.025, 0.975], axis=0)
        kept.append((low <= 1) & (high >= 6))
    assert np.mean(kept) < 0.8
