"""What a search provider is, and how the search tool asks one: directly, or a recording of it."""

import re
import unicodedata
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import date
from functools import lru_cache
from typing import Protocol

from pydantic import JsonValue

from toolablate.traces.records import Lookup, SearchReply, clean_text, digest_json


@dataclass(frozen=True, slots=True)
class SearchQuery:
    """What a model asks for. `before` leaves out what is known to have been published on that day or later."""

    query: str
    max_results: int = 10
    before: date | None = None


@dataclass(frozen=True, slots=True)
class Searched:
    """The envelope of one search, and the body of the reply that it was read from (empty where there was none)."""

    reply: SearchReply
    raw: bytes = b""


class SearchProvider(Protocol):
    """Searches for all trials of a run at once; keeps no state between searches."""

    @property
    def name(self) -> str:
        """Provider and engine: `brave`, `ddgs/duckduckgo`."""
        ...

    @property
    def parameters(self) -> Mapping[str, JsonValue]:
        """Whatever else decides what is found (region, language, instance), without any key."""
        ...

    async def search(self, asked: SearchQuery) -> Searched:
        """Replies in every case; a search that failed is an envelope with a status, never an empty one."""
        ...


# ddgs calls the United Kingdom `uk`, and `wt` what is no country.
_COUNTRIES = {"uk": "gb", "wt": ""}


@dataclass(frozen=True, slots=True)
class SearchSettings:
    """What a plan says of a service. `region` is country and language (`us-en`); where it is set, its language wins.

    `endpoint` is put in place of the service's own address. `options` are the service's own words.
    """

    endpoint: str = ""
    backend: str = ""
    region: str = ""
    language: str = ""
    options: Mapping[str, str] = field(default_factory=dict)

    @property
    def country(self) -> str:
        """Two letters in lower case, or nothing."""
        country = self.region.partition("-")[0]
        return _COUNTRIES.get(country, country)

    @property
    def spoken(self) -> str:
        """The language, as two letters or nothing."""
        language = self.region.partition("-")[2] or self.language
        return "" if language == "wt" else language.partition("-")[0].lower()


@dataclass(frozen=True, slots=True, kw_only=True)
class ProviderKind:
    """A search provider as a plan names it; packages name theirs in the entry-point group
    `toolablate.search_providers`.

    open            makes it, of a plan's settings and the API key ("" where it takes none); it must ask nothing
    identity        its name and parameters, as `open` would give them, without a key
    key_variable    the environment variable with the API key; "" where it takes none
    takes_region, takes_backend, needs_endpoint     whether a plan may, or must, set these
    options         the service's own parameters that a plan may set, each with its values
    """

    open: Callable[[SearchSettings, str], SearchProvider]
    identity: Callable[[SearchSettings], tuple[str, Mapping[str, JsonValue]]]
    key_variable: str = ""
    takes_region: bool = True
    takes_backend: bool = False
    needs_endpoint: bool = False
    options: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


# How the search tool asks: a provider as it is, or a recording of one, under one and the same key.


RESULTS_ASKED_FOR = (10, 20, 50)
"""How many results a provider is asked for: the least of these that is enough. Who wants 2 and who wants 10 asks alike,
so that one recording serves both."""


@dataclass(frozen=True, slots=True)
class SearchOutcome:
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

    async def find(self, asked: SearchQuery) -> SearchOutcome: ...


class LiveSearch:
    """Asks a provider anew each time."""

    def __init__(self, provider: SearchProvider) -> None:
        self._provider = provider

    @property
    def name(self) -> str:
        return self._provider.name

    async def find(self, asked: SearchQuery) -> SearchOutcome:
        asked = as_asked(asked)
        key = search_key(self._provider.name, self._provider.parameters, asked)
        searched = await self._provider.search(asked)
        return SearchOutcome(searched.reply, Lookup(kind="search", key=key))


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


# Words of a query that a service takes for commands, which would ask another engine or send us elsewhere.


def without_commands(query: str, marks: str) -> str:
    """The query with these marks taken from the beginnings of its words; as it is where nothing else is in it."""
    return _marked(marks).sub("", query).strip() or query


@lru_cache
def _marked(marks: str) -> re.Pattern[str]:
    return re.compile(rf"(?<!\S)[{re.escape(marks)}]+")
