"""How often labels by replay are right, and how sure they should be, where the truth is known."""

from collections import Counter, defaultdict

import numpy as np
import pytest
from tests.traces.attribution.cases import World, evidence, steady, truth, worlds

from toolablate.analysis.attribution.replay_rules import layer_two
from toolablate.analysis.pairing import mean
from toolablate.traces.records import Attribution, Mechanism

BY_TOOLS = frozenset({"retrieval_distraction", "lock_in", "calling", "tool_fault", "budget", "availability", "prompt"})


def labelled(world: World, rng: np.random.Generator) -> Attribution:
    found = layer_two(evidence(world, rng))
    assert found is not None
    assert found.method == "replay"
    return found


def wrong_draw(world: World, rng: np.random.Generator) -> float:
    return float(rng.uniform(world.believed[-1], 1))


@pytest.fixture(scope="module")
def judged() -> list[tuple[World, Mechanism, Attribution]]:
    """Trials of every world, of weak causes and strong ones, and of none."""
    rng = np.random.default_rng(5)
    found = []
    for _ in range(60):
        chosen = worlds(float(rng.uniform(0.7, 0.97)), float(rng.uniform(0.02, 0.35)))
        chosen += [steady(float(rng.uniform(0.55, 0.85)), kind) for kind in ("search", "code", None)]
        chosen += [steady(float(rng.uniform(0.03, 0.4)), kind) for kind in ("search", "code", None)]
        found += [(world, truth(world, wrong_draw(world, rng)), labelled(world, rng)) for world in chosen]
    return found


def test_the_right_mechanism_is_named_in_most_trials_of_each_kind(
    judged: list[tuple[World, Mechanism, Attribution]],
) -> None:
    right: dict[Mechanism, list[float]] = defaultdict(list)
    for _, mechanism, label in judged:
        right[mechanism].append(float(label.mechanism == mechanism))
    rates = {mechanism: mean(each) for mechanism, each in right.items() if len(each) >= 20}
    assert {
        "retrieval_distraction",
        "lock_in",
        "tool_fault",
        "budget",
        "availability",
        "calling",
        "luck",
        "own_error",
    } == rates.keys()
    assert min(rates.values()) >= 0.6, rates
    assert mean(list(rates.values())) >= 0.75, rates


def test_pure_churn_is_seldom_blamed_on_tools(judged: list[tuple[World, Mechanism, Attribution]]) -> None:
    churned = [label.mechanism for world, mechanism, label in judged if world.name == "steady" and mechanism == "luck"]
    assert len(churned) > 100
    blamed = Counter(churned)
    assert sum(blamed[mechanism] for mechanism in BY_TOOLS) <= 0.1 * len(churned), blamed


def test_confidences_are_the_shares_that_are_right(judged: list[tuple[World, Mechanism, Attribution]]) -> None:
    bins: dict[int, list[tuple[float, float]]] = defaultdict(list)
    for _, mechanism, label in judged:
        bins[min(int(5 * label.confidence), 4)].append((label.confidence, float(label.mechanism == mechanism)))
    errors = [
        len(each) / len(judged) * abs(mean([sure for sure, _ in each]) - mean([right for _, right in each]))
        for each in bins.values()
    ]
    assert sum(errors) <= 0.1, bins.keys()
