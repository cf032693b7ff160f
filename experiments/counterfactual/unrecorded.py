"""What stands in for a tool that may not be asked anew: whatever it is asked was not recorded."""

from collections.abc import Mapping

from pydantic import JsonValue

from toolablate.tools import Found, Page, PageUnreadableError, SearchQuery, ToolResult
from toolablate.tools.likeness import PLAIN, Likeness
from toolablate.tools.misses import MISS_MESSAGES, told
from toolablate.traces.records import Lookup, MissKind, ToolSpec, digest_json

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
    """A tool of a server, or of the user's own, of which no more is known than what the model was told."""

    def __init__(self, spec: ToolSpec) -> None:
        self.spec = spec

    @property
    def likeness(self) -> Likeness:
        return PLAIN

    def refusal(self, arguments: Mapping[str, JsonValue]) -> ToolResult | None:
        return None

    async def call(self, arguments: Mapping[str, JsonValue]) -> ToolResult:
        lookup = Lookup(kind="mcp", key=digest_json([self.spec.name, dict(arguments)]), miss=_MISS)
        return ToolResult(told(MISS_MESSAGES[_MISS]), status="error", error=_MISS, lookup=lookup)

    async def close(self) -> None:
        return None
