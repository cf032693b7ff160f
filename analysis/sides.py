"""What became of the trials of one side of a comparison, and what they cost."""

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from toolablate.analysis.pairing import Arm, counts


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
    trials = [trial for found in arm.values() for trial in found]
    ended = [trial for trial in trials if trial.outcome != "failed"]
    paid = [trial for question in counted for trial in arm[question] if counts(trial)]
    limits = Counter(trial.limit for trial in ended if trial.limit is not None)
    return Side(
        trials=len(trials),
        failed=len(trials) - len(ended),
        unscored=len([trial for trial in ended if trial.value is None and trial.verdict != "unparsed"]),
        unparsed=len([trial for trial in ended if trial.verdict == "unparsed"]),
        budget=len([trial for trial in ended if trial.outcome == "budget"]),
        limits=dict(sorted(limits.items(), key=lambda found: (-found[1], found[0]))),
        tokens=_mean([trial.tokens for trial in paid if trial.tokens is not None]),
        cost_usd=_mean([trial.cost_usd for trial in paid if trial.cost_usd is not None]),
        unpriced=len([trial for trial in paid if trial.cost_usd is None]),
    )


def _mean(values: Sequence[float]) -> float | None:
    return math.fsum(values) / len(values) if values else None
