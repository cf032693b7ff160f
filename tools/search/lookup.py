"""How the search tool asks: a provider as it is, or a recording of one, under one and the same key."""

import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Protocol

from pydantic import JsonValue

from toolablate.tools.search.provider import SearchProvider, SearchQuery
from toolablate.traces.records import Lookup, SearchReply, clean_text, digest_json

RESULTS_ASKED_FOR = (10, 20, 50)
"""How many results a provider is asked for: the least of these that is enough. Who wants 2 and who wants 10 asks alike,
so that one recording serves both."""


@dataclass(frozen=True, slots=True)
class Found:
    """What one search gave. `reply` is None exactly where `lookup.miss` is set; `message` is what a model is then told.

    A reply may be of a search that failed: its status says so. It may hold more results than were wanted.
    """

    reply: SearchReply | None
    lookup: Lookup
    message: str = ""


class SearchSource(Protocol):
    """Answers searches for all trials of a run at once; keeps no state that a trial could notice."""

    @property
    def name(self) -> str:
        """The provider's name."""
        ...

    async def find(self, asked: SearchQuery) -> Found: ...


class LiveSearch:
    """Asks a provider anew each time."""

    def __init__(self, provider: SearchProvider) -> None:
        self._provider = provider

    @property
    def name(self) -> str:
        return self._provider.name

    async def find(self, asked: SearchQuery) -> Found:
        asked = as_asked(asked)
        key = search_key(self._provider.name, self._provider.parameters, asked)
        searched = await self._provider.search(asked)
        return Found(searched.reply, Lookup(kind="search", key=key))


def as_asked(wanted: SearchQuery) -> SearchQuery:
    """What a provider is asked, and a search is known by: the same for all that it could not, or need not, tell apart.

    More than the largest of `RESULTS_ASKED_FOR` is asked for as it is.
    """
    enough = (number for number in RESULTS_ASKED_FOR if number >= wanted.max_results)
    return replace(wanted, query=normal_query(wanted.query), max_results=next(enough, wanted.max_results))


def search_key(name: str, parameters: Mapping[str, JsonValue], wanted: SearchQuery) -> str:
    """Of the provider, its parameters, the query, `before`, and the number of results as `as_asked` has them."""
    asked = as_asked(wanted)
    before = asked.before.isoformat() if asked.before else None
    return digest_json(["search", name, dict(parameters), asked.query, asked.max_results, before])


def normal_query(query: str) -> str:
    """The query in Unicode's composed form, each run of blanks as one, none at its ends, and nothing that UTF-8 cannot
    carry."""
    return " ".join(unicodedata.normalize("NFC", clean_text(query)).split())
