"""Trials of a condition beside those of the baseline, question by question: what all comparisons start from."""

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

from toolablate.traces.errors import InputError
from toolablate.traces.records import Outcome
from toolablate.traces.store import TrialSummary

RIGHT = 0.5

Arm = dict[str, list[TrialSummary]]
"""The trials of one model under one condition, by question."""

Scored = Mapping[str, Sequence[float]]
"""The values in [0, 1] of an arm's trials that count, by question, then by repeat; no question without one."""

Direction = Literal["right_to_wrong", "wrong_to_right"]

Unit = tuple[str, str]
"""An independent one: `("cluster", name)`, or `("question", name)` for a question that stands alone, so that it never
meets a cluster of the same name."""


@dataclass(frozen=True, slots=True)
class Pair:
    """One model under the baseline and under one condition: all trials, and the values of those that count."""

    model: str
    baseline: str
    condition: str
    before: Arm
    after: Arm
    scored_before: Scored
    scored_after: Scored


def pairs(summaries: Iterable[TrialSummary], baseline: str, order: Sequence[str] = ()) -> list[Pair]:
    """Each model and condition other than the baseline, by model name, then by condition: those named in `order`
    first, the others by name. Raises InputError where no trial of the baseline ended."""
    arms: dict[str, dict[str, Arm]] = defaultdict(lambda: defaultdict(lambda: defaultdict(list)))
    for seen in summaries:
        arms[seen.model][seen.condition][seen.question].append(seen)
    places = {name: place for place, name in reversed(list(enumerate(order)))}
    names = {name for conditions in arms.values() for name in conditions}
    ordered = sorted(names, key=lambda name: (places.get(name, len(places)), name))
    if baseline not in names:
        raise InputError(
            f"There is no condition {baseline!r} to compare with",
            hint=f"Conditions with ended trials: {', '.join(ordered) or 'none yet'}.",
            code="unknown_baseline",
        )
    values = {model: {name: scored(arm) for name, arm in conditions.items()} for model, conditions in arms.items()}
    return [
        Pair(
            *(model, baseline, condition),
            *(arms[model].get(baseline, {}), arms[model][condition]),
            *(values[model].get(baseline, {}), values[model][condition]),
        )
        for model in sorted(arms)
        for condition in ordered
        if condition != baseline and condition in arms[model]
    ]


class ScoredTrial(Protocol):
    """A trial that ended, as far as its score goes."""

    @property
    def outcome(self) -> Outcome: ...
    @property
    def value(self) -> float | None: ...


def counts(trial: ScoredTrial) -> bool:
    """Whether a trial enters the figures: what infrastructure spoiled does not, whatever value it carries."""
    return trial.outcome != "failed" and trial.value is not None


def scored(arm: Arm) -> dict[str, list[float]]:
    """What a question's scores are, where it has any."""
    found = {question: _values(trials) for question, trials in arm.items()}
    return {question: values for question, values in found.items() if values}


def mean_scores(arm: Arm) -> dict[str, float]:
    """The mean over repeats, in [0, 1], of each question that has a trial that counts."""
    return {question: mean(values) for question, values in scored(arm).items()}


def scored_in_both(before: Scored, after: Scored) -> list[str]:
    """The questions that count on both sides, by name."""
    return sorted(before.keys() & after.keys())


def even_difference(before: Sequence[float], after: Sequence[float]) -> float:
    """Of one question the mean score under the condition less that under the baseline, over as many repeats of one side
    as of the other: the first by number. Only such a difference is symmetric about 0 where the sides are alike, as the
    sign-flip test wants it: the mean of one trial less that of ten is not."""
    as_many = min(len(before), len(after))
    return mean(after[:as_many]) - mean(before[:as_many])


def mean(values: Sequence[float]) -> float:
    return math.fsum(values) / len(values)


def _values(trials: Sequence[TrialSummary]) -> list[float]:
    # As `counts` says, without a call for each of a million.
    counted = [
        (trial.repeat, trial.trial, trial.value)
        for trial in trials
        if trial.outcome != "failed" and trial.value is not None
    ]
    return [value for _, _, value in sorted(counted)]


def unit(trial: TrialSummary) -> Unit:
    return ("cluster", trial.cluster) if trial.cluster else ("question", trial.question)


def direction(before: float, after: float) -> Direction | None:
    """Which way a question's correctness changed between two mean scores; right is at least one half."""
    if (before >= RIGHT) == (after >= RIGHT):
        return None
    return "wrong_to_right" if after >= RIGHT else "right_to_wrong"


# What became of the trials of one side of a comparison, and what they cost.


@dataclass(frozen=True, slots=True)
class Side:
    """The figures of a Comparison that rest on the trials of one side; see there."""

    trials: int
    failed: int
    unscored: int
    unparsed: int
    budget: int
    limits: dict[str, int]
    tokens: float | None
    cost_usd: float | None
    unpriced: int


def side(arm: Arm, counted: Sequence[str]) -> Side:
    """Of all trials of an arm; tokens and cost of those alone that count and answer one of the `counted` questions."""
    # A million trials are looked at once: to reach each takes longer than what is then read of it.
    kinds = Counter(
        (trial.outcome, trial.verdict, trial.value is None, trial.limit) for found in arm.values() for trial in found
    )
    ended = {kind: count for kind, count in kinds.items() if kind[0] != "failed"}
    limits: Counter[str] = Counter()
    for (*_, limit), count in ended.items():
        if limit is not None:
            limits[limit] += count
    paid = [(trial.tokens, trial.cost_usd) for question in counted for trial in arm[question] if counts(trial)]
    return Side(
        trials=kinds.total(),
        failed=kinds.total() - sum(ended.values()),
        unscored=sum(count for (_, verdict, empty, _), count in ended.items() if empty and verdict != "unparsed"),
        unparsed=sum(count for (_, verdict, *_), count in ended.items() if verdict == "unparsed"),
        budget=sum(count for (outcome, *_), count in ended.items() if outcome == "budget"),
        limits=dict(sorted(limits.items(), key=lambda found: (-found[1], found[0]))),
        tokens=_mean([tokens for tokens, _ in paid if tokens is not None]),
        cost_usd=_mean([cost for _, cost in paid if cost is not None]),
        unpriced=sum(cost is None for _, cost in paid),
    )


def _mean(values: Sequence[float]) -> float | None:
    return math.fsum(values) / len(values) if values else None
