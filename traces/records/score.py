from typing import Literal

from pydantic import Field, JsonValue, model_validator

from toolablate.traces.records._base import Record, TaggedRecord
from toolablate.traces.records.event import ModelReply, ModelRequest
from toolablate.traces.records.model import Model

Verdict = Literal["correct", "partial", "wrong", "unparsed", "unscored"]


class JudgeCall(Record):
    """One request to a judge, and what came. `cost_usd` is in US dollars, None where it is unknown; it has in it what
    was paid for replies that were none."""

    request: ModelRequest
    reply: ModelReply
    cost_usd: float | None = None


class Judgement(Record):
    """How a judge came to a score: which model it was, and what it was asked and said. A reply that broke the format
    was asked for again, so the last call is the one that counts."""

    model: Model
    calls: tuple[JudgeCall, ...] = Field(min_length=1)


class Score(TaggedRecord):
    """What a scorer made of one trace.

    `value` is in [0, 1], or None where it could not be scored; None is never averaged as 0.
    `verdict` names the case. `unparsed` means that the reply holds no answer that could be extracted: its value is 0
    (lost points, but named and counted apart), or None where the plan excludes such replies.
    `extracted` is the answer as it was read from the reply; `reason` says why nothing was extracted or scored.
    `target` is the identity of the answer key that it was made by (`Question.key_identity`), "" where that was not
    kept. `judgement` is None where no judge was asked. `explanation` and `metadata` are what a scorer says beside the
    value: how it came to it.
    """

    version: Literal[1] = 1
    trial: str
    scorer: str
    scorer_version: int = 1
    value: float | None = Field(default=None, ge=0, le=1)
    verdict: Verdict
    extracted: tuple[str, ...] = ()
    reason: str = ""
    target: str = ""
    judgement: Judgement | None = None
    explanation: str = ""
    metadata: dict[str, JsonValue] = Field(default_factory=dict)

    @model_validator(mode="after")
    def _value_fits_verdict(self) -> "Score":
        allowed = {
            "correct": self.value == 1,
            "wrong": self.value == 0,
            "partial": self.value is not None and 0 < self.value < 1,
            "unparsed": self.value in (0, None),
            "unscored": self.value is None,
        }
        if not allowed[self.verdict]:
            raise ValueError(f"a value of {self.value} does not fit the verdict {self.verdict!r}")
        return self
