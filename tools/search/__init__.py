"""Searching: what a provider is, and the two that are built in."""

from toolablate.tools.search.corpus import CorpusSearch
from toolablate.tools.search.ddgs import DdgsSearch, ddgs_backends
from toolablate.tools.search.provider import SearchProvider, SearchReply, SearchResult, SearchStatus
from toolablate.tools.search.tool import search_tool

__all__ = [
    "CorpusSearch",
    "DdgsSearch",
    "SearchProvider",
    "SearchReply",
    "SearchResult",
    "SearchStatus",
    "ddgs_backends",
    "search_tool",
]
