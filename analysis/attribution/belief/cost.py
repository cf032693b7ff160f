"""What finding a fall takes, before anything is asked."""

from dataclasses import dataclass

import numpy as np

from toolablate.analysis.attribution.belief.bisection import Found, Search, search

RUNS = 200


@dataclass(frozen=True, slots=True)
class Cost:
    """Steps to be probed and samples in all; expected ones are means over where the fall may be."""

    probes_at_most: int
    probes_expected: float
    samples_at_most: int
    samples_expected: float


def probing_cost(steps: int, samples: int) -> Cost:
    """Of probing every step from 0 to `steps` with so many samples each."""
    probes = steps + 1
    return Cost(probes, float(probes), probes * samples, float(probes * samples))


def search_cost(plan: Search, *, high: float = 0.9, low: float = 0.1, seed: int = 0) -> Cost:
    """Of a search where the belief falls once, from `high` to `low`, at any step alike: expected ones by simulation of
    the search itself. Where nothing falls it is the ends that cost, and less."""
    rng = np.random.default_rng(seed)
    falls = rng.integers(1, plan.steps + 1, size=RUNS)
    found = [_simulated(plan, int(fall), high, low, rng) for fall in falls]
    probes = min(2 + plan.comparisons, plan.steps + 1)
    return Cost(
        probes_at_most=probes,
        probes_expected=float(np.mean([each.probed for each in found])),
        samples_at_most=probes * plan.most,
        samples_expected=float(np.mean([each.samples for each in found])),
    )


def _simulated(plan: Search, fall: int, high: float, low: float, rng: np.random.Generator) -> Found:
    asking = search(plan)
    wanted = next(asking)
    while True:
        right = rng.binomial(wanted.samples, high if wanted.step < fall else low)
        try:
            wanted = asking.send(int(right))
        except StopIteration as ended:
            found: Found = ended.value
            return found
