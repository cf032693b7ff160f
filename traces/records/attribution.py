from typing import Literal

from pydantic import Field, model_validator

from toolablate.traces.records._base import TaggedRecord

Mechanism = Literal[
    "retrieval_distraction",
    "lock_in",
    "other_results",
    "tool_fault",
    "budget",
    "format",
    "availability",
    "calling",
    "prompt",
    "luck",
    "own_error",
    "unknown",
]
Distraction = Literal["misleading_adoption", "existence_as_norm", "over_engineering"]
Method = Literal["trace", "replay", "judge"]


class Attribution(TaggedRecord):
    """Why a trial went wrong, as far as a method can tell.

    `method` says how it is known: `trace` by rules over the events, `replay` by counterfactuals, `judge` by a model
    that read the evidence; the first and the last give hypotheses. `confidence` is in [0, 1]. `evidence` are the
    indices of the trace's events that speak for it, in order and each once; `note` says in a sentence why.

    Mechanisms: `retrieval_distraction` (what was found drew the model away), `lock_in` (a computation answered another
    question), `other_results` (what a tool gave that neither searches nor computes), `tool_fault`, `budget` (a limit
    was reached), `format` (the answer was lost on its way out), `availability` (a tool that was only offered),
    `calling` (calls, whatever they gave), `prompt` (the condition's own words), `luck` (what happens without tools as
    well, now and then), `own_error` (the model is wrong without tools, too), `unknown`. `distraction` says of retrieval
    distraction how it went: what was read was adopted though it misleads, what exists was taken for what is right, or a
    simple answer was built up into an elaborate one. `turned_at` is the event at which the belief in the right answer
    fell for good, None where that is not known.
    """

    version: Literal[1] = 1
    trial: str
    mechanism: Mechanism
    method: Method
    confidence: float = Field(ge=0, le=1)
    distraction: Distraction | None = None
    turned_at: int | None = Field(default=None, ge=0)
    evidence: tuple[int, ...] = ()
    note: str = ""

    @model_validator(mode="after")
    def _evidence_in_order(self) -> "Attribution":
        if list(self.evidence) != sorted(set(self.evidence)) or any(index < 0 for index in self.evidence):
            raise ValueError("the evidence must be indices of events, from 0, in order and each once")
        return self
