"""Decompositions over trials: exact sums for any data, weights of partial replay, clusters, and what is corrected."""

import random
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.analysis.attribution.test_simulated_decompositions import Replaying, World, trials

from toolablate.analysis.attribution.decomposition import (
    Arms,
    Decomposition,
    DecompositionInputs,
    Replay,
    SampledTrial,
    Signal,
    Term,
    ToolKind,
    decompositions,
    estimated,
    mechanisms,
    points,
    terms,
)
from toolablate.analysis.statistics.p_values import holm

HARMED = World(prompt=-0.03, availability=-0.02, calling=-0.03, use=-0.04, search=-0.12, code=0.08, fault=0.2, format=0.2)  # fmt: skip
ALL = Replaying()
SCORES = st.lists(st.sampled_from([0.0, 0.25, 1.0, 1 / 3]), max_size=3).map(tuple)


@st.composite
def all_inputs(draw: st.DrawFn) -> list[DecompositionInputs]:
    found = []
    for number in range(draw(st.integers(1, 8))):
        arms = Arms((0.3, *draw(SCORES)), draw(SCORES), draw(SCORES), draw(SCORES), draw(SCORES))
        for repeat in range(draw(st.integers(1, 3))):
            tools = frozenset(draw(st.sets(st.sampled_from(["search", "code", "other"]))))
            swaps = [frozenset(each for each in tools if draw(st.booleans())) for _ in range(4)]
            replay = Replay(
                draw(SCORES),
                draw(SCORES),
                {each: draw(SCORES) for each in (frozenset[str](), tools, *swaps)},
                frozenset(draw(st.sets(st.sampled_from(["lock_in", "computed", "answer_leak", "retrieved"])))),
                short=draw(st.none() | SCORES),
            )
            found.append(
                DecompositionInputs(
                    *(draw(st.sampled_from("mn")), "T", f"q{number}", ("question", f"q{number}"), f"{number}-{repeat}"),
                    *(draw(st.floats(0, 1)), arms, tools, draw(st.none() | st.floats(0, 1))),
                    *(draw(st.floats(0.05, 1)), draw(st.none() | st.just(replay))),
                )
            )
    return found


@pytest.mark.deep
@settings(deadline=None)
@given(all_inputs())
def test_terms_and_mechanisms_sum_to_the_effect_for_any_data(of: list[DecompositionInputs]) -> None:
    for found in decompositions(of, resamples=20):
        mine = [each for each in of if each.model == found.model]
        by_question: dict[str, list[float]] = {}
        for each in mine:
            by_question.setdefault(each.question, []).append(each.score - float(np.mean(each.arms.none)))
        effect = 100 * float(np.mean([np.mean(values) for values in by_question.values()]))
        assert found.effect.points == pytest.approx(effect, abs=1e-9)
        assert sum(each.points for each in found.terms) == pytest.approx(effect, abs=1e-9)
        assert sum(each.points for each in found.mechanisms) == pytest.approx(effect, abs=1e-9)


def test_sampled_trials_stand_for_all_of_their_stratum_and_change_no_sum() -> None:
    known = {"unresolved": -0.5, "use": -0.1}
    changed = {"unresolved": 0.5, "content": -0.4, "use": -0.1}
    some = [SampledTrial(known, changed if sampled else {}, 0.25, sampled, 1.0) for sampled in (True, False, False)]
    found = estimated(some)
    assert all(each == pytest.approx({"unresolved": 0.0, "content": -0.4, "use": -0.2}) for each in found)
    never = [replace(each, sampled=False, change={}) for each in some]
    assert estimated(never) == [known] * 3


def made(seed: int = 0, questions: int = 60, replaying: Replaying = ALL) -> list[DecompositionInputs]:
    return list(trials(HARMED.kinds(), questions, replaying, np.random.default_rng(seed)))


def in_points(found: Decomposition) -> dict[str, float]:
    return {each.name: each.points for each in found.terms}


def test_what_a_sample_shows_is_what_all_would_show_and_nearer_than_with_nominal_weights() -> None:
    """500 samples of 40 trials whose replays find -0.4 of 0.5 on average: the estimate has no bias, and errs less."""
    rng = np.random.default_rng(0)
    changes = rng.choice([-0.5, -0.4, -0.3], size=40)
    estimates, nominal = [], []
    for _ in range(500):
        drawn = rng.random(40) < 0.3
        some = [
            SampledTrial({"unresolved": -0.5}, {"content": change, "unresolved": -change} if own else {}, 0.3, own, 1.0)
            for change, own in zip(changes.tolist(), drawn.tolist(), strict=True)
        ]
        estimates.append(sum(each.get("content", 0.0) for each in estimated(some)))
        nominal.append(changes[drawn].sum() / 0.3)
    errors, of_nominal = np.array(estimates) - changes.sum(), np.array(nominal) - changes.sum()
    assert abs(errors.mean()) <= 4 * errors.std() / np.sqrt(500)
    assert np.sqrt(np.mean(errors**2)) < 0.3 * np.sqrt(np.mean(of_nominal**2))


def test_a_chosen_trial_whose_replays_are_lacking_stays_unresolved() -> None:
    some = made()
    half = [replace(each, inclusion_probability=0.5, sampled=True) for each in some]
    lacking = [replace(each, replay=None) if number % 2 else each for number, each in enumerate(half)]
    (found,) = decompositions(lacking, resamples=20)
    for name in ("content", "use"):
        shown = sum(points(each).get(name, 0.0) for each in lacking if each.replay) / len(lacking)
        assert in_points(found)[name] == pytest.approx(shown)


def test_trials_that_were_never_to_be_replayed_stay_unresolved() -> None:
    some = made()
    (found,) = decompositions([replace(each, inclusion_probability=0.0, replay=None) for each in some])
    (full,) = decompositions(some)
    lost = sum(
        in_points(full).get(name, 0.0)
        for name in ("budget", "tool_fault", "sampling_noise", "content", "volume", "use")
    )
    assert in_points(found)["unresolved"] == pytest.approx(lost)
    assert (found.trials, found.replayed, full.replayed) == (120, 0, 120)
    assert in_points(full)["unresolved"] == pytest.approx(0, abs=1e-9)


def test_intervals_and_p_values_rest_on_clusters_and_not_on_the_order_of_trials() -> None:
    some = made(1)
    together = [replace(each, unit=("cluster", each.question[-1])) for each in some]
    (alone,), (clustered,) = decompositions(some), decompositions(together)
    assert (alone.clusters, clustered.clusters, clustered.questions) == (60, 10, 60)
    assert in_points(alone) == pytest.approx(in_points(clustered))
    assert [each.ci95 for each in alone.terms] != [each.ci95 for each in clustered.terms]
    assert all(each.small for each in clustered.terms)
    random.Random(2).shuffle(some)
    assert decompositions(some) == [alone]
    wide, narrow = alone.effect.ci95, alone.effect.ci90
    assert wide is not None
    assert narrow is not None
    assert wide[0] < narrow[0] < alone.effect.points < narrow[1] < wide[1]


def test_two_clusters_have_no_intervals() -> None:
    (two,), (three,) = (
        decompositions([replace(each, unit=("cluster", str(int(each.question[-1]) % count))) for each in made(1)])
        for count in (2, 3)
    )
    assert {(each.ci90, each.ci95) for each in (two.effect, *two.terms, *two.mechanisms)} == {(None, None)}
    assert three.effect.ci90 is not None


def test_holm_is_over_mechanisms_conditions_and_models_without_noise_and_what_is_unresolved() -> None:
    some = [
        replace(each, model=model, condition=condition)
        for model, condition, seed in (("b", "T", 3), ("a", "U", 4), ("a", "T", 5))
        for each in made(seed, replaying=Replaying(0.5, 0.5))
    ]
    found = decompositions(some, resamples=500)
    assert [(each.model, each.condition) for each in found] == [("a", "T"), ("a", "U"), ("b", "T")]
    accounts = [each for decomposition in found for each in decomposition.mechanisms]
    assert {each.name for each in accounts if each.p_value is None} == {"sampling_noise", "unresolved"}
    tested = [each for each in accounts if each.p_value is not None]
    assert [each.p_holm for each in tested] == pytest.approx(holm([each.p_value or 0 for each in tested]))
    assert {each.p_value for decomposition in found for each in (*decomposition.terms, decomposition.effect)} == {None}


# What each term is, which levels it needs, and what it is called.


NO_SWAP: frozenset[ToolKind] = frozenset()
CODE: frozenset[ToolKind] = frozenset({"code"})
SEARCH: frozenset[ToolKind] = frozenset({"search"})
BOTH = CODE | SEARCH

ARMS = Arms(none=(0.75,), scaffold=(0.7,), offered=(0.6,), sham=(0.5,), placebo=(0.48,))
REPLAY = Replay(extended=(0.1,), repaired=(0.3,), rollouts={NO_SWAP: (0.2, 0.4), CODE: (0.4, 0.5)})


def inputs(arms: Arms = ARMS, replay: Replay | None = REPLAY, tools: frozenset[ToolKind] = CODE) -> DecompositionInputs:
    return DecompositionInputs("m", "T", "q", ("question", "q"), "t", 0.0, arms, tools, 0.05, 0.5, replay)


def of(each: DecompositionInputs, *, calling: bool = True) -> dict[Term, float]:
    return {term: pytest.approx(value) for term, value in terms(each, each.replay, calling=calling).items()}


def test_runs_of_arms_that_replays_made_are_in_their_levels_and_the_effect_is_as_it_was() -> None:
    own = Arms(none=(1.0,), scaffold=(1.0,), offered=(0.0,))
    more = Arms(none=(1.0,), scaffold=(1.0, 0.0), offered=(0.0, 1.0), none_again=(0.0,))
    before, after = (terms(inputs(arms), None, calling=False) for arms in (own, more))
    assert (before["prompt"], before["availability"]) == (0, -1)
    assert (after["prompt"], after["availability"]) == (-0.5, 0)
    assert sum(before.values()) == pytest.approx(sum(after.values()))


def named(each: DecompositionInputs) -> dict[str, float]:
    return {
        name: pytest.approx(value)
        for name, value in mechanisms(each, each.replay, terms(each, each.replay, calling=True)).items()
    }


def test_each_term_is_the_difference_of_its_two_levels() -> None:
    assert of(inputs()) == {
        "format": -0.05,
        "budget": -0.05,
        "tool_fault": -0.2,
        "sampling_noise": 0.0,
        "content": -0.15,
        "use": -0.05,
        "calling": -0.1,
        "availability": -0.1,
        "prompt": -0.05,
    }


def test_the_points_of_one_trial_sum_to_what_it_scores_above_the_question_without_tools() -> None:
    each = inputs()
    found = points(each)
    assert sum(found.values()) == pytest.approx(100 * (each.score - sum(ARMS.none) / len(ARMS.none)))
    assert found["prompt"] == pytest.approx(-5)
    alone = replace(each, arms=Arms(none=ARMS.none), replay=None)
    assert set(points(alone)) == {"format", "unresolved"}


def test_use_is_the_same_without_the_placebo_arm_and_takes_calling_where_no_sham_is() -> None:
    no_tools = Arms(none=(0.75,), scaffold=(0.7,), offered=(0.6,), sham=(0.5,))
    assert of(inputs(no_tools))["use"] == -0.05
    none = Arms(none=(0.75,), scaffold=(0.7,), offered=(0.6,))
    assert of(inputs(none), calling=False)["use"] == -0.15
    assert "calling" not in of(inputs(none), calling=False)
    # Where other questions of the condition have a sham arm, this one's use and calling cannot be told apart.
    assert of(inputs(none))["unresolved"] == -0.15
    assert "use" not in of(inputs(none))


def test_formats_that_are_lost_without_tools_too_are_set_against_those_of_the_trial() -> None:
    arms = Arms(none=(0.6, 0.7), scaffold=(0.7,), offered=(0.6,), sham=(0.5,), placebo=(0.48,), no_tools=(0.8, 0.7))
    found = of(inputs(arms))
    assert (found["format"], found["prompt"]) == (-0.05 + 0.1, 0.7 - 0.75)


def test_a_format_that_is_lost_without_tools_and_not_asked_for_again_is_unresolved() -> None:
    found = of(inputs(replace(ARMS, no_tools=None)))
    assert "prompt" not in found
    assert found["unresolved"] == of(inputs())["prompt"]


def test_a_format_that_only_a_replay_can_mend_is_unresolved_without_one() -> None:
    each = DecompositionInputs("m", "T", "q", ("question", "q"), "t", 0.0, ARMS, CODE, None, 0.5, REPLAY)
    re_asked = replace(each, replay=replace(REPLAY, re_asked=(0.0, 0.1)))
    assert of(re_asked) == of(inputs())
    assert (of(each)["format"], of(each)["unresolved"]) == (0.0, pytest.approx(-0.1))
    assert terms(re_asked, None, calling=True)["format"] == 0.0


def test_what_no_replay_shows_is_unresolved() -> None:
    found = of(inputs(replay=None))
    assert found == {
        "format": -0.05,
        "unresolved": 0.05 - 0.48,
        "use": -0.02,
        "calling": -0.1,
        "availability": -0.1,
        "prompt": -0.05,
    }


def test_a_missing_step_makes_its_two_terms_unresolved_and_no_other() -> None:
    found = of(inputs(replay=Replay(extended=(0.1,), rollouts=REPLAY.rollouts)))
    assert found["unresolved"] == pytest.approx(0.1 - 0.3)
    assert not {"tool_fault", "sampling_noise"} & found.keys()
    assert found["content"] == pytest.approx(-0.15)
    lacking = Arms(none=(0.75,), offered=(0.6,), sham=(0.5,))
    assert of(inputs(lacking))["unresolved"] == pytest.approx(0.6 - 0.75)


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
    others = {"format_loss", "budget", "tool_fault", "sampling_noise", "calling", "availability", "prompt"}
    found = named(inputs(replay=replay, tools=tools))
    assert {name: value for name, value in found.items() if name not in others} == expected


def test_of_both_tools_each_has_the_mean_of_both_orders() -> None:
    rollouts = {NO_SWAP: (0.1,), CODE: (0.5,), SEARCH: (0.3,), BOTH: (0.6,)}
    found = named(inputs(replay=Replay((0.1,), (0.3,), rollouts, frozenset({"lock_in"})), tools=BOTH))
    # Code: first with search real (.1 - .5), then with search swapped (.3 - .6).
    assert found["computational_lock_in"] == pytest.approx(-0.35)
    assert found["retrieval_distraction"] == pytest.approx(((0.1 - 0.3) + (0.5 - 0.6)) / 2)
    assert found["use"] == pytest.approx(0.1)
    lacking = named(inputs(replay=Replay((0.1,), (0.3,), {NO_SWAP: (0.1,), BOTH: (0.6,)}), tools=BOTH))
    assert lacking["unresolved"] == pytest.approx(-0.5)


def test_volume_is_what_short_results_restore_and_use_what_is_left_to_no_results() -> None:
    long = of(inputs(replay=replace(REPLAY, short=(0.9, 0.8))))
    assert (long["content"], long["volume"], long["use"]) == (-0.15, pytest.approx(0.45 - 0.85), pytest.approx(0.35))
    short = of(inputs(replay=replace(REPLAY, short=None)))
    assert (short["content"], short["volume"], short["use"]) == (-0.15, 0.0, pytest.approx(-0.05))
    untried = of(inputs())
    assert (untried["content"], untried["use"], "volume" in untried) == (-0.15, pytest.approx(-0.05), False)
    # Without the sham arm use reaches down to the offer of tools.
    alone = of(inputs(replace(ARMS, sham=()), replace(REPLAY, short=(0.9, 0.8))), calling=False)
    assert (alone["volume"], alone["use"]) == (pytest.approx(-0.4), pytest.approx(0.85 - 0.6))


def test_a_trial_without_results_has_no_content() -> None:
    found = of(inputs(replay=Replay((0.1,), (0.3,), {NO_SWAP: (0.2,)}), tools=NO_SWAP))
    assert (found["content"], found["use"]) == (0.0, pytest.approx(-0.3))


@given(st.sets(st.sampled_from(["re_asked", "extended", "repaired", "resampled", "swapped", "scaffold", "offered", "sham", "placebo", "short"])), st.booleans(), st.booleans())  # fmt: skip
def test_terms_and_mechanisms_sum_to_the_difference_whatever_is_missing(
    lost: set[str], calling: bool, long: bool
) -> None:
    def kept(name: str, *scores: float) -> tuple[float, ...]:
        return () if name in lost else scores

    arms = Arms((0.7,), kept("scaffold", 0.1), kept("offered", 0.9), kept("sham", 0.3, 0.2), kept("placebo", 0.6))
    rollouts = {NO_SWAP: kept("resampled", 0.2, 0.8, 0.5), CODE: kept("swapped", 0.4)}
    short = kept("short", 0.9) if long else None
    replay = Replay(kept("extended", 0.3), kept("repaired", 1.0), rollouts, frozenset({"lock_in"}), short=short)
    each = DecompositionInputs(
        "m", "T", "q", ("question", "q"), "t", 1.0, arms, CODE, None if "re_asked" in lost else 0.5, 1.0, replay
    )
    for known in (replay, None):
        found = terms(each, known, calling=calling)
        assert sum(found.values()) == pytest.approx(0.3, abs=1e-12)
        assert sum(mechanisms(each, known, found).values()) == pytest.approx(0.3, abs=1e-12)


def test_records_that_cannot_be_are_refused() -> None:
    with pytest.raises(ValueError, match="without tools"):
        Arms(none=())
    for probability in (0.0, 1.5, -0.1):
        with pytest.raises(ValueError, match="probability"):
            DecompositionInputs("m", "T", "q", ("question", "q"), "t", 0.0, ARMS, CODE, None, probability, REPLAY)
