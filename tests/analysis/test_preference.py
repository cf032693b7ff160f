"""Net preference by hand, and how often its intervals hold the truth of simulated worlds."""

import math
from typing import Any

import numpy as np
import pytest

from toolablate.analysis.preference import (
    CheckedVerdict,
    JudgedPair,
    corrected_net,
    judge_calibration,
    preference_figures,
)


def pair(number: int, value: int, **more: Any) -> JudgedPair:
    given: dict[str, Any] = {"between": "agreed", "first": (1, -1), "length_before": 100, "length_after": 200} | more
    question = given.pop("question", f"q{number}")
    return JudgedPair(question=question, unit=given.pop("unit", ("question", question)), value=value, **given)


def test_figures_by_hand() -> None:
    found = preference_figures(
        [
            pair(1, 1),
            pair(2, 1, length_after=50),
            pair(3, -1, first=(-1, -1)),
            pair(4, 0, between="turned", first=(1, 1)),
            pair(5, 0, between="half", first=(0, 1)),
            pair(6, 0, between="rule", first=()),
        ]
    )
    assert (found.pairs, found.wins, found.losses, found.ties, found.by_rule) == (6, 2, 1, 3, 1)
    assert found.net_points == pytest.approx(100 / 6)
    assert found.tied == pytest.approx(50)
    assert found.turned == pytest.approx(20)
    assert found.longer_points == pytest.approx(100 * 4 / 6)
    assert found.like_longer == pytest.approx(100 / 3)
    assert found.first_share == pytest.approx(100 * 5 / 9)
    assert found.length_ratio == pytest.approx(2 ** (4 / 6))
    assert found.small


def test_what_a_rule_decides_is_no_liking_of_the_judge() -> None:
    """An empty answer loses to a longer one without being shown to a judge."""
    judged = [pair(1, 1), pair(2, -1)]
    assert preference_figures([*judged, *(pair(n, 1, between="rule") for n in range(3, 9))]).like_longer == 50
    assert preference_figures([pair(1, 1, between="rule")]).like_longer is None


def test_repeats_of_a_question_weigh_as_one() -> None:
    found = preference_figures([pair(1, 1, question="q"), pair(2, 1, question="q"), pair(3, -1, question="r")])
    assert (found.questions, found.net_points) == (2, 0)


def test_of_no_pair_nothing_is_known() -> None:
    found = preference_figures([])
    assert (found.pairs, found.net_points, found.p_value, found.length_ratio) == (0, None, None, None)


def test_where_lengths_do_not_differ_there_is_no_line() -> None:
    assert preference_figures([pair(n, n % 3 - 1) for n in range(9)]).equal_length_points is None


def test_the_line_is_that_of_least_squares() -> None:
    drawn = np.random.default_rng(2)
    pairs = [
        pair(
            n,
            int(drawn.integers(-1, 2)),
            length_before=int(drawn.integers(50, 400)),
            length_after=int(drawn.integers(50, 400)),
        )
        for n in range(60)
    ]
    slope, intercept = np.polyfit(
        [math.log2(p.length_after / p.length_before) for p in pairs], [p.value for p in pairs], 1
    )
    found = preference_figures(pairs)
    assert found.equal_length_points == pytest.approx(100 * intercept)
    assert found.per_doubling_points == pytest.approx(100 * slope)
    assert found.equal_length_ci95 is not None
    assert found.equal_length_ci95[0] < 100 * intercept < found.equal_length_ci95[1]
    for interval, value in (
        (found.per_doubling_ci95, found.per_doubling_points),
        (found.like_longer_ci95, found.like_longer),
        (found.length_ratio_ci95, found.length_ratio),
    ):
        assert interval is not None
        assert interval[0] < value < interval[1]


def world(drawn: np.random.Generator, clusters: int, net: float, per_doubling: float) -> list[JudgedPair]:
    """Clusters of two questions; a judge that likes the better answer, and the longer one."""
    pairs = []
    for cluster in range(clusters):
        shared, mood = drawn.normal(0, 0.3), drawn.choice([-0.15, 0.15])
        for place in range(2):
            doubled = drawn.normal(0.8, 0.5) + shared
            mean = float(np.clip(net + per_doubling * doubled + mood, -0.95, 0.95))
            decided = 0.7
            up = (decided + mean) / 2 if abs(mean) <= decided else (1 + mean) / 2
            down = up - mean
            value = int(drawn.choice([1, -1, 0], p=[up, down, max(0.0, 1 - up - down)]))
            pairs.append(
                pair(
                    0,
                    value,
                    question=f"{cluster}.{place}",
                    unit=("cluster", str(cluster)),
                    between="turned" if value == 0 and drawn.random() < 0.5 else "agreed",
                    first=(int(drawn.choice([1, -1], p=[0.6, 0.4])),),
                    length_before=1_000,
                    length_after=round(1_000 * 2**doubled),
                )
            )
    return pairs


@pytest.mark.deep
def test_intervals_hold_the_truth_and_length_is_regressed_out() -> None:
    """The raw net preference is .1 of quality and .12 of length; at equal length the quality alone is left."""
    drawn, worlds = np.random.default_rng(11), 400
    truth = preference_figures(world(np.random.default_rng(1), 10_000, 0.1, 0.15), resamples=10)
    assert truth.equal_length_points == pytest.approx(10, abs=1.5)
    assert truth.net_points == pytest.approx(22, abs=1.5)
    names = ("net", "equal_length", "tied", "turned", "first", "per_doubling", "like_longer", "length_ratio")
    values = [22.0, 10.0, truth.tied, truth.turned, 60.0]
    values += [truth.per_doubling_points, truth.like_longer, truth.length_ratio]
    hits = dict.fromkeys(names, 0)
    for _ in range(worlds):
        found = preference_figures(world(drawn, 80, 0.1, 0.15), resamples=2_000)
        for name, value in zip(names, values, strict=True):
            low, high = getattr(found, f"{name}_ci95")
            hits[name] += low <= value <= high
    assert all(count / worlds >= 0.92 for count in hits.values()), hits


@pytest.mark.deep
def test_p_is_below_five_percent_in_five_percent_of_worlds_without_a_preference() -> None:
    drawn = np.random.default_rng(3)

    def none(count: int) -> list[JudgedPair]:
        return [pair(n, int(drawn.choice([1, -1, 0], p=[0.3, 0.3, 0.4]))) for n in range(count)]

    found = [preference_figures(none(60), resamples=300).p_value for _ in range(500)]
    assert sum(p < 0.05 for p in found if p is not None) / len(found) <= 0.075


def checked(number: int, label: Any, verdict: Any, longer: Any = "b") -> CheckedVerdict:
    return CheckedVerdict(label, verdict, longer, ("question", str(number)))


def test_a_calibration_by_hand() -> None:
    said = [("a", "a"), ("a", "a"), ("a", "b"), ("b", "b"), ("b", "same"), ("same", "same"), ("same", "a")]
    found = judge_calibration([checked(n, label, verdict) for n, (label, verdict) in enumerate(said)])
    assert found.counts["a"] == {"a": 2, "b": 1, "same": 0}
    assert found.accuracy == pytest.approx(100 * 4 / 7)
    assert found.longer_accuracy == pytest.approx(100 * 2 / 7)
    assert found.sharpness == pytest.approx(100 * (2 - 1 + 1 + 0) / 5)
    assert (found.tie_recall, found.false_ties) == (50, 20)
    assert found.sees_ties
    assert "not reliably right more often" in found.weak
    assert found.accuracy_ci95 is not None
    assert found.accuracy_ci95[0] < found.accuracy < found.accuracy_ci95[1]
    # Of two ties a resample may have none.
    assert found.tie_recall_ci95 is None


def test_a_judge_as_good_as_the_longer_answer_is_too_weak_and_a_sharp_one_is_not() -> None:
    drawn = np.random.default_rng(4)
    labels = drawn.choice(["a", "b"], size=200)
    longer = np.where(drawn.random(200) < 0.6, labels, np.where(labels == "a", "b", "a"))
    weak = [checked(n, label, long, long) for n, (label, long) in enumerate(zip(labels, longer, strict=True))]
    sharp = [checked(n, label, label, long) for n, (label, long) in enumerate(zip(labels, longer, strict=True))]
    assert judge_calibration(weak, resamples=500).weak
    assert not judge_calibration(sharp, resamples=500).weak
    assert not judge_calibration(sharp, resamples=500).sees_ties


def test_a_correction_divides_by_the_sharpness() -> None:
    half = [checked(n, "a", "a" if n % 4 else "b") for n in range(80)]
    pairs = [pair(n, 1 if n % 5 == 0 else 0) for n in range(100)]
    found = corrected_net(pairs, half)
    assert found is not None
    assert found[0] == pytest.approx(20 / 0.5)
    assert found[1] is not None
    assert found[1][0] < found[0] < found[1][1]
    assert corrected_net(pairs, [checked(n, "a", "b") for n in range(9)]) is None
    assert corrected_net([], half) is None


def test_a_correction_leaves_alone_what_a_rule_decided() -> None:
    """No judge saw these pairs, so that no error of a judge made them smaller."""
    half = [checked(n, "a", "a" if n % 4 else "b") for n in range(80)]
    ruled = [pair(n, 1, between="rule") for n in range(40)]
    judged = [pair(n, 1 if n % 3 == 0 else 0) for n in range(40, 100)]
    found = corrected_net([*ruled, *judged], half)
    assert found is not None
    assert found[0] == pytest.approx(40 + 20 / 0.5)
    only = corrected_net(ruled, half)
    assert only is not None
    assert only[0] == 100


def test_a_correction_stays_between_its_bounds() -> None:
    """A judged pair counts for one at most, whatever the sharpness."""
    half = [checked(n, "a", "a" if n % 4 else "b") for n in range(80)]
    for sign in (1, -1):
        all_won = corrected_net([pair(n, sign if n % 10 else 0) for n in range(100)], half)
        assert all_won is not None
        assert all_won[0] == 100 * sign
        assert all_won[1] is not None
        assert all(abs(bound) <= 100 for bound in all_won[1])
    beside = corrected_net([pair(n, -1, between="rule") if n < 40 else pair(n, 1) for n in range(100)], half)
    assert beside is not None
    assert beside[0] == pytest.approx(60 - 40)


@pytest.mark.deep
@pytest.mark.parametrize("ruled", [0, 40])
def test_corrected_intervals_hold_the_preference_of_experts(ruled: int) -> None:
    """A judge with h = .7, m = .15 (sharpness .55), of a condition that experts prefer by 30 points in what is judged;
    of as many pairs as are `ruled` a rule decides half for the condition."""
    drawn, hits, worlds = np.random.default_rng(8), 0, 500
    rows = {"a": [0.7, 0.15, 0.15], "b": [0.15, 0.7, 0.15], "same": [0.3, 0.3, 0.4]}
    kinds = ["a", "b", "same"]
    values = {"a": -1, "b": 1, "same": 0}
    for _ in range(worlds):
        labels = drawn.choice(kinds, size=150, p=[0.45, 0.4, 0.15])
        known = [checked(n // 2, label, drawn.choice(kinds, p=rows[label])) for n, label in enumerate(labels)]
        truth = drawn.choice(kinds, size=120, p=[0.2, 0.5, 0.3])
        pairs = [pair(n, values[drawn.choice(kinds, p=rows[label])]) for n, label in enumerate(truth)]
        pairs += [pair(120 + n, int(drawn.integers(2)), between="rule") for n in range(ruled)]
        found = corrected_net(pairs, known, resamples=1_000)
        assert found is not None
        assert found[1] is not None
        hits += found[1][0] <= (30 * 120 + 50 * ruled) / (120 + ruled) <= found[1][1]
    assert 0.92 <= hits / worlds <= 0.985, hits
