"""Searching: what a provider is, those that ask a service, and the tool."""

from toolablate.tools.search.ddgs import DdgsSearch, ddgs_backends
from toolablate.tools.search.provider import (
    Found,
    LiveSearch,
    Searched,
    SearchProvider,
    SearchQuery,
    SearchSource,
    search_key,
)
from toolablate.tools.search.providers import PROVIDERS, open_provider, provider_identity
from toolablate.tools.search.rest import RestSearch
from toolablate.tools.search.tool import gpt_oss_search_tool, search_tool

__all__ = [
    "PROVIDERS",
    "DdgsSearch",
    "Found",
    "LiveSearch",
    "RestSearch",
    "SearchProvider",
    "SearchQuery",
    "SearchSource",
    "Searched",
    "ddgs_backends",
    "gpt_oss_search_tool",
    "open_provider",
    "provider_identity",
    "search_key",
    "search_tool",
]
