"""What is asked next: searches for a fall that is known, by simulation, and the gains that levels are chosen by."""

from collections.abc import Mapping

import numpy as np
import pytest
from scipy.stats import betabinom
from tests.analysis.attribution.stories import falling

from toolablate.analysis.attribution.belief import Probe, flip_step, trajectory
from toolablate.analysis.attribution.fall_search import FallSearch, next_step
from toolablate.analysis.attribution.sequential import (
    HIGH,
    LEAST_GAIN,
    LEAST_GAIN_PER_REQUEST,
    LOOKAHEAD,
    LOW,
    best_of,
    expected_gains,
    information,
)
from toolablate.analysis.statistics.intervals import Floats

RUNS, BATCH = 200, 2
Asked = Mapping[int, tuple[int, int]]


def searched(search: FallSearch, path: Floats, rng: np.random.Generator) -> dict[int, tuple[int, int]]:
    """By step the right answers and all answers, asked for two at a time until no more are wanted."""
    asked: dict[int, tuple[int, int]] = {}
    while (step := next_step(search, asked)) is not None:
        right, samples = asked.get(step, (0, 0))
        assert samples < search.most
        asked[step] = (right + int(rng.binomial(BATCH, path[step])), samples + BATCH)
    return asked


def answers(asked: Asked) -> int:
    return sum(samples for _, samples in asked.values())


def fall_of(asked: Asked) -> tuple[int, int] | None:
    """As attribution reads it."""
    probes = [Probe(step, {"A": right, "B": n - right}, 0, right) for step, (right, n) in sorted(asked.items())]
    found = flip_step(trajectory(probes), 0.3, resamples=20)
    return (found.after, found.step) if found else None


@pytest.mark.parametrize("steps", [1, 2, 3, 8, 48])
def test_a_sure_fall_is_found_at_every_step_by_halving(steps: int) -> None:
    search = FallSearch(steps)
    for fall in range(1, steps + 1):
        asked = searched(search, falling(steps, fall, 1.0, 0.0), np.random.default_rng(0))
        assert fall_of(asked) == (fall - 1, fall)
        # Both ends, one step for each halving, and once more on both sides of the fall.
        assert answers(asked) <= BATCH * (2 + (steps - 1).bit_length() + 2)


@pytest.mark.deep
@pytest.mark.parametrize("steps", [8, 24, 48])
def test_a_fall_is_found_about_as_often_as_stated_with_fewer_answers_than_all_steps_take(steps: int) -> None:
    rng, found, asked_for = np.random.default_rng(steps), 0, 0
    for _ in range(RUNS):
        fall = int(rng.integers(1, steps + 1))
        asked = searched(FallSearch(steps, precision=0.9), falling(steps, fall, 0.9, 0.1), rng)
        found += fall_of(asked) == (fall - 1, fall)
        asked_for += answers(asked)
    # Less three standard errors of a share of .9: .064.
    assert found / RUNS >= 0.9 - 3 * np.sqrt(0.9 * 0.1 / RUNS)
    assert asked_for / RUNS < BATCH * (steps + 1)


@pytest.mark.deep
def test_a_higher_precision_takes_more_answers() -> None:
    found, asked_for = dict.fromkeys((0.6, 0.9, 0.98), 0), dict.fromkeys((0.6, 0.9, 0.98), 0)
    for precision in found:
        rng = np.random.default_rng(3)
        for _ in range(RUNS):
            fall = int(rng.integers(1, 17))
            asked = searched(FallSearch(16, precision), falling(16, fall, 0.9, 0.1), rng)
            found[precision] += fall_of(asked) == (fall - 1, fall)
            asked_for[precision] += answers(asked)
    assert list(asked_for.values()) == sorted(asked_for.values())
    assert min(found.values()) > 0.85 * RUNS


@pytest.mark.parametrize("right", [0.0, 1.0])
def test_a_belief_that_stays_what_it_is_costs_the_ends_alone(right: float) -> None:
    asked = searched(FallSearch(24), np.full(25, right), np.random.default_rng(0))
    assert asked.keys() == {24, 0}
    assert answers(asked) <= 3 * BATCH


@pytest.mark.deep
def test_a_belief_that_never_falls_is_seldom_said_to() -> None:
    rng = np.random.default_rng(5)
    settled = [
        asked
        for share in rng.uniform(0, 1, RUNS)
        if next_step(FallSearch(16, most=99), asked := searched(FallSearch(16), np.full(17, share), rng)) is None
    ]
    # Of those that seem settled; those that are not are left open.
    assert np.mean([fall_of(asked) is not None for asked in settled]) <= 0.1


@pytest.mark.parametrize("most", [2, 8])
def test_no_step_is_asked_for_more_often_than_may_be(most: int) -> None:
    rng, search = np.random.default_rng(6), FallSearch(12, precision=0.999, most=most)
    for _ in range(20):
        asked = searched(search, np.full(13, 0.5), rng)
        assert max(samples for _, samples in asked.values()) <= most


def test_what_is_known_from_elsewhere_is_not_asked_for_again() -> None:
    known = {0: (4, 4), 4: (4, 4), 5: (0, 4), 8: (0, 4)}
    assert next_step(FallSearch(8), known) is None
    assert next_step(FallSearch(8), {8: (0, 4)}) == 0
    assert next_step(FallSearch(8), {}) == 8


# Two hypotheses that one candidate tells apart and another does not.


NAMED = np.eye(2)
GOOD, BAD = (np.array([[HIGH[part], 1.0], [LOW[part], 1.0]]) for part in (0, 1))


def test_the_gain_is_the_mean_over_outcomes_of_what_is_likeliest_then() -> None:
    weights = np.array([0.6, 0.4])
    gains = expected_gains(weights, NAMED, GOOD, BAD)
    outcomes = [betabinom(LOOKAHEAD, *prior).pmf(np.arange(LOOKAHEAD + 1)) for prior in (HIGH, LOW)]
    expected = np.maximum(0.6 * outcomes[0], 0.4 * outcomes[1]).sum() - 0.6
    assert gains == pytest.approx([expected, 0.0])
    # One name for both: which of them is true would change nothing.
    assert expected_gains(weights, np.ones((1, 2)), GOOD, BAD) == pytest.approx([0.0, 0.0])


@pytest.mark.parametrize("share", [0.5, 0.9, 1.0])
def test_information_is_what_entropy_falls_by(share: float) -> None:
    weights = np.array([share, 1 - share])
    outcomes = np.array([betabinom(LOOKAHEAD, *prior).pmf(np.arange(LOOKAHEAD + 1)) for prior in (HIGH, LOW)])
    joint = weights[:, None] * outcomes
    after = joint / joint.sum(axis=0)

    def entropy(of: Floats) -> Floats:
        found: Floats = -(of * np.log(np.where(of > 0, of, 1))).sum(axis=0)
        return found

    expected = entropy(weights) - (joint.sum(axis=0) * entropy(after)).sum()
    assert information(weights, GOOD, BAD) == pytest.approx([expected, 0.0], abs=1e-12)


def test_the_best_is_worth_most_for_its_cost_and_nothing_is_where_no_gain_is_worth_a_batch() -> None:
    assert best_of([0.1, 0.3], [1.0, 2.0]) == 1
    assert best_of([0.1, 0.3], [1.0, 4.0]) == 0
    assert best_of([LEAST_GAIN / 2, 0.1], [0.01, 4.0]) == 1
    assert best_of([0.1], [1.1 * 0.1 / LEAST_GAIN_PER_REQUEST]) is None
    assert best_of([LEAST_GAIN / 2], [0.01]) is None
    assert best_of([], []) is None
