from datetime import datetime
from typing import Literal

from pydantic import Field

from toolablate.traces.records._base import TaggedRecord
from toolablate.traces.records.event import FinishReason
from toolablate.traces.records.message import Usage


class Continuation(TaggedRecord):
    """How a model went on with the beginning of a prompt.

    `model` is the digest of the model's record, `question` the id within the `benchmark`, and `cluster` the question's.
    The model was given `given` and at most `max_tokens` of its own tokens for `text`; `rest` is how the prompt goes on.
    `served` is the name that the endpoint gave for what answered; `at` is when the reply had come.
    """

    version: Literal[1] = 1
    model: str
    benchmark: str
    question: str
    cluster: str = ""
    given: str = Field(min_length=1)
    rest: str = Field(min_length=1)
    max_tokens: int = Field(gt=0)
    text: str
    finish_reason: FinishReason
    usage: Usage = Usage()
    served: str = ""
    at: datetime

    @property
    def asked(self) -> tuple[str, str, str, str, str, int]:
        """What it is the continuation of; another of the same would be another draw."""
        return (self.model, self.benchmark, self.question, self.given, self.rest, self.max_tokens)
