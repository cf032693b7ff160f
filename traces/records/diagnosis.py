from typing import Literal

from pydantic import Field

from toolablate.traces.records._base import TaggedRecord
from toolablate.traces.records.attribution import Distraction
from toolablate.traces.records.score import JudgeCall

ErrorType = Literal[
    "over_simplification",
    "reasoning",
    "knowledge",
    "hallucination",
    "misinterpretation",
    "calculation",
    "other",
]
"""The seven types of version 2 of the LPFQA paper, table 9."""


class Diagnosis(TaggedRecord):
    """What a judge that read a failed trial holds for its cause, told neither the right answer nor the condition: a
    hypothesis.

    `judge` is its name with the beginning of its identity; `wording` the version of what it is asked. `distraction` is
    how what was read drew the model away, None where nothing did. Both labels are None where no reply of `calls` has
    any, as `reason` then says. Each label has the judge's reason for it and the indices of the events that it points
    to, in order and each once.
    """

    version: Literal[1] = 1
    trial: str
    judge: str = Field(min_length=1)
    wording: int = Field(default=1, ge=1)
    error_type: ErrorType | None
    distraction: Distraction | None
    reason: str = ""
    evidence: tuple[int, ...] = ()
    distraction_reason: str = ""
    distraction_evidence: tuple[int, ...] = ()
    calls: tuple[JudgeCall, ...] = ()
