"""What more runs are expected to tell, by which the next replay is chosen: of a trial's mechanism, or of a place.

Both look one batch ahead. Of few mechanisms the next runs are those that raise the probability of the likeliest most
for their cost (Frazier, Powell and Dayanik 2008, "A knowledge-gradient policy for sequential information collection",
SIAM Journal on Control and Optimization 47). Of many steps no batch raises any by much until most are ruled out: the
next answers are those that tell most of the place (Lindley 1956, "On a measure of the information provided by an
experiment", Annals of Mathematical Statistics 27).
"""

import math
from collections.abc import Sequence

import numpy as np

from toolablate.analysis.statistics.intervals import Floats

LOW, HIGH = (0.8, 2.0), (8.0, 2.0)
"""Parameters of the beta distributions of a chance that is mostly low, and mostly high. What is restored is what the
model knows of the question, so that high chances are much alike; low ones are anything. By marginal likelihood on
development stores, high is near (13, 3) for both generators, low near (.4, 1.7) for one and (.9, 2.6) for the other.
With a low of (.35, 3.5) two runs that were right by luck settled a level."""

LOOKAHEAD = 4
"""Runs that a gain is reckoned for: fewer could not change what is likeliest, and would seem to be worth nothing."""

LEAST_GAIN, LEAST_GAIN_PER_REQUEST = 0.02, 0.02
"""Of the probability of the likeliest; below either nothing more is run. Runs from the first call on take five requests
on average: those that gain little for these moved hardly a label."""


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


def log_beta(first: Floats | float, second: Floats | float) -> Floats:
    """The logarithm of the beta function."""
    log_gamma = np.vectorize(math.lgamma, otypes=[float])
    found: Floats = log_gamma(first) + log_gamma(second) - log_gamma(np.add(first, second))
    return found


def best_of(gains: Sequence[float], costs: Sequence[float]) -> int | None:
    """The place of the largest gain for its cost in requests, None where no gain is worth a batch."""
    worth = [
        gain / cost if gain >= max(LEAST_GAIN, cost * LEAST_GAIN_PER_REQUEST) else 0.0
        for gain, cost in zip(gains, costs, strict=True)
    ]
    place = max(range(len(worth)), key=lambda each: worth[each], default=None)
    return place if place is not None and worth[place] > 0 else None
