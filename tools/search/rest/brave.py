"""Brave's Web Search API: https://api-dashboard.search.brave.com/api-reference/web/search/get."""

import html
import re
from collections.abc import Mapping
from datetime import date

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

_ENDPOINT = "https://api.search.brave.com/res/v1/web/search"
_MOST_RESULTS = 20
_FIRST_DAY = date(1970, 1, 1)
# Codes of its own for some languages; the others are two letters.
_LANGUAGES = {"zh": "zh-hans", "ja": "jp", "pt": "pt-pt"}
_LANGUAGES_OF = {("tw", "zh"): "zh-hant", ("hk", "zh"): "zh-hant", ("br", "pt"): "pt-br"}
_EMPHASIS = re.compile(r"</?strong>")


class Brave:
    """At most 20 results. `before` becomes a range of `freshness`."""

    traits = Traits(
        name="brave",
        query_parameter="q",
        # A token that is not one is an error of validation to it, not of authorization.
        quirks=(
            Quirk(422, "blocked", says="SUBSCRIPTION_TOKEN"),
            Quirk(429, "rate_limited", says="QUOTA"),
        ),
        query_chars=400,
        query_words=50,
    )

    def __init__(self, settings: Settings) -> None:
        self._url = settings.endpoint or _ENDPOINT
        place = (settings.country, settings.spoken)
        language = _LANGUAGES_OF.get(place, _LANGUAGES.get(settings.spoken, settings.spoken))
        self._sent = told(country=settings.country.upper(), search_lang=language, **settings.options)
        self.parameters: Mapping[str, JsonValue] = told(endpoint=settings.endpoint) | self._sent

    def request(self, asked: SearchQuery) -> ApiRequest:
        sent: dict[str, JsonValue] = {
            "q": asked.query,
            "count": min(asked.max_results, _MOST_RESULTS),
            "result_filter": "web",
            "text_decorations": "false",
            **self._sent,
        }
        if asked.before:
            last = last_day(asked.before)
            sent["freshness"] = f"{min(_FIRST_DAY, last)}to{last}"
        return ApiRequest(self._url, sent)

    def key_headers(self, key: str) -> Mapping[str, str]:
        return {"X-Subscription-Token": key}

    def listing(self, reply: JsonValue) -> Listing:
        content = table(reply, "the reply")
        if content.get("type") != "search":
            raise UnexpectedReplyError("the reply is of no search")
        if "web" not in content:
            return Listing(())
        found = table(content["web"], "web").get("results")
        return Listing(tuple(_finding(entry) for entry in entries(found, "web.results")))


def _finding(entry: dict[str, JsonValue]) -> Finding:
    published, source = first_text(entry, "page_age", "age")
    return Finding(
        text(entry.get("url")), _plain(entry.get("title")), _plain(entry.get("description")), published, source
    )


def _plain(value: JsonValue) -> str:
    return html.unescape(_EMPHASIS.sub("", text(value)))
