"""Where a belief turns, where it does not, and how often noise is taken for a turn."""

import numpy as np
import pytest
from tests.traces.attribution.belief.paths import falling, probed, recovering, rising, steady

from toolablate.analysis.attribution.belief import Probe, flip_step, trajectory

STEPS, RUNS = 12, 400
KNOWN = 400
"""Samples so many that shares are what they are."""


def flip_of(*shares: float, tau: float = 0.3) -> int | None:
    right = [round(KNOWN * share) for share in shares]
    found = trajectory(Probe(step, {"A": KNOWN}, 0, count) for step, count in enumerate(right))
    flip = flip_step(found, tau, resamples=20)
    return None if flip is None else flip.step


@pytest.mark.parametrize(
    ("shares", "step"),
    [
        ((0.9, 0.9, 0.2, 0.2), 2),
        ((0.9, 0.5, 0.1), 1),  # the first of two falls
        ((0.9, 0.2, 0.9, 0.2), 3),  # the first one recovers
        ((0.9, 0.2, 0.9, 0.9), None),
        ((0.9, 0.4, 0.7, 0.7), 1),  # comes back, but not by half of tau
        ((0.9, 0.4, 0.8, 0.8), None),
        ((0.9, 0.7, 0.5, 0.3), None),  # no step of it is as large as tau
        ((0.9, 0.6, 0.6, 0.6), 1),  # exactly tau
        ((0.2, 0.9, 0.9, 0.3), 3),
        ((0.5, 0.5), None),
        ((0.5,), None),
    ],
)
def test_the_flip_is_the_first_fall_that_never_recovers(shares: tuple[float, ...], step: int | None) -> None:
    assert flip_of(*shares) == step


def test_a_flip_says_between_which_probed_steps_and_levels_it_is() -> None:
    found = trajectory([Probe(0, {"A": 16}, 0, 15), Probe(3, {"A": 8}, 0, 7), Probe(7, {"A": 12, "B": 2}, 2, 2)])
    flip = flip_step(found, 0.5)
    assert flip is not None
    assert (flip.after, flip.step) == (3, 7)
    assert (flip.before, flip.level) == (pytest.approx(22 / 24), pytest.approx(2 / 16))
    assert flip.confidence > 0.9
    assert flip == flip_step(found, 0.5)


@pytest.mark.parametrize("tau", [0.0, -0.2, 1.1])
def test_a_fall_that_cannot_be_is_refused(tau: float) -> None:
    with pytest.raises(ValueError, match="tau"):
        flip_step(trajectory([Probe(0, {"A": 1}, 0, 1)]), tau)


@pytest.mark.parametrize("samples", [4, 8, 16, 32])
@pytest.mark.parametrize("tau", [0.2, 0.3, 0.5])
def test_a_flip_is_seldom_found_where_there_is_none(samples: int, tau: float) -> None:
    rng, found = np.random.default_rng([samples, 1]), []
    for _ in range(RUNS):
        paths = [make(STEPS, rng) for make in (steady, rising, recovering)]
        found.append([flip_step(probed(path, samples, rng), tau, resamples=1) is not None for path in paths])
    of_steady, of_rising, of_recovering = np.mean(found, axis=0).tolist()
    assert of_steady <= 0.06
    assert of_rising <= 0.05
    # A recovery of three steps is no more than noise where these have few samples: at tau = .2 it is 13 % with four or
    # eight a step, 7 % with sixteen, 3 % with thirty-two.
    assert of_recovering <= (0.16 if samples < 16 else 0.10 if samples == 16 else 0.05)
    assert tau < 0.5 or of_recovering <= 0.04


@pytest.mark.parametrize(
    ("tau", "exact", "near"),
    [
        (0.2, {4: 0.30, 8: 0.58, 16: 0.82, 32: 0.95}, {4: 0.45, 8: 0.70, 16: 0.88, 32: 0.97}),
        (0.3, {4: 0.48, 8: 0.74, 16: 0.92, 32: 0.97}, {4: 0.60, 8: 0.82, 16: 0.94, 32: 0.98}),
        (0.5, {4: 0.77, 8: 0.92, 16: 0.97, 32: 0.98}, {4: 0.85, 8: 0.94, 16: 0.97, 32: 0.98}),
    ],
)
@pytest.mark.parametrize("samples", [4, 8, 16, 32])
def test_a_fall_of_tau_and_two_tenths_is_found_where_it_is(
    tau: float, exact: dict[int, float], near: dict[int, float], samples: int
) -> None:
    rng, away = np.random.default_rng([samples, 2]), []
    for _ in range(RUNS):
        fall, high = int(rng.integers(1, STEPS + 1)), rng.uniform(tau + 0.2, 1)
        flip = flip_step(probed(falling(STEPS, fall, high, high - tau - 0.2), samples, rng), tau, resamples=1)
        away.append(STEPS if flip is None else abs(flip.step - fall))
    assert np.mean(np.array(away) == 0) >= exact[samples]
    assert np.mean(np.array(away) <= 1) >= near[samples]


def test_the_confidence_is_lower_than_how_often_the_step_is_right_and_tells_doubtful_flips_from_others() -> None:
    """A resample has the noise of its probes and its own: .69 where .85 of the steps are right."""
    rng, sure, right = np.random.default_rng(3), [], []
    for _ in range(RUNS):
        fall, high = int(rng.integers(1, STEPS + 1)), rng.uniform(0.5, 1)
        flip = flip_step(probed(falling(STEPS, fall, high, high - 0.5), 8, rng), 0.3, resamples=100)
        if flip is not None:
            sure.append(flip.confidence)
            right.append(flip.step == fall)
    assert np.mean(right) - 0.25 <= np.mean(sure) <= np.mean(right)
    doubtful = np.array(sure) < np.median(sure)
    assert np.mean(np.array(right)[doubtful]) < np.mean(np.array(right)[~doubtful]) - 0.1


def test_a_slide_over_all_steps_is_taken_for_a_flip_with_a_low_confidence() -> None:
    rng = np.random.default_rng(5)
    flips = [flip_step(probed(np.linspace(0.9, 0.1, STEPS + 1), 8, rng), 0.3, resamples=100) for _ in range(50)]
    found = [flip.confidence for flip in flips if flip is not None]
    assert len(found) >= 45
    assert np.mean(found) < 0.5
