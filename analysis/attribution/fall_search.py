"""Where the belief in the right answer falls: by early answers, beside what the trace and the mechanisms say of it; and
which step to ask early answers before next."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from toolablate.analysis.attribution.belief import RESAMPLES, BeliefFlip
from toolablate.analysis.attribution.evidence import KINDS, LONG_RESULTS, VERY_LONG_RESULTS, Evidence
from toolablate.analysis.attribution.sequential import LOW, information, log_beta
from toolablate.analysis.attribution.signals.signal_types import CallSeen
from toolablate.analysis.attribution.trace_rules import faults
from toolablate.analysis.statistics.intervals import Floats
from toolablate.traces.records import Mechanism

HIGH = (2.0, 0.8)
"""Of a belief before its fall: answers that are forced lose more or less, so that it is not as surely high as a chance
of free ones."""

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
    right, samples = (np.array(each) for each in zip(*counts, strict=True))
    is_high = _is_high(steps)
    prior = np.array(before_all or [_FALLS / steps] * steps + [_LOW, 1 - _FALLS - _LOW])
    goods, bads = np.zeros(is_high.shape), np.zeros(is_high.shape)
    for (good, bad), mine in ((HIGH, is_high), (LOW, ~is_high)):
        rights, wrongs = (mine * right).sum(axis=1), (mine * (samples - right)).sum(axis=1)
        goods, bads = goods + mine * (good + rights)[:, None], bads + mine * (bad + wrongs)[:, None]
    return _weights(right[None], samples, prior)[0], goods, bads


def _is_high(steps: int) -> NDArray[np.bool_]:
    """Hypotheses x steps."""
    found: NDArray[np.bool_] = np.arange(steps + 1) < np.array([*range(1, steps + 1), 0, steps + 1])[:, None]
    return found


def _weights(right: NDArray[np.int64], samples: NDArray[np.int64], prior: Floats) -> Floats:
    """Of each row of right answers, rows x steps, among the `samples` of each step, the weights of the hypotheses."""
    is_high = _is_high(len(samples) - 1)
    likely = np.log(prior)
    for (good, bad), mine in ((HIGH, is_high), (LOW, ~is_high)):
        rights: Floats = (right @ mine.T).astype(float)
        all_samples: Floats = (mine @ samples).astype(float)
        likely = likely + log_beta(good + rights, bad + all_samples - rights) - log_beta(good, bad)
    weights = np.exp(likely - likely.max(axis=1, keepdims=True))
    found: Floats = weights / weights.sum(axis=1, keepdims=True)
    return found


# What the trace and the likely mechanisms say of the place, before early answers are asked for.


_AT_RESULTS: Mapping[Mechanism, frozenset[str]] = {
    "retrieval_distraction": frozenset({"search"}),
    "lock_in": frozenset({"code"}),
    "other_results": frozenset({"other"}),
    "interaction": frozenset({"search", "code", "other"}),
    "volume": frozenset({"search", "code", "other"}),
    "budget": frozenset({"search", "code", "other"}),
    "sampling_noise": frozenset({"search", "code", "other"}),
}
"""Mechanisms whose fall is mostly at results of these kinds of tools. A budget runs out on the way: what was there so
far was taken for the whole."""
_AT_CALLS: frozenset[Mechanism] = frozenset({"calling", "tool_fault"})
"""Mechanisms whose fall is at some call."""
_BEFORE_ALL: frozenset[Mechanism] = frozenset({"prompt", "availability", "own_error"})
"""Mechanisms under which the belief is low from the start."""
_OF_WHAT_THEY_SAY: frozenset[Mechanism] = frozenset({"volume", *_AT_CALLS})
"""Mechanisms that act whatever results say."""
_ELSEWHERE = 0.15
"""How likely a step is that a mechanism does not name, beside one that it names."""
_ADOPTED = 3.0
"""How much likelier the first result is that has the final answer, which is wrong: on development stores of the
structural generator most falls are there."""
_FELL_BY_CHANCE = 0.8
"""How likely the belief fell at a result where the final answer stands in one, and yet chance made the trial wrong: a
cause at work, and a draw that would have been wrong without it too. Without such a result it fell nowhere."""
_UNSURE = 0.15
"""The part of the prior that does not depend on mechanisms."""


def fall_prior(evidence: Evidence, likely: Mapping[Mechanism, float]) -> tuple[float, ...]:
    """`FallSearch.prior` by the probabilities of mechanisms and by the trace: where a page misled, the belief fell at a
    page, first of all at that which has the answer; where the prompt did it, nowhere. Empty for a trial of one step."""
    steps = len(evidence.steps) - 1
    if steps < 1:
        return ()
    places = np.zeros(steps)
    for mechanism, probability in likely.items():
        if mechanism in _AT_RESULTS or mechanism in _AT_CALLS:
            named = _named(mechanism, evidence)
            places += probability * _falls(mechanism, evidence) * named / named.sum()
    low = sum(likely.get(mechanism, 0.0) for mechanism in _BEFORE_ALL)
    high = max(0.0, 1 - float(places.sum()) - low)
    by_mechanisms = np.array([*places, low, high])
    by_trace = _named("interaction", evidence) if _adopted(evidence) else np.ones(steps)
    anywhere = np.array([*(_FALLS * by_trace / by_trace.sum()), _LOW, 1 - _FALLS - _LOW])
    return tuple((_UNSURE * anywhere + (1 - _UNSURE) * by_mechanisms / by_mechanisms.sum()).tolist())


def _falls(mechanism: Mechanism, evidence: Evidence) -> float:
    if mechanism != "sampling_noise":
        return 1.0
    return _FELL_BY_CHANCE if _adopted(evidence) else 0.0


def _named(mechanism: Mechanism, evidence: Evidence) -> Floats:
    """Of each step, how likely it is beside the others."""
    if mechanism == "volume":
        return _ELSEWHERE + _piled_up(evidence)
    adopted = _adopted(evidence) if mechanism not in _OF_WHAT_THEY_SAY else None
    found = []
    for begin, end in pairwise(evidence.steps):
        calls = [call for call in evidence.signals.calls if begin <= call.event < end]
        of_answer = any(call.event == adopted and KINDS[call.form] in _AT_RESULTS[mechanism] for call in calls)
        found.append(_ELSEWHERE + _names(mechanism, calls, evidence) + _ADOPTED * of_answer)
    return np.array(found)


def _piled_up(evidence: Evidence) -> Floats:
    """Of the way from results that are not long to very long ones, what each step's results go: length does its harm
    where there is too much of it first, and not at every result."""
    own = [
        sum(call.chars for call in evidence.signals.calls if begin <= call.event < end)
        for begin, end in pairwise(evidence.steps)
    ]
    so_far = np.clip(np.cumsum([0, *own]), LONG_RESULTS, VERY_LONG_RESULTS)
    found: Floats = np.diff(so_far) / (VERY_LONG_RESULTS - LONG_RESULTS)
    return found


def _adopted(evidence: Evidence) -> int | None:
    """The first result that has the final answer."""
    adoption = evidence.signals.adoption
    return None if adoption is None or adoption.in_question else adoption.event


def _names(mechanism: Mechanism, calls: list[CallSeen], evidence: Evidence) -> bool:
    if mechanism == "tool_fault":
        return any(call.event in faults(evidence.signals) for call in calls)
    if mechanism in _AT_CALLS:
        return bool(calls)
    return any(call.gave and KINDS[call.form] in _AT_RESULTS[mechanism] for call in calls)


# Where it fell, by all that is known.


def likeliest_fall(evidence: Evidence, likely: Mapping[Mechanism, float]) -> BeliefFlip | None:
    """Between the two neighbouring steps between which it is likeliest, by the early answers and `fall_prior`. None
    where no fall is likelier than one, where no fewer are right after it, and where one end was not asked about. Its
    `confidence` is that of `BeliefFlip`, with the prior held."""
    beliefs = evidence.trajectory.beliefs if evidence.trajectory else ()
    asked = {each.step: (round(each.right.mean * each.samples), each.samples) for each in beliefs}
    steps = len(evidence.steps)
    if steps < 2 or not {0, steps - 1} <= asked.keys():
        return None
    right, samples = np.array([asked.get(step, (0, 0)) for step in range(steps)]).T
    prior = np.array(fall_prior(evidence, likely))
    drawn = np.random.default_rng(0).binomial(samples, right / np.maximum(samples, 1), size=(RESAMPLES, steps))
    places = [_likeliest(row) for row in _weights(np.vstack([right, drawn]), samples, prior)]
    place = places[0]
    if place is None:
        return None
    before, level = (float(right[part].sum() / samples[part].sum()) for part in (slice(place), slice(place, None)))
    sure = places[1:].count(place) / RESAMPLES
    return BeliefFlip(place - 1, place, before, level, sure) if level < before else None


def _likeliest(weights: Floats) -> int | None:
    """The place of the likeliest fall, from 1; None where no fall is likelier."""
    falls = weights[:-2]
    return int(falls.argmax()) + 1 if falls.sum() > 0.5 else None
