"""What a design can tell apart, against what the decomposition makes of the same levels."""

from dataclasses import replace
from itertools import combinations

import pytest

from toolablate.analysis.arms import ArmKind
from toolablate.analysis.attribution.decomposition import Arms, DecompositionInputs, Replay, terms
from toolablate.analysis.attribution.identified import (
    PLACEBO,
    REPEATS,
    ConditionDesign,
    DesignReach,
    identified,
    repeats_of,
    smallest_effects,
    wrong_trials,
)
from toolablate.reports.cause_wording import reach_lines, smallest_effects_told
from toolablate.traces.store import TrialSummary

PARTING: tuple[ArmKind, ...] = ("scaffold", "offered", "sham", "placebo")
WITHOUT = ConditionDesign("python", True, frozenset({"none", "real"}), 2, frozenset({"code"}))
LADDER = replace(WITHOUT, arms=frozenset({"none", "real", *PARTING}))


def told(design: ConditionDesign) -> dict[str, tuple[str, tuple[str, ...], str]]:
    return {each.mechanism: (each.told_by, each.not_apart_from, each.add) for each in identified([design])}


@pytest.mark.parametrize("asked_again", [True, False])
def test_a_mechanism_is_told_exactly_where_the_decomposition_has_a_term_of_its_own(asked_again: bool) -> None:
    replay = Replay((0.1,), (0.2,), {frozenset(): (0.3,), frozenset({"code"}): (0.4,)}, re_asked=(0.05,))
    scores = {"scaffold": (0.8,), "offered": (0.7,), "sham": (0.6,), "placebo": (0.5,)}
    for arms in (chosen for size in range(5) for chosen in combinations(PARTING, size)):
        inputs = DecompositionInputs(
            *("m", "python", "q", "q", "t", 0.0, Arms(none=(0.9,), **{arm: scores[arm] for arm in arms})),
            frozenset({"code"}),
            re_asked=0.05,
            inclusion_probability=1.0,
            replay=replay if asked_again else None,
        )
        found = terms(inputs, inputs.replay, calling="sham" in arms)
        rows = told(replace(WITHOUT, arms=frozenset({"none", "real", *arms}), asked_again=asked_again))
        for mechanism in ("calling", "availability", "prompt"):
            assert (rows[mechanism][0] == "arms") == (mechanism in found), (arms, mechanism)
        # Without a sham arm the term `use` has calling in it.
        assert (rows["use"][0] != "nothing") == ("use" in found and "sham" in arms), arms
        assert {name for name, (by, _, _) in rows.items() if by == "trace"} == (
            set() if asked_again else {"lock_in", "budget", "tool_fault", "format", "sampling_noise", "own_error"}
        )


def test_what_a_ladder_parts_is_one_sum_without_it_and_the_arms_to_add_are_named() -> None:
    assert {by for by, _, _ in told(LADDER).values()} == {"arms", "replays"}
    rows = told(WITHOUT)
    assert rows["use"] == ("nothing", ("calling", "availability", "prompt"), "ladder arms sham, offered")
    assert rows["availability"] == ("nothing", ("calling", "prompt"), "ladder arms offered, scaffold")
    assert rows["prompt"] == ("nothing", ("availability",), "ladder arm scaffold")
    # A condition without words of its own has no prompt to tell.
    assert "prompt" not in told(replace(LADDER, prompted=False, arms=LADDER.arms - {"scaffold"}))


def test_one_repeat_does_not_tell_a_question_that_is_mostly_wrong() -> None:
    rows = told(replace(LADDER, repeats=1))
    assert rows["own_error"] == ("nothing", ("sampling_noise",), REPEATS)
    assert rows["sampling_noise"][0] == "replays"


def test_a_tool_without_placebos_leaves_its_content_with_its_use() -> None:
    own = replace(LADDER, kinds=frozenset({"other", "code"}), without_placebo=frozenset({"other"}))
    rows = told(own)
    assert rows["other_results"] == ("nothing", ("use",), PLACEBO)
    assert rows["lock_in"][0] == "replays"
    assert rows["use"][0] == "arms"


def test_conditions_that_differ_are_named_and_the_lines_are_few() -> None:
    many = [
        replace(WITHOUT if number % 2 else LADDER, condition=f"c{number}", repeats=1 + number % 3)
        for number in range(12)
    ]
    lines = list(reach_lines(DesignReach(identified(many))))
    assert len(lines) <= 12
    assert ("arms", "calling, availability, prompt of 'c0', 'c2', 'c4', 'c6', 'c8', 'c10'") in lines
    assert "'c1'" in "".join(said for by, said in lines if by == "nothing")
    alone = dict(reach_lines(DesignReach(identified([LADDER]))))
    assert alone["arms"] == "calling, availability, prompt"
    assert list(reach_lines(DesignReach(identified([LADDER])), told=False)) == []


def summaries(questions: int, repeats: int) -> list[TrialSummary]:
    """Half of the trials are right, of other questions under each condition."""
    return [
        TrialSummary(f"q{question}", "m", condition, repeat, value=float((7 * question + 3 * repeat + shift) % 10 < 5))
        for question in range(questions)
        for condition, shift in (("none", 0), ("python", 4))
        for repeat in range(repeats)
    ]


def test_the_smallest_effect_shrinks_with_the_questions_and_is_left_out_where_there_are_too_few() -> None:
    few, more = (next(smallest_effects(summaries(number, 2), {"python": "none"})) for number in (20, 80))
    assert few.points is not None
    assert more.points is not None
    assert more.points < few.points
    assert (more.questions, more.model, more.condition) == (80, "m", "python")
    (one,) = smallest_effects(summaries(1, 2), {"python": "none"})
    assert (one.points, one.unknown) == (None, "too few questions")
    assert smallest_effects_told(DesignReach(smallest_effects=(one,))).endswith("not known (too few questions).")
    assert repeats_of(summaries(4, 3)) == 3
    assert wrong_trials(summaries(10, 1), ["python"]) == 5
