"""Figures of merit against cases worked out by hand, as scikit-learn defines F1."""

import math
import random

import pytest

from toolablate.experiments.planted.proof import (
    CAUSES,
    Cause,
    Verdict,
    blamed,
    calibration_error,
    cause_of,
    confusion,
    constant_step,
    covers,
    error_of_calibrated,
    f1_scores,
    guessed_f1,
    guessed_step,
    macro_f1,
    majority_f1,
    reliability,
    share_error,
    step_rates,
)


def verdicts(*pairs: tuple[Cause, Cause | None]) -> list[Verdict]:
    return [Verdict(truth, said) for truth, said in pairs]


def test_f1_counts_what_is_missed_and_what_is_said_wrongly() -> None:
    found = verdicts(("lock_in", "lock_in"), ("lock_in", "budget"), ("budget", "budget"), ("sampling_noise", None))
    # lock_in: 1 of 1 said, 1 of 2 found; budget: 1 of 2 said, 1 of 1 found; noise never said.
    assert f1_scores(found) == {"lock_in": pytest.approx(2 / 3), "budget": pytest.approx(2 / 3), "sampling_noise": 0.0}
    assert macro_f1(found) == pytest.approx(4 / 9)
    assert confusion(found)["lock_in"] == {"lock_in": 1, "budget": 1}


def test_a_class_that_is_said_and_never_true_counts_as_one() -> None:
    assert macro_f1(verdicts(("sampling_noise", "sampling_noise"), ("sampling_noise", "format"))) == pytest.approx(
        (2 / 3 + 0) / 2
    )
    with pytest.raises(ValueError, match="no verdicts"):
        macro_f1([])


def test_whoever_names_the_commonest_cause_gets_its_f1_alone() -> None:
    found = verdicts(("sampling_noise", None), ("sampling_noise", None), ("sampling_noise", None), ("budget", None))
    assert majority_f1(found) == pytest.approx((2 * 3 / (3 + 4)) / 2)


def test_a_guess_among_nine_equal_classes_gets_a_ninth() -> None:
    found = [Verdict(cause, None) for cause in CAUSES for _ in range(200)]
    assert guessed_f1(found) == pytest.approx(1 / 9, abs=0.005)


def test_every_mechanism_but_unknown_has_a_class() -> None:
    assert cause_of("retrieval_distraction") == "misleading_adoption"
    assert cause_of("retrieval_distraction", "over_engineering") == "existence_as_norm"
    assert {cause_of("calling"), cause_of("prompt"), cause_of("availability")} == {"availability"}
    assert cause_of("sampling_noise") == "sampling_noise"
    assert cause_of("unknown") is None


def test_steps_count_where_the_belief_truly_falls() -> None:
    found = [
        Verdict("lock_in", "lock_in", true_step=3, said_step=3),
        Verdict("lock_in", "budget", true_step=3, said_step=3),
        Verdict("lock_in", "lock_in", true_step=3, said_step=4),
        Verdict("lock_in", "lock_in", true_step=3),
        Verdict("sampling_noise", "sampling_noise", said_step=2),
    ]
    rates = step_rates(found)
    assert (rates.exact, rates.near, rates.joint, rates.trials) == (0.5, 0.75, 0.25, 4)
    assert rates.false == 1
    assert step_rates([*found, Verdict("sampling_noise", "sampling_noise")]).false == 0.5
    assert step_rates([]).exact is None
    assert guessed_step([(1, 5), (2, 3)]) == pytest.approx((1 / 4 + 1 / 2) / 2)


def test_whoever_names_one_place_every_time_may_count_it_from_the_end() -> None:
    assert constant_step([(1, 5), (1, 3), (2, 7)]) == pytest.approx(2 / 3)
    assert constant_step([(4, 5), (2, 3), (3, 4), (3, 8)]) == 0.75
    assert constant_step([]) is None


def test_blame_is_of_pure_noise_alone_and_for_tools_alone() -> None:
    said: list[Cause | None] = ["lock_in", "sampling_noise", "own_error", None]
    found = [Verdict("sampling_noise", each, pure=True) for each in said]
    assert blamed([*found, Verdict("budget", "lock_in"), Verdict("sampling_noise", "lock_in")]) == 0.25
    assert blamed(verdicts(("budget", "sampling_noise"), ("sampling_noise", "lock_in"))) is None


def test_calibration_error_is_what_bins_are_off_by() -> None:
    found = [Verdict("sampling_noise", "sampling_noise", 0.95)] * 3 + [Verdict("sampling_noise", "budget", 0.95)]
    found += [Verdict("sampling_noise", "budget", 0.25)] * 4 + [Verdict("sampling_noise", None, 0.5)]
    assert calibration_error(found) == pytest.approx((4 * 0.2 + 4 * 0.25) / 8)
    assert [each.verdicts for each in reliability(found)] == [4, 4]
    assert calibration_error([]) is None


def test_confidences_that_are_true_have_next_to_no_calibration_error() -> None:
    rng = random.Random(0)
    found = []
    for _ in range(20_000):
        sure = rng.random()
        found.append(Verdict("sampling_noise", "sampling_noise" if rng.random() < sure else "budget", sure))
    error = calibration_error(found)
    assert error is not None
    assert error < 0.02


def test_few_confidences_that_are_true_have_a_calibration_error_by_chance() -> None:
    rng = random.Random(1)
    few = [Verdict("sampling_noise", "sampling_noise", rng.uniform(0.4, 1)) for _ in range(100)]
    by_chance, of_many = error_of_calibrated(few), error_of_calibrated(few * 25)
    assert by_chance is not None
    assert of_many is not None
    assert 0.04 < by_chance < 0.15
    assert of_many < by_chance / 3
    assert error_of_calibrated([Verdict("sampling_noise", "sampling_noise", 1.0)] * 9) == 0
    assert error_of_calibrated([Verdict("sampling_noise", None)]) is None


def test_a_confidence_of_one_is_in_the_last_bin() -> None:
    (only,) = reliability(
        [Verdict("sampling_noise", "sampling_noise", 1.0), Verdict("sampling_noise", "sampling_noise", 0.9)]
    )
    assert only.verdicts == 2


def test_shares_that_nobody_names_are_nothing() -> None:
    assert share_error({"sampling_noise": 3.0}, {"lock_in": -5.0}, ["sampling_noise", "lock_in"]) == 4.0
    assert covers((-1.0, 2.0), 2.0)
    assert not covers((-1.0, 2.0), 2.1)
    assert covers((0.0, 0.0), math.ulp(0.1))
