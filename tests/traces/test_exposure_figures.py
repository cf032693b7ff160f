"""The exposure test's estimators, on data of which the truth is known."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolablate.analysis.pairing import Unit
from toolablate.experiments.contamination.overlap import Figure, difference_of, mean_of, strangers

RUNS = 2_000
SHARED = 100
"""Runs that share resamples, which are drawn only once for them."""
MEMORISED = 0.1


def _rouge(rng: np.random.Generator, level: float, questions: int) -> list[float]:
    """Of which a tenth come back nearly whole, and the rest as unrelated text does."""
    babble = 100 * rng.beta(8 * level, 8 * (1 - level), size=questions)
    whole = 100 * rng.beta(40, 2, size=questions)
    return np.where(rng.random(questions) < MEMORISED, whole, babble).tolist()


def _truth(level: float) -> float:
    return 100 * (MEMORISED * 40 / 42 + (1 - MEMORISED) * level)


def _alone(questions: int) -> list[Unit]:
    return [("question", str(number)) for number in range(questions)]


def _holds(figure: Figure, truth: float) -> bool:
    return figure.ci95 is not None and figure.ci95[0] <= truth <= figure.ci95[1]


@pytest.mark.parametrize(("here", "there"), [(150, 150), (300, 80)])
def test_intervals_of_a_mean_and_of_a_difference_cover_the_truth(here: int, there: int) -> None:
    rng, covered = np.random.default_rng(here), np.zeros(2)
    for run in range(RUNS):
        one, other = (
            mean_of(_rouge(rng, level, count), _alone(count), seed=run // SHARED, resamples=500)
            for level, count in ((0.25, here), (0.15, there))
        )
        covered += [_holds(one, _truth(0.25)), _holds(difference_of(one, other), _truth(0.25) - _truth(0.15))]
    assert covered / RUNS == pytest.approx([0.95, 0.95], abs=0.015)


def test_the_interval_of_what_is_above_chance_covers_it_in_clusters_with_partners_drawn() -> None:
    """Each rest serves twice, for its own question and as another's chance; some rests are easier to hit than others,
    and some continuations likelier to hit any."""
    rng, covered = np.random.default_rng(7), 0
    units = [unit for cluster in range(60) for unit in [("cluster", str(cluster))] * (1 + cluster % 4)]
    sizes = np.unique([name for _, name in units], return_inverse=True)[1]
    for run in range(RUNS):
        easy, likely = (rng.normal(0, 4, size=60)[sizes] + rng.normal(0, 3, size=len(units)) for _ in range(2))
        own = 30 + easy + likely + rng.normal(0, 5, size=len(units))
        drawn = strangers(units, seed=run)
        assert drawn is not None
        partners = [next(others) for others in drawn]
        chance = 18 + easy[partners] + likely + rng.normal(0, 5, size=len(units))
        covered += _holds(mean_of((own - chance).tolist(), units, seed=run // SHARED, resamples=500), 12)
    assert covered / RUNS >= 0.93


def test_the_ends_of_a_difference_are_those_of_lopsided_intervals() -> None:
    found = difference_of(Figure(50.0, (47.0, 58.0)), Figure(40.0, (34.0, 44.0)))
    assert found == Figure(10.0, (10.0 - 5.0, 10.0 + 10.0))
    assert difference_of(Figure(50.0, None), Figure(40.0, (34.0, 44.0))) == Figure(10.0, None)


@given(st.lists(st.integers(0, 6), max_size=40), st.integers(0, 99))
def test_a_stranger_is_of_another_unit_and_nobody_is_met_twice(clusters: list[int], seed: int) -> None:
    units: list[Unit] = [("cluster", str(each)) if each else ("question", str(n)) for n, each in enumerate(clusters)]
    drawn = strangers(units, seed)
    largest = max((units.count(unit) for unit in units), default=0)
    if not units or 2 * largest > len(units):
        assert drawn is None
        return
    assert drawn is not None
    others = [list(each) for each in drawn]
    assert sorted(each[0] for each in others) == list(range(len(units)))
    for place, each in enumerate(others):
        assert len(set(each)) == len(each)
        assert all(units[place] != units[other] for other in each)
    again = strangers(units, seed)
    assert again is not None
    assert [list(each) for each in again] == others


def test_another_seed_draws_other_strangers() -> None:
    first, second = ([next(each) for each in strangers(_alone(30), seed) or ()] for seed in (1, 2))
    assert sorted(first) == sorted(second) == list(range(30))
    assert first != second


def test_there_is_no_mean_of_nothing() -> None:
    with pytest.raises(ValueError, match="no question"):
        mean_of([], [])
