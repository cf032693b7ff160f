"""Whether options give their answer away: the test's error rate and power, against the test that it is not."""

import numpy as np
import pytest
from scipy.stats import binomtest

from toolablate.benchmarks.lpfqa.guessing import Votes, mean_share, more_than_chance


def votes(
    rng: np.random.Generator, questions: int, models: int, repeats: int, *, alike: float, cue: float
) -> list[Votes]:
    """Models that choose the same option with probability `alike`; the key is that option with probability `cue`, and
    any with the rest."""
    found = []
    for _ in range(questions):
        options = int(rng.integers(4, 8))
        liked = rng.integers(options)
        chosen = np.where(rng.random(models) < alike, liked, rng.integers(options, size=models))
        runs = np.repeat(chosen, repeats)
        counts = np.bincount(runs, minlength=options) / len(runs)
        right = liked if rng.random() < cue else rng.integers(options)
        found.append(Votes(tuple(counts), int(right)))
    return found


def binomial_p(found: list[Votes], trials: int) -> float:
    hits = round(sum(each.shares[each.right] for each in found) * trials)
    return float(
        binomtest(hits, len(found) * trials, float(np.mean([1 / len(each.shares) for each in found])), "greater").pvalue
    )


@pytest.mark.parametrize(("questions", "alike"), [(20, 0.0), (20, 1.0), (60, 0.8), (100, 0.9)])
def test_nothing_is_found_where_options_say_nothing(questions: int, alike: float) -> None:
    """The share of null data below .05 is at most .05, however alike models choose. 400 runs: at .05 fewer than 3 in
    1,000 have more than 33 (of the binomial distribution)."""
    rng = np.random.default_rng(7)
    drawn = [votes(rng, questions, 6, 4, alike=alike, cue=0.0) for _ in range(400)]
    assert sum(more_than_chance(each, resamples=999, seed=n) <= 0.05 for n, each in enumerate(drawn)) <= 33
    if alike == 1.0:
        assert sum(binomial_p(each, 24) <= 0.05 for each in drawn) > 100, "trials are not independent"


@pytest.mark.parametrize("alike", [0.0, 0.8])
def test_the_interval_holds_the_rate(alike: float) -> None:
    """Of 600 sets of 60 questions, at least 92.5 %: at 95 % fewer than 1 in 200 have less."""
    rng, expected = np.random.default_rng(7), np.mean([1 / options for options in range(4, 8)])
    held, widths = 0, []
    for _ in range(600):
        shares = [each.shares[each.right] for each in votes(rng, 60, 6, 4, alike=alike, cue=0.0)]
        _, (low, high) = mean_share(shares, 60 * 24, range(60))
        held += low <= expected <= high
        widths.append(high - low)
    assert held >= 555
    if alike == 0:
        assert np.mean(widths) < 0.12, "no wider than the questions' shares differ"


def test_a_cue_is_found() -> None:
    rng = np.random.default_rng(7)
    drawn = [votes(rng, 100, 6, 4, alike=0.8, cue=0.25) for _ in range(100)]
    assert sum(more_than_chance(each, resamples=999, seed=n) <= 0.05 for n, each in enumerate(drawn)) >= 90


def test_the_smallest_p_is_that_of_the_draws() -> None:
    sure = [Votes((1.0, 0.0, 0.0, 0.0), 0)] * 50
    assert more_than_chance(sure) == pytest.approx(1 / 10_001)
    assert more_than_chance([Votes((0.0, 0.0), 0)]) == 1, "nothing was read"
    one = [Votes((1.0, 0.0, 0.0, 0.0), 0)]
    assert more_than_chance(one) == pytest.approx(0.25, abs=0.02), "one question cannot say more than 1 in 4"
