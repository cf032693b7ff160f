"""Where a belief turns, where it does not, and how often noise is taken for a turn."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from tests.analysis.attribution.stories import falling, probed, recovering, rising, steady

from toolablate.analysis.attribution.belief import Probe, belief_steps, flip_step, share, trajectory
from toolablate.analysis.attribution.decomposition import inclusion_probability, is_sampled
from toolablate.traces.records import (
    Answer,
    Event,
    Failure,
    Message,
    ModelCall,
    ModelReply,
    ModelRequest,
    ReplayDesign,
    ToolCall,
    ToolRequest,
    digest_text,
)

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


# Shares along a trace: counts, intervals, and differences that sum to the whole.


@st.composite
def probes(draw: st.DrawFn) -> list[Probe]:
    steps = draw(st.lists(st.integers(0, 40), min_size=1, max_size=12, unique=True))
    found = []
    for step in steps:
        options = draw(st.dictionaries(st.sampled_from("ABCD"), st.integers(0, 9), min_size=1))
        unreadable = draw(st.integers(0 if sum(options.values()) else 1, 5))
        found.append(Probe(step, options, unreadable, draw(st.integers(0, sum(options.values())))))
    return found


@given(probes())
def test_shares_of_each_step_sum_to_one(asked: list[Probe]) -> None:
    found = trajectory(asked)
    assert [belief.step for belief in found.beliefs] == sorted(probe.step for probe in asked)
    names = {name for probe in asked for name in probe.options}
    for belief in found.beliefs:
        assert belief.options.keys() == names
        shares = [belief.unreadable, *belief.options.values()]
        assert math.fsum(each.mean for each in shares) == pytest.approx(1, abs=1e-12)
        for each in (*shares, belief.right):
            assert 0 <= each.low <= each.mean <= each.high <= 1


def test_what_cannot_be_read_is_not_right_and_an_answer_that_nobody_gave_has_a_share_of_nothing() -> None:
    found = trajectory([Probe(3, {"A": 2}, 2, 2), Probe(0, {"B": 3, "A": 1}, 0, 1)])
    first, last = found.beliefs
    assert (first.step, first.samples, first.options["A"].mean, first.right.mean) == (0, 4, 0.25, 0.25)
    assert (last.options["A"].mean, last.options["B"].mean, last.unreadable.mean) == (0.5, 0.0, 0.5)
    assert last.right.mean == 0.5


@pytest.mark.parametrize(
    ("counts", "what"),
    [((0, {}, 0, 0), "at least one sample"), ((2, {"A": 1}, 3, 2), "2 right of 1"), ((1, {"A": -1}, 3, 0), "step 1")],
)
def test_counts_that_cannot_be_are_refused(counts: tuple[int, dict[str, int], int, int], what: str) -> None:
    with pytest.raises(ValueError, match=what):
        Probe(*counts)


def test_a_trajectory_has_probes_one_for_a_step() -> None:
    with pytest.raises(ValueError, match="at least one"):
        trajectory([])
    with pytest.raises(ValueError, match="two probes"):
        trajectory([Probe(1, {"A": 1}, 0, 0), Probe(1, {"A": 1}, 0, 1)])


@pytest.mark.parametrize(("count", "samples"), [(0, 4), (3, 8), (8, 8), (31, 32)])
def test_the_interval_is_wilsons(count: int, samples: int) -> None:
    theirs = stats.binomtest(count, samples).proportion_ci(0.9, method="wilson")
    assert share(count, samples, confidence=0.9).low == pytest.approx(theirs.low)
    assert share(count, samples, confidence=0.9).high == pytest.approx(theirs.high)


@pytest.mark.parametrize("samples", [4, 8, 16, 32])
def test_intervals_cover_the_truth_nineteen_times_in_twenty(samples: int) -> None:
    """Written out, not simulated: over all true shares alike. Of single shares some are covered less often."""
    intervals = [share(count, samples) for count in range(samples + 1)]
    truths = [(place + 0.5) / 500 for place in range(500)]
    covered = [
        sum(
            chance
            for chance, each in zip(stats.binom.pmf(range(samples + 1), samples, truth), intervals, strict=True)
            if each.low <= truth <= each.high
        )
        for truth in truths
    ]
    assert sum(covered) / len(covered) == pytest.approx(0.95, abs=0.012)
    assert min(covered) > 0.82


ASK = ModelCall(
    at=0,
    request=ModelRequest(messages=(Message(role="user", content="What is it?"),)),
    reply=ModelReply(message=Message(role="assistant", content="B"), finish_reason="stop"),
)
CALL = ToolCall(at=0, call=ToolRequest(id="1", name="python", arguments="{}"), output="1")
FAILED = Failure(at=0, boundary="model", code="timeout", message="late", retried=True)
ANSWER = Answer(at=0, text="B")

TRIALS = [digest_text(str(number)) for number in range(4_000)]


def test_steps_are_the_requests_and_the_first_call_of_each_turn() -> None:
    conversation: list[Event] = [ASK, CALL, CALL, FAILED, ASK, FAILED, CALL, ASK, ANSWER]
    assert belief_steps(conversation) == (0, 1, 4, 6, 7)


def test_a_trial_that_asked_nothing_has_no_steps() -> None:
    assert belief_steps([FAILED]) == ()


def test_the_lot_falls_with_the_probabilities_of_the_design() -> None:
    design = ReplayDesign(seed=3, failures=0.8, successes=0.2)
    for value, chance in ((0.0, 0.8), (0.49, 0.8), (0.5, 0.2), (1.0, 0.2)):
        assert inclusion_probability(design, value) == chance
        drawn = sum(is_sampled(design, trial, value) for trial in TRIALS) / len(TRIALS)
        # Four standard errors.
        assert abs(drawn - chance) < 4 * (0.16 / len(TRIALS)) ** 0.5


def test_a_larger_share_chooses_the_same_trials_and_more() -> None:
    small, large = ReplayDesign(successes=0.2), ReplayDesign(successes=0.6)
    chosen = {trial for trial in TRIALS if is_sampled(small, trial, 1.0)}
    assert chosen < {trial for trial in TRIALS if is_sampled(large, trial, 1.0)}


def test_another_seed_chooses_others() -> None:
    first, second = ReplayDesign(failures=0.5), ReplayDesign(failures=0.5, seed=1)
    assert [is_sampled(first, trial, 0.0) for trial in TRIALS] != [is_sampled(second, trial, 0.0) for trial in TRIALS]


def test_shares_of_all_and_of_none() -> None:
    design = ReplayDesign(failures=1.0, successes=0.0)
    assert all(is_sampled(design, trial, 0.0) for trial in TRIALS)
    assert not any(is_sampled(design, trial, 1.0) for trial in TRIALS)
