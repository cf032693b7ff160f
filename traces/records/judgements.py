"""What is said of a trial afterwards: scores, judges' replies, diagnoses, labels, attributions."""

from collections.abc import Mapping
from datetime import datetime
from typing import Annotated, Literal, Self, get_args

from pydantic import Field, JsonValue, model_validator

from toolablate.traces.records._base import Record, TaggedRecord
from toolablate.traces.records.events import FinishReason, ModelReply, ModelRequest, Usage
from toolablate.traces.records.models import Model

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


class KeptCall(TaggedRecord):
    """A call to a judge that a file keeps by the identity of its model and by what was asked."""

    version: Literal[1] = 1
    model: str = Field(min_length=1)
    call: JudgeCall

    @property
    def asked(self) -> tuple[str, str]:
        return (self.model, self.call.request.identity())


class KeptVector(TaggedRecord):
    """A text's vector, that a file keeps by who made it and by the digest of the text."""

    version: Literal[1] = 1
    endpoint: str = Field(min_length=1)
    model: str = Field(min_length=1)
    text: str = Field(min_length=1)
    vector: tuple[float, ...] = Field(min_length=1)

    @property
    def asked(self) -> tuple[str, str, str]:
        return (self.endpoint, self.model, self.text)


class ItemScore(Record):
    """One item of a checklist: what an answer says of it, against what the reference says.

    `expected` tells that the reference has it (is not "N/A"); `mapped` is the answer's text for it, "" for none.
    `recall` tells that the answer's text contains the reference's, `precision` that the reference's contains the
    answer's. Both are true where neither has the item, and false where only one has; of an answer without words both
    are false for every item.
    """

    item: str
    expected: bool
    mapped: str = ""
    precision: bool
    recall: bool

    @property
    def filled(self) -> bool:
        return bool(self.mapped)


class Score(TaggedRecord):
    """What a scorer made of one trace.

    `value` is in [0, 1], or None where it could not be scored; None is never averaged as 0.
    `verdict` names the case. `unparsed` means that the reply holds no answer that could be extracted: its value is 0
    (lost points, but named and counted apart), or None where the plan excludes such replies.
    `extracted` is the answer as it was read from the reply; `reason` says why nothing was extracted or scored.
    `target` is the identity of the answer key that it was made by (`Question.key_identity`), "" where that was not
    kept. `judgement` is None where no judge was asked. `explanation` and `metadata` are what a scorer says beside the
    value: how it came to it. `items` is the table of a checklist; `mapping` is how a model read the answer's text
    for each item, before the judge was asked.
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
    mapping: Judgement | None = None
    items: tuple[ItemScore, ...] = ()
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


DistractionLabel = Literal["misleading_adoption", "existence_as_norm", "over_engineering", "none"]
"""A way of being drawn away by what was read, or `none`."""

_Count = Annotated[int, Field(ge=0, le=10**9)]


class JudgeMatrix(TaggedRecord):
    """What a judge of failures, asked in one wording, said of planted trials, of which it is known what drew the model
    away: numbers of trials by the true label, then by the one that was given. `unlabelled` ones, by the true label,
    got none and are in no count."""

    version: Literal[1] = 1
    judge: str = Field(min_length=1)
    wording: int = Field(ge=1)
    counts: dict[DistractionLabel, dict[DistractionLabel, _Count]]
    unlabelled: dict[DistractionLabel, _Count]

    @model_validator(mode="after")
    def _of_all_labels(self) -> Self:
        labels = set[str](get_args(DistractionLabel))
        named = [set(self.counts), set(self.unlabelled), *map(set, self.counts.values())]
        if any(each != labels for each in named):
            raise ValueError(f"counts and unlabelled have to name each of {', '.join(get_args(DistractionLabel))}")
        return self


Mechanism = Literal[
    "retrieval_distraction",
    "lock_in",
    "other_results",
    "volume",
    "interaction",
    "tool_fault",
    "budget",
    "format",
    "availability",
    "calling",
    "prompt",
    "sampling_noise",
    "own_error",
    "unknown",
]
Distraction = Literal["misleading_adoption", "existence_as_norm", "over_engineering"]
Method = Literal["trace", "replay", "judge"]


class Attribution(TaggedRecord):
    """Why a trial went wrong, as far as a method can tell.

    `method` says how it is known: `trace` by rules over the events, `replay` by counterfactuals, `judge` by a model
    that read the evidence; the first and the last give hypotheses. `confidence` is in [0, 1]. `evidence` are the
    indices of the trace's events that support it, in order and each once; `note` says in a sentence why.

    Mechanisms: `retrieval_distraction` (what was found drew the model away), `lock_in` (a computation answered another
    question), `other_results` (what a tool gave that neither searches nor computes), `interaction` (results of two
    kinds of tools, neither of which did it alone, or both of which were needed), `volume` (how much
    tools gave, whatever it was), `tool_fault`, `budget` (a limit
    was reached), `format` (the answer was lost on its way out), `availability` (a tool that was only offered),
    `calling` (calls, whatever they gave), `prompt` (the condition's own words), `sampling_noise` (what happens without
    tools as well, now and then), `own_error` (the model is wrong without tools, too), `unknown`. `distraction` says of
    retrieval distraction how it went: what was read was adopted though it misleads, what exists was taken for what is
    right, or a simple answer was built up into an elaborate one. `turned_at` is the event at which the belief in the
    right answer fell for good, None where that is not known. `shares` are the probabilities of mechanisms, its
    own among them; those of a method that has none are empty.
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
    shares: Mapping[Mechanism, float] = Field(default_factory=dict)

    @model_validator(mode="after")
    def _evidence_in_order(self) -> "Attribution":
        if list(self.evidence) != sorted(set(self.evidence)) or any(index < 0 for index in self.evidence):
            raise ValueError("the evidence must be indices of events, from 0, in order and each once")
        return self


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


MECHANISM_BOOK, ERROR_TYPE_BOOK = "mechanisms", "error_types"
"""The codebooks that are built in: what a label by the one says is its `mechanism`, by the other its `error_type`."""


class Label(TaggedRecord):
    """What a person who read a trial holds for the mechanism that made it wrong, or which codes of another codebook
    they give it.

    `person` is the name that they go by, `at` when they said so. `mechanism`, `error_type` and `codes` are all empty
    where they withdraw what they had said before. `turned_at` is the event at which it went wrong, where they say so,
    `quote` a passage of that event's text as it was written. `attributed` and `method` are what the attribution said of
    the trial when they read it, None where it said nothing; `blind` tells that it was hidden from them. `error_type` is
    the kind of error that they see, where they say one.

    `codebook` is the name of the codebook, "" in labels older than codebooks, which are of the mechanisms;
    `codebook_digest` is that of the definitions that they had before them. `adjudicated` tells that it decides between
    labels that differed, and so is no independent one. `inclusion_probability` is the trial's in the queue from which
    it was labelled, None where it came from none.
    """

    version: Literal[1] = 1
    trial: str
    person: str = Field(min_length=1, max_length=200)
    at: datetime
    mechanism: Mechanism | None
    distraction: Distraction | None = None
    turned_at: int | None = Field(default=None, ge=0)
    note: str = Field(default="", max_length=20_000)
    attributed: Mechanism | None = None
    method: Method | None = None
    blind: bool = False
    error_type: ErrorType | None = None
    codebook: str = Field(default="", max_length=80)
    codebook_digest: str = ""
    codes: tuple[str, ...] = ()
    quote: str = Field(default="", max_length=2_000)
    adjudicated: bool = False
    inclusion_probability: float | None = Field(default=None, gt=0, le=1)

    @model_validator(mode="after")
    def _quote_has_an_event(self) -> Self:
        if self.quote and self.turned_at is None:
            raise ValueError("a passage is quoted of an event, and none is named")
        return self

    @property
    def book(self) -> str:
        """The name of the codebook."""
        return self.codebook or MECHANISM_BOOK

    @property
    def said(self) -> tuple[str, ...]:
        """The codes of its codebook that it gives, in order; none where it withdraws."""
        if self.book == MECHANISM_BOOK:
            return (self.mechanism,) if self.mechanism else ()
        if self.book == ERROR_TYPE_BOOK:
            return (self.error_type,) if self.error_type else ()
        return tuple(sorted(self.codes))


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


class PromptScore(TaggedRecord):
    """How likely a model found the rest of a prompt, given its beginning.

    `model`, `benchmark`, `question`, `cluster`, `given` and `rest` are as in `Continuation`. `logprob` is the natural
    logarithm of the probability of the rest's `tokens` of the model, together: that of the whole prompt less that of
    `given`. `bytes` are the rest's in UTF-8.
    """

    version: Literal[1] = 1
    model: str
    benchmark: str
    question: str
    cluster: str = ""
    given: str = Field(min_length=1)
    rest: str = Field(min_length=1)
    logprob: float = Field(le=0)
    tokens: int = Field(gt=0)
    bytes: int = Field(gt=0)
    served: str = ""
    at: datetime

    @property
    def asked(self) -> tuple[str, str, str, str, str]:
        return (self.model, self.benchmark, self.question, self.given, self.rest)


Preferred = Literal["a", "b", "same"]


class PairVerdict(TaggedRecord):
    """What a judge, or a metric of another kind, said of two texts `a` and `b` in one order.

    `judge` is its name with its options and `wording` the version of what it is asked. `pair` names what was compared,
    `texts` is the digest of all that was shown: of another text it is another verdict. `exchanged`: b stood first.
    `verdict` is by text, whatever stood first; None where no reply of `calls` has any, as `reason` then says. `scores`
    are those of a and b, where the verdict is a difference of scores. `begun`: a later request failed, and `calls` is
    what was paid for before it; nothing is said yet.
    """

    version: Literal[1] = 1
    judge: str = Field(min_length=1)
    wording: int = Field(default=1, ge=1)
    pair: str = Field(min_length=1)
    texts: str
    exchanged: bool = False
    verdict: Preferred | None
    scores: tuple[float, float] | None = None
    reason: str = ""
    calls: tuple[JudgeCall, ...] = ()
    begun: bool = False

    @property
    def asked(self) -> tuple[str, int, str, str, bool]:
        """What it is the verdict on; another of the same would be another draw."""
        return (self.judge, self.wording, self.pair, self.texts, self.exchanged)
