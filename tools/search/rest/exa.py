"""Exa's search: https://exa.ai/docs/reference/search."""

from collections.abc import Mapping

from pydantic import JsonValue

from toolablate.tools.search.envelope import Finding
from toolablate.tools.search.provider import SearchQuery
from toolablate.tools.search.rest.client import ApiRequest
from toolablate.tools.search.rest.service import Listing, Settings, Traits, entries, first_text, table, text, told

_ENDPOINT = "https://api.exa.ai/search"


class Exa:
    """Snippets are the highlights that it picks out of a page. `before` becomes `endPublishedDate`."""

    traits = Traits(name="exa", query_parameter="query")

    def __init__(self, settings: Settings) -> None:
        self._url = settings.endpoint or _ENDPOINT
        self._sent = told(**{"type": "auto", "userLocation": settings.country.upper(), **settings.options})
        self.parameters: Mapping[str, JsonValue] = told(endpoint=settings.endpoint) | self._sent

    def request(self, asked: SearchQuery) -> ApiRequest:
        sent: dict[str, JsonValue] = {
            "query": asked.query,
            "numResults": asked.max_results,
            "contents": {"highlights": True},
            **self._sent,
        }
        if asked.before:
            sent["endPublishedDate"] = f"{asked.before}T00:00:00.000Z"
        return ApiRequest(self._url, sent, "POST")

    def key_headers(self, key: str) -> Mapping[str, str]:
        return {"x-api-key": key}

    def listing(self, reply: JsonValue) -> Listing:
        found = table(reply, "the reply").get("results")
        return Listing(tuple(_finding(entry) for entry in entries(found, "results")))


def _finding(entry: dict[str, JsonValue]) -> Finding:
    published, source = first_text(entry, "publishedDate")
    return Finding(text(entry.get("url")), text(entry.get("title")), _snippet(entry), published, source)


def _snippet(entry: dict[str, JsonValue]) -> str:
    highlights = entry.get("highlights")
    picked = [part for part in highlights if isinstance(part, str)] if isinstance(highlights, list) else []
    return " … ".join(picked) or first_text(entry, "summary", "text")[0]
