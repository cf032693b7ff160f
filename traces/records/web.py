"""What comes from the web or from an archive of it: search replies, texts of pages, and what was noticed of them."""

from datetime import datetime
from typing import Literal

from pydantic import Field, JsonValue

from toolablate.traces.records._base import Record, TaggedRecord
from toolablate.traces.records.artifact import Artifact

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
