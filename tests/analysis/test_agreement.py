"""Two scorers on the same trials, and by condition."""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest
from tests.analysis.gradings import AGAIN, JUDGE, OTHER, RULE, Grade, graded, trial

from toolablate.analysis.agreement.gradings import disagreements, grading, gradings, ordered, scorer_pairs
from toolablate.analysis.agreement.judge_noise import judge_noise, regraded
from toolablate.analysis.agreement.report import agreements
from toolablate.analysis.agreement.shift import shifts
from toolablate.analysis.comparison import compare
from toolablate.analysis.effect import FEW_DIFFERING
from toolablate.traces.store.summaries import TrialSummary

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


Rates = tuple[float, float]


def _judged(
    rng: np.random.Generator, repeats: int, chances: Rates, missed: Rates, let_pass: Rates
) -> list[tuple[TrialSummary, dict[str, Grade]]]:
    """150 questions, some easy and some hard, under two conditions: how many are right under each, and of the right and
    of the wrong ones how many a judge takes for the other."""
    rows: list[tuple[TrialSummary, dict[str, Grade]]] = []
    for condition, chance, miss, passed in zip(("none", "tool"), chances, missed, let_pass, strict=True):
        hard = rng.uniform(-0.25, 0.25, size=(150, 1))
        right = rng.random((150, repeats)) < chance + hard
        judged = right ^ (rng.random((150, repeats)) < np.where(right, miss, passed))
        rows += [
            (trial(f"q{n}", condition, k), {RULE: int(right[n, k]), JUDGE: int(judged[n, k])})
            for n in range(150)
            for k in range(repeats)
        ]
    return rows


@pytest.mark.deep
@pytest.mark.parametrize(
    ("repeats", "let_pass", "points", "differential"),
    [(1, (0.2, 0.2), -9, 0), (3, (0.2, 0.2), -9, 0), (1, (0.1, 0.4), 3, 12)],
    ids=["alike", "alike, repeats", "unlike"],
)
def test_errors_that_differ_by_condition_are_told_from_those_that_only_shrink_an_effect(
    repeats: int, let_pass: Rates, points: float, differential: float
) -> None:
    """Of a true effect of 30 points. Errors of .1 and .2 shrink it by three tenths, whatever the condition."""
    rng, runs = np.random.default_rng(repeats), 150
    found = [
        shifts(
            graded(_judged(rng, repeats, (0.4, 0.7), (0.1, 0.1), let_pass)), PAIR, "none", seed=run // 50, resamples=999
        )[0]
        for run in range(runs)
    ]
    assert np.mean([row.points for row in found]) == pytest.approx(points, abs=1.5)
    assert np.mean([row.differential_points for row in found]) == pytest.approx(differential, abs=1.5)
    for truth, intervals in (
        (points, [row.ci95 for row in found]),
        (differential, [row.differential_ci95 for row in found]),
    ):
        covered = np.mean([each is not None and each[0] <= truth <= each[1] for each in intervals])
        assert covered == pytest.approx(0.95, abs=0.05)
    significant = np.mean([row.p_value < 0.05 for row in found])
    assert significant > 0.5 if differential else 0.01 <= significant <= 0.1


def test_two_judges_have_a_shift_and_no_truth_to_err_from() -> None:
    rng = np.random.default_rng(1)
    rows = [
        (seen, {OTHER: grades[RULE], JUDGE: grades[JUDGE]})
        for seen, grades in _judged(rng, 1, (0.4, 0.7), (0.1, 0.1), (0.1, 0.9))
    ]
    (row,) = shifts(graded(rows), [(OTHER, JUDGE)], "none")
    assert (row.differential_points, row.differential_ci95) == (None, None)
    assert row.p_value < 0.05
    always = graded([(seen, {RULE: 1, JUDGE: grades[JUDGE]}) for seen, grades in rows])
    (row,) = shifts(always, PAIR, "none")
    assert row.differential_points is None, "of wrong answers nothing is known"


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


# How often a judge grades the same answer otherwise, and what that does to a comparison.


THIRD = JUDGE.replace("]", ",again=2]")


def test_a_regrading_counts_pairs_of_grades_of_one_answer() -> None:
    found = graded(
        [
            (trial("q0"), {JUDGE: 1, AGAIN: 1, THIRD: 0, RULE: 1}),
            (trial("q0", repeat=1), {JUDGE: 1, AGAIN: 1, THIRD: 1}),
            (trial("q1"), {JUDGE: 0, AGAIN: 1}),
            (trial("q2"), {JUDGE: 0, AGAIN: "unscored"}),
            (trial("q3"), {JUDGE: "unparsed", AGAIN: "unparsed", THIRD: "unparsed"}),
        ]
    )
    (row,) = regraded(found, {})
    assert (row.judge, row.way, row.answers, row.questions, row.pairs, row.differing) == (JUDGE, "again", 3, 2, 7, 3)
    assert row.percent == pytest.approx(300 / 7)
    assert row.small


def test_answers_of_the_same_text_are_compared_within_a_question_and_a_grading() -> None:
    rows: list[tuple[TrialSummary, dict[str, Grade]]] = [
        (trial("q0", "none", 0), {JUDGE: 1, AGAIN: 0, RULE: 1}),
        (trial("q0", "none", 1), {JUDGE: 0, AGAIN: 0, RULE: 0}),
        (trial("q0", "tool", 0), {JUDGE: 1, AGAIN: 0, RULE: 0}),
        (trial("q1", "none", 0), {JUDGE: 1}),
        (trial("q2", "none", 0), {JUDGE: 0}),
        (trial("q2", "tool", 0), {JUDGE: 1}),
        (trial("q3", "none", 0), {JUDGE: 0}),
        (trial("q3", "tool", 0), {JUDGE: 1}),
    ]
    texts = ["yes", "yes", "yes", "yes", "no", "No", "maybe"]
    answers = {seen.trial: text for (seen, _), text in zip(rows, texts, strict=False)}
    again, same = regraded(graded(rows), answers)
    assert (again.way, again.pairs, again.differing) == ("again", 3, 2)
    # Of the three answers "yes" the first grading has three pairs, two of which differ, and the second three that agree.
    assert (same.way, same.answers, same.pairs, same.differing) == ("same_text", 2, 6, 2)
    assert regraded(graded([(seen, {RULE: grades[JUDGE]}) for seen, grades in rows]), answers) == [], "no judge"


def test_a_judge_that_was_never_of_another_mind_may_be_yet() -> None:
    grades: dict[str, Grade] = {JUDGE: 1, AGAIN: 1}
    (row,) = regraded(graded([(trial(f"q{n}"), grades) for n in range(50)]), {})
    assert (row.percent, row.small) == (0, True)
    # Of 50 that differ with 7.1 % none does one time in forty.
    assert row.ci95 == (0, pytest.approx(100 * (1 - 0.025 ** (1 / 50))))
    (row,) = regraded(graded([(trial(f"q{n % 10}", repeat=n), grades) for n in range(50)]), {})
    assert row.ci95 == (0, pytest.approx(100 * (1 - 0.025 ** (1 / 10)))), "five answers to one question may be alike"


@pytest.mark.deep
@pytest.mark.parametrize("gradings", [2, 3])
def test_the_rate_is_unbiased_and_its_interval_covers_it(gradings: int) -> None:
    """Answers that the judge calls correct with probability q, most of them surely; two grades differ with 2 q (1 - q),
    and answers of one question resemble each other."""
    rng, runs = np.random.default_rng(gradings), 200
    rates, covered = [], 0
    truth = 100 * np.mean([2 * q * (1 - q) for q in (0.02, 0.98, 0.7, 0.3)])
    for run in range(runs):
        chances = rng.choice([0.02, 0.98, 0.7, 0.3], size=150)
        (row,) = regraded(graded(_drawn(rng, chances, 2, gradings)), {}, seed=run // 50)
        rates.append(row.percent)
        covered += row.ci95 is not None and row.ci95[0] <= truth <= row.ci95[1]
        assert not row.small
    assert np.mean(rates) == pytest.approx(truth, abs=3 * np.std(rates) / np.sqrt(runs))
    assert covered / runs == pytest.approx(0.95, abs=0.04)


def _drawn(
    rng: np.random.Generator, chances: np.ndarray, repeats: int, gradings: int
) -> Iterator[tuple[TrialSummary, dict[str, Grade]]]:
    for number, chance in enumerate(chances):
        for repeat in range(repeats):
            grades = rng.random(gradings) < chance
            scorers = (JUDGE, AGAIN, THIRD)[:gradings]
            yield trial(f"q{number}", repeat=repeat), dict(zip(scorers, map(int, grades), strict=True))


def test_the_judges_own_noise_is_a_part_of_the_noise_that_compare_shows() -> None:
    """Answers that never change, graded by a judge that is not sure: then it is all of it."""
    rng = np.random.default_rng(2)
    rows = [
        (trial(f"q{n}", condition, repeat), {JUDGE: int(rng.random() < q), AGAIN: int(rng.random() < q)})
        for n, q in enumerate(rng.choice([0.0, 1.0, 0.5], size=400))
        for condition in ("none", "tool")
        for repeat in range(3)
    ]
    found = graded(rows)
    rates = regraded(found, {})
    (row,) = judge_noise(found, rates, "none")
    assert (row.judge, row.way, row.questions, row.percent) == (JUDGE, "again", 400, rates[0].percent)
    assert row.judge_flips == pytest.approx(400 * row.percent / 200)
    (compared,) = compare(found[JUDGE].values(), "none")
    assert row.noise_flips == compared.noise_flips
    assert row.judge_flips == pytest.approx(row.noise_flips, rel=0.15)
    assert row.judge_flips_ci95 == tuple(2 * bound for bound in rates[0].ci95 or ())
    assert row.detectable_points == compared.detectable_points
    assert row.judge_points == pytest.approx(row.detectable_points, rel=0.1)


def test_more_repeats_lessen_what_the_judges_noise_hides() -> None:
    def points(repeats: int) -> float:
        grades = [{JUDGE: n % 2, AGAIN: n % 2 if n % 10 else 1 - n % 2} for n in range(100)]
        rows = [
            (trial(f"q{n}", condition, repeat), grades[n])
            for n in range(100)
            for condition in ("none", "tool")
            for repeat in range(repeats)
        ]
        found = graded(rows)
        (row,) = judge_noise(found, regraded(found, {}), "none")
        assert row.percent == pytest.approx(10)
        return row.judge_points

    # 2.8 times the root of 2 x .05 / 100.
    assert points(1) == pytest.approx(2.802 * 100 * (2 * 0.05 / 100) ** 0.5, rel=1e-3)
    assert points(4) == pytest.approx(points(1) / 2)


def test_noise_is_by_regradings_first_and_needs_a_baseline() -> None:
    rows = [
        (replace(trial(f"q{n}", condition), simulated=True), {JUDGE: n % 2, AGAIN: n % 3 > 0, OTHER: n % 2})
        for n in range(30)
        for condition in ("none", "tool")
    ]
    found = graded([(seen, {name: int(grade) for name, grade in grades.items()}) for seen, grades in rows])
    rates = regraded(found, {seen.trial: "same" for seen, _ in rows})
    assert [(row.judge, row.way) for row in rates] == [(JUDGE, "again"), (JUDGE, "same_text"), (OTHER, "same_text")]
    assert [(row.judge, row.way) for row in judge_noise(found, rates, "none")] == [
        (JUDGE, "again"),
        (OTHER, "same_text"),
    ]
    assert all(row.simulated for row in (*rates, *judge_noise(found, rates, "none")))
    assert judge_noise(found, rates, "no such condition") == []
