"""What repeats tell of a comparison: flips between single runs, the noise floor, who is harmed."""

import csv
import io
import json
import re
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from tests.traces.pages import SAFE, shown, summaries

from toolablate.analysis.comparison import compare, comparisons_csv, comparisons_json
from toolablate.analysis.effect import FEW_CLUSTERS, FEW_DIFFERING
from toolablate.analysis.flips import flips, flips_json, floors
from toolablate.reports.terminal.comparison import comparison_table, flips_table
from toolablate.traces.store.summaries import TrialSummary


def runs(question: str, condition: str, *values: float | None, **changes: Any) -> list[TrialSummary]:
    return [
        replace(TrialSummary(question, "m", condition, repeat=number, value=value, verdict="correct"), **changes)
        for number, value in enumerate(values)
    ]


def drawn(rng: np.random.Generator, before: Any, after: Any, repeats: int, **changes: Any) -> list[TrialSummary]:
    """A question for each pair of probabilities."""
    return [
        trial
        for number, both in enumerate(zip(before, after, strict=True))
        for condition, chance in zip(("none", "tool"), both, strict=True)
        for trial in runs(f"q{number}", condition, *map(float, rng.random(repeats) < chance), **changes)
    ]


def test_flips_are_expected_between_single_runs_and_noise_is_the_baselines_own() -> None:
    trials = [
        *runs("q0", "none", 1, 1, 0, 1),
        *runs("q0", "tool", 0, 1),
        *runs("q1", "none", 0, 0, 0, 0),
        *runs("q1", "tool", 1, 1),
    ]
    (row,) = compare(trials, "none")
    assert (row.flips_right_to_wrong, row.flips_wrong_to_right) == (0.75 * 0.5, 0.25 * 0.5 + 1)
    # Pairs of different runs: of the baseline's q0 3 x 1 of 4 x 3; of the condition's 1 of 2; of q1 none.
    assert row.noise_flips == pytest.approx(3 / 12)
    assert row.condition_noise_flips == pytest.approx(1 / 2)
    assert (row.noise_questions, row.condition_noise_questions, row.repeats) == (2, 2, 4)
    assert (row.right_to_wrong, row.wrong_to_right) == (0, 1), "whole questions, by majority"


def test_with_one_repeat_flips_are_counts_and_the_noise_is_unknown() -> None:
    (row, _) = compare(summaries(), "none")
    assert (row.flips_right_to_wrong, row.flips_wrong_to_right) == (13, 7) == (row.right_to_wrong, row.wrong_to_right)
    assert (row.noise_flips, row.noise_questions, row.harm, row.question_effects) == (None, 0, None, None)
    page = shown(comparison_table(compare(summaries(), "none")), 140)
    assert "unknown with one repeat" in page
    assert "harmed" not in page


def test_what_does_not_count_is_no_repeat_and_noise_is_scaled_from_the_questions_that_have_two() -> None:
    trials = [
        *runs("q0", "none", 1, 0, None),
        *runs("q0", "tool", 1),
        *runs("q1", "none", 1, None),
        *runs("q1", "tool", 0),
        *runs("q2", "none", 1),
        *runs("q2", "none", 0, outcome="failed", repeat=1),
        *runs("q2", "tool", 1),
        *runs("q3", "none", 1, 0),
        *runs("q3", "tool", None),
    ]
    (row,) = compare(trials, "none")
    assert (row.questions, row.noise_questions) == (3, 1)
    assert row.noise_flips == pytest.approx(3 * 1 / 2)
    assert (row.condition_noise_flips, row.condition_noise_questions) == (None, 0)
    page = shown(comparison_table([row]), 140)
    assert "noise: measured on questions with two scored repeats: tool 1 of 3." in page


@pytest.mark.deep
def test_without_any_change_as_many_flip_either_way_as_the_noise_says() -> None:
    rng = np.random.default_rng(1)
    chances, found = rng.uniform(0, 1, size=40), []
    for _ in range(400):
        chance = floors(drawn(rng, chances, chances, 3), "none")[0].chance
        found.append((chance.flips_right_to_wrong, chance.flips_wrong_to_right, chance.noise_flips))
    truth = float(np.sum(chances * (1 - chances)))
    assert np.mean(found, axis=0) == pytest.approx([truth] * 3, rel=0.02)


def harmful() -> list[TrialSummary]:
    rng = np.random.default_rng(2)
    chances = rng.choice([0.1, 0.95], size=80)
    return drawn(rng, chances, np.where(np.arange(80) % 4, chances, 0.1), 6, domain="law")


def test_harm_is_bounded_and_question_effects_are_those_of_the_other_half() -> None:
    total, group = compare(harmful(), "none", by="domain")
    assert total.harm is not None
    truth = 100 * 0.85 * np.mean([chance > 0.5 for chance in np.random.default_rng(2).choice([0.1, 0.95], size=80)]) / 4
    assert 100 * total.harm.harmed.low < truth + 5
    assert total.harm.harmed.ci95 is not None
    assert total.harm.harmed.ci95[0] > 0
    assert total.question_effects is not None
    assert total.question_effects.harmed.effect is not None
    assert total.question_effects.harmed.effect < -0.2
    assert total.harm_questions == 80
    assert (group.harm, group.question_effects, group.harm_questions) == (None, None, 0)


def test_harm_rests_on_the_questions_with_two_repeats_on_both_sides() -> None:
    trials = [trial for trial in harmful() if trial.question != "q0" or trial.repeat == 0]
    (row,) = compare(trials, "none")
    assert (row.questions, row.harm_questions) == (80, 79)
    assert row.harm is not None
    page = shown(comparison_table([row], show_harm=True), 140)
    assert "over questions with two scored repeats on both sides: tool 79 of 80." in page


@pytest.mark.deep
def test_no_bound_is_beyond_what_the_base_leaves_room_for() -> None:
    rng, tight = np.random.default_rng(8), 0
    for seed in range(60):
        trials = drawn(rng, rng.beta(2, 1, size=12), rng.beta(1, 1, size=12), 2)
        (row,) = compare(trials, "none", seed=seed)
        assert row.harm is not None
        assert row.baseline_score is not None
        for bounds, most in ((row.harm.harmed, row.baseline_score), (row.harm.helped, 100 - row.baseline_score)):
            assert 0 <= bounds.low <= bounds.high <= most / 100 + 1e-9
            assert bounds.ci95 is None or bounds.ci95[0] <= bounds.low <= bounds.high <= bounds.ci95[1]
            tight += bounds.high == pytest.approx(most / 100)
    assert tight > 5, "some are just there"


def test_intervals_of_harm_of_a_small_row_are_marked() -> None:
    few = [trial for trial in harmful() if int(trial.question[1:]) < 30]
    page = shown(comparison_table(compare(few, "none"), show_harm=True, footnotes=False), 140)
    assert re.search(r"\.\. \d+\.\d %  \*\d+\.\d \.\. ", page)
    assert " *±" in page
    page = shown(comparison_table(compare(harmful(), "none"), show_harm=True, footnotes=False), 140)
    assert "*" not in page


def test_harm_is_not_computed_and_not_shown_where_nobody_asks() -> None:
    (row,) = compare(harmful(), "none", harm=False)
    assert (row.harm, row.question_effects, row.harm_questions) == (None, None, 0)
    assert "harmed" not in shown(comparison_table(compare(harmful(), "none")), 140)
    lacking = shown(comparison_table(compare(summaries(), "none"), show_harm=True), 140)
    assert "no question has two scored repeats on both sides" in lacking


def test_graded_scores_say_where_right_begins() -> None:
    trials = [*runs("q0", "none", 0.95, 0.95), *runs("q0", "tool", 0.55, 0.55)]
    (row,) = compare(trials, "none")
    assert (row.graded, row.delta_points, row.flips_right_to_wrong) == (True, pytest.approx(-40), 0)
    assert "Right: a score of 0.5 or more" in shown(comparison_table([row]), 140)
    assert not compare(harmful(), "none")[0].graded


def test_p_rests_on_as_many_repeats_of_one_side_as_of_the_other() -> None:
    """Of ten repeats the first counts, for the baseline has one; the estimate has them all."""
    before = [trial for number in range(8) for trial in runs(f"q{number}", "none", 0)]
    after = [trial for number in range(8) for trial in runs(f"q{number}", "tool", 0, *[1] * 9)]
    (row,) = compare([*before, *after], "none")
    assert (row.delta_points, row.p_value, row.uneven_questions) == (pytest.approx(90), 1.0, 8)
    after = [replace(trial, value=1.0 - (trial.value or 0)) for trial in after]
    (row,) = compare([*before, *after[::-1]], "none")
    assert (row.delta_points, row.p_value) == (pytest.approx(10), 2 / 2**8)
    assert "of a question on one side: tool 8 of 8." in " ".join(shown(comparison_table([row]), 140).split())


def test_nothing_could_be_seen_where_no_p_value_can_be_small() -> None:
    def row(questions: int) -> Any:
        values = [(0.0, 1.0 - number % 3 / 4) for number in range(questions)]
        return compare([trial for number, both in enumerate(values)
                        for name, value in zip(("none", "tool"), both, strict=True)
                        for trial in runs(f"q{number}", name, value)], "none")[0]  # fmt: skip

    assert row(5).detectable_points is None
    assert row(6).detectable_points is not None


@pytest.mark.parametrize("width", [40, 80, 140])
def test_harm_and_noise_are_shown_at_every_width(width: int) -> None:
    (row,) = compare(harmful(), "none")
    page = shown(comparison_table([row], show_harm=True), width)
    flat = " ".join(page.split())
    assert max(map(len, page.splitlines())) <= width
    assert row.noise_flips is not None
    for part in (
        f"{row.noise_flips:.1f}",
        f"{row.flips_right_to_wrong:.1f}",
        "Look so in half",
        "harmed: share of trials",
    ):
        assert part in flat, part
    assert re.search(r"\d\.\d \.\. \d+\.\d %", flat)


def test_names_beside_harm_are_inert() -> None:
    evil = "t\x1b]0;x\x07[bold]\u202e"
    trials = [replace(trial, condition=evil) if trial.condition == "tool" else trial for trial in harmful()]
    for view in (
        comparison_table(compare(trials, "none"), show_harm=True),
        flips_table(flips(trials, "none"), floors(trials, "none")),
    ):
        page = shown(view, 140)
        assert SAFE.fullmatch(page)
        assert "t[bold]\ufffd" in page


def test_a_list_of_flips_begins_with_their_noise() -> None:
    trials = harmful()
    (floor,) = floors(trials, "none")
    (row,) = compare(trials, "none")
    assert floor.questions == 80
    assert (floor.chance.noise_flips, floor.chance.flips_right_to_wrong) == (row.noise_flips, row.flips_right_to_wrong)
    noise = shown(flips_table(flips(trials, "none"), [floor]), 140).splitlines()[4]
    assert row.noise_flips is not None
    figures = (row.flips_right_to_wrong, row.flips_wrong_to_right, row.noise_flips)
    assert noise.split() == ["m", "tool", "none", "80", *(f"{figure:.1f}" for figure in figures), "80"]
    unknown = shown(flips_table(flips(summaries(), "none"), floors(summaries(), "none")), 140)
    assert unknown.count("noise is unknown") == 1
    assert max(map(len, shown(flips_table([], [floor] * 13), 80).splitlines())) <= 80
    assert len(shown(flips_table([], [floor] * 13), 80).splitlines()) < 24
    read = json.loads(flips_json(flips(trials, "none"), [floor]))
    assert read["floors"][0]["chance"]["noise_flips"] == row.noise_flips
    assert "by chance alone" in shown(flips_table([], [floor]), 140)


def test_csv_is_flat_and_says_what_json_says() -> None:
    (row,) = compare(harmful(), "none")
    (line,) = csv.DictReader(io.StringIO(comparisons_csv([row])))
    (read,) = json.loads(comparisons_json([row]))["comparisons"]
    assert not any(content.startswith(("{", "[", "(")) for content in line.values())
    for way in ("harmed", "helped"):
        bounds, looked = read["harm"][way], read["question_effects"][way]
        told = [line[f"{way}_share_{part}"] for part in ("low", "high", "ci95_low", "ci95_high")]
        assert list(map(float, told)) == [bounds["low"], bounds["high"], *bounds["ci95"]]
        told = [line[f"looked_{way}_{part}"] for part in ("questions", "effect")]
        assert list(map(float, told)) == [looked["questions"], looked["effect"]]
    relative = [float(line[f"delta_relative_ci95_{end}"]) for end in ("low", "high")]
    assert relative == read["delta_relative_ci95"]
    for name in ("p_holm", "p_bh", "detectable_points", "noise_flips", "flips_right_to_wrong"):
        assert float(line[name]) == read[name]
    assert comparisons_csv([]).split("\n")[0] == comparisons_csv([row]).split("\n")[0]
    (bare, _) = csv.DictReader(io.StringIO(comparisons_csv(compare(summaries(), "none"))))
    assert bare.keys() == line.keys()
    assert (bare["harmed_share_low"], bare["looked_helped_effect_ci95_high"], bare["noise_flips"]) == ("", "", "")


def test_few_questions_or_few_that_differ_are_marked() -> None:
    flip = [*runs("x", "none", 1), *runs("x", "tool", 0)]

    def row(questions: int, differing: int) -> Any:
        same = [
            trial
            for number in range(questions - differing)
            for condition in ("none", "tool")
            for trial in runs(f"q{number}", condition, number % 2)
        ]
        changed = [replace(trial, question=f"x{number}") for number in range(differing) for trial in flip]
        return compare([*same, *changed], "none")[0]

    few, many = row(FEW_CLUSTERS - 1, 20), row(FEW_CLUSTERS, 20)
    assert (few.small, many.small) == (True, False)
    assert (row(400, FEW_DIFFERING - 1).small, row(400, FEW_DIFFERING).small) == (True, False)
    page = shown(comparison_table([few]), 140)
    assert f" *{FEW_CLUSTERS - 1} " in page
    assert f"*: fewer than {FEW_CLUSTERS} independent questions, or {FEW_DIFFERING} that differ" in page
    assert "*" not in shown(comparison_table([many]), 140)
