"""The ledger of an effect: terms and mechanisms in points, which sum to it."""

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import TypeVar

from toolablate.analysis.attribution.ledger.chain import Chain, Replay
from toolablate.analysis.attribution.ledger.mechanisms import MECHANISMS, Mechanism, mechanisms
from toolablate.analysis.attribution.ledger.terms import TERMS, Term, terms
from toolablate.analysis.attribution.ledger.weighing import weighed
from toolablate.analysis.effect import too_few
from toolablate.analysis.pairing import Unit, mean
from toolablate.analysis.statistics import (
    RESAMPLES,
    bootstrap_intervals,
    by_unit,
    holm,
    sign_flip_p,
)

Interval = tuple[float, float]
Name = TypeVar("Name")

UNTESTED = frozenset({"luck", "unresolved"})
"""Luck is 0 in expectation whatever tools do, and one trial less the mean of many rollouts is so skewed where most are
right, or wrong, that a test would find it in 17 % of such data; the unresolved is no mechanism."""


@dataclass(frozen=True, slots=True)
class Account:
    """One part of an effect.

    name        a term, a mechanism, or `effect`
    points      its mean over questions, of each question's mean over its trials, in percentage points; negative where
                tools are worse
    ci90, ci95  intervals by a bootstrap over independent questions, each with all its arms and rollouts; None where the
                data cannot tell
    small       too few questions, or too few in which it is not 0, for intervals that cover what they say (`effect`)
    p_value     two-sided sign-flip test of points = 0; of mechanisms alone, and not of UNTESTED
    p_holm      the same, corrected over all mechanisms of all ledgers that were made together
    """

    name: str
    points: float
    ci90: Interval | None
    ci95: Interval | None
    small: bool
    p_value: float | None = None
    p_holm: float | None = None


@dataclass(frozen=True, slots=True)
class Ledger:
    """One model and condition against no tools. Terms sum to the effect, and so do mechanisms; those that no trial
    shows are not among them. `replayed` of its `trials` were replayed; the unresolved is what is not known."""

    model: str
    condition: str
    questions: int
    clusters: int
    trials: int
    replayed: int
    effect: Account
    terms: tuple[Account, ...]
    mechanisms: tuple[Account, ...]


@dataclass(frozen=True, slots=True)
class _Columns:
    """Of each question its unit, and its value in each account."""

    units: Sequence[Unit]
    effect: Sequence[float]
    terms: Mapping[Term, Sequence[float]]
    mechanisms: Mapping[Mechanism, Sequence[float]]


def ledgers(chains: Iterable[Chain], *, seed: int = 0, resamples: int = RESAMPLES) -> list[Ledger]:
    """One for each model and condition, by name. The result depends on the trials and the seed, not on their order."""
    ordered = sorted(chains, key=lambda chain: (chain.model, chain.condition, chain.question, chain.trial))
    groups = groupby(ordered, key=lambda chain: (chain.model, chain.condition))
    return _corrected([_ledger(list(trials), seed, resamples) for _, trials in groups])


def _ledger(chains: Sequence[Chain], seed: int, resamples: int) -> Ledger:
    columns = _columns(chains)
    values = [columns.effect, *columns.terms.values(), *columns.mechanisms.values()]
    names = ["effect", *columns.terms, *columns.mechanisms]
    sizes, *sums = by_unit(columns.units, [1.0] * len(columns.units), *values)
    drawn = [(each, sizes) for each in sums]
    ci90, ci95 = (
        bootstrap_intervals(drawn, seed=seed, confidence=confidence, resamples=resamples) for confidence in (0.9, 0.95)
    )
    accounts = [
        Account(name, 100 * mean(column), _hundredfold(narrow), _hundredfold(wide), too_few(each, sizes))
        for name, column, narrow, wide, each in zip(names, values, ci90, ci95, sums, strict=True)
    ]
    first = 1 + len(columns.terms)
    return Ledger(
        model=chains[0].model,
        condition=chains[0].condition,
        questions=len(columns.units),
        clusters=len(sizes),
        trials=len(chains),
        replayed=sum(chain.replay is not None for chain in chains),
        effect=accounts[0],
        terms=tuple(accounts[1:first]),
        mechanisms=tuple(
            account
            if account.name in UNTESTED
            else replace(account, p_value=sign_flip_p(each, seed=seed, resamples=resamples))
            for account, each in zip(accounts[first:], sums[first:], strict=True)
        ),
    )


def _columns(chains: Sequence[Chain]) -> _Columns:
    """Of chains in the order of their questions."""
    calling = any(chain.arms.sham for chain in chains)
    by_question = [list(trials) for _, trials in groupby(chains, key=lambda chain: chain.question)]
    booked = [[_booked(chain, calling) for chain in trials] for trials in by_question]
    of_terms = [_means([own for own, _ in trials]) for trials in booked]
    of_mechanisms = [_means([own for _, own in trials]) for trials in booked]
    return _Columns(
        units=[trials[0].unit for trials in by_question],
        effect=[mean([chain.score - mean(chain.arms.none) for chain in trials]) for trials in by_question],
        terms={name: _column(name, of_terms) for name in TERMS if any(name in own for own in of_terms)},
        mechanisms={
            name: _column(name, of_mechanisms) for name in MECHANISMS if any(name in own for own in of_mechanisms)
        },
    )


def _booked(chain: Chain, calling: bool) -> tuple[dict[Term, float], dict[Mechanism, float]]:
    def booked(replay: Replay | None) -> tuple[dict[Term, float], dict[Mechanism, float]]:
        own = terms(chain, replay, calling=calling)
        return own, mechanisms(chain, replay, own)

    known, named = booked(None)
    if chain.replay is None:
        return known, named
    own, own_named = booked(chain.replay)
    return weighed(known, own, chain.probability), weighed(named, own_named, chain.probability)


def _means(trials: Sequence[Mapping[Name, float]]) -> dict[Name, float]:
    found: dict[Name, list[float]] = defaultdict(list)
    for trial in trials:
        for name, value in trial.items():
            found[name].append(value)
    return {name: math.fsum(values) / len(trials) for name, values in found.items()}


def _column(name: Name, questions: Sequence[Mapping[Name, float]]) -> list[float]:
    return [question.get(name, 0.0) for question in questions]


def _hundredfold(interval: Interval | None) -> Interval | None:
    return None if interval is None else (100 * interval[0], 100 * interval[1])


def _corrected(found: Sequence[Ledger]) -> list[Ledger]:
    tested = [each.p_value for ledger in found for each in ledger.mechanisms if each.p_value is not None]
    corrected = iter(holm(tested))
    return [
        replace(
            ledger,
            mechanisms=tuple(
                each if each.p_value is None else replace(each, p_holm=next(corrected)) for each in ledger.mechanisms
            ),
        )
        for ledger in found
    ]
