"""What a search provider is, and what it replies."""

from dataclasses import dataclass
from typing import Literal, Protocol

from toolablate.tools.browser.page import PageSource

SearchStatus = Literal["ok", "empty", "blocked", "rate_limited", "timeout", "error"]


@dataclass(frozen=True, slots=True)
class SearchResult:
    """One result; `rank` counts from 1. All text is as the provider gave it: data, not to be trusted."""

    rank: int
    title: str
    url: str
    snippet: str
    published: str = ""


@dataclass(frozen=True, slots=True)
class SearchReply:
    """What came of one search. `detail` says more about a status that is neither `ok` nor `empty`."""

    query: str
    provider: str
    status: SearchStatus
    results: tuple[SearchResult, ...] = ()
    detail: str = ""


class SearchProvider(Protocol):
    """Searches for all trials of a run at once; keeps no state between searches."""

    @property
    def name(self) -> str: ...

    @property
    def pages(self) -> PageSource:
        """Where the pages that it finds are read."""
        ...

    async def search(self, query: str, max_results: int) -> SearchReply:
        """Replies in every case; a search that failed is a reply with a status, never an empty one."""
        ...
