"""How good attributions are where the truth is known: nine classes of causes, steps, confidences and shares."""

import math
import random
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, get_args

from toolablate.traces.records import Attribution, Distraction, Mechanism

Cause = Literal[
    "misleading_adoption",
    "existence_as_norm",
    "lock_in",
    "tool_fault",
    "budget",
    "format",
    "availability",
    "sampling_noise",
    "own_error",
]
CAUSES: tuple[Cause, ...] = get_args(Cause)
NOT_OF_TOOLS: frozenset[Cause] = frozenset({"sampling_noise", "own_error"})
BINS = 10
_GUESSES = 200

_OF_MECHANISM: Mapping[Mechanism, Cause] = {
    "lock_in": "lock_in",
    "tool_fault": "tool_fault",
    "budget": "budget",
    "format": "format",
    "availability": "availability",
    "calling": "availability",
    "volume": "availability",
    "prompt": "availability",
    "sampling_noise": "sampling_noise",
    "own_error": "own_error",
}


@dataclass(frozen=True, slots=True)
class Verdict:
    """One wrong trial: its true cause and what is said of it. `said` is None where nothing is. Steps are those of
    `belief_steps`, by their number; None where the belief does not fall for good, or nobody says where. `pure` tells
    that nothing but chance can have been the cause, not even for another draw of the same answer."""

    truth: Cause
    said: Cause | None
    confidence: float = 0.0
    true_step: int | None = None
    said_step: int | None = None
    pure: bool = False


@dataclass(frozen=True, slots=True)
class StepRates:
    """Shares of trials, None where there are none to speak of: `false` is of those whose belief does not fall for good,
    the others are of the `trials` whose belief does."""

    exact: float | None
    near: float | None
    joint: float | None
    trials: int
    false: float | None = None


@dataclass(frozen=True, slots=True)
class Bin:
    """Verdicts of similar confidence: how many, their mean confidence, and the share that is right."""

    verdicts: int
    confidence: float
    right: float


def cause_of(mechanism: Mechanism, distraction: Distraction | None = None) -> Cause | None:
    """The nine classes of the twelve mechanisms. What is there before any result of a tool is `availability`, whether
    tools were offered, called for nothing or introduced by a prompt. What exists taken for the norm
    and an answer built up beyond need are one class; a distraction of which nobody says how it went counts as the
    commoner one, `misleading_adoption`. `unknown` is none,
    and so is `other_results`: planted models have no other tools."""
    if mechanism == "retrieval_distraction":
        return "misleading_adoption" if distraction in (None, "misleading_adoption") else "existence_as_norm"
    return _OF_MECHANISM.get(mechanism)


def said_of(attribution: Attribution | None) -> Cause | None:
    return None if attribution is None else cause_of(attribution.mechanism, attribution.distraction)


def confusion(verdicts: Iterable[Verdict]) -> dict[Cause, Counter[Cause | None]]:
    """What is said, by true cause; causes that no trial has are left out."""
    found: dict[Cause, Counter[Cause | None]] = {}
    for verdict in verdicts:
        found.setdefault(verdict.truth, Counter())[verdict.said] += 1
    return {cause: found[cause] for cause in CAUSES if cause in found}


def f1_scores(verdicts: Sequence[Verdict]) -> dict[Cause, float]:
    """2 TP / (2 TP + FP + FN) of each class that is true or said of some trial."""
    true, said = Counter(each.truth for each in verdicts), Counter(each.said for each in verdicts)
    hits = Counter(each.truth for each in verdicts if each.truth == each.said)
    return {cause: 2 * hits[cause] / (true[cause] + said[cause]) for cause in CAUSES if true[cause] + said[cause]}


def macro_f1(verdicts: Sequence[Verdict]) -> float:
    """Their plain mean. Raises ValueError where there are none."""
    scores = f1_scores(verdicts)
    if not scores:
        raise ValueError("no verdicts to score")
    return math.fsum(scores.values()) / len(scores)


def majority_f1(verdicts: Sequence[Verdict]) -> float:
    """Of whoever names the commonest true cause every time."""
    ((commonest, _),) = Counter(each.truth for each in verdicts).most_common(1)
    return macro_f1([Verdict(each.truth, commonest) for each in verdicts])


def guessed_f1(verdicts: Sequence[Verdict], *, seed: int = 0) -> float:
    """Of whoever names any of the nine with equal chances: the mean of 200 tries."""
    rng = random.Random(seed)  # noqa: S311 - a simulation, not a secret
    tries = (macro_f1([Verdict(each.truth, rng.choice(CAUSES)) for each in verdicts]) for _ in range(_GUESSES))
    return math.fsum(tries) / _GUESSES


def step_rates(verdicts: Iterable[Verdict]) -> StepRates:
    """Of trials whose belief truly falls for good: the share whose step is named exactly, or at most one off, and of
    which both the cause and the exact step are right. A step that nobody names is wrong. Of the others, the share for
    which a step is named."""
    every = list(verdicts)
    falling = [each for each in every if each.true_step is not None]
    steady = [each for each in every if each.true_step is None]
    exact = [each for each in falling if each.said_step == each.true_step]
    near = [each for each in falling if _distance(each) <= 1]
    joint = [each for each in exact if each.said == each.truth]
    return StepRates(
        exact=_share(len(exact), len(falling)),
        near=_share(len(near), len(falling)),
        joint=_share(len(joint), len(falling)),
        trials=len(falling),
        false=_share(sum(each.said_step is not None for each in steady), len(steady)),
    )


def guessed_step(steps: Sequence[tuple[int, int]]) -> float | None:
    """The chance of naming the step by lot, of pairs of the true step and how many steps there are: it can be any but
    the first."""
    return _share(math.fsum(1 / max(count - 1, 1) for _, count in steps), len(steps))


def constant_step(steps: Sequence[tuple[int, int]]) -> float | None:
    """The share right of whoever names the same step every time, counted from the start or from the end, whichever is
    right most often; of pairs as in `guessed_step`."""
    places: Counter[tuple[str, int]] = Counter()
    for step, count in steps:
        places["start", step] += 1
        places["end", count - step] += 1
    return _share(max(places.values(), default=0), len(steps))


def blamed(verdicts: Iterable[Verdict]) -> float | None:
    """The share of pure sampling noise for which a tool is blamed."""
    noise = [each for each in verdicts if each.truth == "sampling_noise" and each.pure]
    return _share(sum(each.said is not None and each.said not in NOT_OF_TOOLS for each in noise), len(noise))


def reliability(verdicts: Iterable[Verdict]) -> list[Bin]:
    """By confidence, in ten bins of equal width; those without a verdict are left out. Trials of which nothing is said
    are in none."""
    bins: dict[int, list[Verdict]] = {}
    for each in verdicts:
        if each.said is not None:
            bins.setdefault(min(int(each.confidence * BINS), BINS - 1), []).append(each)
    return [
        Bin(
            verdicts=len(held),
            confidence=math.fsum(each.confidence for each in held) / len(held),
            right=sum(each.said == each.truth for each in held) / len(held),
        )
        for _, held in sorted(bins.items())
    ]


def calibration_error(verdicts: Iterable[Verdict]) -> float | None:
    """The expected calibration error: mean |confidence - share right| over bins, weighed by their verdicts. Naeini et
    al. (2015), "Obtaining well calibrated probabilities using Bayesian binning", AAAI."""
    bins = reliability(verdicts)
    total = sum(each.verdicts for each in bins)
    return _share(math.fsum(each.verdicts * abs(each.confidence - each.right) for each in bins), total)


def error_of_calibrated(verdicts: Iterable[Verdict], *, seed: int = 0) -> float | None:
    """What chance alone makes of the calibration error of so many verdicts: its mean over 200 tries in which these
    confidences are true."""
    rng = random.Random(seed)  # noqa: S311 - a simulation, not a secret
    sure = [each.confidence for each in verdicts if each.said is not None]
    tries = (
        calibration_error(
            Verdict("sampling_noise", "sampling_noise" if rng.random() < each else "own_error", each) for each in sure
        )
        for _ in range(_GUESSES)
    )
    return math.fsum(error or 0.0 for error in tries) / _GUESSES if sure else None


def share_error(found: Mapping[str, float], true: Mapping[str, float], names: Collection[str]) -> float:
    """The mean distance of a decomposition's shares and the true ones, in points; a share that is not named is 0."""
    return math.fsum(abs(found.get(name, 0.0) - true.get(name, 0.0)) for name in names) / len(names)


def covers(interval: tuple[float, float], true: float, *, tolerance: float = 1e-9) -> bool:
    low, high = interval
    return low - tolerance <= true <= high + tolerance


def _distance(verdict: Verdict) -> float:
    if verdict.said_step is None or verdict.true_step is None:
        return math.inf
    return abs(verdict.said_step - verdict.true_step)


def _share(part: float, whole: int) -> float | None:
    return part / whole if whole else None
