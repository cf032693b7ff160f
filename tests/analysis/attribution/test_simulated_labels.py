"""How often labels by replay are right, and how sure they are, where the truth is known: by all runs, and in rounds."""

import math
from collections import Counter, defaultdict
from dataclasses import replace

import numpy as np
import pytest
from tests.analysis.attribution.cases import World, evidence, steady, truth, worlds

from toolablate.analysis.attribution.belief import Probe, flip_step, trajectory
from toolablate.analysis.attribution.change_rates import ChangeRates
from toolablate.analysis.attribution.decomposition import Replay
from toolablate.analysis.attribution.evidence import Evidence
from toolablate.analysis.attribution.replay_rules import attribute_by_replay, next_level
from toolablate.analysis.pairing import mean
from toolablate.traces.records import Attribution, Mechanism, ReplayPurpose

MOST = 8
NO_RATES = ChangeRates()
BY_TOOLS = frozenset({"retrieval_distraction", "lock_in", "calling", "tool_fault", "budget", "availability", "prompt"})


def labelled(each: Evidence) -> Attribution:
    found = attribute_by_replay(each)
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
        found += [(world, truth(world, wrong_draw(world, rng)), labelled(evidence(world, rng))) for world in chosen]
    return found


@pytest.mark.deep
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
        "sampling_noise",
        "own_error",
    } == rates.keys()
    assert min(rates.values()) >= 0.6, rates
    assert mean(list(rates.values())) >= 0.75, rates


def test_pure_noise_is_seldom_blamed_on_tools(judged: list[tuple[World, Mechanism, Attribution]]) -> None:
    noisy = [
        label.mechanism
        for world, mechanism, label in judged
        if world.name == "steady" and mechanism == "sampling_noise"
    ]
    assert len(noisy) > 100
    blamed = Counter(noisy)
    assert sum(blamed[mechanism] for mechanism in BY_TOOLS) <= 0.1 * len(noisy), blamed


def test_confidences_are_the_shares_that_are_right(judged: list[tuple[World, Mechanism, Attribution]]) -> None:
    bins: dict[int, list[tuple[float, float]]] = defaultdict(list)
    for _, mechanism, label in judged:
        bins[min(int(5 * label.confidence), 4)].append((label.confidence, float(label.mechanism == mechanism)))
    errors = [
        len(each) / len(judged) * abs(mean([sure for sure, _ in each]) - mean([right for _, right in each]))
        for each in bins.values()
    ]
    assert sum(errors) <= 0.1, bins.keys()


# In rounds, each of what tells most for its cost.


def in_rounds(world: World, rng: np.random.Generator, precision: float) -> tuple[Evidence, Counter[ReplayPurpose]]:
    """Two runs of each level and two answers at both ends, then two more of what is wanted next; and all runs."""
    whole = evidence(world, rng)
    last = len(world.believed) - 1
    chances = {ReplayPurpose(kind="early_answer", step=step): world.believed[step] for step in (0, last)}
    chances[ReplayPurpose(kind="rollout")] = world.inputs["again"]
    if world.kind:
        chances[ReplayPurpose(kind="rollout", placebos=(world.kind,))] = world.inputs["swapped"]
    if whole.signals.budget.stopped:
        chances[ReplayPurpose(kind="extended")] = world.inputs["extended"]
    if whole.signals.troubles:
        chances[ReplayPurpose(kind="repaired")] = world.inputs["repaired"]
    runs = {purpose: rng.binomial(1, chance, 2).astype(float).tolist() for purpose, chance in chances.items()}

    def shown() -> Evidence:
        beliefs = trajectory(
            Probe(purpose.step, {"A": int(sum(each)), "B": len(each) - int(sum(each))}, 0, int(sum(each)))
            for purpose, each in runs.items()
            if purpose.step is not None
        )
        replay = Replay(
            tuple(runs.get(ReplayPurpose(kind="extended"), [0.0])),
            tuple(runs.get(ReplayPurpose(kind="repaired"), runs.get(ReplayPurpose(kind="extended"), [0.0]))),
            {frozenset(purpose.placebos): tuple(each) for purpose, each in runs.items() if purpose.kind == "rollout"},
        )
        flip = flip_step(beliefs, 0.3, resamples=20)
        return replace(whole, trajectory=beliefs, flip=flip, inputs=replace(whole.inputs, replay=replay))

    def cost(purpose: ReplayPurpose) -> float | None:
        return 1.0 if purpose in runs and len(runs[purpose]) < MOST else None

    while (wanted := next_level(shown(), NO_RATES, precision=precision, cost=cost)) is not None:
        runs[wanted] += rng.binomial(1, chances[wanted], 2).astype(float).tolist()
    return shown(), Counter({purpose: len(each) for purpose, each in runs.items()})


@pytest.mark.deep
def test_rounds_name_the_mechanism_about_as_often_as_all_runs_do_with_fewer() -> None:
    rng, right, by_all, runs, full = np.random.default_rng(7), list[float](), list[float](), 0, 0
    for _ in range(25):
        chosen = worlds(float(rng.uniform(0.8, 0.97)), float(rng.uniform(0.02, 0.2)))
        chosen += [steady(float(rng.uniform(0.6, 0.85)), kind) for kind in ("search", "code", None)]
        for world in chosen:
            mechanism = truth(world, wrong_draw(world, rng))
            found, asked = in_rounds(world, rng, 0.9)
            assert max(asked.values()) <= MOST
            runs, full = runs + sum(asked.values()), full + MOST * len(asked)
            right.append(float(labelled(found).mechanism == mechanism))
            by_all.append(float(labelled(evidence(world, rng)).mechanism == mechanism))
    assert runs <= 0.6 * full
    # Two independent shares of 250: three standard errors of their difference.
    spread = 3 * math.sqrt(2 * mean(by_all) * (1 - mean(by_all)) / len(by_all))
    assert mean(right) >= mean(by_all) - spread
