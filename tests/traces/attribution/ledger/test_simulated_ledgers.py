"""Bias, coverage and error rates of ledgers, on trials of which every term is known."""

from collections import defaultdict

import numpy as np
import pytest
from tests.traces.attribution.ledger.worlds import Replaying, World, trials

from toolablate.analysis.attribution.decomposition import TERMS, Ledger, ledgers

RUNS, QUESTIONS, RESAMPLES = 300, 100, 399
HARMED = World(
    prompt=-0.03, availability=-0.02, calling=-0.03, use=-0.04, search=-0.12, code=0.08, together=-0.06,
    fault=0.25, budget=0.25, format=0.25, spread=0.05,
)  # fmt: skip
NAMES = {"content": "content", "retrieval_distraction": "search", "computation_misled": "code"}
"""Mechanisms whose truth the world has under another name."""


def simulated(world: World, replaying: Replaying) -> list[Ledger]:
    kinds = world.kinds()
    return [
        found
        for run in range(RUNS)
        for found in ledgers(
            trials(kinds, QUESTIONS, replaying, np.random.default_rng([run, 9])), seed=run, resamples=RESAMPLES
        )
    ]


@pytest.mark.timeout(300)
@pytest.mark.parametrize(
    "replaying",
    [Replaying(), Replaying(wrong=0.3, right=0.3), Replaying(wrong=0.35, right=0.2)],
    ids=["all", "30 %", "failures more often"],
)
def test_terms_are_unbiased_and_their_intervals_cover_the_truth(replaying: Replaying) -> None:
    truth = HARMED.truth()
    off: dict[str, list[float]] = defaultdict(list)
    covered: dict[str, list[tuple[bool, bool]]] = defaultdict(list)
    for found in simulated(HARMED, replaying):
        shown = [*found.terms, *(each for each in found.mechanisms if each.name in NAMES)]
        for each in shown:
            true = truth[NAMES.get(each.name, each.name)]
            off[each.name].append(each.points - true)
            if each.ci90 is not None and each.ci95 is not None:
                narrow, wide = each.ci90[0] <= true <= each.ci90[1], each.ci95[0] <= true <= each.ci95[1]
                covered[each.name].append((narrow, wide))
    assert off.keys() == {*TERMS, "retrieval_distraction", "computation_misled"}
    for name, values in off.items():
        assert abs(np.mean(values)) <= 3.5 * np.std(values) / np.sqrt(RUNS) + 1e-9, name
    # Where all are replayed nothing is unresolved, and that has no interval.
    assert covered.keys() == off.keys() - ({"unresolved"} if replaying == Replaying() else set())
    shares = {name: np.mean(values, axis=0) for name, values in covered.items()}
    assert np.mean(list(shares.values()), axis=0) == pytest.approx([0.9, 0.95], abs=0.02)
    for name, share in shares.items():
        assert share == pytest.approx([0.9, 0.95], abs=0.055), name


@pytest.mark.timeout(300)
@pytest.mark.parametrize(
    ("world", "replaying"),
    [(World(), Replaying()), (World(base=0.05), Replaying(wrong=0.45, right=0.15, rollouts=2))],
    ids=["all", "hardly any right, failures more often"],
)
def test_without_any_effect_at_most_one_mechanism_in_twenty_is_significant(world: World, replaying: Replaying) -> None:
    p_values: dict[str, list[float]] = defaultdict(list)
    corrected = []
    for found in simulated(world, replaying):
        tested = [each for each in found.mechanisms if each.p_value is not None]
        for each in tested:
            p_values[each.name].append(each.p_value or 0.0)
        corrected.append(min(each.p_holm or 0.0 for each in tested))
    # No trial was spoiled, so that these three are never there.
    spoiled = {"format_loss", "budget", "tool_fault"}
    rates = {name: np.mean(np.array(values) < 0.05) for name, values in p_values.items() if name not in spoiled}
    assert {min(p_values[name]) for name in spoiled} == {1.0}
    assert len(rates) == 6
    assert 0.015 <= np.mean(list(rates.values())) <= 0.06
    assert max(rates.values()) <= 0.085
    assert np.mean(np.array(corrected) < 0.05) <= 0.06
