"""Whether question sets of other seeds say the same."""

import math
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations

from toolablate.analysis.effect import accuracy
from toolablate.benchmarks.encyclo_k.analyses.replies import Arm, Scored, scored
from toolablate.benchmarks.encyclo_k.figures import Ranking, SeedAccuracy, Stability


def stabilities(arms: Sequence[Arm], *, seed: int = 0) -> list[Stability]:
    """One for each arm with composed questions of two seeds or more."""
    return [found for arm in arms for found in _stability(arm, seed)]


def _stability(arm: Arm, seed: int) -> Iterator[Stability]:
    sets: dict[int, list[Scored]] = defaultdict(list)
    for each in scored(arm.composed):
        composed_from = each.question.metadata.get("seed")
        if isinstance(composed_from, int):
            sets[composed_from].append(each)
    if len(sets) < 2:
        return
    found = tuple(
        SeedAccuracy(name, accuracy([each.score for each in sets[name]], [each.unit for each in sets[name]], seed=seed))
        for name in sorted(sets)
    )
    percents = [each.accuracy.percent or 0.0 for each in found]
    yield Stability(arm.model, arm.condition, found, math.fsum(percents) / len(percents), min(percents), max(percents))


def rankings(found: Sequence[Stability]) -> list[Ranking]:
    """Every two models under one condition that have two seeds or more in common. Equal scores reverse nothing."""
    return [
        _ranking(one, other)
        for one, other in combinations(found, 2)
        if one.condition == other.condition and len(_percents(one).keys() & _percents(other).keys()) > 1
    ]


def _ranking(one: Stability, other: Stability) -> Ranking:
    seeds = tuple(sorted(_percents(one).keys() & _percents(other).keys()))
    if math.fsum(_percents(one)[seed] - _percents(other)[seed] for seed in seeds) < 0:
        one, other = other, one
    above, below = _percents(one), _percents(other)
    turned = tuple(seed for seed in seeds if below[seed] > above[seed])
    return Ranking(one.condition, one.model, other.model, seeds, turned)


def _percents(found: Stability) -> Mapping[int, float]:
    return {each.seed: each.accuracy.percent or 0.0 for each in found.sets}
