"""The search services with a REST API, each by what is its own: Brave, Exa, SearXNG, Serper, Tavily."""

import html
import re
from collections.abc import Mapping
from dataclasses import replace
from datetime import date

from pydantic import JsonValue

from toolablate.tools.search.provider import SearchQuery, SearchSettings, without_commands
from toolablate.tools.search.ranked_results import ProviderResult
from toolablate.tools.search.rest_client import (
    ApiRequest,
    Listing,
    Quirk,
    SearchRefusal,
    Traits,
    UnexpectedReplyError,
    entries,
    first_text,
    last_day,
    rest_provider,
    table,
    text,
    told,
)
from toolablate.tools.text import one_line
from toolablate.traces.records import SearchStatus

_BRAVE = "https://api.search.brave.com/res/v1/web/search"
_BRAVE_RESULTS = 20
_BRAVE_FIRST_DAY = date(1970, 1, 1)
# Codes of its own for some languages; the others are two letters.
_BRAVE_LANGUAGES = {"zh": "zh-hans", "ja": "jp", "pt": "pt-pt"}
_BRAVE_LANGUAGES_OF = {("tw", "zh"): "zh-hant", ("hk", "zh"): "zh-hant", ("br", "pt"): "pt-br"}
_BRAVE_EMPHASIS = re.compile(r"</?strong>")


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

    def __init__(self, settings: SearchSettings) -> None:
        self._url = settings.endpoint or _BRAVE
        place = (settings.country, settings.spoken)
        language = _BRAVE_LANGUAGES_OF.get(place, _BRAVE_LANGUAGES.get(settings.spoken, settings.spoken))
        self._sent = told(country=settings.country.upper(), search_lang=language, **settings.options)
        self.parameters: Mapping[str, JsonValue] = told(endpoint=settings.endpoint) | self._sent

    def request(self, asked: SearchQuery) -> ApiRequest:
        sent: dict[str, JsonValue] = {
            "q": asked.query,
            "count": min(asked.max_results, _BRAVE_RESULTS),
            "result_filter": "web",
            "text_decorations": "false",
            **self._sent,
        }
        if asked.before:
            last = last_day(asked.before)
            sent["freshness"] = f"{min(_BRAVE_FIRST_DAY, last)}to{last}"
        return ApiRequest(self._url, sent)

    def key_headers(self, key: str) -> Mapping[str, str]:
        return {"X-Subscription-Token": key}

    def listing(self, reply: JsonValue) -> Listing:
        content = table(reply, "the reply")
        if content.get("type") != "search":
            raise UnexpectedReplyError("the reply is not a search result")
        if "web" not in content:
            return Listing(())
        found = table(content["web"], "web").get("results")
        return Listing(tuple(_brave_finding(entry) for entry in entries(found, "web.results")))


def _brave_finding(entry: dict[str, JsonValue]) -> ProviderResult:
    published, source = first_text(entry, "page_age", "age")
    return ProviderResult(
        text(entry.get("url")),
        _brave_plain(entry.get("title")),
        _brave_plain(entry.get("description")),
        published,
        source,
    )


def _brave_plain(value: JsonValue) -> str:
    return html.unescape(_BRAVE_EMPHASIS.sub("", text(value)))


# Exa's search: https://exa.ai/docs/reference/search.


_EXA = "https://api.exa.ai/search"


class Exa:
    """Snippets are the highlights that it picks out of a page. `before` becomes `endPublishedDate`."""

    traits = Traits(name="exa", query_parameter="query")

    def __init__(self, settings: SearchSettings) -> None:
        self._url = settings.endpoint or _EXA
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
        return Listing(tuple(_exa_finding(entry) for entry in entries(found, "results")))


def _exa_finding(entry: dict[str, JsonValue]) -> ProviderResult:
    published, source = first_text(entry, "publishedDate")
    return ProviderResult(text(entry.get("url")), text(entry.get("title")), _exa_snippet(entry), published, source)


def _exa_snippet(entry: dict[str, JsonValue]) -> str:
    highlights = entry.get("highlights")
    picked = [part for part in highlights if isinstance(part, str)] if isinstance(highlights, list) else []
    return " … ".join(picked) or first_text(entry, "summary", "text")[0]


# SearXNG's JSON API: https://docs.searxng.org/dev/search_api.html.


_SEARXNG = Traits(
    name="searxng",
    query_parameter="q",
    quirks=(Quirk(403, "blocked", remedy="the instance must have json in search.formats of its settings.yml"),),
)
# `!bing` asks another engine, `:fr` in another language, `<3` for so many seconds; `!!g` sends us to another site.
_SEARXNG_COMMANDS = "!:<"
# What SearXNG says of an engine that gave nothing, the gravest first (searx/webutils.py).
_SEARXNG_REASONS: tuple[tuple[SearchStatus, tuple[str, ...]], ...] = (
    ("blocked", ("captcha", "access denied")),
    ("rate_limited", ("too many requests",)),
    ("timeout", ("timeout", "timed out")),
)


class Searxng:
    """`backend` names engines, separated by commas; without it the instance asks those that it is set to.

    It has no dates to search by and no number of results to ask for.
    """

    def __init__(self, settings: SearchSettings) -> None:
        endpoint = settings.endpoint.rstrip("/")
        self._url = endpoint if endpoint.endswith("/search") else f"{endpoint}/search"
        self._sent = told(engines=settings.backend, language=_searxng_language(settings), **settings.options)
        self.parameters: Mapping[str, JsonValue] = {"endpoint": self._url, **self._sent}
        self.traits = replace(_SEARXNG, engine=settings.backend)

    def request(self, asked: SearchQuery) -> ApiRequest:
        query = without_commands(asked.query, _SEARXNG_COMMANDS)
        return ApiRequest(self._url, {"q": query, "format": "json", **self._sent})

    def key_headers(self, key: str) -> Mapping[str, str]:
        return {}

    def listing(self, reply: JsonValue) -> Listing:
        """Nothing found while an engine gave no answer is a failure: that engine might have found something."""
        content = table(reply, "the reply")
        findings = tuple(_searxng_finding(entry) for entry in entries(content.get("results"), "results"))
        failures = _searxng_failures(content.get("unresponsive_engines"))
        if not failures:
            return Listing(findings)
        detail = one_line(f"engines that gave nothing: {', '.join(failures)}", 300)
        return Listing(findings, None if findings else SearchRefusal(_searxng_status(failures), detail), detail)


def _searxng_language(settings: SearchSettings) -> str:
    if settings.spoken and settings.country:
        return f"{settings.spoken}-{settings.country.upper()}"
    return settings.spoken


def _searxng_finding(entry: dict[str, JsonValue]) -> ProviderResult:
    published, source = first_text(entry, "publishedDate", "pubdate")
    return ProviderResult(
        text(entry.get("url")), text(entry.get("title")), text(entry.get("content")), published, source
    )


def _searxng_failures(engines: JsonValue) -> list[str]:
    """`engine: reason` for each; the list holds pairs."""
    if not isinstance(engines, list):
        return []
    return [": ".join(map(text, engine)) if isinstance(engine, list) else text(engine) for engine in engines]


def _searxng_status(failures: list[str]) -> SearchStatus:
    said = " ".join(failures).lower()
    return next((status for status, words in _SEARXNG_REASONS if any(word in said for word in words)), "error")


# Serper, which gives Google's results: https://serper.dev.


_SERPER = "https://google.serper.dev/search"
_SERPER_LANGUAGES_OF = {("cn", "zh"): "zh-cn", ("tw", "zh"): "zh-tw", ("hk", "zh"): "zh-tw", ("br", "pt"): "pt-br"}


class Serper:
    """`before` becomes Google's own range of dates, `tbs=cdr:1,cd_max:M/D/YYYY`."""

    traits = Traits(
        name="serper",
        query_parameter="q",
        engine="google",
        quirks=(Quirk(400, "blocked", says="credits"),),
    )

    def __init__(self, settings: SearchSettings) -> None:
        self._url = settings.endpoint or _SERPER
        language = _SERPER_LANGUAGES_OF.get((settings.country, settings.spoken), settings.spoken)
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
            raise UnexpectedReplyError("the reply is not a search result")
        found = content.get("organic", [])
        return Listing(tuple(_serper_finding(entry) for entry in entries(found, "organic")))


def _serper_finding(entry: dict[str, JsonValue]) -> ProviderResult:
    published, source = first_text(entry, "date")
    return ProviderResult(
        text(entry.get("link")), text(entry.get("title")), text(entry.get("snippet")), published, source
    )


# Tavily's search: https://docs.tavily.com/documentation/api-reference/endpoint/search.


_TAVILY = "https://api.tavily.com/search"
_TAVILY_RESULTS = 20


class Tavily:
    """At most 20 results, without the answer that it would write itself. `before` becomes `end_date`.

    It takes neither region nor language, and dates only what it finds under the topic `news`.
    """

    traits = Traits(name="tavily", query_parameter="query", query_chars=400)

    def __init__(self, settings: SearchSettings) -> None:
        self._url = settings.endpoint or _TAVILY
        self._sent = told(**{"search_depth": "basic", "topic": "general", **settings.options})
        self.parameters: Mapping[str, JsonValue] = told(endpoint=settings.endpoint) | self._sent

    def request(self, asked: SearchQuery) -> ApiRequest:
        sent: dict[str, JsonValue] = {
            "query": asked.query,
            "max_results": min(asked.max_results, _TAVILY_RESULTS),
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
        return Listing(tuple(_tavily_finding(entry) for entry in entries(found, "results")))


def _tavily_finding(entry: dict[str, JsonValue]) -> ProviderResult:
    published, source = first_text(entry, "published_date")
    return ProviderResult(
        text(entry.get("url")), text(entry.get("title")), text(entry.get("content")), published, source
    )


_SAFESEARCH = ("off", "moderate", "strict")

SEARXNG = rest_provider(Searxng, takes_backend=True, needs_endpoint=True, options={"safesearch": ("0", "1", "2")})
BRAVE = rest_provider(Brave, key_variable="BRAVE_API_KEY", options={"safesearch": _SAFESEARCH})
SERPER = rest_provider(Serper, key_variable="SERPER_API_KEY")
TAVILY = rest_provider(
    Tavily,
    key_variable="TAVILY_API_KEY",
    takes_region=False,
    options={"search_depth": ("basic", "advanced", "fast", "ultra-fast"), "topic": ("general", "news", "finance")},
)
EXA = rest_provider(Exa, key_variable="EXA_API_KEY", options={"type": ("auto", "neural", "fast", "instant", "deep")})
