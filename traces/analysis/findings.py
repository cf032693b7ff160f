"""What the analysis says of a store: what an overview and a report are made of."""

from dataclasses import dataclass

from toolablate.traces.analysis.accuracy import Accuracy
from toolablate.traces.analysis.attribution.error_types import ErrorTypes
from toolablate.traces.analysis.attribution.judged import JudgedDistraction
from toolablate.traces.analysis.attribution.ledger import Ledger
from toolablate.traces.analysis.comparison import Comparison
from toolablate.traces.analysis.ladder import Waterfall
from toolablate.traces.analysis.noise import Floor


@dataclass(frozen=True, slots=True)
class ArmScore:
    """One model under one condition, over all questions that are scored there (of another arm these may be others)."""

    model: str
    condition: str
    accuracy: Accuracy


@dataclass(frozen=True, slots=True)
class FlipMatrix:
    """The questions scored on both sides, by whether they are right under the baseline and under a condition; right is
    a mean score of at least 0.5 over the repeats."""

    model: str
    baseline: str
    condition: str
    both_right: int
    right_to_wrong: int
    wrong_to_right: int
    both_wrong: int


@dataclass(frozen=True, slots=True)
class Why:
    """What tools did to scores, by mechanism; `unreplayed` chosen trials still lack replays."""

    ledgers: tuple[Ledger, ...]
    floors: tuple[Floor, ...] = ()
    judged: tuple[JudgedDistraction, ...] = ()
    errors: tuple[ErrorTypes, ...] = ()
    unreplayed: int = 0
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Findings:
    """Of the trials that one run called for, or of all.

    models, conditions  labels in the order of the store; `simulated` models are stand-ins and no measurement
    by_domain           the comparisons within each domain, as `compare --by domain` makes them
    why                 None while it is not known yet, or where nobody asked
    notes               what to know before reading the figures
    """

    baseline: str
    models: tuple[str, ...]
    conditions: tuple[str, ...]
    simulated: frozenset[str]
    arms: tuple[ArmScore, ...]
    comparisons: tuple[Comparison, ...]
    floors: tuple[Floor, ...]
    flips: tuple[FlipMatrix, ...]
    by_domain: tuple[Comparison, ...]
    waterfalls: tuple[Waterfall, ...]
    why: Why | None = None
    notes: tuple[str, ...] = ()
