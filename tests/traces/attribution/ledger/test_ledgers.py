"""Ledgers over trials: exact sums for any data, weights of partial replay, clusters, and what is corrected."""

import random
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.traces.attribution.ledger.worlds import Replaying, World, trials

from toolablate.analysis.attribution.decomposition import Arms, Chain, Ledger, Replay, ledgers, weighed
from toolablate.analysis.statistics.p_values import holm

HARMED = World(prompt=-0.03, availability=-0.02, calling=-0.03, use=-0.04, search=-0.12, code=0.08, fault=0.2, format=0.2)  # fmt: skip
ALL = Replaying()
SCORES = st.lists(st.sampled_from([0.0, 0.25, 1.0, 1 / 3]), max_size=3).map(tuple)


@st.composite
def chains(draw: st.DrawFn) -> list[Chain]:
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
            )
            found.append(
                Chain(
                    *(draw(st.sampled_from("mn")), "T", f"q{number}", ("question", f"q{number}"), f"{number}-{repeat}"),
                    *(draw(st.floats(0, 1)), arms, tools, draw(st.none() | st.floats(0, 1))),
                    *(draw(st.floats(0.05, 1)), draw(st.none() | st.just(replay))),
                )
            )
    return found


@settings(deadline=None)
@given(chains())
def test_terms_and_mechanisms_sum_to_the_effect_for_any_data(of: list[Chain]) -> None:
    for found in ledgers(of, resamples=20):
        mine = [each for each in of if each.model == found.model]
        by_question: dict[str, list[float]] = {}
        for each in mine:
            by_question.setdefault(each.question, []).append(each.score - float(np.mean(each.arms.none)))
        effect = 100 * float(np.mean([np.mean(values) for values in by_question.values()]))
        assert found.effect.points == pytest.approx(effect, abs=1e-9)
        assert sum(each.points for each in found.terms) == pytest.approx(effect, abs=1e-9)
        assert sum(each.points for each in found.mechanisms) == pytest.approx(effect, abs=1e-9)


def test_a_replay_counts_as_often_as_it_stands_for_a_trial_and_changes_no_sum() -> None:
    known = {"unresolved": -0.5, "use": -0.1}
    found = weighed(known, {"content": -0.4, "use": -0.2}, 0.25)
    assert found == pytest.approx({"unresolved": 1.5, "content": -1.6, "use": -0.5})
    assert sum(found.values()) == pytest.approx(sum(known.values()))
    assert weighed(known, None, 0.25) == known


def made(seed: int = 0, questions: int = 60, replaying: Replaying = ALL) -> list[Chain]:
    return list(trials(HARMED.kinds(), questions, replaying, np.random.default_rng(seed)))


def points(found: Ledger) -> dict[str, float]:
    return {each.name: each.points for each in found.terms}


def test_over_every_choice_of_replays_the_terms_are_those_of_a_full_replay() -> None:
    """Two trials, replayed or not: all four choices, each as likely as it is."""
    pair = made(questions=1)
    chances = (0.3, 0.6)
    (full,) = ledgers([replace(each, probability=1.0) for each in pair])
    expected: dict[str, float] = {}
    for first in (True, False):
        for second in (True, False):
            weight = (0.3 if first else 0.7) * (0.6 if second else 0.4)
            chosen = [
                replace(each, probability=chance, replay=each.replay if drawn else None)
                for each, chance, drawn in zip(pair, chances, (first, second), strict=True)
            ]
            (found,) = ledgers(chosen)
            for name, value in points(found).items():
                expected[name] = expected.get(name, 0.0) + weight * value
    whole = points(full)
    assert expected == pytest.approx({name: whole.get(name, 0.0) for name in expected}, abs=1e-9)


def test_trials_that_were_never_to_be_replayed_stay_unresolved() -> None:
    some = made()
    (found,) = ledgers([replace(each, probability=0.0, replay=None) for each in some])
    (full,) = ledgers(some)
    lost = sum(points(full).get(name, 0.0) for name in ("budget", "tool_fault", "luck", "content", "use"))
    assert points(found)["unresolved"] == pytest.approx(lost)
    assert (found.trials, found.replayed, full.replayed) == (120, 0, 120)
    assert points(full)["unresolved"] == pytest.approx(0, abs=1e-9)


def test_intervals_and_p_values_rest_on_clusters_and_not_on_the_order_of_trials() -> None:
    some = made(1)
    together = [replace(each, unit=("cluster", each.question[-1])) for each in some]
    (alone,), (clustered,) = ledgers(some), ledgers(together)
    assert (alone.clusters, clustered.clusters, clustered.questions) == (60, 10, 60)
    assert points(alone) == pytest.approx(points(clustered))
    assert [each.ci95 for each in alone.terms] != [each.ci95 for each in clustered.terms]
    assert all(each.small for each in clustered.terms)
    random.Random(2).shuffle(some)
    assert ledgers(some) == [alone]
    wide, narrow = alone.effect.ci95, alone.effect.ci90
    assert wide is not None
    assert narrow is not None
    assert wide[0] < narrow[0] < alone.effect.points < narrow[1] < wide[1]


def test_holm_is_over_mechanisms_conditions_and_models_without_luck_and_what_is_unresolved() -> None:
    some = [
        replace(each, model=model, condition=condition)
        for model, condition, seed in (("b", "T", 3), ("a", "U", 4), ("a", "T", 5))
        for each in made(seed, replaying=Replaying(0.5, 0.5))
    ]
    found = ledgers(some, resamples=500)
    assert [(each.model, each.condition) for each in found] == [("a", "T"), ("a", "U"), ("b", "T")]
    accounts = [each for ledger in found for each in ledger.mechanisms]
    assert {each.name for each in accounts if each.p_value is None} == {"luck", "unresolved"}
    tested = [each for each in accounts if each.p_value is not None]
    assert [each.p_holm for each in tested] == pytest.approx(holm([each.p_value or 0 for each in tested]))
    assert {each.p_value for ledger in found for each in (*ledger.terms, ledger.effect)} == {None}
