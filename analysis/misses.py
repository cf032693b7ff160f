"""What a condition's trials did not get: lookups that a replayed web cannot answer, refused calls, cut questions."""

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from operator import attrgetter

from toolablate.analysis.pairing import Unit, unit
from toolablate.analysis.statistics.intervals import RESAMPLES
from toolablate.analysis.statistics.p_values import holm, sign_flip_p
from toolablate.traces.records import Refusal
from toolablate.traces.store import TrialSummary

_Arms = dict[tuple[str, str], list[TrialSummary]]


@dataclass(frozen=True, slots=True)
class MissRate:
    """Lookups of one model under one condition, over its ended trials.

    `misses` counts by kind those that were not there; `rate` is their share in percent. `leaked_trials` counts trials
    in which a result held the question with its answer, `withheld_trials` those in which the plan's policy kept a
    result from the model.
    """

    model: str
    condition: str
    simulated: bool
    trials: int
    lookups: int
    misses: dict[str, int]
    rate: float | None
    leaked_trials: int
    withheld_trials: int


@dataclass(frozen=True, slots=True)
class MissDifference:
    """Two conditions of one model whose miss rates differ by `points` (the second less the first)."""

    model: str
    conditions: tuple[str, str]
    points: float
    p_value: float


def miss_rates(summaries: Iterable[TrialSummary], order: Sequence[str] = ()) -> list[MissRate]:
    """One row per model and condition that looked anything up, by model, then in the given order of conditions."""
    return [_rate(model, condition, trials) for (model, condition), trials in _arms(summaries, order).items()]


def miss_differences(
    summaries: Iterable[TrialSummary], order: Sequence[str] = (), *, seed: int = 0, resamples: int = RESAMPLES
) -> list[MissDifference]:
    """Every two conditions of one model with lookups, and how sure it is that their rates differ.

    The difference of two rates is a sum of one contribution for each question (or cluster of questions): its misses
    beyond what the pooled rate would give, per lookup, on one side less those on the other. Signs of contributions are
    flipped at random (`sign_flip_p`); p-values are Holm's over all pairs.
    """
    arms = _arms(summaries, order)
    found = [
        _difference(model, (one, two), arms[model, one], arms[model, two], seed, resamples)
        for model in dict.fromkeys(model for model, _ in arms)
        for one, two in combinations([condition for named, condition in arms if named == model], 2)
    ]
    corrected = holm([pair.p_value for pair in found])
    return [replace(pair, p_value=p_value) for pair, p_value in zip(found, corrected, strict=True)]


def _arms(summaries: Iterable[TrialSummary], order: Sequence[str]) -> _Arms:
    arms = _in_order(_ended(summaries, attrgetter("lookups")), order)
    return {key: trials for key, trials in arms.items() if any(seen.lookups for seen in trials)}


def _ended(summaries: Iterable[TrialSummary], tells: Callable[[TrialSummary], object]) -> _Arms:
    """By model and condition, those that did not fail; none where not one of them `tells` of anything."""
    arms: _Arms = defaultdict(list)
    ended = [seen for seen in summaries if seen.outcome != "failed"]
    for seen in ended if any(map(tells, ended)) else ():
        arms[seen.model, seen.condition].append(seen)
    return arms


def _in_order(arms: _Arms, order: Sequence[str]) -> _Arms:
    """By model, then in the given order of conditions."""
    places = {name: place for place, name in reversed(list(enumerate(order)))}
    return {key: arms[key] for key in sorted(arms, key=lambda key: (key[0], places.get(key[1], len(places)), key[1]))}


def _rate(model: str, condition: str, trials: list[TrialSummary]) -> MissRate:
    lookups = sum(seen.lookups for seen in trials)
    misses: Counter[str] = Counter()
    for seen in trials:
        misses.update(dict(seen.misses))
    return MissRate(
        model=model,
        condition=condition,
        simulated=any(seen.simulated for seen in trials),
        trials=len(trials),
        lookups=lookups,
        misses=dict(sorted(misses.items())),
        rate=100 * misses.total() / lookups if lookups else None,
        leaked_trials=sum(seen.leaks > 0 for seen in trials),
        withheld_trials=sum(seen.withheld > 0 for seen in trials),
    )


def _difference(
    model: str, names: tuple[str, str], one: list[TrialSummary], two: list[TrialSummary], seed: int, resamples: int
) -> MissDifference:
    first, second = _by_unit(one), _by_unit(two)
    totals = [
        (sum(looked for looked, _ in side.values()), sum(missed for _, missed in side.values()))
        for side in (first, second)
    ]
    (looked1, missed1), (looked2, missed2) = totals
    pooled = (missed1 + missed2) / (looked1 + looked2)
    contributions = [
        _beyond(second, each, pooled) / looked2 - _beyond(first, each, pooled) / looked1
        for each in sorted(first.keys() | second.keys())
    ]
    p_value = sign_flip_p(contributions, seed=seed, resamples=resamples)
    return MissDifference(model, names, 100 * math.fsum(contributions), p_value)


def _by_unit(trials: list[TrialSummary]) -> dict[Unit, tuple[int, int]]:
    """Lookups and misses by cluster, or by question where it stands alone."""
    sums: dict[Unit, tuple[int, int]] = defaultdict(lambda: (0, 0))
    for seen in trials:
        looked, missed = sums[unit(seen)]
        sums[unit(seen)] = (looked + seen.lookups, missed + sum(count for _, count in seen.misses))
    return sums


def _beyond(side: dict[Unit, tuple[int, int]], of: Unit, pooled: float) -> float:
    looked, missed = side.get(of, (0, 0))
    return missed - pooled * looked


# Calls of tools that a condition does not let a model call, and that its turns were spent on.


@dataclass(frozen=True, slots=True)
class RefusedCalls:
    """Of one model under one condition, `called_in` of whose `trials` (those that have ended and did not fail) have
    such calls. `why` is `unknown_tool`, where the condition does not offer the tool, or `not_allowed`, where it offers
    the tool and bars all calls. `tools` has the number of calls by the name that the model gave, the most first, and
    `calls` is their sum."""

    model: str
    condition: str
    simulated: bool
    why: Refusal
    trials: int
    called_in: int
    calls: int
    tools: dict[str, int]


def refused_calls(summaries: Iterable[TrialSummary], order: Sequence[str] = ()) -> list[RefusedCalls]:
    """One row per model, condition and reason with such calls, by model, then in the given order of conditions."""
    return [
        row
        for (model, condition), trials in _in_order(_ended(summaries, attrgetter("refused")), order).items()
        for why in ("unknown_tool", "not_allowed")
        if (row := _refused(model, condition, why, trials)).calls
    ]


def _refused(model: str, condition: str, why: Refusal, trials: Sequence[TrialSummary]) -> RefusedCalls:
    tools: Counter[str] = Counter()
    for seen in trials:
        for reason, tool, count in seen.refused:
            if reason == why:
                tools[tool] += count
    return RefusedCalls(
        model=model,
        condition=condition,
        simulated=any(seen.simulated for seen in trials),
        why=why,
        trials=len(trials),
        called_in=sum(any(reason == why for reason, *_ in seen.refused) for seen in trials),
        calls=tools.total(),
        tools=dict(sorted(tools.items(), key=lambda each: (-each[1], each[0]))),
    )


# Questions that were longer than their condition allows.


@dataclass(frozen=True, slots=True)
class CutInputs:
    """Of one model under one condition: in `cut` of its `trials` (those that have ended and did not fail) the question
    was cut to the condition's `input_tokens`, `questions` different ones."""

    model: str
    condition: str
    simulated: bool
    trials: int
    cut: int
    questions: int


def cut_inputs(summaries: Iterable[TrialSummary], order: Sequence[str] = ()) -> list[CutInputs]:
    """One row per model and condition with such trials, by model, then in the given order of conditions."""
    arms = _ended(summaries, attrgetter("input_cut"))
    return [
        CutInputs(
            *(model, condition, any(seen.simulated for seen in trials), len(trials)),
            cut=sum(seen.input_cut for seen in trials),
            questions=len({seen.question for seen in trials if seen.input_cut}),
        )
        for (model, condition), trials in _in_order(arms, order).items()
        if any(seen.input_cut for seen in trials)
    ]
