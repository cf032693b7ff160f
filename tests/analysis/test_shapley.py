"""Shapley values of several tool results: exact sums, known games, and standard errors by simulation."""

import math
from collections.abc import Callable
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolablate.analysis.shapley import Orders, Subset, design, shapley_values

Game = Callable[[Subset], float]
RUNS = 400


def drawn(over: Orders, game: Game, rollouts: int, rng: np.random.Generator) -> dict[Subset, list[float]]:
    return {subset: rng.binomial(1, game(subset), rollouts).astype(float).tolist() for subset in over.subsets}


def written_out(results: int, game: Game) -> list[float]:
    """By the formula over subsets, in place of orders."""
    found = []
    for result in range(results):
        others = [other for other in range(results) if other != result]
        subsets = [frozenset(each) for size in range(results) for each in combinations(others, size)]
        weights = [1 / (results * math.comb(results - 1, len(each))) for each in subsets]
        found.append(
            math.fsum(
                weight * (game(each | {result}) - game(each)) for weight, each in zip(weights, subsets, strict=True)
            )
        )
    return found


def misled(subset: Subset) -> float:
    """The first result misleads, the more so beside the second, which is good alone; the last needs all others."""
    harm = 0.3 * (0 in subset) + 0.2 * ({0, 1} <= subset)
    return 0.55 - harm + 0.15 * (1 in subset) + 0.2 * (len(subset) >= 4)


@given(st.integers(1, 8), st.integers(1, 3), st.integers(0, 1000))
def test_values_sum_to_all_less_none_for_any_rollouts(results: int, pairs: int, seed: int) -> None:
    rng, over = np.random.default_rng(seed), design(results, pairs=pairs, seed=seed)
    rollouts = {subset: rng.uniform(size=rng.integers(1, 4)).tolist() for subset in over.subsets}
    whole = np.mean(rollouts[frozenset(range(results))]) - np.mean(rollouts[frozenset()])
    assert math.fsum(each.value for each in shapley_values(over, rollouts)) == pytest.approx(whole, abs=1e-12)


@pytest.mark.parametrize("results", [1, 2, 3, 4, 5])
def test_few_results_have_exact_values(results: int) -> None:
    over = design(results)
    assert over.exact
    assert len(over.subsets) == 2**results
    found = shapley_values(over, {subset: [misled(subset)] for subset in over.subsets})
    assert [each.value for each in found] == pytest.approx(written_out(results, misled))


def test_two_results_take_the_mean_of_both_orders() -> None:
    shapley = {(): 0.8, (0,): 0.5, (1,): 0.7, (0, 1): 0.1}
    found = shapley_values(design(2), {frozenset(each): [value, value] for each, value in shapley.items()})
    first, second = (each.value for each in found)
    assert first == pytest.approx(((0.5 - 0.8) + (0.1 - 0.7)) / 2)
    assert second == pytest.approx(((0.7 - 0.8) + (0.1 - 0.5)) / 2)
    assert [each.standard_error for each in found] == [0.0, 0.0]


def test_pairs_of_orders_and_their_reverse_are_exact_where_results_act_two_by_two() -> None:
    """Then what a result adds is linear in which others came before, and these swap sides in the reverse."""
    pull = np.random.default_rng(4).uniform(-0.02, 0.02, (8, 8))

    def game(subset: Subset) -> float:
        return 0.5 + math.fsum(pull[one, other] for one in subset for other in subset)

    over = design(8, pairs=2)
    assert not over.exact
    found = shapley_values(over, {subset: [game(subset)] * 2 for subset in over.subsets})
    assert [each.value for each in found] == pytest.approx(written_out(8, game), abs=1e-12)


@pytest.mark.parametrize(("results", "rollouts", "pairs"), [(2, 4, 1), (4, 8, 1), (7, 2, 12), (7, 32, 6)])
def test_standard_errors_are_how_far_values_lie_from_the_truth(results: int, rollouts: int, pairs: int) -> None:
    truth, values, errors = written_out(results, misled), [], []
    for run in range(RUNS):
        over = design(results, pairs=pairs, seed=run)
        found = shapley_values(over, drawn(over, misled, rollouts, np.random.default_rng([run, 1])))
        values.append([each.value for each in found])
        errors.append([each.standard_error for each in found])
    away, said = np.array(values) - truth, np.array(errors, dtype=float)
    assert np.abs(away.mean(axis=0)).max() <= 4 * away.std() / math.sqrt(RUNS)
    assert np.sqrt((said**2).mean(axis=0)) == pytest.approx(away.std(axis=0), rel=0.15)
    covered = (np.abs(away) <= 1.96 * said).mean()
    assert covered == pytest.approx(0.95, abs=0.04)


def test_one_rollout_or_one_pair_of_orders_says_nothing_of_an_error() -> None:
    rng = np.random.default_rng(5)
    assert {each.standard_error for each in shapley_values(design(3), drawn(design(3), misled, 1, rng))} == {None}
    one = design(6, pairs=1)
    assert {each.standard_error for each in shapley_values(one, drawn(one, misled, 4, rng))} == {None}


def test_what_is_lacking_is_told() -> None:
    with pytest.raises(ValueError, match=r"\[1\] real, and 1 other"):
        shapley_values(design(2), {frozenset(): [1.0], frozenset({0}): [0.0], frozenset({1}): []})
    with pytest.raises(ValueError, match="there are results"):
        design(0)
