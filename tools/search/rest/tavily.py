"""Tavily's search: https://docs.tavily.com/documentation/api-reference/endpoint/search."""

from collections.abc import Mapping

from pydantic import JsonValue

from toolablate.tools.search.envelope import Finding
from toolablate.tools.search.provider import SearchQuery
from toolablate.tools.search.rest.client import ApiRequest
from toolablate.tools.search.rest.service import (
    Listing,
    Settings,
    Traits,
    entries,
    first_text,
    last_day,
    table,
    text,
    told,
)

_ENDPOINT = "https://api.tavily.com/search"
_MOST_RESULTS = 20


class Tavily:
    """At most 20 results, without the answer that it would write itself. `before` becomes `end_date`.

    It takes neither region nor language, and dates only what it finds under the topic `news`.
    """

    traits = Traits(name="tavily", query_parameter="query", query_chars=400)

    def __init__(self, settings: Settings) -> None:
        self._url = settings.endpoint or _ENDPOINT
        self._sent = told(**{"search_depth": "basic", "topic": "general", **settings.options})
        self.parameters: Mapping[str, JsonValue] = told(endpoint=settings.endpoint) | self._sent

    def request(self, asked: SearchQuery) -> ApiRequest:
        sent: dict[str, JsonValue] = {
            "query": asked.query,
            "max_results": min(asked.max_results, _MOST_RESULTS),
            "include_answer": False,
            **self._sent,
        }
        if asked.before:
            sent["end_date"] = last_day(asked.before).isoformat()
        return ApiRequest(self._url, sent, "POST")

    def key_headers(self, key: str) -> Mapping[str, str]:
        return {"Authorization": f"Bearer {key}"}

    def listing(self, reply: JsonValue) -> Listing:
        found = table(reply, "the reply").get("results")
        return Listing(tuple(_finding(entry) for entry in entries(found, "results")))


def _finding(entry: dict[str, JsonValue]) -> Finding:
    published, source = first_text(entry, "published_date")
    return Finding(text(entry.get("url")), text(entry.get("title")), text(entry.get("content")), published, source)
