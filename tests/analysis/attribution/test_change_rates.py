"""Rates of change that are fitted to a store: they are recovered, pooled, and make confidences those that are right."""

from functools import partial

import numpy as np
import pytest

from toolablate.analysis.attribution.change_rates import (
    PRIOR_TRIALS,
    ChangeRates,
    Group,
    Step,
    SteppedTrial,
    fitted_rates,
    prior_rate,
)
from toolablate.analysis.attribution.level_chances import LevelTally, changed
from toolablate.analysis.attribution.sequential import HIGH, LOW

SEARCH: Step = ("search", "elsewhere")
CALLING: Step = ("calling", "elsewhere")
STEPS = (("again", ""), SEARCH, CALLING)
HERE: Group = ("model", "search")


def trials(
    number: int, rates: dict[Step, float], rng: np.random.Generator, group: Group = HERE, runs: int = 6
) -> list[tuple[SteppedTrial, list[bool]]]:
    """Wrong trials of four levels, and which steps truly change the chance of being right, from low to high: chances as
    the model of levels has them."""
    found = []
    for _ in range(number):
        changes = [bool(rng.random() < rates.get(step, 0.0)) for step in STEPS]
        chance, tallies = float(rng.beta(*LOW)), []
        for change in (False, *changes):
            chance = float(rng.beta(*HIGH)) if change else chance
            tallies.append(LevelTally(runs, float(rng.binomial(runs, chance))))
        found.append((SteppedTrial(group, [([(step,) for step in STEPS], partial(changed, tallies))]), changes))
    return found


@pytest.mark.parametrize("rate", [0.02, 0.3, 0.8])
def test_a_rate_is_recovered_from_many_trials(rate: float) -> None:
    drawn = trials(400, {SEARCH: rate}, np.random.default_rng(1))
    fitted = fitted_rates([trial for trial, _ in drawn])
    true = float(np.mean([changes[1] for _, changes in drawn]))
    towards = (PRIOR_TRIALS * prior_rate(SEARCH) + 400 * true) / (PRIOR_TRIALS + 400)
    assert fitted.store[SEARCH].rate == pytest.approx(towards, abs=0.07)
    assert fitted.store[CALLING].rate < 0.05
    assert fitted.store[SEARCH].trials == 400


def test_few_trials_change_a_rate_little_and_none_not_at_all() -> None:
    drawn = trials(2, {SEARCH: 1.0}, np.random.default_rng(2))
    fitted = fitted_rates([trial for trial, _ in drawn])
    assert fitted.of(HERE, SEARCH) == pytest.approx(prior_rate(SEARCH), abs=0.2)
    assert fitted.of(HERE, ("prompt", "called")) == prior_rate(("prompt", "called"))
    assert ChangeRates().of(HERE, SEARCH) == prior_rate(SEARCH)
    assert fitted_rates([]) == ChangeRates()


def test_models_and_conditions_have_rates_of_their_own_as_far_as_they_have_trials() -> None:
    rng = np.random.default_rng(3)
    often = trials(200, {SEARCH: 0.9}, rng, ("often", "search"), runs=20)
    never = trials(200, {}, rng, ("never", "search"), runs=20)
    few = trials(3, {}, rng, ("few", "search"))
    fitted = fitted_rates([trial for trial, _ in (*often, *never, *few)])
    store = fitted.store[SEARCH].rate
    assert fitted.of(("often", "search"), SEARCH) > 0.7
    assert fitted.of(("never", "search"), SEARCH) < 0.1
    assert fitted.of(("few", "search"), SEARCH) == pytest.approx(store, abs=0.12)


@pytest.mark.parametrize("rates", [{SEARCH: 0.6}, {CALLING: 0.5}, {SEARCH: 0.2, CALLING: 0.3}], ids=str)
def test_by_fitted_rates_a_probability_is_the_share_that_truly_changed(rates: dict[Step, float]) -> None:
    drawn = trials(500, rates, np.random.default_rng(4), runs=4)
    fitted = fitted_rates([trial for trial, _ in drawn])

    def error(known: ChangeRates) -> float:
        """The calibration error over all steps of all trials, in ten bins."""
        told = np.array(
            [changes([known.of(HERE, step) for step in STEPS]) for trial, _ in drawn for _, changes in trial.orders]
        )
        true = np.array([changes for _, changes in drawn])
        bins = np.minimum((told * 10).astype(int), 9)
        gaps = [
            abs(told[bins == each].mean() - true[bins == each].mean()) * (bins == each).mean()
            for each in set(bins.flat)
        ]
        return float(sum(gaps))

    assert error(fitted) < 0.05
    assert error(fitted) < error(ChangeRates())
