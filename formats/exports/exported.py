"""What goes out of a store of one trial: its trace with everything that is known of it."""

from collections.abc import Iterable, Mapping
from typing import Literal

from toolablate.analysis.attribution.evidence import Outlined
from toolablate.traces.records import (
    Attribution,
    Condition,
    Diagnosis,
    Label,
    Model,
    Question,
    Record,
    Score,
    TaggedRecord,
    Trace,
)


class Called(Record):
    """What question, model and condition are called in tables: by their names, and where records of the store share a
    name, by that and the beginning of their ids (`cot@1a2b3c4d`)."""

    question: str
    model: str
    condition: str


class Reasons(Record):
    """Why a trial went as it did: the attribution to go by, None for a trial that is right or that nobody explains, and
    what other methods say."""

    attribution: Attribution | None = None
    hypotheses: tuple[Attribution, ...] = ()


class Exported(TaggedRecord):
    """The current trace of one trial. A counterfactual's holds its own events only; `condition.resumed` says which
    trial it goes on from, at which event and with what change.

    `scores` are all that the trace has, by scorer and version; `diagnoses` are judges' words on a wrong trial, `labels`
    those of people, in the order in which they were said.
    """

    version: Literal[1] = 1
    trial: str
    called: Called
    trace: Trace
    question: Question
    model: Model
    condition: Condition
    scores: tuple[Score, ...] = ()
    reasons: Reasons = Reasons()
    diagnoses: tuple[Diagnosis, ...] = ()
    labels: tuple[Label, ...] = ()

    @property
    def parent(self) -> str | None:
        """The trial that a counterfactual goes on from."""
        return None if self.condition.resumed is None else self.condition.resumed.trial


def reasons(explained: Iterable[Outlined]) -> Mapping[str, Reasons]:
    """By trial, without the evidence."""
    return {
        each.evidence.chain.trial: Reasons(attribution=each.attribution, hypotheses=each.hypotheses)
        for each in explained
        if each.attribution is not None or each.hypotheses
    }
