"""What each term is, which levels it needs, and what it is called."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolablate.analysis.attribution.decomposition import (
    Arms,
    Chain,
    Replay,
    Signal,
    Term,
    ToolKind,
    mechanisms,
    points,
    terms,
)

NO_SWAP: frozenset[ToolKind] = frozenset()
CODE: frozenset[ToolKind] = frozenset({"code"})
SEARCH: frozenset[ToolKind] = frozenset({"search"})
BOTH = CODE | SEARCH

ARMS = Arms(none=(0.75,), scaffold=(0.7,), offered=(0.6,), sham=(0.5,), placebo=(0.48,))
REPLAY = Replay(extended=(0.1,), repaired=(0.3,), rollouts={NO_SWAP: (0.2, 0.4), CODE: (0.4, 0.5)})


def chain(arms: Arms = ARMS, replay: Replay | None = REPLAY, tools: frozenset[ToolKind] = CODE) -> Chain:
    return Chain("m", "T", "q", ("question", "q"), "t", 0.0, arms, tools, 0.05, 0.5, replay)


def of(each: Chain, *, calling: bool = True) -> dict[Term, float]:
    return {term: pytest.approx(value) for term, value in terms(each, each.replay, calling=calling).items()}


def named(each: Chain) -> dict[str, float]:
    return {
        name: pytest.approx(value)
        for name, value in mechanisms(each, each.replay, terms(each, each.replay, calling=True)).items()
    }


def test_each_term_is_the_difference_of_its_two_levels() -> None:
    assert of(chain()) == {
        "format": -0.05,
        "budget": -0.05,
        "tool_fault": -0.2,
        "luck": 0.0,
        "content": -0.15,
        "use": -0.05,
        "calling": -0.1,
        "availability": -0.1,
        "prompt": -0.05,
    }


def test_the_points_of_one_trial_sum_to_what_it_scores_above_the_question_without_tools() -> None:
    each = chain()
    found = points(each)
    assert sum(found.values()) == pytest.approx(100 * (each.score - sum(ARMS.none) / len(ARMS.none)))
    assert found["prompt"] == pytest.approx(-5)
    alone = replace(each, arms=Arms(none=ARMS.none), replay=None)
    assert set(points(alone)) == {"format", "unresolved"}


def test_use_is_the_same_without_the_placebo_arm_and_takes_calling_where_no_sham_is() -> None:
    bare = Arms(none=(0.75,), scaffold=(0.7,), offered=(0.6,), sham=(0.5,))
    assert of(chain(bare))["use"] == -0.05
    none = Arms(none=(0.75,), scaffold=(0.7,), offered=(0.6,))
    assert of(chain(none), calling=False)["use"] == -0.15
    assert "calling" not in of(chain(none), calling=False)
    # Where other questions of the condition have a sham arm, this one's use and calling cannot be told apart.
    assert of(chain(none))["unresolved"] == -0.15
    assert "use" not in of(chain(none))


def test_formats_that_are_lost_without_tools_too_are_set_against_those_of_the_trial() -> None:
    arms = Arms(none=(0.6, 0.7), scaffold=(0.7,), offered=(0.6,), sham=(0.5,), placebo=(0.48,), bare=(0.8, 0.7))
    found = of(chain(arms))
    assert (found["format"], found["prompt"]) == (-0.05 + 0.1, 0.7 - 0.75)


def test_a_format_that_is_lost_without_tools_and_not_asked_for_again_is_unresolved() -> None:
    found = of(chain(replace(ARMS, bare=None)))
    assert "prompt" not in found
    assert found["unresolved"] == of(chain())["prompt"]


def test_a_format_that_only_a_replay_can_mend_is_unresolved_without_one() -> None:
    each = Chain("m", "T", "q", ("question", "q"), "t", 0.0, ARMS, CODE, None, 0.5, REPLAY)
    mended = replace(each, replay=replace(REPLAY, mended=(0.0, 0.1)))
    assert of(mended) == of(chain())
    assert (of(each)["format"], of(each)["unresolved"]) == (0.0, pytest.approx(-0.1))
    assert terms(mended, None, calling=True)["format"] == 0.0


def test_what_no_replay_shows_is_unresolved() -> None:
    found = of(chain(replay=None))
    assert found == {
        "format": -0.05,
        "unresolved": 0.05 - 0.48,
        "use": -0.02,
        "calling": -0.1,
        "availability": -0.1,
        "prompt": -0.05,
    }


def test_a_missing_step_makes_its_two_terms_unresolved_and_no_other() -> None:
    found = of(chain(replay=Replay(extended=(0.1,), rollouts=REPLAY.rollouts)))
    assert found["unresolved"] == pytest.approx(0.1 - 0.3)
    assert not {"tool_fault", "luck"} & found.keys()
    assert found["content"] == pytest.approx(-0.15)
    lacking = Arms(none=(0.75,), offered=(0.6,), sham=(0.5,))
    assert of(chain(lacking))["unresolved"] == pytest.approx(0.6 - 0.75)


@pytest.mark.parametrize(
    ("tools", "signals", "expected"),
    [
        (CODE, (), {"computation_misled": -0.15, "use": -0.05}),
        (CODE, ("lock_in",), {"computational_lock_in": -0.2}),
        (CODE, ("computed",), {"computation_done": -0.15, "use": -0.05}),
        (CODE, ("answer_leak",), {"computation_misled": -0.15, "use": -0.05}),
        (SEARCH, (), {"retrieval_distraction": -0.15, "use": -0.05}),
        (SEARCH, ("retrieved", "answer_leak"), {"answer_leak": -0.15, "use": -0.05}),
        (SEARCH, ("retrieved",), {"knowledge_retrieved": -0.15, "use": -0.05}),
        (frozenset({"other"}), (), {"other_results": -0.15, "use": -0.05}),
    ],
)
def test_content_is_called_after_its_tool_and_the_signals(
    tools: frozenset[ToolKind], signals: tuple[Signal, ...], expected: dict[str, float]
) -> None:
    replay = Replay((0.1,), (0.3,), {NO_SWAP: (0.2, 0.4), tools: (0.4, 0.5)}, frozenset(signals))
    others = {"format_loss", "budget", "tool_fault", "luck", "calling", "availability", "prompt"}
    found = named(chain(replay=replay, tools=tools))
    assert {name: value for name, value in found.items() if name not in others} == expected


def test_of_both_tools_each_has_the_mean_of_both_orders() -> None:
    rollouts = {NO_SWAP: (0.1,), CODE: (0.5,), SEARCH: (0.3,), BOTH: (0.6,)}
    found = named(chain(replay=Replay((0.1,), (0.3,), rollouts, frozenset({"lock_in"})), tools=BOTH))
    # Code: first with search real (.1 - .5), then with search swapped (.3 - .6).
    assert found["computational_lock_in"] == pytest.approx(-0.35)
    assert found["retrieval_distraction"] == pytest.approx(((0.1 - 0.3) + (0.5 - 0.6)) / 2)
    assert found["use"] == pytest.approx(0.1)
    lacking = named(chain(replay=Replay((0.1,), (0.3,), {NO_SWAP: (0.1,), BOTH: (0.6,)}), tools=BOTH))
    assert lacking["unresolved"] == pytest.approx(-0.5)


def test_a_trial_without_results_has_no_content() -> None:
    found = of(chain(replay=Replay((0.1,), (0.3,), {NO_SWAP: (0.2,)}), tools=NO_SWAP))
    assert (found["content"], found["use"]) == (0.0, pytest.approx(-0.3))


@given(st.sets(st.sampled_from(["mended", "extended", "repaired", "resampled", "swapped", "scaffold", "offered", "sham", "placebo"])), st.booleans())  # fmt: skip
def test_terms_and_mechanisms_sum_to_the_difference_whatever_is_missing(lost: set[str], calling: bool) -> None:
    def kept(name: str, *scores: float) -> tuple[float, ...]:
        return () if name in lost else scores

    arms = Arms((0.7,), kept("scaffold", 0.1), kept("offered", 0.9), kept("sham", 0.3, 0.2), kept("placebo", 0.6))
    rollouts = {NO_SWAP: kept("resampled", 0.2, 0.8, 0.5), CODE: kept("swapped", 0.4)}
    replay = Replay(kept("extended", 0.3), kept("repaired", 1.0), rollouts, frozenset({"lock_in"}))
    each = Chain("m", "T", "q", ("question", "q"), "t", 1.0, arms, CODE, None if "mended" in lost else 0.5, 1.0, replay)
    for known in (replay, None):
        found = terms(each, known, calling=calling)
        assert sum(found.values()) == pytest.approx(0.3, abs=1e-12)
        assert sum(mechanisms(each, known, found).values()) == pytest.approx(0.3, abs=1e-12)


def test_records_that_cannot_be_are_refused() -> None:
    with pytest.raises(ValueError, match="without tools"):
        Arms(none=())
    for probability in (0.0, 1.5, -0.1):
        with pytest.raises(ValueError, match="probability"):
            Chain("m", "T", "q", ("question", "q"), "t", 0.0, ARMS, CODE, None, probability, REPLAY)
