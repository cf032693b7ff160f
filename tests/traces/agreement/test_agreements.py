"""Two scorers on the same trials, and by condition."""

from dataclasses import replace

import numpy as np
import pytest
from tests.traces.agreement.graded import AGAIN, JUDGE, OTHER, RULE, graded, trial

from toolablate.traces.analysis import FEW_DIFFERING
from toolablate.traces.analysis.agreement import (
    agreements,
    disagreements,
    grading,
    gradings,
    ordered,
    scorer_pairs,
    shifts,
)

PAIR = [(RULE, JUDGE)]


def test_trials_that_both_scored_make_the_table_and_others_are_counted_apart() -> None:
    found = graded(
        [
            (trial("q0"), {RULE: 1, JUDGE: 1}),
            (trial("q0", repeat=1), {RULE: 1, JUDGE: 0}),
            (trial("q1"), {RULE: "unparsed", JUDGE: 1}),
            (trial("q2"), {RULE: 0, JUDGE: "wrong"}),
            (trial("q3"), {RULE: 1, JUDGE: "unscored"}),
            (trial("q4"), {RULE: "unscored", JUDGE: 1}),
            (trial("q5"), {RULE: "unscored", JUDGE: "unscored"}),
            (trial("q6"), {RULE: 1}),
            (trial("q7"), {JUDGE: 0}),
            (trial("q8"), {}),
            (replace(trial("q9"), outcome="failed"), {RULE: 1, JUDGE: 1}),
        ]
    )
    (row,) = agreements(found, PAIR)
    assert (row.model, row.condition, row.trials, row.questions, row.clusters) == ("gpt-x", "none", 4, 3, 3)
    assert (row.both, row.first_only, row.second_only, row.neither) == (1, 1, 1, 1)
    assert (row.agreement, row.kappa) == (50, 0)
    # q0 is right in all, and in half, of its trials; q1 is read by the judge alone; q2 by neither.
    assert (row.first_score, row.second_score) == (pytest.approx(100 / 3), pytest.approx(50))
    assert row.difference_points == pytest.approx(50 / 3)
    assert (row.first_unparsed, row.second_unparsed) == (1, 0)
    assert (row.first_unscored, row.second_unscored, row.unscored) == (1, 1, 1)
    assert (row.first_absent, row.second_absent) == (1, 1)
    assert row.small


def test_a_graded_score_is_correct_where_it_is_whole() -> None:
    found = graded([(trial("q0"), {RULE: 0.9, JUDGE: 1}), (trial("q1"), {RULE: 0.4, JUDGE: 0})])
    (row,) = agreements(found, PAIR)
    assert (row.both, row.first_only, row.second_only, row.neither) == (0, 0, 1, 1)
    assert row.difference_points == pytest.approx(-15), "but their scores differ by what they are"


def test_scorers_that_are_always_of_one_mind_have_an_agreement_and_no_kappa() -> None:
    (row,) = agreements(graded([(trial(f"q{n}"), {RULE: 1, JUDGE: 1}) for n in range(50)]), PAIR)
    assert (row.agreement, row.agreement_ci95, row.kappa, row.kappa_ci95, row.small) == (100, None, None, None, True)


def test_scorers_that_have_no_trial_in_common_make_no_row() -> None:
    found = graded([(trial("q0"), {RULE: 1}), (trial("q1"), {JUDGE: 1})])
    assert agreements(found, PAIR) == []
    assert shifts(found, PAIR, "none") == []
    assert disagreements(found, PAIR) == []


@pytest.mark.parametrize("rare", ["differing", "both", "neither", "none of them"])
def test_few_of_a_kind_are_marked(rare: str) -> None:
    counts = {"differing": 60, "both": 60, "neither": 60} | {rare: FEW_DIFFERING - 1}
    kinds = [(1, 0)] * counts["differing"] + [(1, 1)] * counts["both"] + [(0, 0)] * counts["neither"]
    found = graded([(trial(f"q{n}"), {RULE: one, JUDGE: other}) for n, (one, other) in enumerate(kinds)])
    (row,) = agreements(found, PAIR)
    assert row.small == (rare != "none of them")
    (clustered,) = agreements({scorer: _of_one_source(seen) for scorer, seen in found.items()}, PAIR)
    assert (clustered.small, clustered.clusters, clustered.kappa) == (True, 20, row.kappa)


def _of_one_source(seen: object) -> dict[str, object]:
    return {
        name: replace(each, cluster=f"c{place % 20}")
        for place, (name, each) in enumerate(seen.items())  # type: ignore[attr-defined]
    }


def test_rows_come_by_model_and_condition_whatever_the_order_of_the_trials() -> None:
    rng = np.random.default_rng(1)
    rows = [
        (trial(f"q{n}", condition, repeat, model), {RULE: int(rng.integers(2)), JUDGE: int(rng.integers(2))})
        for model in ("b", "a")
        for condition in ("tool", "none")
        for n in range(30)
        for repeat in range(2)
    ]
    found = agreements(graded(rows), PAIR, order=["none", "tool"])
    named = [(row.model, row.condition) for row in found]
    assert named == [(None, None), ("a", "none"), ("a", "tool"), ("b", "none"), ("b", "tool")]
    assert found[0].trials == sum(row.trials for row in found[1:]) == 240
    assert agreements(graded(rows[::-1]), PAIR, order=["none", "tool"]) == found
    moved = shifts(graded(rows), PAIR, "none", order=["none", "tool"])
    assert [(row.model, row.condition) for row in moved] == [("a", "tool"), ("b", "tool")]
    assert shifts(graded(rows[::-1]), PAIR, "none", order=["none", "tool"]) == moved


def test_a_shift_is_what_the_second_scorer_says_of_an_effect_beyond_the_first() -> None:
    found = graded(
        [
            *((trial(f"q{n}"), {RULE: n % 2, JUDGE: n % 2}) for n in range(60)),
            *((trial(f"q{n}", "tool"), {RULE: n % 2, JUDGE: int(n % 4 != 0)}) for n in range(60)),
            (trial("alone", "tool"), {RULE: 0, JUDGE: 1}),
        ]
    )
    (row,) = shifts(found, PAIR, "none")
    assert (row.questions, row.first_points, row.second_points, row.points) == (60, 0, 25, 25)
    assert row.ci95 is not None
    assert 10 < row.ci95[0] < 25 < row.ci95[1] < 40
    assert (row.p_value < 0.001, row.p_holm == row.p_value, row.small) == (True, True, False)
    assert row.agreement_points == -25
    bias = {each.condition: each.difference_points for each in agreements(found, PAIR) if each.condition}
    assert bias["none"] == 0
    assert bias["tool"] == pytest.approx(100 * 16 / 61)


def test_shifts_are_corrected_for_one_another_and_gradings_of_one_judge_are_no_shift() -> None:
    rows = [
        (trial(f"q{n}", condition), {RULE: n % 2, JUDGE: int(n % 2 or n < shown), AGAIN: n % 2})
        for condition, shown in (("none", 0), ("a", 12), ("b", 12))
        for n in range(60)
    ]
    found = shifts(graded(rows), [(RULE, JUDGE), (JUDGE, AGAIN)], "none")
    assert [(row.second, row.condition) for row in found] == [(JUDGE, "a"), (JUDGE, "b")]
    assert [row.p_holm for row in found] == [2 * row.p_value for row in found]
    assert shifts(graded(rows), PAIR, "no such baseline") == []


@pytest.mark.parametrize("repeats", [1, 3])
def test_a_judge_whose_errors_are_the_same_under_all_conditions_shifts_nothing(repeats: int) -> None:
    """One time in twenty, and its interval covers 0 in the others."""
    rng, runs = np.random.default_rng(repeats), 300
    found, covered = 0, 0
    for run in range(runs):
        rows = []
        for condition, chance in (("none", 0.4), ("tool", 0.7)):
            right = rng.random((120, repeats)) < chance
            judged = right ^ (rng.random((120, repeats)) < 0.15)
            rows += [
                (trial(f"q{n}", condition, k), {RULE: int(right[n, k]), JUDGE: int(judged[n, k])})
                for n in range(120)
                for k in range(repeats)
            ]
        # Errors in both directions: 15 % of .4 and of .6 cancel to +3 points, of .7 and .3 to -6.
        (row,) = shifts(graded(rows), PAIR, "none")
        assert row.ci95 is not None
        covered += row.ci95[0] <= -9 <= row.ci95[1]
        found += row.p_value < 0.05
    assert covered / runs == pytest.approx(0.95, abs=0.04)


def test_disagreements_are_the_trials_off_the_tables_diagonal() -> None:
    found = graded(
        [
            (trial("q1", repeat=1), {RULE: 1, JUDGE: 0}),
            (trial("q1"), {RULE: "unparsed", JUDGE: 1}),
            (trial("q0", "tool"), {RULE: 0.5, JUDGE: 1}),
            (trial("q2"), {RULE: 1, JUDGE: 1}),
            (trial("q3"), {RULE: 1, JUDGE: "unscored"}),
        ]
    )
    listed = disagreements(found, PAIR, order=["tool", "none"])
    assert [(each.question, each.condition, each.repeat) for each in listed] == [
        ("q0", "tool", 0),
        ("q1", "none", 0),
        ("q1", "none", 1),
    ]
    assert [(each.first_verdict, each.second_verdict) for each in listed] == [
        ("partial", "correct"),
        ("unparsed", "correct"),
        ("correct", "wrong"),
    ]


def test_names_tell_gradings_of_one_judge() -> None:
    assert [grading(name) for name in (RULE, JUDGE, AGAIN)] == [(RULE, 0), (JUDGE, 0), (JUDGE, 1)]
    longer = "judge[m@1a2b3c4d,prompt=row,again=12,unparsed=exclude]"
    assert grading(longer) == ("judge[m@1a2b3c4d,prompt=row,unparsed=exclude]", 12)
    for name in ("choice[again=1]", "judge[m,again=1@1a2b3c4d]", "judge[m,again=1]@1a2b3c4d]", "judge[m,again=0]"):
        assert grading(name) == (name, 0)
    assert ordered([OTHER, AGAIN, RULE, JUDGE], [OTHER]) == [RULE, OTHER, JUDGE, AGAIN]
    assert scorer_pairs([RULE, JUDGE, AGAIN, OTHER]) == [
        (RULE, JUDGE),
        (RULE, OTHER),
        (JUDGE, AGAIN),
        (JUDGE, OTHER),
    ]
    assert gradings({RULE: [trial("q0")]}) == {}, "it has looked at nothing"
