"""What happened in a trial: messages, calls of models and tools, what these returned, failures and the answer."""

from datetime import datetime
from typing import Annotated, ClassVar, Literal

from pydantic import Field, JsonValue

from toolablate.traces.errors import Boundary, ToolablateError
from toolablate.traces.records._base import Record, TaggedRecord
from toolablate.traces.records.pictures import Picture


class ToolSpec(Record):
    """A tool as a model is told of it; `parameters` is a JSON Schema object."""

    name: str
    description: str
    parameters: dict[str, JsonValue]


class ToolRequest(Record):
    """A model's wish to call a tool. `arguments` is the text as the model wrote it, valid JSON or not."""

    id: str
    name: str
    arguments: str


class Message(Record):
    """`reasoning` is what a model thought, as text, and `reasoning_key` the name under which a Chat Completions
    endpoint gave it and wants it back. `items` are parts of a reply as its API gave them, to be given back unchanged:
    the output items of Responses in their order, the `reasoning_details` of Chat Completions or, where `reasoning_key`
    is `content`, the parts of a content that has thoughts among them.
    """

    role: Literal["system", "user", "assistant", "tool"]
    content: str = ""
    images: tuple[Picture, ...] = ()
    reasoning: str = ""
    reasoning_key: str = ""
    items: tuple[dict[str, JsonValue], ...] = ()
    tool_calls: tuple[ToolRequest, ...] = ()
    tool_call_id: str = ""


class Usage(Record):
    """Tokens of one or more calls; `None` where the endpoint did not say.

    `input_tokens` are all that were read: `cached_tokens` of them came from the endpoint's cache, `cache_write_tokens`
    others were written to it. `reasoning_tokens` are among `output_tokens`.
    """

    input_tokens: int | None = None
    output_tokens: int | None = None
    cached_tokens: int | None = None
    cache_write_tokens: int | None = None
    reasoning_tokens: int | None = None

    def __add__(self, other: "Usage") -> "Usage":
        """Sum; a part that is unknown on one side only counts as what the other side says."""
        return Usage(**{name: _plus(getattr(self, name), getattr(other, name)) for name in Usage.model_fields})


def _plus(left: int | None, right: int | None) -> int | None:
    if left is None or right is None:
        return left if right is None else right
    return left + right


class Artifact(Record):
    """A rich output of a tool, kept as inert data; binary MIME types are base64."""

    mime: str
    data: str


class Change(Record):
    """What an intervention of the condition did to a tool's result: its name, and in `detail` what it did."""

    intervention: str = Field(min_length=1)
    detail: str = ""


# What comes from the web or from an archive of it: search replies, texts of pages, and what was noticed of them.


SearchStatus = Literal["ok", "empty", "blocked", "rate_limited", "timeout", "error"]
MissKind = Literal["not_in_archive", "recorded_error", "blocked_by_policy", "after_cutoff"]
MarkerKind = Literal["answer_leak", "instruction_like", "withheld"]


class SearchResult(Record):
    """One result; `rank` counts from 1. All text is as the provider gave it: data, not to be trusted.

    `canonical_url` is the normal form of `url`, by which pages are told apart. `published_at` is a hint, as ISO 8601
    where it could be read; `published_from` names the field of the reply that it came from.
    """

    rank: int = Field(ge=1)
    url: str
    canonical_url: str
    title: str = ""
    snippet: str = ""
    published_at: str = ""
    published_from: str = ""


class SearchReply(TaggedRecord):
    """The envelope of one search: what was asked, of whom, when, and what came of it.

    `empty` means that the provider looked and found nothing; the four failures are never `empty`. `detail` says more
    about them; `lasting` that the same search would fail again (a key that is refused, credits that are used up), and
    `retry_after` how many seconds the provider asked to wait. `parameters` is what was sent besides the query, without
    any key. `raw_digest` is the digest of the reply's body, empty where there was none.
    """

    version: Literal[1] = 1
    query: str
    parameters: dict[str, JsonValue] = Field(default_factory=dict)
    fetched_at: datetime
    provider: str
    engine: str = ""
    client_version: str = ""
    status: SearchStatus
    results: tuple[SearchResult, ...] = ()
    detail: str = ""
    lasting: bool = False
    retry_after: float | None = None
    raw_digest: str = ""


class Link(Record):
    """A link of a page: `text[start:end]` is its anchor, `url` is absolute."""

    start: int = Field(ge=0)
    end: int = Field(ge=0)
    url: str


class PageText(TaggedRecord):
    """What could be read of a document: its text without any markup, and its links as spans of that text.

    Where nothing could be read, `text` is empty, `code` is a stable word (`no_text`, `not_text`, `too_deep`, `timeout`,
    `encrypted` ...) and `reason` a sentence. `method` names what read it: `trafilatura`, `resiliparse`, `pdf`, `text`.
    """

    version: Literal[1] = 1
    title: str = ""
    text: str = ""
    links: tuple[Link, ...] = ()
    method: str = ""
    code: str = ""
    reason: str = ""
    published_at: str = ""


class FetchFailure(TaggedRecord):
    """A request that got no reply that could be used; see `tools.web.FetchError` for the fields."""

    version: Literal[1] = 1
    message: str
    code: str
    transient: bool = False
    policy: bool = False


class ToolReply(TaggedRecord):
    """What a tool gave for one call, before anything was changed in it; the fields are those of `ToolCall`."""

    version: Literal[1] = 1
    output: str
    status: Literal["ok", "error", "invalid"] = "ok"
    error: str = ""
    truncated: bool = False
    artifacts: tuple[Artifact, ...] = ()


class Lookup(Record):
    """What a tool asked of the web or of its archive: one and the same key when live, recorded and replayed.

    `miss` is None where it was there; else why not, and `nearest` describes the nearest recorded request, if any.
    `reason` is what the policy said where it forbade something: no model is told of it.
    """

    kind: Literal["search", "page", "mcp"]
    key: str
    miss: MissKind | None = None
    nearest: str = ""
    reason: str = ""


class Marker(Record):
    """Something noticed in a tool's result: `where` is a URL, `excerpt` the text. Noticing never alters a result;
    `withheld` tells of what the plan's policy kept from the model.
    """

    kind: MarkerKind
    where: str = ""
    excerpt: str = ""


FinishReason = Literal["stop", "tool_calls", "length", "content_filter", "refusal", "paused", "other"]
"""`paused`: the provider broke its own tools' work off, and goes on with it when it is given the reply back."""
Refusal = Literal["unknown_tool", "not_allowed"]
"""The `error` of an invalid call whose tool was not among those of the request, or was there and may not be called."""

Limit = Literal["turns", "messages", "tool_calls", "tokens", "cost_usd", "seconds", "reply_length", "context_length"]


class _Event(TaggedRecord):
    """`at` is when it began, in seconds since the trial began; `seconds` how long it took."""

    tags: ClassVar[tuple[str, ...]] = ("kind",)

    at: float = Field(ge=0)
    seconds: float = Field(default=0.0, ge=0)


class ModelRequest(Record):
    """`provider_tools` are those that the provider runs by itself, as its API writes them. `tool_choice` is `auto`,
    `none`, `required` or the name of a tool; `parallel_tool_calls` None leaves to the
    endpoint whether a reply may call several. `answer_schema` is the JSON schema of a reply that calls none, {} for
    none."""

    messages: tuple[Message, ...]
    tools: tuple[ToolSpec, ...] = ()
    provider_tools: tuple[dict[str, JsonValue], ...] = ()
    tool_choice: str = "auto"
    parallel_tool_calls: bool | None = None
    answer_schema: dict[str, JsonValue] = Field(default_factory=dict)


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


CHARACTERS_PER_TOKEN = 4
"""An estimate, since no tokenizer is known for most endpoints: about right for English, too few for Chinese. It stops
runaway trials of endpoints that report no usage, and cuts questions to a length."""


class InputCut(Record):
    """A question that was longer than its condition allows: `kept` of its `chars` characters are in the request."""

    kept: int = Field(ge=0)
    chars: int = Field(gt=0)


class ModelCall(_Event):
    """One request that was answered. `purpose` is `final` for the last request, the one without tools. `input_cut` is
    set for the first request of a trial whose question was cut. `node` is the part of an agent of the user's own that
    made it: the names of its subgraphs and its node, with slashes; `asked` is a digest of which of the agent's models
    was asked, and how, `within` the id of the call within which it was."""

    kind: Literal["model_call"] = "model_call"
    purpose: Literal["ask", "final"] = "ask"
    request: ModelRequest
    reply: ModelReply
    cost_usd: float | None = None
    input_cut: InputCut | None = None
    node: str = ""
    asked: str = ""
    within: str = ""


class ToolCall(_Event):
    """A tool that was called, and what the model was shown.

    `status` is `ok`; `error` where the tool worked and the call went wrong (an exception in a cell, a dead kernel, a
    page that is not there); `invalid` where the model named no such tool, called one that
    may not be called (`error` is then a Refusal), or wrote arguments that do not fit.
    `truncated` tells that `output` is less than there was. `lookup` is set by tools that ask the web or its archive;
    `markers` tell what was noticed in the result. Where interventions of the condition had a part in it, `changes` says
    which, in their order, and `original` is what the tool itself gave; None where it was not called, or nothing was
    changed. `node` and `within` are those of `ModelCall`; `to_state` tells that it changed more of the agent's state
    than its messages.

    `by_provider` is set for a tool that the provider ran by itself within a reply: the call stands before the
    `ModelCall` with that reply, when it began is told as when the request was sent, and `output` is what the provider
    tells of the results, which may be less than the model was shown.
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
    node: str = ""
    within: str = ""
    to_state: bool = False
    by_provider: bool = False


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
