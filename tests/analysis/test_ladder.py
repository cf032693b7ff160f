"""Ladders are found by what conditions are, whatever they are called."""

import csv
import io
import json
import random
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.analysis.ladder_arms import REAL, changed, graded, ladder_conditions, substituted

from toolablate.analysis.arms import ladders
from toolablate.analysis.ladder import Waterfall, waterfalls, waterfalls_csv, waterfalls_json
from toolablate.analysis.statistics.p_values import holm
from toolablate.traces.records import Budget, Condition, InterventionUse, ToolUse
from toolablate.traces.store.summaries import TrialSummary

NAMES = ["prompt", "availability", "calling", "irrelevant content", "real content"]


def test_all_arms_of_a_condition_are_found_whatever_they_are_called() -> None:
    conditions = ladder_conditions(shapley=True)
    called = {f"c{number}": changed(each, name="same") for number, each in enumerate(conditions.values())}
    ladder, other = ladders(called)
    # What is not called an unprompted arm was asked for.
    assert (other.toolset, list(other.arms.values())) == ("c11", ["c0", "c8", "c9", "c10", "c11"])
    assert ladder.toolset == "c5"
    assert list(ladder.arms.items()) == [
        ("none", "c0"),
        ("scaffold", "c1"),
        ("offered", "c2"),
        ("sham", "c3"),
        ("placebo", "c4"),
        ("real", "c5"),
    ]
    assert dict(ladder.bounds) == {"oracle": "c6", "adversarial": "c7"}
    assert list(ladder.unprompted.items()) == [("offered", "c8"), ("sham", "c9"), ("placebo", "c10"), ("real", "c11")]
    assert [contrast.name for contrast in ladder.contrasts] == NAMES
    assert [(contrast.before, contrast.after) for contrast in ladder.contrasts] == [
        (f"c{n}", f"c{n + 1}") for n in range(5)
    ]
    assert (ladder.missing, ladder.missing_unprompted, ladder.below) == ((), (), "c4")


@pytest.mark.parametrize(
    ("left_out", "contrasts", "missing"),
    [
        (["offered"], ["prompt", "availability + calling", *NAMES[3:]], ("offered",)),
        (["sham", "placebo"], [*NAMES[:2], "calling + irrelevant content + real content"], ("sham", "placebo")),
        (["scaffold"], ["prompt + availability", *NAMES[2:]], ("scaffold",)),
        (["scaffold", "offered", "sham", "placebo"], [" + ".join(NAMES)], ("scaffold", "offered", "sham", "placebo")),
    ],
)
def test_contrasts_without_an_arm_between_them_are_one(
    left_out: list[str], contrasts: list[str], missing: tuple[str]
) -> None:
    kept = {label: each for label, each in ladder_conditions().items() if label.split(":")[-1] not in left_out}
    (ladder,) = ladders(kept)
    assert [contrast.name for contrast in ladder.contrasts] == contrasts
    assert ladder.missing == missing
    assert ladder.missing_unprompted


def test_a_condition_without_a_prompt_has_no_contrast_of_that_name() -> None:
    (ladder,) = ladders(ladder_conditions(changed(REAL, prompt="")))
    assert [contrast.name for contrast in ladder.contrasts] == NAMES[1:]
    assert (ladder.missing, ladder.prompted, dict(ladder.unprompted)) == ((), False, {})


@pytest.mark.parametrize(
    "other",
    [
        {"prompt": "Another prompt."},
        {"budget": Budget(turns=6)},
        {"tools": (ToolUse(name="python", options={"seconds": 5}),)},
        {"reasoning": "drop"},
        {"parallel_tool_calls": True},
    ],
)
def test_an_arm_that_differs_in_anything_else_is_none(other: dict[str, object]) -> None:
    conditions = ladder_conditions()
    for label in ("python:offered", "python:sham", "python:placebo", "python:oracle", "python:adversarial"):
        conditions[label] = changed(conditions[label], **other)
    (ladder,) = ladders(conditions)
    assert list(ladder.arms) == ["none", "scaffold", "real"]
    assert not ladder.bounds


def test_what_a_condition_brings_of_its_own_belongs_to_all_its_arms() -> None:
    own = (InterventionUse(name="spotlight", options={"method": "encode"}),)
    real = changed(REAL, name="own", interventions=own, reasoning="drop", tool_choice="required")
    (ladder,) = ladders(ladder_conditions(real, shapley=True))
    assert len(ladder.arms) == 6
    assert len(ladder.bounds) == 2
    assert len(ladder.unprompted) == 4
    # The substitute is nearest to the tool, so that the condition's own act on what it puts there.
    behind = {"sham": changed(REAL, interventions=(*own, InterventionUse(name="sham")))}
    (ladder,) = ladders({"none": Condition(name="none", budget=REAL.budget), "python": REAL, **behind})
    assert list(ladder.arms) == ["none", "real"]


def test_a_toolset_without_a_prompt_keeps_its_ladder_beside_one_with_a_prompt() -> None:
    bare = ladder_conditions(changed(REAL, name="bare", prompt=""))
    prompted, own = ladders(ladder_conditions() | bare)
    assert (prompted.toolset, own.toolset) == ("python", "bare")
    assert list(own.arms) == ["none", "offered", "sham", "placebo", "real"]
    assert set(own.bounds) == {"oracle", "adversarial"}
    assert prompted.missing_unprompted == ()
    assert [each.toolset for each in ladders(ladder_conditions(shapley=True))] == ["python"]


def test_a_ladder_takes_an_effect_apart() -> None:
    conditions = ladder_conditions()
    (whole,) = ladders(conditions)
    (ends,) = ladders({label: conditions[label] for label in ("none", "scaffold", "python")})
    assert (whole.parted, ends.parted) == (True, False)
    assert whole.among(["none", "scaffold", "python"]) is None
    assert whole.among(["none", "python:sham"]) is None
    kept = whole.among(["none", "python:sham", "python"])
    assert kept is not None
    assert list(kept.arms) == ["none", "sham", "real"]


def test_several_ladders_share_their_first_arms() -> None:
    search = changed(REAL, name="search", tools=(ToolUse(name="search"),))
    found = ladders(ladder_conditions(shapley=True) | ladder_conditions(search))
    assert [ladder.toolset for ladder in found] == ["python", "search"]
    assert [ladder.arms["scaffold"] for ladder in found] == ["scaffold", "scaffold"]
    assert found[1].missing_unprompted == ("offered", "sham", "placebo", "real")


@pytest.mark.parametrize(
    "conditions",
    [
        {},
        {"python": REAL},
        {"none": Condition(name="none"), "python": REAL},
        {"none": Condition(name="none", budget=REAL.budget), "python:sham": substituted(REAL, "sham")},
        {"none": Condition(name="none", budget=REAL.budget), "offered": changed(REAL, tool_choice="none")},
        {"none": Condition(name="none", budget=REAL.budget), "scaffold": changed(REAL, tools=())},
    ],
    ids=["nothing", "no baseline", "another budget", "a substitute", "not to be called", "no tools"],
)
def test_without_a_baseline_and_real_tools_there_is_no_ladder(conditions: dict[str, Condition]) -> None:
    assert ladders(conditions) == []


# What contrasts are worth: exact sums, the questions that count, what is corrected, JSON and CSV.


LADDERS = ladders(ladder_conditions(shapley=True))
LABELS = list(ladder_conditions(shapley=True))


def drawn(
    seed: int = 0, questions: int = 30, *, labels: list[str] = LABELS, model: str = "gpt-x"
) -> list[TrialSummary]:
    rng = random.Random(seed)
    return list(graded({label: [rng.random() for _ in range(questions)] for label in labels}, seed, model=model))


def made(summaries: list[TrialSummary], **options: int) -> Waterfall:
    (found,) = waterfalls(summaries, LADDERS, **{"resamples": 200, **options})
    return found


def scored(label: str, *values: float | None, **fields: object) -> list[TrialSummary]:
    return [
        replace(TrialSummary(question=f"q{n}", model="m", condition=label, value=value), **fields)
        for n, value in enumerate(values)
    ]


@given(st.integers(0, 10_000), st.integers(1, 12), st.sets(st.sampled_from(LABELS[1:5])), st.booleans())
def test_contrasts_and_shapley_values_sum_to_the_total(
    seed: int, questions: int, absent: set[str], clusters: bool
) -> None:
    rng = random.Random(seed)
    seen = [each for each in drawn(seed, questions) if each.condition not in absent and rng.random() < 0.97]
    for found in waterfalls([replace(each, cluster=each.question[-1] if clusters else "") for each in seen],
                            LADDERS, resamples=50):  # fmt: skip
        if found.total.points is not None:
            assert sum(contrast.points or 0.0 for contrast in found.contrasts) == pytest.approx(
                found.total.points, abs=1e-9
            )
        if found.shapley is not None:
            assert sum(each.points for each in found.shapley.values) == pytest.approx(found.shapley.total, abs=1e-9)
            assert sum(each.own for each in found.shapley.values) == pytest.approx(found.shapley.total, abs=1e-9)


def test_only_questions_scored_in_every_arm_count_and_the_others_are_told() -> None:
    seen = [each for label in LABELS[:6] for each in scored(label, 1.0, 0.0, 1.0, 0.5)]
    seen = [
        replace(each, value=None) if each.condition == "scaffold" and each.question == "q3" else each for each in seen
    ]
    seen = [
        replace(each, outcome="failed") if each.condition == "python:sham" and each.question == "q2" else each
        for each in seen
    ]
    found = made([*seen, *scored("none", 1.0, 1.0, 1.0, 1.0, 1.0)])
    assert (found.total.questions, found.excluded_questions) == (2, 3)
    assert {(contrast.questions, contrast.clusters) for contrast in found.contrasts} == {(2, 2)}
    # Two repeats of the baseline: 1 and 1, 0 and 1.
    assert (found.total.before_score, found.total.score, found.total.points) == (75.0, 50.0, -25.0)
    assert found.relative == pytest.approx(-100 / 3)


def test_the_relative_change_has_an_interval_of_its_own() -> None:
    found = made(drawn(3, 200), resamples=2_000)
    assert found.relative is not None
    assert found.relative_ci95 is not None
    assert found.total.ci95 is not None
    low, high = found.relative_ci95
    assert low < found.relative < high
    # It is about that of the points, in percent of what they start from.
    assert low == pytest.approx(100 * found.total.ci95[0] / (found.total.before_score or 0), abs=4)
    assert high == pytest.approx(100 * found.total.ci95[1] / (found.total.before_score or 0), abs=4)
    nothing = [each for label in LABELS[:6] for each in scored(label, *[0.0] * 20)]
    assert (made(nothing).relative, made(nothing).relative_ci95) == (None, None)


def test_steps_have_an_mde_and_what_flips_by_chance() -> None:
    right = {"none": [1, 1, 0, 0], "python:sham": [1, 0, 1, 0], "python": [0, 0, 0, 0]}
    seen = [
        replace(each, repeat=repeat, question=f"q{number}-{each.question}")
        for label, values in right.items()
        for number in range(15)
        for repeat in (0, 1)
        for each in scored(label, *(float(value if repeat else values[0]) for value in values))
    ]
    found = made(seen)
    first = found.contrasts[0]
    # Two runs of `none`: 1 and 1, 1 and 1, 1 and 0, 1 and 0; of `sham`: 1 and 1, 1 and 0, 1 and 1, 1 and 0.
    assert first.noise_questions == 60
    assert (first.flips_right_to_wrong, first.flips_wrong_to_right) == (15 * (0.5 + 0.25), 15 * (0.5 + 0.25))
    assert first.noise_flips == pytest.approx(15 * 2 / 2)
    assert first.detectable_points is not None
    assert 0 < first.detectable_points < 30
    single = made([each for each in seen if not each.repeat]).contrasts[0]
    assert single.noise_flips is None
    assert (single.flips_right_to_wrong, single.flips_wrong_to_right) == (0, 0)


def test_intervals_and_p_values_rest_on_clusters() -> None:
    alone, together = drawn(3, 40), [replace(each, cluster=each.question[-1]) for each in drawn(3, 40)]
    one, ten = made(alone, resamples=2_000), made(together, resamples=2_000)
    assert (one.total.clusters, ten.total.clusters) == (40, 10)
    assert one.total.points == ten.total.points
    assert one.total.ci95 != ten.total.ci95
    assert all(this.p_value != that.p_value for this, that in zip(one.contrasts, ten.contrasts, strict=True))


def test_the_bounds_stand_against_the_arm_just_below_the_real_one() -> None:
    seen = [*scored("none", 0, 0, 1, 1), *scored("scaffold", 0, 0, 1, 1), *scored("python:placebo", 0, 1, 1, 0),
            *scored("python", 1, 1, 1, 0), *scored("python:oracle", 1, 1, 1), *scored("python:adversarial", 0, 0, 0, 0)]  # fmt: skip
    found = made(seen)
    assert [(each.name, each.before, each.after) for each in found.bounds] == [
        ("oracle", "python:placebo", "python:oracle"),
        ("adversarial", "python:placebo", "python:adversarial"),
    ]
    assert [(each.points, each.questions) for each in found.bounds] == [(pytest.approx(100 / 3), 3), (-50.0, 4)]
    lower = [replace(each, condition="python:sham") if each.condition == "python:placebo" else each for each in seen]
    assert made(lower).bounds[0].before == made(lower).contrasts[-1].before == "python:sham"


def test_holm_is_over_all_that_is_shown_and_a_shared_contrast_counts_once() -> None:
    search = ladder_conditions(changed(REAL, name="search", tools=(ToolUse(name="search"),)))
    both = ladders(ladder_conditions() | search)
    labels = list(dict.fromkeys([*ladder_conditions(), *search]))
    seen = [each for model in ("a", "b") for each in drawn(5, 40, labels=labels, model=model)]
    found = waterfalls(seen, both, resamples=500)
    assert [(each.model, each.ladder) for each in found] == [
        ("a", "python"),
        ("a", "search"),
        ("b", "python"),
        ("b", "search"),
    ]
    steps = {(each.model, step.before, step.after): step
             for each in found for step in (*each.contrasts, each.total, *each.bounds)}  # fmt: skip
    assert len(steps) == 2 * (2 * 8 - 1)
    assert [step.p_holm for step in steps.values()] == pytest.approx(
        holm([step.p_value or 0 for step in steps.values()])
    )
    assert {each.comparisons for each in found} == {30}
    assert waterfalls([each for each in seen if each.condition in ("none", "python")], both) == []


def test_the_same_arms_over_other_questions_are_another_comparison() -> None:
    """Two ladders share their first contrast, each over the 60 questions that it has; by chance with the same p-value."""
    search = ladder_conditions(changed(REAL, name="search", tools=(ToolUse(name="search"),)))
    seen = []
    for label in dict.fromkeys([*ladder_conditions(), *search]):
        for number in range(80):
            if (label.startswith("python") and number >= 60) or (label.startswith("search") and number < 20):
                continue
            value = {"none": number % 2, "scaffold": number // 2 % 2}.get(label, number % 3 == 0)
            seen.append(TrialSummary(question=f"q{number:03}", model="m", condition=label, value=float(value)))
    python, web = waterfalls(seen, ladders(ladder_conditions() | search), resamples=200)
    assert python.contrasts[0].p_value == web.contrasts[0].p_value == 1.0
    assert (python.contrasts[0].before, python.contrasts[0].after) == (web.contrasts[0].before, web.contrasts[0].after)
    assert python.comparisons == len(python.steps) + len(web.steps) == 16


def test_p_values_rest_on_as_many_repeats_of_one_side_as_of_the_other() -> None:
    """The mean of one trial less that of ten is not symmetric, even where both sides are alike."""
    rng = random.Random(5)
    seen = [
        TrialSummary(question=f"q{number}", model="m", condition=label, repeat=repeat, value=float(rng.random() < 0.9))
        for label in LABELS[:6]
        for number in range(60)
        for repeat in range(1 if label == "python" else 10)
    ]
    even = [each for each in seen if not each.repeat]
    some, others = made(seen), made(even)
    assert some.contrasts[-1].p_value == others.contrasts[-1].p_value
    assert some.contrasts[-1].points != others.contrasts[-1].points


def test_arms_that_a_model_did_not_run_are_merged_for_it_alone() -> None:
    few = [each for each in drawn(2, model="few") if each.condition in ("none", "python:sham", "python")]
    none = [each for each in drawn(2, model="nobody") if each.condition != "none"]
    found = waterfalls([*drawn(1), *few, *none], LADDERS, resamples=100)
    assert [each.model for each in found] == ["few", "gpt-x"]
    assert [contrast.name for contrast in found[0].contrasts] == [
        "prompt + availability + calling",
        "irrelevant content + real content",
    ]
    assert found[0].missing == ("scaffold", "offered", "placebo")
    assert found[0].shapley is None
    assert len(found[1].contrasts) == 5


def test_an_arm_without_a_score_is_named_and_nothing_is_made_up() -> None:
    seen = [each for label in LABELS[:6] for each in scored(label, 1.0, 0.0)]
    found = made(
        [replace(each, outcome="failed", value=None) if each.condition == "python:sham" else each for each in seen]
    )
    assert found.unscored == ("python:sham",)
    assert (found.total.questions, found.excluded_questions) == (0, 2)
    for step in (found.total, *found.contrasts):
        assert (step.before_score, step.points, step.ci95, step.p_value, step.p_holm) == (None,) * 5
    assert found.relative is None
    assert json.loads(waterfalls_json([found]))["waterfalls"][0]["total"]["points"] is None


def test_the_order_of_summaries_changes_nothing() -> None:
    seen = drawn(4)
    assert made(seen) == made(random.Random(1).sample(seen, len(seen)))
    assert made(seen, seed=1).total.ci95 != made(seen).total.ci95


def test_a_shapley_value_is_the_mean_over_the_five_orders() -> None:
    seen = [each for each in drawn(6, 9) if "oracle" not in each.condition and "adversarial" not in each.condition]
    found = made(seen).shapley
    assert found is not None
    means: dict[str, float] = {}
    for label in LABELS:
        values = [each.value or 0.0 for each in seen if each.condition == label]
        means[label] = sum(values) / max(1, len(values))
    levels = {
        (prompted, level): means[label]
        for prompted, labels in ((0, ["none", *LABELS[8:12]]), (1, LABELS[1:6]))
        for level, label in enumerate(labels)
    }
    marginal = [0.0] * 5
    for place in range(5):
        prompted = level = 0
        for factor in [*range(1, place + 1), 0, *range(place + 1, 5)]:
            before = levels[prompted, level]
            prompted, level = (1, level) if factor == 0 else (prompted, level + 1)
            marginal[factor] += (levels[prompted, level] - before) / 5
    assert [each.points for each in found.values] == pytest.approx([100 * each for each in marginal])
    for value in found.values:
        assert value.small
        assert not value.order_matters
    assert (found.questions, found.clusters) == (9, 9)


def test_without_an_arm_there_is_no_shapley_value_and_it_is_said_which() -> None:
    found = made([each for each in drawn() if each.condition != "python:sham-unprompted"])
    assert (found.shapley, found.lacking) == (None, ("sham",))
    few = made([each for each in drawn() if "sham" not in each.condition]).shapley
    assert few is not None
    assert [each.name for each in few.values] == [
        "prompt",
        "availability",
        "calling + irrelevant content",
        "real content",
    ]


def test_csv_has_a_line_for_each_step_and_runs_no_formula() -> None:
    found = waterfalls(drawn(model="=evil()\r=more()"), LADDERS, resamples=100)
    lines = list(csv.DictReader(io.StringIO(waterfalls_csv(found), newline="")))
    assert [line["kind"] for line in lines] == ["contrast"] * 5 + ["total", "bound", "bound"]
    assert {line["model"] for line in lines} == {"'=evil()\r=more()"}
    contrasts = sum(float(line["points"]) for line in lines[:5])
    assert contrasts == pytest.approx(float(lines[5]["points"]))
    assert sum(float(line["shapley_points"]) for line in lines[:5]) == pytest.approx(contrasts)
    assert (lines[0]["relative"], lines[6]["shapley_points"]) == ("", "")
    assert float(lines[5]["relative"]) == pytest.approx(found[0].relative)
    assert float(lines[5]["relative_ci95_low"]) == pytest.approx((found[0].relative_ci95 or (0,))[0])
    for line, step in zip(lines, found[0].steps, strict=True):
        assert float(line["detectable_points"]) == pytest.approx(step.detectable_points)
        assert float(line["flips_right_to_wrong"]) == pytest.approx(step.flips_right_to_wrong)
