"""How often a judge grades the same answer otherwise, and what that does to a comparison."""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest
from tests.traces.agreement.graded import AGAIN, JUDGE, OTHER, RULE, Grade, graded, trial

from toolablate.analysis.agreement.judge_noise import judge_noise, regraded
from toolablate.analysis.comparison import compare
from toolablate.traces.store.observations import Observation

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
    rows: list[tuple[Observation, dict[str, Grade]]] = [
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
) -> Iterator[tuple[Observation, dict[str, Grade]]]:
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
