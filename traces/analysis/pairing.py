"""Trials of a condition beside those of the baseline, question by question: what all comparisons start from."""

import math
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from toolablate.traces.errors import InputError
from toolablate.traces.store import Observation

RIGHT = 0.5

Arm = dict[str, list[Observation]]
"""The trials of one model under one condition, by question."""

Direction = Literal["right_to_wrong", "wrong_to_right"]

Unit = tuple[str, str]
"""An independent one: `("cluster", name)`, or `("question", name)` for a question that stands alone, so that it never
meets a cluster of the same name."""


@dataclass(frozen=True, slots=True)
class Pair:
    """One model under the baseline and under one condition."""

    model: str
    baseline: str
    condition: str
    before: Arm
    after: Arm


def pairs(observations: Iterable[Observation], baseline: str, order: Sequence[str] = ()) -> list[Pair]:
    """Each model and condition other than the baseline, by model name, then by condition: those named in `order`
    first, the others by name. Raises InputError where no trial of the baseline ended."""
    arms: dict[str, dict[str, Arm]] = defaultdict(lambda: defaultdict(lambda: defaultdict(list)))
    for seen in observations:
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
    return [
        Pair(model, baseline, condition, arms[model].get(baseline, {}), arms[model][condition])
        for model in sorted(arms)
        for condition in ordered
        if condition != baseline and condition in arms[model]
    ]


def counts(trial: Observation) -> bool:
    """Whether a trial enters the figures: what infrastructure spoiled does not, whatever value it carries."""
    return trial.outcome != "failed" and trial.value is not None


def scores(trials: Iterable[Observation]) -> list[float]:
    """The values in [0, 1] of the trials that count, by repeat."""
    counted = [trial for trial in trials if counts(trial)]
    return [trial.value for trial in sorted(counted, key=_by_repeat) if trial.value is not None]


def mean_scores(arm: Arm) -> dict[str, float]:
    """The mean over repeats, in [0, 1], of each question that has a trial that counts."""
    values = {question: scores(trials) for question, trials in arm.items()}
    return {question: _mean(scored) for question, scored in values.items() if scored}


def even_differences(before: Arm, after: Arm, questions: Iterable[str]) -> list[float]:
    """Of each question the mean score under the condition less that under the baseline, over as many repeats of one
    side as of the other: the first by number. Only such a difference is symmetric about 0 where the sides are alike,
    as the sign-flip test wants it: the mean of one trial less that of ten is not."""
    differences = []
    for question in questions:
        old, new = scores(before[question]), scores(after[question])
        as_many = min(len(old), len(new))
        differences.append(_mean(new[:as_many]) - _mean(old[:as_many]))
    return differences


def _by_repeat(trial: Observation) -> tuple[int, str, float]:
    return trial.repeat, trial.trial, trial.value or 0.0


def _mean(values: Sequence[float]) -> float:
    return math.fsum(values) / len(values)


def counted_questions(before: Arm, after: Arm) -> list[str]:
    """Those with a trial that counts on both sides, by name."""
    old, new = ({question for question, trials in arm.items() if any(map(counts, trials))} for arm in (before, after))
    return sorted(old & new)


def unit(trial: Observation) -> Unit:
    return ("cluster", trial.cluster) if trial.cluster else ("question", trial.question)


def direction(before: float, after: float) -> Direction | None:
    """Which way a question's correctness changed between two mean scores; right is at least one half."""
    if (before >= RIGHT) == (after >= RIGHT):
        return None
    return "wrong_to_right" if after >= RIGHT else "right_to_wrong"
