"""What the analysis says of a store: what an overview and a report are made of."""

from collections.abc import Collection
from dataclasses import dataclass

from toolablate.analysis.attribution.decomposition import Account, Decomposition
from toolablate.analysis.attribution.judge_labels import ErrorTypes, JudgedDistraction
from toolablate.analysis.comparison import Comparison
from toolablate.analysis.effect import Accuracy
from toolablate.analysis.flips import Floor
from toolablate.analysis.ladder import Waterfall
from toolablate.traces.records import Mechanism, Method


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
class AttributedCount:
    """How many wrong trials of one model under one condition are attributed to one mechanism by one method."""

    model: str
    condition: str
    mechanism: Mechanism
    method: Method
    trials: int


@dataclass(frozen=True, slots=True)
class Why:
    """What tools did to scores, by mechanism; `unreplayed` chosen trials still lack replays. Of `attributed`, what is
    so by trace is a first guess."""

    decompositions: tuple[Decomposition, ...]
    attributed: tuple[AttributedCount, ...] = ()
    floors: tuple[Floor, ...] = ()
    judged: tuple[JudgedDistraction, ...] = ()
    errors: tuple[ErrorTypes, ...] = ()
    unreplayed: int = 0
    notes: tuple[str, ...] = ()

    @property
    def resolved(self) -> tuple[Decomposition, ...]:
        """Decompositions of which anything is known but the effect."""
        return tuple(each for each in self.decompositions if any(map(_is_resolved, each.mechanisms)))


def _is_resolved(account: Account) -> bool:
    return account.name != "unresolved" and bool(account.points or account.ci95)


@dataclass(frozen=True, slots=True)
class Findings:
    """Of the trials that one run called for, or of all.

    models, conditions  labels in the order of the store; `simulated` models are stand-ins and no measurement
    by_domain           the comparisons within each domain, as `compare --by domain` makes them
    why                 None while it is not known yet, or where nobody asked
    imported            trials are of others' logs, whose models cannot be asked again
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
    imported: bool = False
    notes: tuple[str, ...] = ()


def nothing_found(simulated: Collection[str] = ()) -> Findings:
    """Of trials that are shown and not compared; the names of those of their models that are simulated."""
    return Findings("", (), (), frozenset(simulated), (), (), (), (), (), ())
