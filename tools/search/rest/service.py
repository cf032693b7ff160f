"""What tells one search service from another: where and how it is asked, and how its replies are read."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date, timedelta
from typing import Protocol

from pydantic import JsonValue

from toolablate.tools.search.envelope import Finding
from toolablate.tools.search.provider import SearchQuery
from toolablate.tools.search.rest.client import ApiRequest
from toolablate.tools.search.rest.statuses import Quirk, Refusal

# ddgs calls the United Kingdom `uk`, and `wt` what is no country.
_COUNTRIES = {"uk": "gb", "wt": ""}


@dataclass(frozen=True, slots=True)
class Settings:
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


@dataclass(frozen=True, slots=True)
class Listing:
    """What a reply with status 200 holds. `refusal` is set where it says that the search has failed after all."""

    findings: tuple[Finding, ...]
    refusal: Refusal | None = None
    detail: str = ""


class UnexpectedReplyError(Exception):
    """JSON of another shape than the service's results have."""


@dataclass(frozen=True, slots=True)
class Traits:
    """What the search itself needs to know of a service.

    A service refuses a query that is longer than `query_chars` or has more than `query_words`; zero means no limit.
    """

    name: str
    query_parameter: str
    engine: str = ""
    quirks: tuple[Quirk, ...] = ()
    query_chars: int = 0
    query_words: int = 0


class Service(Protocol):
    """Pure functions of a query and of a reply."""

    @property
    def traits(self) -> Traits: ...

    @property
    def parameters(self) -> Mapping[str, JsonValue]:
        """What is the same in every search."""
        ...

    def request(self, asked: SearchQuery) -> ApiRequest: ...

    def key_headers(self, key: str) -> Mapping[str, str]: ...

    def listing(self, reply: JsonValue) -> Listing:
        """Raises UnexpectedReplyError."""
        ...


def told(**values: str) -> dict[str, JsonValue]:
    """Those of the values that are set."""
    return {name: value for name, value in values.items() if value}


def last_day(before: date) -> date:
    """The last day that `before` lets pass."""
    return before - timedelta(days=1) if before > date.min else before


def table(value: JsonValue, what: str) -> dict[str, JsonValue]:
    """Raises UnexpectedReplyError for anything but a JSON object."""
    if not isinstance(value, dict):
        raise UnexpectedReplyError(f"{what} is no object but {_named(value)}")
    return value


def entries(value: JsonValue, what: str) -> list[dict[str, JsonValue]]:
    """The objects of a list, without what else is in it. Raises UnexpectedReplyError where there is no list of any."""
    if not isinstance(value, list):
        raise UnexpectedReplyError(f"{what} is no list but {_named(value)}")
    objects = [entry for entry in value if isinstance(entry, dict)]
    if value and not objects:
        raise UnexpectedReplyError(f"{what} is a list of {_named(value[0])}")
    return objects


def text(value: JsonValue) -> str:
    """A string, or nothing where there is something else."""
    return value if isinstance(value, str) else ""


def first_text(entry: Mapping[str, JsonValue], *names: str) -> tuple[str, str]:
    """The first of these fields that holds text, and its name."""
    return next(((found, name) for name in names if (found := text(entry.get(name)).strip())), ("", ""))


def _named(value: JsonValue) -> str:
    return "missing" if value is None else type(value).__name__
