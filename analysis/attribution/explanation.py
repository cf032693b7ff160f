"""One trial with all that a page about it is made of."""

from dataclasses import dataclass

from toolablate.analysis.attribution.evidence import Explained
from toolablate.traces.records import Event, Outcome, Question


@dataclass(frozen=True, slots=True)
class Explanation:
    """`conversation` are the events of the trial, `store` the path by which commands name its store; `simulated` tells
    that the model is a stand-in and no measurement, `scripted` that it says what its script says, whatever is changed.
    """

    explained: Explained
    question: Question
    conversation: tuple[Event, ...]
    outcome: Outcome
    repeat: int
    store: str
    simulated: bool = False
    scripted: bool = False
