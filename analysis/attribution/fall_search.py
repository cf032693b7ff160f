"""Where the belief in the right answer falls: which step to ask early answers before next."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise

import numpy as np

from toolablate.analysis.attribution.evidence import KINDS, Evidence
from toolablate.analysis.attribution.sequential import HIGH, LOW, information, log_beta
from toolablate.analysis.attribution.signals.signal_types import CallSeen
from toolablate.analysis.statistics.intervals import Floats
from toolablate.traces.records import Mechanism

LEAST_INFORMATION = 0.1
"""In nats, of the place where a belief falls; below it no more answers are asked for."""


@dataclass(frozen=True, slots=True)
class FallSearch:
    """For a fall among the steps 0 .. `steps`.

    precision  the probability at which a place is settled
    most       samples of one step at most
    prior      before anything is asked: how likely the belief falls at 1 .. `steps`, is low all along, is high all
               along
    """

    steps: int
    precision: float = 0.9
    most: int = 8
    prior: tuple[float, ...] = ()


_FALLS, _LOW = 0.5, 0.35
"""Without a prior: a belief falls once and for good, at any step alike, or is low all along; else it is high."""


def next_step(search: FallSearch, asked: Mapping[int, tuple[int, int]]) -> int | None:
    """The step to ask for next, by the right answers and all answers of each that was asked for; None where the place
    is settled, or more answers would tell little of it.

    The ends come first. Then each place is a hypothesis: high before it, low from it on. A step is asked for where the
    answer tells most about which is true (a probabilistic bisection: Horstein 1963, "Sequential transmission using
    noiseless feedback", IEEE Transactions on Information Theory 9; Waeber, Frazier and Henderson 2013, "Bisection
    search with noisy responses", SIAM Journal on Control and Optimization 51).
    """
    ends = [step for step in (search.steps, 0) if step not in asked]
    if ends:
        return ends[0]
    counts = tuple(asked.get(step, (0, 0)) for step in range(search.steps + 1))
    weights, good, bad = _places(counts, search.prior)
    if weights.max() >= search.precision:
        return None
    told = information(weights, good, bad)
    open_steps = [step for step, (_, samples) in enumerate(counts) if samples < search.most]
    best = max(open_steps, key=lambda step: told[step], default=None)
    return best if best is not None and told[best] >= LEAST_INFORMATION else None


@lru_cache(maxsize=1024)
def _places(counts: tuple[tuple[int, int], ...], before_all: tuple[float, ...]) -> tuple[Floats, Floats, Floats]:
    """Weights of the hypotheses (falls at 1 .. steps, low, high), and of each and each step its beta distribution."""
    steps = len(counts) - 1
    right, samples = (np.array(each, dtype=float) for each in zip(*counts, strict=True))
    before = np.array([*range(1, steps + 1), 0, steps + 1])[:, None]
    is_high = np.arange(steps + 1) < before
    prior = np.array(before_all or [_FALLS / steps] * steps + [_LOW, 1 - _FALLS - _LOW])
    likely, goods, bads = np.log(prior), np.zeros(is_high.shape), np.zeros(is_high.shape)
    for (good, bad), mine in ((HIGH, is_high), (LOW, ~is_high)):
        rights, wrongs = (mine * right).sum(axis=1), (mine * (samples - right)).sum(axis=1)
        likely = likely + log_beta(good + rights, bad + wrongs) - log_beta(good, bad)
        goods, bads = goods + mine * (good + rights)[:, None], bads + mine * (bad + wrongs)[:, None]
    weights = np.exp(likely - likely.max())
    return weights / weights.sum(), goods, bads


# What the likely mechanisms say of the place, before early answers are asked for.


_AT_RESULTS: Mapping[Mechanism, frozenset[str]] = {
    "retrieval_distraction": frozenset({"search"}),
    "lock_in": frozenset({"code"}),
    "other_results": frozenset({"other"}),
    "interaction": frozenset({"search", "code", "other"}),
    "volume": frozenset({"search", "code", "other"}),
}
"""Mechanisms whose fall is mostly at results of these kinds of tools."""
_AT_CALLS: frozenset[Mechanism] = frozenset({"calling", "tool_fault"})
"""Mechanisms whose fall is at some call."""
_BEFORE_ALL: frozenset[Mechanism] = frozenset({"prompt", "availability", "own_error"})
"""Mechanisms under which the belief is low from the start."""
_ELSEWHERE = 0.15
"""How likely a step is that a mechanism does not name, beside one that it names."""
_UNSURE = 0.1
"""The part of the prior that does not depend on mechanisms."""


def fall_prior(evidence: Evidence, likely: Mapping[Mechanism, float]) -> tuple[float, ...]:
    """`FallSearch.prior` by the probabilities of mechanisms: where a page misled, the belief fell at a page, and where
    the prompt did it, nowhere. Empty for a trial of one step."""
    steps = len(evidence.steps) - 1
    if steps < 1:
        return ()
    places = np.zeros(steps)
    for mechanism, probability in likely.items():
        if mechanism in _AT_RESULTS or mechanism in _AT_CALLS:
            named = np.array([_ELSEWHERE + _names(mechanism, calls) for calls in _between(evidence)])
            places += probability * named / named.sum()
    low = sum(likely.get(mechanism, 0.0) for mechanism in _BEFORE_ALL)
    high = max(0.0, 1 - float(places.sum()) - low)
    by_mechanisms = np.array([*places, low, high])
    anywhere = np.array([_FALLS / steps] * steps + [_LOW, 1 - _FALLS - _LOW])
    return tuple((_UNSURE * anywhere + (1 - _UNSURE) * by_mechanisms / by_mechanisms.sum()).tolist())


def _between(evidence: Evidence) -> list[list[CallSeen]]:
    """The calls between each two neighbouring steps."""
    calls = evidence.signals.calls
    return [[call for call in calls if begin <= call.event < end] for begin, end in pairwise(evidence.steps)]


def _names(mechanism: Mechanism, calls: list[CallSeen]) -> bool:
    if mechanism in _AT_CALLS:
        return bool(calls)
    return any(call.gave and KINDS[call.form] in _AT_RESULTS[mechanism] for call in calls)
