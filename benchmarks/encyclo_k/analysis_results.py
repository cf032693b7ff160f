"""What the analyses of Encyclo-K find, as records that can be shown."""

import json
from dataclasses import asdict, dataclass
from typing import Literal

from toolablate.analysis.effect import Accuracy

By = Literal["discipline", "field", "subfield", "options", "statements"]
Level = Literal["sample", "subfield", "field", "discipline"]


@dataclass(frozen=True, slots=True)
class LevelAccuracy:
    """The mean over groups of each group's accuracy; `sample` is over all questions as one group."""

    level: Level
    groups: int
    accuracy: Accuracy


@dataclass(frozen=True, slots=True)
class GroupAccuracy:
    """Of one group: a discipline, a field or subfield with those above it ("Science > Physics"), or a number of options
    or statements."""

    by: By
    group: str
    accuracy: Accuracy


@dataclass(frozen=True, slots=True)
class ArmAccuracy:
    """One model under one condition. `trials` counts those that were scored, `missed` the ones among them from whose
    reply no answer could be read."""

    model: str
    condition: str
    simulated: bool
    trials: int
    missed: int
    levels: tuple[LevelAccuracy, ...]
    groups: tuple[GroupAccuracy, ...]


@dataclass(frozen=True, slots=True)
class Position:
    """One place of an option. `right` is the accuracy where the right option stands there; `chosen` counts the answers
    that name it, `wrongly` the wrong ones among these, and `wrongly_expected` how many of the wrong ones would if they
    had no preference."""

    letter: str
    right: Accuracy
    chosen: int
    wrongly: int
    wrongly_expected: float


@dataclass(frozen=True, slots=True)
class ChiSquare:
    """The outcome of a chi-square test. `p_value` is None where there is nothing to test, or too little: fewer than 5
    expected on average. `p_holm` is corrected over all arms shown."""

    statistic: float
    degrees: int
    p_value: float | None
    p_holm: float | None = None


@dataclass(frozen=True, slots=True)
class PositionBias:
    """Whether the place of an option matters to one model under one condition: to whether it is right (`by_right`), and
    to what it chooses when it is wrong (`by_choice`)."""

    model: str
    condition: str
    positions: tuple[Position, ...]
    by_right: ChiSquare
    by_choice: ChiSquare


@dataclass(frozen=True, slots=True)
class SeedAccuracy:
    seed: int
    accuracy: Accuracy


@dataclass(frozen=True, slots=True)
class Stability:
    """One model under one condition over question sets of several seeds; `mean` is over sets, in percent, `low` and
    `high` are the least and the highest of them."""

    model: str
    condition: str
    sets: tuple[SeedAccuracy, ...]
    mean: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class PairRanking:
    """Two models under one condition, by their means over the seeds that both have; `reversed` names the seeds under
    which the lower one was above the other."""

    condition: str
    higher: str
    lower: str
    seeds: tuple[int, ...]
    reversed: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Length:
    """Tokens of final replies, as the endpoint counts them; `small` as in Accuracy, by clusters alone."""

    replies: int
    mean: float | None
    ci95: tuple[float, float] | None
    median: float | None
    small: bool


@dataclass(frozen=True, slots=True)
class ReplyLength:
    """`missed`: replies from which no answer could be read; they are no part of `wrong`. `unknown` counts replies whose
    tokens are not known."""

    model: str
    condition: str
    right: Length
    wrong: Length
    missed: Length
    unknown: int


@dataclass(frozen=True, slots=True)
class SingleAndComposed:
    """The same statements judged one by one, and composed into questions.

    statements  accuracy over the statements that were judged
    questions   over the composed questions of which all statements were judged: the mean score of their statements
    composed    accuracy over these composed questions
    """

    model: str
    condition: str
    statements: Accuracy
    questions: Accuracy
    composed: Accuracy


@dataclass(frozen=True, slots=True)
class EncycloKTables:
    arms: tuple[ArmAccuracy, ...]
    positions: tuple[PositionBias, ...]
    stability: tuple[Stability, ...]
    rankings: tuple[PairRanking, ...]
    lengths: tuple[ReplyLength, ...]
    single: tuple[SingleAndComposed, ...]


def tables_json(tables: EncycloKTables) -> str:
    """The fields of the records; what is unknown is null."""
    return json.dumps(asdict(tables), ensure_ascii=False, indent=2)
