"""The five services as their documentation describes them: what they answer, and how they take a key."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from toolablate.tools.search.provider import SearchSettings
from toolablate.tools.search.rest_client import RestLimits, RestSearch, Service
from toolablate.tools.search.rest_services import Brave, Exa, Searxng, Serper, Tavily

KEY = "sk-0123456789abcdef"


@dataclass(frozen=True)
class Described:
    """`page` makes a reply of results, `item` one result of url, title, snippet and a date in ISO 8601."""

    name: str
    make: Callable[[SearchSettings], Service]
    page: Callable[[Any], Any]
    item: Callable[[Any, Any, Any, Any], dict[str, Any]]
    method: str
    key_header: tuple[str, str] | None

    def search(self, endpoint: str, limits: RestLimits | None = None, **settings: Any) -> RestSearch:
        service = self.make(SearchSettings(endpoint=endpoint, **settings))
        return RestSearch(service, KEY if self.key_header else "", limits=limits)


def _searxng(url: Any, title: Any, snippet: Any, date: Any) -> dict[str, Any]:
    return {"url": url, "title": title, "content": snippet, "publishedDate": date, "engine": "bing", "score": 1.0}


def _brave(url: Any, title: Any, snippet: Any, date: Any) -> dict[str, Any]:
    return {"type": "search_result", "url": url, "title": title, "description": snippet, "page_age": date}


def _serper(url: Any, title: Any, snippet: Any, date: Any) -> dict[str, Any]:
    return {"link": url, "title": title, "snippet": snippet, "date": date, "position": 1}


def _tavily(url: Any, title: Any, snippet: Any, date: Any) -> dict[str, Any]:
    return {"url": url, "title": title, "content": snippet, "published_date": date, "score": 0.5}


def _exa(url: Any, title: Any, snippet: Any, date: Any) -> dict[str, Any]:
    return {"url": url, "title": title, "highlights": [snippet], "publishedDate": date, "id": url}


def _brave_page(results: Any) -> Mapping[str, Any]:
    return {"type": "search", "query": {"original": "q"}, "web": {"type": "search", "results": results}}


SERVICES = (
    Described(
        "searxng",
        Searxng,
        lambda results: {"query": "q", "results": results, "unresponsive_engines": []},
        _searxng,
        "GET",
        None,
    ),
    Described("brave", Brave, _brave_page, _brave, "GET", ("x-subscription-token", KEY)),
    Described(
        "serper",
        Serper,
        lambda results: {"searchParameters": {"q": "q"}, "organic": results},
        _serper,
        "POST",
        ("x-api-key", KEY),
    ),
    Described(
        "tavily", Tavily, lambda results: {"results": results}, _tavily, "POST", ("authorization", f"Bearer {KEY}")
    ),
    Described("exa", Exa, lambda results: {"results": results}, _exa, "POST", ("x-api-key", KEY)),
)
