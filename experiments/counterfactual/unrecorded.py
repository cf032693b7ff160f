"""What stands in for a tool that may not be asked anew: whatever it is asked was not recorded."""

from collections.abc import Mapping
from typing import Literal

from pydantic import JsonValue

from toolablate.tools import Found, Page, PageUnreadableError, SearchQuery, Tool, ToolResult
from toolablate.tools.text import MISS_MESSAGES, told
from toolablate.tools.tool import PLAIN, Likeness
from toolablate.traces.records import Lookup, MissKind, ToolSpec, digest_json

LookupKind = Literal["search", "page", "mcp"]

_MISS: MissKind = "not_in_archive"


class UnrecordedSearch:
    """A `SearchSource` that has nothing."""

    name = "unrecorded"

    async def find(self, asked: SearchQuery) -> Found:
        lookup = Lookup(kind="search", key=digest_json(["search", asked.query]), miss=_MISS)
        return Found(None, lookup, MISS_MESSAGES[_MISS])


class UnrecordedPages:
    """A `PageSource` that has nothing."""

    async def read(self, url: str) -> Page:
        lookup = Lookup(kind="page", key=digest_json(["page", url]), miss=_MISS)
        raise PageUnreadableError(MISS_MESSAGES[_MISS], code=_MISS, lookup=lookup)


class UnrecordedTool:
    """In place of a `tool` that may not be asked; where there is None, as of a server that is not started, no more is
    known of it than what the model was told."""

    def __init__(self, spec: ToolSpec, kind: LookupKind = "mcp", tool: Tool | None = None) -> None:
        self.spec = spec
        self._kind = kind
        self._tool = tool

    @property
    def likeness(self) -> Likeness:
        return self._tool.likeness if self._tool else PLAIN

    def refusal(self, arguments: Mapping[str, JsonValue]) -> ToolResult | None:
        return self._tool.refusal(arguments) if self._tool else None

    async def call(self, arguments: Mapping[str, JsonValue]) -> ToolResult:
        if refused := self.refusal(arguments):
            return refused
        lookup = Lookup(kind=self._kind, key=digest_json([self.spec.name, dict(arguments)]), miss=_MISS)
        return ToolResult(told(MISS_MESSAGES[_MISS]), status="error", error=_MISS, lookup=lookup)

    async def close(self) -> None:
        return None
