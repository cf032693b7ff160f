"""Flips that chance alone makes, against every pair of runs and against known probabilities."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolablate.analysis.statistics.harm import flips_between_runs, noise_flips


def arms(least: int) -> st.SearchStrategy[list[list[bool]]]:
    """Questions with as many repeats each, as rows."""
    return st.integers(least, 5).flatmap(
        lambda repeats: st.lists(st.lists(st.booleans(), min_size=repeats, max_size=repeats), min_size=4, max_size=4)
    )


def flipped(first: tuple[bool, ...], second: tuple[bool, ...]) -> int:
    return sum(old and not new for old, new in zip(first, second, strict=True))


@given(arms(1), arms(1))
def test_flips_are_the_mean_over_every_run_of_one_and_every_run_of_the_other(
    before: list[list[bool]], after: list[list[bool]]
) -> None:
    runs, others = list(zip(*before, strict=True)), list(zip(*after, strict=True))
    brute = math.fsum(flipped(run, other) for run in runs for other in others) / (len(runs) * len(others))
    assert flips_between_runs(before, after) == pytest.approx(brute)


@given(arms(2))
def test_noise_is_the_mean_over_every_two_runs_of_one_condition(repeats: list[list[bool]]) -> None:
    counted = [flipped(one, other) for one, other in itertools.permutations(zip(*repeats, strict=True), 2)]
    assert noise_flips(repeats) == pytest.approx(math.fsum(counted) / len(counted))


def test_with_one_repeat_flips_are_counted_and_their_noise_is_unknown() -> None:
    before, after = [[True], [True], [False], [True]], [[False], [True], [True], [False]]
    assert flips_between_runs(before, after) == 2
    assert noise_flips(before) is None
    assert noise_flips([[True, False], [True]]) is None
    assert noise_flips([]) is None


@pytest.mark.parametrize("repeats", [2, 3, 8])
def test_flips_and_noise_are_unbiased(repeats: int) -> None:
    rng = np.random.default_rng(repeats)
    p, r = rng.beta(0.5, 0.5, 50), rng.beta(0.5, 0.5, 50)
    noise, flips = [], []
    for _ in range(2_000):
        before, after = (rng.random((50, repeats)) < share[:, None] for share in (p, r))
        noise.append(noise_flips(before.tolist()))
        flips.append(flips_between_runs(before.tolist(), after.tolist()))
    for found, truth in ((noise, (p * (1 - p)).sum()), (flips, (p * (1 - r)).sum())):
        error = np.std(found) / math.sqrt(len(found))
        assert np.mean(found) == pytest.approx(truth, abs=3 * error)
