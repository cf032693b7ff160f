"""What a search provider is."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from typing import Protocol

from pydantic import JsonValue

from toolablate.traces.records import SearchReply


@dataclass(frozen=True, slots=True)
class SearchQuery:
    """What a model asks for. `before` leaves out what is known to have been published on that day or later."""

    query: str
    max_results: int = 10
    before: date | None = None


@dataclass(frozen=True, slots=True)
class Searched:
    """The envelope of one search, and the body of the reply that it was read from (empty where there was none)."""

    reply: SearchReply
    raw: bytes = b""


class SearchProvider(Protocol):
    """Searches for all trials of a run at once; keeps no state between searches."""

    @property
    def name(self) -> str:
        """Provider and engine: `brave`, `ddgs/duckduckgo`."""
        ...

    @property
    def parameters(self) -> Mapping[str, JsonValue]:
        """Whatever else decides what is found (region, language, instance), without any key."""
        ...

    async def search(self, asked: SearchQuery) -> Searched:
        """Replies in every case; a search that failed is an envelope with a status, never an empty one."""
        ...
