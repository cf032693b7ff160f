"""Ladders are found by what conditions are, whatever they are called."""

import pytest
from tests.traces.ladder.arms import REAL, changed, ladder_conditions, stood_in

from toolablate.analysis.arms import ladders
from toolablate.traces.records import Budget, Condition, InterventionUse, ToolUse

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
    assert [rung.name for rung in ladder.rungs] == NAMES
    assert [(rung.before, rung.after) for rung in ladder.rungs] == [(f"c{n}", f"c{n + 1}") for n in range(5)]
    assert (ladder.missing, ladder.missing_unprompted, ladder.below) == ((), (), "c4")


@pytest.mark.parametrize(
    ("left_out", "rungs", "missing"),
    [
        (["offered"], ["prompt", "availability + calling", *NAMES[3:]], ("offered",)),
        (["sham", "placebo"], [*NAMES[:2], "calling + irrelevant content + real content"], ("sham", "placebo")),
        (["scaffold"], ["prompt + availability", *NAMES[2:]], ("scaffold",)),
        (["scaffold", "offered", "sham", "placebo"], [" + ".join(NAMES)], ("scaffold", "offered", "sham", "placebo")),
    ],
)
def test_rungs_without_an_arm_between_them_are_one(left_out: list[str], rungs: list[str], missing: tuple[str]) -> None:
    kept = {label: each for label, each in ladder_conditions().items() if label.split(":")[-1] not in left_out}
    (ladder,) = ladders(kept)
    assert [rung.name for rung in ladder.rungs] == rungs
    assert ladder.missing == missing
    assert ladder.missing_unprompted


def test_a_condition_without_a_prompt_has_no_rung_of_that_name() -> None:
    (ladder,) = ladders(ladder_conditions(changed(REAL, prompt="")))
    assert [rung.name for rung in ladder.rungs] == NAMES[1:]
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
    # The stand-in is nearest to the tool, so that the condition's own act on what it puts there.
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
        {"none": Condition(name="none", budget=REAL.budget), "python:sham": stood_in(REAL, "sham")},
        {"none": Condition(name="none", budget=REAL.budget), "offered": changed(REAL, tool_choice="none")},
        {"none": Condition(name="none", budget=REAL.budget), "scaffold": changed(REAL, tools=())},
    ],
    ids=["nothing", "no baseline", "another budget", "a stand-in", "not to be called", "no tools"],
)
def test_without_a_baseline_and_real_tools_there_is_no_ladder(conditions: dict[str, Condition]) -> None:
    assert ladders(conditions) == []
