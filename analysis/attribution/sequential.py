"""Which replay to run next: the one that is likeliest to decide a trial's mechanism, or the step at which it turned.

Both look one batch ahead. Of few mechanisms the next runs are those that raise the probability of the likeliest most
for their cost (Frazier, Powell and Dayanik 2008, "A knowledge-gradient policy for sequential information collection",
SIAM Journal on Control and Optimization 47). Of many steps no batch raises any by much until most are ruled out: the
next answers are those that tell most of the place (Lindley 1956, "On a measure of the information provided by an
experiment", Annals of Mathematical Statistics 27).
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from toolablate.analysis.statistics.intervals import Floats

LOW, HIGH = (0.35, 3.5), (3.5, 0.35)
"""Parameters of the beta distributions of a chance that is mostly low, and mostly high."""

LOOKAHEAD = 4
"""Runs that a gain is reckoned for: fewer could not change what is likeliest, and would seem to be worth nothing."""

LEAST_GAIN = 0.005
"""Of the probability of the likeliest; below it nothing more is run."""

LEAST_INFORMATION = 0.1
"""In nats, of the place where a belief falls; below it no more answers are asked for."""


def expected_gains(weights: Floats, named: Floats, good: Floats, bad: Floats) -> Floats:
    """How much one more batch is expected to raise the probability of what is likeliest.

    weights  of hypotheses, summing to 1
    named    names x hypotheses, 1 where the hypothesis has the name
    good     hypotheses x candidates: parameters of the beta distribution of a candidate's chance, `bad` the other one
    """
    of_outcomes = np.stack(
        [
            np.einsum("nh,h,hc->nc", named, weights, outcome).max(axis=0)
            for outcome in _beta_binomial(good, bad, LOOKAHEAD)
        ]
    )
    found: Floats = of_outcomes.sum(axis=0) - (named @ weights).max()
    return found


def information(weights: Floats, good: Floats, bad: Floats) -> Floats:
    """How much one more batch tells of which hypothesis is true: their mutual information in nats, of each candidate;
    the arguments are those of `expected_gains`."""
    outcomes = np.stack(_beta_binomial(good, bad, LOOKAHEAD))
    of_all = np.einsum("h,ohc->oc", weights, outcomes)
    found: Floats = np.einsum("h,ohc->c", weights, outcomes * np.log(outcomes / of_all[:, None, :]))
    return found


def _beta_binomial(good: Floats, bad: Floats, runs: int) -> list[Floats]:
    """The probability of each number of right runs."""
    whole = np.prod([good + bad + number for number in range(runs)], axis=0)
    return [
        math.comb(runs, right)
        * np.prod([good + number for number in range(right)], axis=0)
        * np.prod([bad + number for number in range(runs - right)], axis=0)
        / whole
        for right in range(runs + 1)
    ]


# Where the belief in the right answer falls.


@dataclass(frozen=True, slots=True)
class FallSearch:
    """For a fall among the steps 0 .. `steps`.

    precision  the probability at which a place is settled
    most       samples of one step at most
    """

    steps: int
    precision: float = 0.9
    most: int = 8


_FALLS, _LOW = 0.5, 0.35
"""Before anything is asked: a belief falls once and for good, at any step alike, or is low all along; else it is
high."""


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
    weights, good, bad = _places(counts)
    if weights.max() >= search.precision:
        return None
    told = information(weights, good, bad)
    open_steps = [step for step, (_, samples) in enumerate(counts) if samples < search.most]
    best = max(open_steps, key=lambda step: told[step], default=None)
    return best if best is not None and told[best] >= LEAST_INFORMATION else None


@lru_cache(maxsize=1024)
def _places(counts: tuple[tuple[int, int], ...]) -> tuple[Floats, Floats, Floats]:
    """Weights of the hypotheses (falls at 1 .. steps, low, high), and of each and each step its beta distribution."""
    steps = len(counts) - 1
    right, samples = (np.array(each, dtype=float) for each in zip(*counts, strict=True))
    before = np.array([*range(1, steps + 1), 0, steps + 1])[:, None]
    is_high = np.arange(steps + 1) < before
    prior = np.array([_FALLS / steps] * steps + [_LOW, 1 - _FALLS - _LOW])
    likely, goods, bads = np.log(prior), np.zeros(is_high.shape), np.zeros(is_high.shape)
    for (good, bad), mine in ((HIGH, is_high), (LOW, ~is_high)):
        rights, wrongs = (mine * right).sum(axis=1), (mine * (samples - right)).sum(axis=1)
        likely = likely + log_beta(good + rights, bad + wrongs) - log_beta(good, bad)
        goods, bads = goods + mine * (good + rights)[:, None], bads + mine * (bad + wrongs)[:, None]
    weights = np.exp(likely - likely.max())
    return weights / weights.sum(), goods, bads


def log_beta(first: Floats | float, second: Floats | float) -> Floats:
    """The logarithm of the beta function."""
    log_gamma = np.vectorize(math.lgamma, otypes=[float])
    found: Floats = log_gamma(first) + log_gamma(second) - log_gamma(np.add(first, second))
    return found


def best_of(gains: Sequence[float], costs: Sequence[float]) -> int | None:
    """The place of the largest gain for its cost, None where no gain is worth a batch."""
    worth = [gain / cost if gain >= LEAST_GAIN else 0.0 for gain, cost in zip(gains, costs, strict=True)]
    place = max(range(len(worth)), key=lambda each: worth[each], default=None)
    return place if place is not None and worth[place] > 0 else None
