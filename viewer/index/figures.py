"""What a table says of a question as a whole: how each arm did, and what questions are sorted by."""

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

from toolablate.analysis.pairing import RIGHT, Ended, counts, direction, mean
from toolablate.analysis.selection import Turn
from toolablate.traces.store import Observation

Place = tuple[str, str]
"""Model and condition."""


class Tried(Ended, Protocol):
    """A trial, as far as figures of its question go: an observation, or a row that was made of one."""

    @property
    def model(self) -> str: ...
    @property
    def condition(self) -> str: ...
    @property
    def tokens(self) -> int | None: ...
    @property
    def cost_usd(self) -> float | None: ...


@dataclass(frozen=True, slots=True)
class Standing:
    """An arm's mean score for one question over its scored repeats, in [0, 1], and how that stands against the
    baseline; None as in Glance."""

    score: float | None
    flip: Turn | None


class QuestionFigures(NamedTuple):
    """What a question is sorted by, as Sort explains. `spread` is the standard deviation of its trials' scores;
    `tokens` and `cost_usd` are means over the trials of which they are known. None where there is nothing to say."""

    delta: float | None
    score: float | None
    spread: float | None
    tokens: float | None
    cost_usd: float | None


def by_question(observations: Iterable[Observation]) -> dict[str, list[Observation]]:
    """By the names of the questions."""
    found: dict[str, list[Observation]] = defaultdict(list)
    for seen in observations:
        found[seen.question].append(seen)
    return found


def standings(trials: Iterable[Tried], baseline: str) -> dict[Place, Standing]:
    """Of the trials of one question."""
    values: dict[Place, list[float]] = defaultdict(list)
    for seen in trials:
        found = values[seen.model, seen.condition]
        if counts(seen):
            found.append(seen.value or 0.0)
    scores = {place: mean(found) if found else None for place, found in values.items()}
    return {
        (model, condition): Standing(
            score, None if condition == baseline else _turn(scores.get((model, baseline)), score)
        )
        for (model, condition), score in scores.items()
    }


def figures(trials: Sequence[Tried], arms: Mapping[Place, Standing], baseline: str) -> QuestionFigures:
    """Of one question, with its standings."""
    values = [seen.value or 0.0 for seen in trials if counts(seen)]
    middle = mean(values) if values else None
    differences = [
        arm.score - before.score
        for (model, condition), arm in arms.items()
        if condition != baseline
        and arm.score is not None
        and (before := arms.get((model, baseline))) is not None
        and before.score is not None
    ]
    return QuestionFigures(
        delta=min(differences, default=None),
        score=middle,
        spread=None if middle is None else math.sqrt(mean([(value - middle) ** 2 for value in values])),
        tokens=_mean([seen.tokens for seen in trials]),
        cost_usd=_mean([seen.cost_usd for seen in trials]),
    )


def _turn(before: float | None, after: float | None) -> Turn | None:
    if before is None or after is None:
        return None
    return direction(before, after) or ("both_right" if after >= RIGHT else "both_wrong")


def _mean(values: Iterable[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return math.fsum(known) / len(known) if known else None
