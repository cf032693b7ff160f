"""Serper, which gives Google's results: https://serper.dev."""

from collections.abc import Mapping

from pydantic import JsonValue

from toolablate.tools.search.envelope import Finding
from toolablate.tools.search.provider import SearchQuery
from toolablate.tools.search.rest.client import ApiRequest
from toolablate.tools.search.rest.service import (
    Listing,
    Settings,
    Traits,
    UnexpectedReplyError,
    entries,
    first_text,
    last_day,
    table,
    text,
    told,
)
from toolablate.tools.search.rest.statuses import Quirk

_ENDPOINT = "https://google.serper.dev/search"
_LANGUAGES_OF = {("cn", "zh"): "zh-cn", ("tw", "zh"): "zh-tw", ("hk", "zh"): "zh-tw", ("br", "pt"): "pt-br"}


class Serper:
    """`before` becomes Google's own range of dates, `tbs=cdr:1,cd_max:M/D/YYYY`."""

    traits = Traits(
        name="serper",
        query_parameter="q",
        engine="google",
        quirks=(Quirk(400, "blocked", says="credits"),),
    )

    def __init__(self, settings: Settings) -> None:
        self._url = settings.endpoint or _ENDPOINT
        language = _LANGUAGES_OF.get((settings.country, settings.spoken), settings.spoken)
        self._sent = told(gl=settings.country, hl=language, **settings.options)
        self.parameters: Mapping[str, JsonValue] = told(endpoint=settings.endpoint) | self._sent

    def request(self, asked: SearchQuery) -> ApiRequest:
        sent: dict[str, JsonValue] = {"q": asked.query, "num": asked.max_results, **self._sent}
        if asked.before:
            last = last_day(asked.before)
            sent["tbs"] = f"cdr:1,cd_max:{last.month}/{last.day}/{last.year}"
        return ApiRequest(self._url, sent, "POST")

    def key_headers(self, key: str) -> Mapping[str, str]:
        return {"X-API-KEY": key}

    def listing(self, reply: JsonValue) -> Listing:
        content = table(reply, "the reply")
        if "organic" not in content and "searchParameters" not in content:
            raise UnexpectedReplyError("the reply is of no search")
        found = content.get("organic", [])
        return Listing(tuple(_finding(entry) for entry in entries(found, "organic")))


def _finding(entry: dict[str, JsonValue]) -> Finding:
    published, source = first_text(entry, "date")
    return Finding(text(entry.get("link")), text(entry.get("title")), text(entry.get("snippet")), published, source)
