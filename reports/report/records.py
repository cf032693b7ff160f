"""What a report is made of."""

from collections.abc import Sequence
from dataclasses import dataclass

from toolablate.analysis.attribution.evidence import Explanation
from toolablate.analysis.findings import Findings
from toolablate.reports.plots.figures.outcomes import Ended
from toolablate.traces.records import Condition, Event, ImportedModel, Model, Question, Score, Trace


@dataclass(frozen=True, slots=True)
class Told:
    """One trial as it went. `conversation` are its events after those that it goes on from; `explanation` is None where
    there is nothing to explain."""

    trace: Trace
    question: Question
    model: Model
    condition: Condition
    scores: tuple[Score, ...]
    conversation: tuple[Event, ...]
    explanation: Explanation | None = None

    @property
    def trial(self) -> str:
        return self.trace.trial.id

    @property
    def imported(self) -> bool:
        """Only a log of others tells of it, which may tell no times."""
        return isinstance(self.model, ImportedModel)


@dataclass(frozen=True, slots=True)
class Beside:
    """Two trials of one question."""

    left: Told
    right: Told


@dataclass(frozen=True, slots=True)
class Setup:
    """What the trials stood on, as names and values to read; `models` and `conditions` by their labels."""

    facts: tuple[tuple[str, str], ...]
    models: tuple[tuple[str, str], ...] = ()
    conditions: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Report:
    """endings     how trials ended, by model and condition
    traces, beside  the trials that are shown, and those that are shown side by side; of each the first were asked for:
                    so many as `asked_traces` and `asked_pairs` say
    """

    title: str
    setup: Setup
    findings: Findings
    endings: Sequence[Ended] = ()
    traces: tuple[Told, ...] = ()
    beside: tuple[Beside, ...] = ()
    asked_traces: int = 0
    asked_pairs: int = 0
