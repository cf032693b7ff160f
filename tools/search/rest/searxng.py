"""SearXNG's JSON API: https://docs.searxng.org/dev/search_api.html."""

from collections.abc import Mapping
from dataclasses import replace

from pydantic import JsonValue

from toolablate.tools.plain import one_line
from toolablate.tools.search.commands import without_commands
from toolablate.tools.search.envelope import Finding
from toolablate.tools.search.provider import SearchQuery
from toolablate.tools.search.rest.client import ApiRequest
from toolablate.tools.search.rest.service import Listing, Settings, Traits, entries, first_text, table, text, told
from toolablate.tools.search.rest.statuses import Quirk, Refusal
from toolablate.traces.records import SearchStatus

_TRAITS = Traits(
    name="searxng",
    query_parameter="q",
    quirks=(Quirk(403, "blocked", remedy="the instance must have json in search.formats of its settings.yml"),),
)
# `!bing` asks another engine, `:fr` in another language, `<3` for so many seconds; `!!g` sends us to another site.
_COMMANDS = "!:<"
# What SearXNG says of an engine that gave nothing, the gravest first (searx/webutils.py).
_REASONS: tuple[tuple[SearchStatus, tuple[str, ...]], ...] = (
    ("blocked", ("captcha", "access denied")),
    ("rate_limited", ("too many requests",)),
    ("timeout", ("timeout", "timed out")),
)


class Searxng:
    """`backend` names engines, separated by commas; without it the instance asks those that it is set to.

    It has no dates to search by and no number of results to ask for.
    """

    def __init__(self, settings: Settings) -> None:
        endpoint = settings.endpoint.rstrip("/")
        self._url = endpoint if endpoint.endswith("/search") else f"{endpoint}/search"
        self._sent = told(engines=settings.backend, language=_language(settings), **settings.options)
        self.parameters: Mapping[str, JsonValue] = {"endpoint": self._url, **self._sent}
        self.traits = replace(_TRAITS, engine=settings.backend)

    def request(self, asked: SearchQuery) -> ApiRequest:
        query = without_commands(asked.query, _COMMANDS)
        return ApiRequest(self._url, {"q": query, "format": "json", **self._sent})

    def key_headers(self, key: str) -> Mapping[str, str]:
        return {}

    def listing(self, reply: JsonValue) -> Listing:
        """Nothing found while an engine gave no answer is a failure: that engine might have found something."""
        content = table(reply, "the reply")
        findings = tuple(_finding(entry) for entry in entries(content.get("results"), "results"))
        failures = _failures(content.get("unresponsive_engines"))
        if not failures:
            return Listing(findings)
        detail = one_line(f"engines that gave nothing: {', '.join(failures)}", 300)
        return Listing(findings, None if findings else Refusal(_status(failures), detail), detail)


def _language(settings: Settings) -> str:
    if settings.spoken and settings.country:
        return f"{settings.spoken}-{settings.country.upper()}"
    return settings.spoken


def _finding(entry: dict[str, JsonValue]) -> Finding:
    published, source = first_text(entry, "publishedDate", "pubdate")
    return Finding(text(entry.get("url")), text(entry.get("title")), text(entry.get("content")), published, source)


def _failures(engines: JsonValue) -> list[str]:
    """`engine: reason` for each; the list holds pairs."""
    if not isinstance(engines, list):
        return []
    return [": ".join(map(text, engine)) if isinstance(engine, list) else text(engine) for engine in engines]


def _status(failures: list[str]) -> SearchStatus:
    said = " ".join(failures).lower()
    return next((status for status, words in _REASONS if any(word in said for word in words)), "error")
