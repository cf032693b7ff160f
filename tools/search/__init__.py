"""Searching: what a provider is, those that ask a service, and the tool."""

from toolablate.tools.search.ddgs import DdgsSearch, ddgs_backends
from toolablate.tools.search.from_plan import open_provider, provider_identity, provider_names
from toolablate.tools.search.provider import (
    LiveSearch,
    ProviderKind,
    Searched,
    SearchOutcome,
    SearchProvider,
    SearchQuery,
    SearchSettings,
    SearchSource,
    search_key,
)
from toolablate.tools.search.rest_client import RestSearch
from toolablate.tools.search.tool import document_search_tool, gpt_oss_search_tool, search_tool

__all__ = [
    "DdgsSearch",
    "LiveSearch",
    "ProviderKind",
    "RestSearch",
    "SearchOutcome",
    "SearchProvider",
    "SearchQuery",
    "SearchSettings",
    "SearchSource",
    "Searched",
    "ddgs_backends",
    "document_search_tool",
    "gpt_oss_search_tool",
    "open_provider",
    "provider_identity",
    "provider_names",
    "search_key",
    "search_tool",
]
