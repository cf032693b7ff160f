"""Shapley values of tool results and of factors of a ladder: means over the orders in which they can come."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import permutations

import numpy as np

from toolablate.analysis.pairing import mean
from toolablate.analysis.statistics.intervals import Floats

Subset = frozenset[int]
"""The results that are real, by number from 0; the others are replaced."""

Order = tuple[int, ...]

ALL_ORDERS = 5
"""Up to so many results every subset is asked for: 32 of them."""


@dataclass(frozen=True, slots=True)
class Orders:
    """The orders over which the Shapley values of `results` results are averaged, in groups that are drawn for
    themselves.

    One group holds all orders where there are few results: the values are then exact. Else each group is an order and
    its reverse.
    """

    results: int
    groups: tuple[tuple[Order, ...], ...]

    @property
    def exact(self) -> bool:
        return self.results <= ALL_ORDERS

    @property
    def subsets(self) -> tuple[Subset, ...]:
        """Those that need rollouts, each once, small ones first."""
        wanted = {subset for group in self.groups for order in group for subset in _prefixes(order)}
        return tuple(sorted(wanted, key=lambda subset: (len(subset), sorted(subset))))


@dataclass(frozen=True, slots=True)
class ShapleyEstimate:
    """The Shapley value of one result, and its standard error over rollouts and over orders; None where some subset
    has a single rollout, or where the orders are a single pair."""

    value: float
    standard_error: float | None


def design(results: int, *, pairs: int = 20, seed: int = 0) -> Orders:
    """Over all orders of up to five results, above over as many random pairs of an order and its reverse.

    A result that comes early in one comes late in the other, which takes out most of what differs between orders:
    Mitchell et al. (2022), "Sampling Permutations for Shapley Value Estimation", JMLR 23. Raises ValueError without a
    result, or where no pair is drawn.
    """
    if results < 1 or pairs < 1:
        raise ValueError(f"there are results, and pairs of orders: found {results} and {pairs}")
    if results <= ALL_ORDERS:
        return Orders(results, (tuple(permutations(range(results))),))
    rng = np.random.default_rng(seed)
    drawn = [tuple(rng.permutation(results).tolist()) for _ in range(pairs)]
    return Orders(results, tuple((order, order[::-1]) for order in drawn))


def inserted(factors: int) -> Orders:
    """Of factors in a chain, each of which needs the one before it, but for the first, which may come at any place.

    Source: Faigle and Kern (1992), "The Shapley value for cooperative games under precedence constraints",
    International Journal of Game Theory 21: all orders that keep to the precedence are equally likely.
    """
    chain = tuple(range(1, factors))
    return Orders(factors, (tuple((*chain[:place], 0, *chain[place:]) for place in range(factors)),))


def shares_of(over: Orders) -> Iterator[dict[Subset, float]]:
    """Of each result in turn: how much of each subset's score goes into its Shapley value."""
    places = {subset: place for place, subset in enumerate(over.subsets)}
    for result in range(over.results):
        found = _shares(over, result, places).mean(axis=0)
        yield {subset: float(found[place]) for subset, place in places.items()}


def shapley_values(over: Orders, rollouts: Mapping[Subset, Sequence[float]]) -> tuple[ShapleyEstimate, ...]:
    """One for each result, from the scores of rollouts of every subset of the design.

    They sum to the mean score with all results less that with none, whatever noise is in them: each subset has one
    mean, whichever orders lead through it. Source: Shapley (1953), "A value for n-person games"; Castro, Gómez and
    Tejada (2009), "Polynomial calculation of the Shapley value based on sampling", Computers & Operations Research 36.
    Raises ValueError where a subset has no rollout.
    """
    subsets = over.subsets
    if lacking := [sorted(subset) for subset in subsets if not rollouts.get(subset)]:
        raise ValueError(f"no rollout with the results {lacking[0]} real, and {len(lacking) - 1} other subsets")
    means = np.array([mean(rollouts[subset]) for subset in subsets])
    told = over.exact or len(over.groups) > 1
    noise = _noise([rollouts[subset] for subset in subsets]) if told else None
    places = {subset: place for place, subset in enumerate(subsets)}
    return tuple(_estimate(_shares(over, result, places), means, noise) for result in range(over.results))


def _estimate(shares: Floats, means: Floats, noise: Floats | None) -> ShapleyEstimate:
    """Of the groups' shares of each subset's mean (groups x subsets)."""
    value = float(shares.mean(axis=0) @ means)
    if noise is None:
        return ShapleyEstimate(value, None)
    variance = float(shares.mean(axis=0) ** 2 @ noise)
    if len(shares) > 1:
        # Groups differ by their orders, and by the noise of their subsets, all of which is in the variance already.
        away = shares - shares.mean(axis=0)
        by_noise = float((away**2 @ noise).sum()) / (len(shares) - 1)
        variance += max(0.0, float(np.var(shares @ means, ddof=1)) - by_noise) / len(shares)
    return ShapleyEstimate(value, math.sqrt(variance))


def _shares(over: Orders, result: int, places: Mapping[Subset, int]) -> Floats:
    """How much of each subset's mean goes into each group's mean marginal contribution of one result."""
    found = np.zeros((len(over.groups), len(places)))
    for row, group in zip(found, over.groups, strict=True):
        for order in group:
            before = frozenset(order[: order.index(result)])
            row[places[before]] -= 1 / len(group)
            row[places[before | {result}]] += 1 / len(group)
    return found


def _noise(rollouts: Sequence[Sequence[float]]) -> Floats | None:
    """The variance of each subset's mean."""
    if any(len(scores) < 2 for scores in rollouts):
        return None
    return np.array([np.var(scores, ddof=1) / len(scores) for scores in rollouts])


def _prefixes(order: Order) -> Iterator[Subset]:
    return (frozenset(order[:length]) for length in range(len(order) + 1))
