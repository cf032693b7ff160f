"""Several comparisons in one table: groups of questions, and p-values corrected for all that is shown."""

import csv
import io
import json
import os
import random
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console
from tests.traces.pages import shown, summaries

from toolablate.analysis.comparison import Comparison, compare, compare_models, comparisons_csv, comparisons_json
from toolablate.analysis.flips import flips, flips_json
from toolablate.analysis.statistics.p_values import benjamini_hochberg, holm
from toolablate.benchmarks.tatqa.scorer import em_and_f1
from toolablate.reports.terminal.comparison import comparison_table
from toolablate.traces.errors import InputError
from toolablate.traces.store.summaries import TrialSummary

DATA = Path(os.environ.get("TOOLABLATE_TEST_DATA", Path(__file__).parents[3] / "shared" / "data"))
TATQA = DATA / "tatqa_codex_conditions.jsonl"


def seen(question: str, condition: str, value: float | None, **changes: Any) -> TrialSummary:
    verdict = "unscored" if value is None else "correct" if value == 1 else "wrong" if value == 0 else "partial"
    plain = TrialSummary(question=question, model="m", condition=condition, value=value, verdict=verdict)
    return replace(plain, **changes)


def pairs(*values: tuple[float | None, float | None], **changes: Any) -> list[TrialSummary]:
    return [
        seen(f"q{number}", name, value, **changes)
        for number, both in enumerate(values)
        for name, value in zip(("none", "tool"), both, strict=True)
    ]


def test_figures() -> None:
    (row,) = compare(pairs((1, 0), (1, 1), (0, 1), (1, 1), (0, 1)), "none")
    assert (row.model, row.baseline, row.condition, row.group, row.questions) == ("m", "none", "tool", None, 5)
    assert (row.baseline_score, row.score, row.delta_points) == pytest.approx((60, 80, 20))
    assert row.delta_relative == pytest.approx(100 / 3)
    assert (row.right_to_wrong, row.wrong_to_right) == (1, 2)
    assert row.p_value == pytest.approx(1.0)
    assert row.ci95 is not None
    assert row.ci95[0] < 20 < row.ci95[1]


def test_what_was_not_scored_on_one_side_counts_on_neither() -> None:
    rows = pairs((1, 1), (1, None), (0, 1), (1, 0))
    rows[7] = replace(rows[7], outcome="failed", value=None, verdict=None)
    rows.append(seen("q9", "none", 1))
    (row,) = compare(rows, "none")
    assert (row.questions, row.excluded_questions) == (2, 3)
    assert (row.baseline_score, row.score) == (50, 100)
    assert (row.failed, row.unscored, row.trials) == (1, 1, 4)
    assert (row.baseline_failed, row.baseline_unscored, row.baseline_trials) == (0, 0, 5)


def test_a_value_on_a_failed_trial_is_not_believed() -> None:
    rows = [*pairs((1, 1)), seen("q1", "none", 1), seen("q1", "tool", 0, outcome="failed")]
    assert compare(rows, "none")[0].questions == 1


def test_unparsed_replies_are_counted_apart_whether_they_lose_points_or_not() -> None:
    lost, excluded = pairs((1, 0), (1, None), (1, 1))[1::2][:2]
    rows = [*pairs((1, 1), (1, 1), (1, 1))]
    rows[1], rows[3] = replace(lost, verdict="unparsed"), replace(excluded, verdict="unparsed")
    (row,) = compare(rows, "none")
    assert (row.unparsed, row.unscored, row.questions, row.score) == (2, 0, 2, 50)


def test_repeats_are_averaged_within_their_question_before_questions_are() -> None:
    rows = [
        *(seen("q0", "none", value, repeat=number) for number, value in enumerate([1, 1, 1, 1])),
        seen("q1", "none", 0),
        *(seen("q0", "tool", value, repeat=number) for number, value in enumerate([1, 0, 0, None])),
        *(seen("q1", "tool", value, repeat=number) for number, value in enumerate([1, 0])),
    ]
    (row,) = compare(rows, "none")
    assert row.baseline_score == 50
    assert row.score == pytest.approx((100 / 3 + 50) / 2)
    assert (row.right_to_wrong, row.wrong_to_right, row.repeats) == (1, 1, 4)


def test_what_is_unknown_is_none_and_never_zero() -> None:
    (row,) = compare(pairs((0, 1)), "none")
    assert (row.tokens, row.cost_usd, row.delta_relative, row.ci95) == (None, None, None, None)
    assert row.p_value == 1.0
    known = [replace(item, tokens=100 if item.condition == "tool" else None, cost_usd=0.0) for item in pairs((0, 1))]
    (row,) = compare(known, "none")
    assert (row.baseline_tokens, row.tokens, row.baseline_cost_usd, row.cost_usd) == (None, 100, 0, 0)


def test_an_arm_without_any_counterpart_is_a_row_without_figures() -> None:
    rows = [*pairs((1, 1)), seen("q0", "tool", 1, model="other")]
    first, other = compare(rows, "none")
    assert (first.model, first.questions) == ("m", 1)
    assert (other.model, other.questions, other.excluded_questions) == ("other", 0, 1)
    assert (other.score, other.delta_points, other.ci95, other.p_value) == (None, None, None, None)


def test_unknown_baseline_names_what_there_is() -> None:
    with pytest.raises(InputError, match=r"'nope'(.|\n)*none, tool"):
        compare(pairs((1, 0)), "nope")
    with pytest.raises(InputError, match="none yet"):
        compare([], "none")


def test_domains_follow_their_total() -> None:
    rows = [replace(row, domain="law" if row.question in ("q0", "q1") else "") for row in pairs((1, 0), (1, 1), (0, 1))]
    total, nameless, law = compare(rows, "none", by="domain")
    assert [row.group for row in (total, nameless, law)] == [None, "", "law"]
    assert (total.questions, nameless.questions, law.questions) == (3, 1, 2)
    assert (nameless.delta_points, law.delta_points) == (100, -50)


@pytest.mark.parametrize("by", ["domain", "difficulty", "language"])
def test_questions_are_grouped_by_what_is_asked_for(by: Any) -> None:
    rows = [replace(row, **{by: "x" if row.question == "q0" else "y"}) for row in pairs((1, 0), (1, 1), (0, 1))]
    found = compare(rows, "none", by=by)
    assert [(row.by, row.group, row.questions) for row in found] == [(None, None, 3), (by, "x", 1), (by, "y", 2)]
    alone = compare(rows, "none")[0]
    assert found[0] == replace(alone, p_holm=found[0].p_holm, p_bh=found[0].p_bh, comparisons=3)


def test_no_other_field_groups() -> None:
    with pytest.raises(InputError, match=r"'trial'(.|\n)*domain, difficulty, language"):
        compare(pairs((1, 0)), "none", by="trial")  # type: ignore[arg-type]


def test_conditions_come_in_the_order_asked_for() -> None:
    rows = [seen("q0", name, 1) for name in ("none", "search", "all", "python", "extra")]
    assert [row.condition for row in compare(rows, "none")] == ["all", "extra", "python", "search"]
    ladder = compare(rows, "none", order=["none", "python", "search"])
    assert [row.condition for row in ladder] == ["python", "search", "all", "extra"]


def test_questions_of_one_cluster_are_one_unit_for_interval_and_test() -> None:
    alone = compare(pairs(*[(0, 1)] * 6, *[(1, 1)] * 6), "none")[0]
    rows = [
        replace(row, cluster="text 1") if int(row.question[1:]) < 6 else row
        for row in pairs(*[(0, 1)] * 6, *[(1, 1)] * 6)
    ]
    together = compare(rows, "none")[0]
    assert alone.p_value == pytest.approx(2 / 2**6)
    assert together.p_value == pytest.approx(1.0)
    assert together.delta_points == alone.delta_points
    assert (alone.questions, alone.clusters, together.questions, together.clusters) == (12, 12, 12, 7)


VALUE = st.sampled_from([0.0, 0.25, 0.5, 1.0, None])
OBSERVATIONS = st.lists(
    st.builds(
        TrialSummary,
        question=st.sampled_from([f"q{number}" for number in range(6)]),
        model=st.sampled_from(["m1", "m2"]),
        condition=st.sampled_from(["none", "tool", "all"]),
        repeat=st.integers(0, 3),
        outcome=st.sampled_from(["answered", "budget", "failed"]),
        value=VALUE,
        verdict=st.sampled_from(["correct", "unparsed", None]),
        cluster=st.sampled_from(["", "c1"]),
        tokens=st.none() | st.integers(0, 10_000),
        cost_usd=st.none() | st.floats(0, 5),
    ),
    max_size=60,
).map(lambda rows: [*rows, TrialSummary(question="q0", model="m1", condition="none", value=1.0)])


@pytest.mark.deep
@given(OBSERVATIONS, st.randoms(use_true_random=False))
def test_the_order_of_rows_changes_nothing(rows: list[TrialSummary], shuffler: random.Random) -> None:
    # One question has one cluster, as a store guarantees.
    rows = [replace(row, cluster="c1" if row.question in ("q1", "q2") else "") for row in rows]
    shuffled = list(rows)
    shuffler.shuffle(shuffled)
    assert compare(shuffled, "none", by="domain") == compare(rows, "none", by="domain")


@given(OBSERVATIONS)
def test_swapping_the_sides_mirrors_the_result(rows: list[TrialSummary]) -> None:
    rows = [replace(row, cluster="", condition="none" if row.condition == "all" else row.condition) for row in rows]
    rows.append(TrialSummary(question="q0", model="m1", condition="tool", value=0.0))
    for there in compare(rows, "none"):
        back = next((row for row in compare(rows, "tool") if row.model == there.model), None)
        if back is None:
            continue
        assert (there.right_to_wrong, there.wrong_to_right) == (back.wrong_to_right, back.right_to_wrong)
        assert (there.baseline_score, there.score, there.questions) == (back.score, back.baseline_score, back.questions)
        assert (there.baseline_failed, there.unparsed) == (back.failed, back.baseline_unparsed)
        if there.delta_points is not None:
            assert there.delta_points == pytest.approx(-back.delta_points)
            assert there.p_value == pytest.approx(back.p_value)


@pytest.mark.deep
@given(OBSERVATIONS)
def test_figures_stay_within_their_bounds(rows: list[TrialSummary]) -> None:
    for row in compare(rows, "none", by="domain"):
        assert row.score is None or 0 <= row.score <= 100
        assert row.p_value is None or 0 < row.p_value <= 1
        assert row.ci95 is None or -100 <= row.ci95[0] <= row.ci95[1] <= 100
        assert row.right_to_wrong + row.wrong_to_right <= row.questions
        assert row.failed + row.unscored + row.unparsed <= row.trials


@given(OBSERVATIONS, st.randoms(use_true_random=False))
def test_flips_are_those_that_the_comparison_counts(rows: list[TrialSummary], shuffler: random.Random) -> None:
    rows = [replace(row, trial=f"{number:04x}") for number, row in enumerate(rows)]
    found = flips(rows, "none")
    for row in compare(rows, "none"):
        ways = [flip.direction for flip in found if (flip.model, flip.condition) == (row.model, row.condition)]
        assert (ways.count("right_to_wrong"), ways.count("wrong_to_right")) == (row.right_to_wrong, row.wrong_to_right)
    values = {row.trial: row.value for row in rows}
    for flip in found:
        before, after = ([values[name] for name in side] for side in (flip.baseline_trials, flip.trials))
        assert flip.baseline_score == pytest.approx(sum(value or 0 for value in before) / len(before))
        assert flip.score == pytest.approx(sum(value or 0 for value in after) / len(after))
    shuffled = list(rows)
    shuffler.shuffle(shuffled)
    assert flips(shuffled, "none") == found


def test_a_flip_names_its_question_and_the_trials_of_both_sides() -> None:
    rows = pairs((1, 0), (0, 1), (1, 1), (0, None), domain="law", simulated=True)
    rows = [replace(row, trial=f"{row.question}-{row.condition}") for row in rows]
    rows += [
        seen("q0", "tool", 0.5, repeat=2, trial="third"),
        seen("q0", "tool", 0.0, repeat=1, trial="second"),
        seen("q0", "tool", 1.0, repeat=3, trial="spoiled", outcome="failed"),
    ]
    lost, won = flips(rows, "none")
    assert (lost.question, lost.direction, lost.domain, lost.simulated) == ("q0", "right_to_wrong", "law", True)
    assert (lost.baseline_score, lost.score) == (1, pytest.approx(1 / 6))
    assert (lost.baseline_trials, lost.trials) == (("q0-none",), ("q0-tool", "second", "third"))
    assert (won.question, won.direction, won.baseline_score, won.score) == ("q1", "wrong_to_right", 0, 1)
    assert [flip["question"] for flip in json.loads(flips_json([lost, won]))["flips"]] == ["q0", "q1"]
    with pytest.raises(InputError, match="'nope'"):
        flips(rows, "nope")


def test_json_and_csv_say_the_same() -> None:
    rows = compare([*pairs((1, 0), (1, 1), (0, 1)), seen("q0", "=cmd()", 1)], "none")
    read = json.loads(comparisons_json(rows))["comparisons"]
    lines = list(csv.DictReader(io.StringIO(comparisons_csv(rows))))
    assert len(read) == len(lines) == 2
    assert float(lines[1]["delta_points"]) == read[1]["delta_points"]
    assert [float(lines[1]["ci95_low"]), float(lines[1]["ci95_high"])] == read[1]["ci95"]
    assert lines[1]["tokens"] == ""
    assert read[1]["tokens"] is None
    assert lines[0]["condition"] == "'=cmd()"


def _texts(value: Any) -> list[str]:
    """A result of 0 counts as none in the published evaluation."""
    items = value if isinstance(value, list) else [value] if value else []
    return [item if isinstance(item, str) else json.dumps(item) for item in items]


@pytest.mark.deep
@pytest.mark.skipif(not TATQA.is_file(), reason=f"the TAT-QA outputs are not at {TATQA}")
def test_real_outputs_come_out_as_published() -> None:
    rows = []
    for line in TATQA.read_text(encoding="utf-8").splitlines():
        item = json.loads(line)
        for name in ("direct", "cot", "pot"):
            given, wanted = item[name], item["answer"]
            scales = {"scale": given["pred_scale"], "wanted_scale": item["scale"]}
            wanted = wanted if isinstance(wanted, list) else [wanted]
            value, _ = em_and_f1(_texts(given["pred_answer"]), _texts(wanted), **scales)
            rows.append(seen(item["question_id"], name, value))
    from_direct = {row.condition: row for row in compare(rows, "direct")}
    (to_pot,) = [row for row in compare(rows, "cot") if row.condition == "pot"]
    assert [round(from_direct[name].score or 0, 2) for name in ("cot", "pot")] == [61.43, 69.05]
    assert round(from_direct["cot"].baseline_score or 0, 2) == 55.01
    flips = [
        (row.questions, row.wrong_to_right, row.right_to_wrong)
        for row in (from_direct["pot"], to_pot, from_direct["cot"])
    ]
    # One list of numbers, sorted as texts, is right beyond the published 68.99 %, 132 and 156.
    assert flips == [(1667, 365, 131), (1667, 282, 155), (1667, 198, 91)]


def test_trials_that_a_limit_ended_are_counted_by_limit() -> None:
    rows = pairs((1, 1), (1, 0), (0, 0), (1, 0))
    for at, limit in ((3, "turns"), (5, "tokens"), (7, "turns"), (2, None)):
        rows[at] = replace(rows[at], outcome="budget", limit=limit)
    (row,) = compare(rows, "none")
    assert (row.baseline_budget, row.budget, row.questions) == (1, 3, 4)
    assert (row.baseline_limits, list(row.limits.items())) == ({}, [("turns", 2), ("tokens", 1)])
    (written,) = csv.DictReader(io.StringIO(comparisons_csv([row])))
    assert (written["baseline_limits"], written["limits"], written["budget"]) == ("", "turns:2 tokens:1", "3")
    assert json.loads(comparisons_json([row]))["comparisons"][0]["limits"] == {"turns": 2, "tokens": 1}


def test_trials_of_unknown_cost_are_counted_and_the_mean_is_of_the_others() -> None:
    rows = [replace(row, cost_usd=0.5) for row in pairs((1, 1), (1, 0), (0, 0))]
    rows[1] = replace(rows[1], cost_usd=None)
    (row,) = compare(rows, "none")
    assert (row.baseline_unpriced, row.unpriced, row.cost_usd) == (0, 1, 0.5)


# Several comparisons in one table: groups of questions, and p-values corrected for all that is shown.


def labelled(count: int = 40) -> list[TrialSummary]:
    return [
        replace(item, kind="choice" if int(item.question[1:]) % 5 else "number", difficulty="easy")
        for item in summaries()
        if int(item.question[1:]) < count
    ]


def test_groupings_follow_each_other_and_are_not_crossed() -> None:
    rows = compare(labelled(), "none", by=("kind", "domain", "kind"))
    python = [(row.by, row.group, row.questions) for row in rows if row.condition == "python"]
    assert python == [
        (None, None, 40),
        ("kind", "choice", 32),
        ("kind", "number", 8),
        ("domain", "law", 20),
        ("domain", "physics", 20),
    ]
    page = shown(comparison_table(rows), 140)
    assert "kind choice" in page
    assert "domain law" in page
    assert "kind choice" not in shown(comparison_table(compare(labelled(), "none", by="kind")), 140)


def test_no_other_field_groups_also_among_several() -> None:
    with pytest.raises(InputError, match=r"'trial'(.|\n)*domain, difficulty, language, kind"):
        compare(labelled(), "none", by=("domain", "trial"))  # type: ignore[arg-type]


def test_p_values_are_corrected_over_all_rows_that_have_one() -> None:
    other = [replace(item, model="other") for item in labelled(20)]
    alone = [TrialSummary("q99", "gpt-x", "alone", value=1.0)]
    rows = compare([*labelled(), *other, *alone], "none", by="domain")
    tested = [row for row in rows if row.p_value is not None]
    assert {row.model for row in tested} == {"gpt-x", "other"}
    assert len(tested) == 12
    p_values = [row.p_value for row in tested if row.p_value is not None]
    assert [row.p_holm for row in tested] == holm(p_values)
    assert [row.p_bh for row in tested] == benjamini_hochberg(p_values)
    assert {(row.p_holm, row.p_bh) for row in rows if row.p_value is None} == {(None, None)}
    assert {row.comparisons for row in rows} == {12}
    assert "corrected for the 12 comparisons in this table" in shown(comparison_table(rows), 140)
    (only,) = compare([seen for seen in labelled() if seen.condition != "search"], "none")
    assert "corrected for the one comparison in this table" in shown(comparison_table([only]), 140)


def test_a_group_that_is_all_questions_is_no_comparison_of_its_own() -> None:
    rows = compare(labelled(), "none", by=("difficulty", "kind"))
    assert [row.comparisons for row in rows] == [6] * 8, "of two conditions each the total and two kinds"
    for total, easy in (rows[:2], rows[4:6]):
        assert (easy.group, easy.p_holm, easy.p_bh) == ("easy", total.p_holm, total.p_bh)


def coloured(row: Comparison) -> bool:
    out = io.StringIO()
    console = Console(file=out, width=140, force_terminal=True, color_system="standard", legacy_windows=False)
    console.print(comparison_table([row]))
    return "\x1b[1;31m" in out.getvalue() or "\x1b[1;32m" in out.getvalue()


def test_only_what_holds_after_correction_in_enough_questions_is_coloured() -> None:
    row = replace(compare(summaries(), "none")[0], p_value=0.01, p_holm=0.04, small=False)
    assert coloured(row)
    assert not coloured(replace(row, p_holm=0.06))
    assert not coloured(replace(row, small=True))


def test_a_disagreement_of_interval_and_test_is_named_where_it_happens() -> None:
    row = replace(compare(summaries(), "none")[0], ci95=(-30.0, -0.1), p_value=0.06)
    page = shown(comparison_table([row, replace(row, by="domain", group="law", ci95=(-30.0, 0.1))]), 140)
    (told,) = [line.strip() for line in page.splitlines() if "Borderline" in line]
    assert told == "Borderline: interval and p-value disagree on 0: python."
    assert "Borderline" not in shown(comparison_table([replace(row, p_value=0.04)]), 140)
    assert "Borderline" in shown(comparison_table([replace(row, ci95=(-30.0, 0.1), p_value=0.04)]), 140)


def test_the_relative_change_has_an_interval_of_its_own_where_the_base_is_surely_not_zero() -> None:
    def rows(*values: tuple[float, float]) -> Any:
        trials = [
            TrialSummary(f"q{number}", "m", name, value=value)
            for number, both in enumerate(values)
            for name, value in zip(("none", "tool"), both, strict=True)
        ]
        return compare(trials, "none")[0]

    sure = rows(*[(1, 0)] * 10, *[(1, 1)] * 30, *[(0, 1)] * 4)
    assert sure.ci95 is not None
    assert sure.delta_relative_ci95 is not None
    assert sure.delta_relative_ci95[0] < sure.delta_relative < sure.delta_relative_ci95[1]
    assert sure.delta_relative_ci95[0] < sure.ci95[0], "of a base below 100, percent are more than points"
    assert f"{sure.delta_relative_ci95[1]:+.1f} %".replace("-", "−") in shown(comparison_table([sure]), 160)
    perhaps = rows((1, 1), (0, 1), (0, 0), (0, 1))
    assert (perhaps.delta_relative, perhaps.delta_relative_ci95) == (200, None)
    never = rows((0, 1), (0, 0), (0, 1))
    assert (never.delta_relative, never.delta_relative_ci95) == (None, None)


# Groups by the metadata of questions, and crossed ones.


def test_a_question_is_in_the_group_of_each_value_of_its_metadata() -> None:
    rows = [
        *pairs((1, 0), (1, 1), metadata=(("field", ("law", "tax")), ("year", ("2021",)))),
        *(replace(each, question=f"{each.question}x") for each in pairs((0, 1), metadata=(("field", ("law",)),))),
    ]
    table = compare(rows, "none", by="metadata.field")
    assert [(row.by, row.group, row.questions) for row in table] == [
        (None, None, 3),
        ("metadata.field", "law", 3),
        ("metadata.field", "tax", 2),
    ]
    by_year = compare(rows, "none", by="metadata.year")[1:]
    assert [(row.group, row.questions, row.delta_points) for row in by_year] == [("", 1, 100.0), ("2021", 2, -50.0)]


def test_keys_joined_by_commas_are_crossed() -> None:
    rows = [
        *pairs((1, 0), domain="law", kind="choice", metadata=(("field", ("tax",)),)),
        *(replace(each, question="other") for each in pairs((0, 1), domain="law", kind="number")),
    ]
    crossed = compare(rows, "none", by=["domain, kind", "metadata.field,kind"])[1:]
    assert [(row.by, row.group, row.delta_points) for row in crossed] == [
        ("domain,kind", "law × choice", -100.0),
        ("domain,kind", "law × number", 100.0),
        ("metadata.field,kind", "(no metadata.field) × number", 100.0),
        ("metadata.field,kind", "tax × choice", -100.0),
    ]


@pytest.mark.parametrize(
    ("by", "said"),
    [
        ("colour", "domain, difficulty, language, kind, metadata.KEY"),
        ("domain,colour", "cannot be grouped by 'colour'"),
        ("metadata.colour", "Their metadata has: field."),
        ("metadata.", "cannot be grouped by 'metadata.'"),
        ("", "cannot be grouped by ''"),
    ],
)
def test_what_no_question_has_is_no_group(by: str, said: str) -> None:
    with pytest.raises(InputError) as refused:
        compare(pairs((1, 0), metadata=(("field", ("tax",)),)), "none", by=[by])
    assert said in f"{refused.value} {refused.value.hint}"


# Two models, compared as two conditions are.


def of_models(*values: tuple[float, float]) -> list[TrialSummary]:
    both = pairs(*values)
    return [replace(each, model="off" if each.condition == "none" else "on", condition="search") for each in both]


def test_two_models_are_compared_as_two_conditions_are() -> None:
    values = [(1.0, 0.0), (0.0, 1.0), (0.0, 1.0), (1.0, 1.0), (0.0, 0.0)]
    (one,), (other,) = compare_models(of_models(*values), "off", "on", seed=3), compare(pairs(*values), "none", seed=3)
    assert (one.model, one.baseline, one.condition) == ("search", "off", "on")
    same = {"model": "m", "baseline": "none", "condition": "tool"}
    assert replace(one, **same) == other  # type: ignore[arg-type]
    (row,) = json.loads(comparisons_json([one], of_models=True))["comparisons"]
    assert (row["condition"], row["baseline_model"], row["model"]) == ("search", "off", "on")
    (flat,) = csv.DictReader(io.StringIO(comparisons_csv([one], of_models=True)))
    assert (flat["condition"], flat["baseline_model"], flat["model"]) == ("search", "off", "on")
    page = shown(comparison_table([one], of_models=True), 140)
    assert "under search  compared with off" in page
    assert [line.split()[0] for line in page.splitlines() if line.split()[:1] in (["condition"], ["model"])] == [
        "condition",
        "model",
    ]


def test_conditions_come_in_their_order_and_those_of_one_model_alone_are_left_out() -> None:
    rows = of_models((1, 0), (0, 1))
    rows += [replace(each, condition="a") for each in rows] + [replace(rows[1], condition="alone", model="on")]
    found = compare_models(rows, "off", "on", order=["search", "a", "alone"])
    assert [row.model for row in found] == ["search", "a"]
    with pytest.raises(InputError, match="No condition has ended trials of both"):
        compare_models([rows[0], replace(rows[1], condition="alone")], "off", "on")
