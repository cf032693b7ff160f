from typing import Annotated, ClassVar, Literal

from pydantic import Field, JsonValue

from toolablate.traces.errors import Boundary, ToolablateError
from toolablate.traces.records._base import Record, TaggedRecord
from toolablate.traces.records.artifact import Artifact
from toolablate.traces.records.change import Change
from toolablate.traces.records.message import Message, ToolRequest, ToolSpec, Usage
from toolablate.traces.records.web import Lookup, Marker, ToolReply

FinishReason = Literal["stop", "tool_calls", "length", "content_filter", "refusal", "other"]
Refusal = Literal["unknown_tool", "not_allowed"]
"""The `error` of an invalid call whose tool was not among those of the request, or was there and may not be called."""

Limit = Literal["turns", "messages", "tool_calls", "tokens", "cost_usd", "seconds", "reply_length", "context_length"]


class _Event(TaggedRecord):
    """`at` is when it began, in seconds since the trial began; `seconds` how long it took."""

    tags: ClassVar[tuple[str, ...]] = ("kind",)

    at: float = Field(ge=0)
    seconds: float = Field(default=0.0, ge=0)


class ModelRequest(Record):
    """`tool_choice` is `auto`, `none`, `required` or the name of a tool; `parallel_tool_calls` None leaves to the
    endpoint whether a reply may call several."""

    messages: tuple[Message, ...]
    tools: tuple[ToolSpec, ...] = ()
    tool_choice: str = "auto"
    parallel_tool_calls: bool | None = None


class ModelReply(Record):
    """`model` is the name that the endpoint gave for what answered; `response_id` its id for the reply. `alternatives`
    are the other choices where several were asked for; `logprobs` is what the endpoint gave under that name.
    `charged_usd` is what the endpoint says that it charged, in US dollars."""

    message: Message
    finish_reason: FinishReason
    usage: Usage = Usage()
    charged_usd: float | None = Field(default=None, ge=0)
    model: str = ""
    response_id: str = ""
    alternatives: tuple[Message, ...] = ()
    logprobs: JsonValue = None


class ModelCall(_Event):
    """One request that was answered. `purpose` is `final` for the last request, the one without tools."""

    kind: Literal["model_call"] = "model_call"
    purpose: Literal["ask", "final"] = "ask"
    request: ModelRequest
    reply: ModelReply
    cost_usd: float | None = None


class ToolCall(_Event):
    """A tool that was called, and what the model was shown.

    `status` is `ok`; `error` where the tool worked and the call went wrong (an exception in a cell, a dead kernel, a
    page that is not there); `invalid` where the model named no such tool, called one that
    may not be called (`error` is then a Refusal), or wrote arguments that do not fit.
    `truncated` tells that `output` is less than there was. `lookup` is set by tools that ask the web or its archive;
    `markers` tell what was noticed in the result. Where interventions of the condition had a part in it, `changes` says
    which, in their order, and `original` is what the tool itself gave; None where it was not called, or nothing was
    changed.
    """

    kind: Literal["tool_call"] = "tool_call"
    call: ToolRequest
    output: str
    status: Literal["ok", "error", "invalid"] = "ok"
    error: str = ""
    truncated: bool = False
    artifacts: tuple[Artifact, ...] = ()
    lookup: Lookup | None = None
    markers: tuple[Marker, ...] = ()
    changes: tuple[Change, ...] = ()
    original: ToolReply | None = None


class Failure(_Event):
    """Infrastructure that failed. `retried` tells whether the same thing was tried again after it; `reply` is what came
    where a reply came that is none (empty, stopped by a filter), which was paid for all the same."""

    kind: Literal["failure"] = "failure"
    boundary: Boundary
    code: str
    message: str
    attempt: int = Field(default=1, ge=1)
    retried: bool = False
    reply: ModelReply | None = None
    cost_usd: float | None = None

    @classmethod
    def of(cls, error: ToolablateError, *, at: float, seconds: float, attempt: int = 1, retried: bool) -> "Failure":
        return cls(
            at=at,
            seconds=seconds,
            boundary=error.boundary,
            code=error.code,
            message=str(error),
            attempt=attempt,
            retried=retried,
        )


class Answer(_Event):
    """The final reply. `limit` names what had run out, if anything had; `limit_note` is what another harness said of it
    in its own words, "" for trials of our own."""

    kind: Literal["answer"] = "answer"
    text: str
    limit: Limit | None = None
    limit_note: str = ""


class Mismatch(Record):
    """A tool call of the record that gave something else when it was made again: the index of its event in the whole
    conversation, and the beginnings of what was `recorded` and of what it gives `now`."""

    event: int = Field(ge=0)
    recorded: str
    now: str


class Rebuilt(_Event):
    """Before a trial was taken up again, this many `calls` of its record were made again, so that kernel and pages are
    as they were; `mismatches` tells where they may not be."""

    kind: Literal["rebuilt"] = "rebuilt"
    calls: int = Field(ge=0)
    mismatches: tuple[Mismatch, ...] = ()


Event = Annotated[ModelCall | ToolCall | Failure | Answer | Rebuilt, Field(discriminator="kind")]
