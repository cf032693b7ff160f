"""Search services with a REST API: one client, one table of what replies mean, one provider over any service."""

import asyncio
import base64
import json
import math
import re
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, timedelta
from email.utils import parsedate_to_datetime
from functools import lru_cache
from http import HTTPStatus
from typing import TYPE_CHECKING, Literal, Protocol
from urllib.parse import urlsplit

from pydantic import JsonValue

from toolablate import __version__
from toolablate.tools.search.provider import ProviderKind, Searched, SearchQuery, SearchSettings, normal_query
from toolablate.tools.search.ranked_results import ProviderResult, is_robot_check, ranked, raw_digest
from toolablate.tools.text import one_line
from toolablate.traces.records import SearchReply, SearchResult, SearchStatus, clean_text

if TYPE_CHECKING:
    import ssl

    from httpx2 import AsyncClient, Response

# One request to a service's API: bounded in time and size, and never sent on to where it redirects.


CLIENT_VERSION = f"toolablate {__version__}"

_HEADERS = {
    "User-Agent": f"toolablate/{__version__} (search for research)",
    "Accept": "application/json",
    # SearXNG writes its reasons in the language that it is asked for.
    "Accept-Language": "en",
    "Accept-Encoding": "identity",
}


@dataclass(frozen=True, slots=True)
class RestLimits:
    """`seconds` for the whole exchange; `reply_bytes` of its body."""

    seconds: float = 20.0
    reply_bytes: int = 4_000_000


@dataclass(frozen=True, slots=True)
class ApiRequest:
    """`parameters` go into the address of a GET and are the JSON body of a POST. No key is in them."""

    url: str
    parameters: Mapping[str, JsonValue]
    method: Literal["GET", "POST"] = "GET"


@dataclass(frozen=True, slots=True)
class ApiReply:
    """`headers` have names in lower case."""

    code: int
    headers: Mapping[str, str]
    body: bytes


class NoSearchReplyError(Exception):
    """There was no reply that could be read; `status` is what that makes of the search."""

    def __init__(self, message: str, status: SearchStatus = "error") -> None:
        super().__init__(message)
        self.message = message
        self.status = status


async def send(request: ApiRequest, key_headers: Mapping[str, str], limits: RestLimits) -> ApiReply:
    """Raises NoReplyError."""
    from httpx2 import AsyncClient, ConnectError, HTTPError, InvalidURL, TimeoutException

    try:
        async with (
            asyncio.timeout(limits.seconds),
            # Nothing of the environment: a proxy would read the key where it is sent in the clear, and a .netrc would
            # put other credentials in its place.
            AsyncClient(trust_env=False, follow_redirects=False, verify=_tls(), timeout=limits.seconds) as client,
        ):
            return await _exchange(client, request, key_headers, limits)
    except (TimeoutError, TimeoutException):
        raise NoSearchReplyError(f"no reply within {limits.seconds:g} seconds", "timeout") from None
    except ConnectError as error:
        raise NoSearchReplyError(f"{_origin(request.url)} cannot be reached: {one_line(str(error), 200)}") from None
    except (HTTPError, InvalidURL) as error:
        reason = one_line(str(error), 200)
        raise NoSearchReplyError(f"{type(error).__name__}: {reason}" if reason else type(error).__name__) from None


def _origin(url: str) -> str:
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.hostname}{f':{parts.port}' if parts.port else ''}"


async def _exchange(
    client: "AsyncClient", request: ApiRequest, key_headers: Mapping[str, str], limits: RestLimits
) -> ApiReply:
    headers = {**_HEADERS, **key_headers}
    content = {"json": dict(request.parameters)} if request.method == "POST" else {"params": dict(request.parameters)}
    async with client.stream(request.method, request.url, headers=headers, **content) as response:  # type: ignore[arg-type]
        encoding = response.headers.get("content-encoding", "identity").strip().lower()
        if encoding not in ("", "identity"):
            raise NoSearchReplyError(f"the reply is encoded ({one_line(encoding, 40)}), which was not asked for")
        body = b"".join([chunk async for chunk in _bounded(response, limits.reply_bytes)])
        return ApiReply(response.status_code, {name.lower(): value for name, value in response.headers.items()}, body)


async def _bounded(response: "Response", limit: int) -> AsyncIterator[bytes]:
    size = 0
    async for chunk in response.aiter_raw():
        size += len(chunk)
        if size > limit:
            raise NoSearchReplyError(f"the reply is larger than {limit:,} bytes")
        yield chunk


@lru_cache(maxsize=1)
def _tls() -> "ssl.SSLContext":
    from httpx2 import create_ssl_context

    return create_ssl_context()


# Takes a key out of what comes back, however a service spells it.


_SHOWN = "[key]"
# Services put what they found between tags, and some take it out of the text again.
_EMPHASIS = r"(?:<\\*/?[a-z]{1,10}>){0,2}"


class Redaction:
    """Replaces a key as it is, and as JSON, URLs, HTML and Base64 write it, each character in a way of its own."""

    def __init__(self, key: str) -> None:
        self._spellings = _spellings(key) if key else None

    def text(self, text: str) -> str:
        if self._spellings is None:
            return text
        # UTF-16 and UTF-32, in which JSON may come too, put zeros between the characters of a key.
        if "\0" in text and self._spellings.search(joined := text.replace("\0", "")):
            text = joined
        return self._spellings.sub(_SHOWN, text)

    def reply(self, reply: ApiReply) -> ApiReply:
        headers = {name: self.text(value) for name, value in reply.headers.items()}
        # As Latin-1, in which every byte is one character, whatever the encoding.
        body = self.text(reply.body.decode("latin-1")).encode("latin-1")
        return replace(reply, headers=headers, body=body)

    def result(self, result: SearchResult) -> SearchResult:
        """What is undone in reading a result, such as entities or the spelling of an address, can uncover a key."""
        texts = {name: self.text(getattr(result, name)) for name in ("url", "canonical_url", "title", "snippet")}
        return result.model_copy(update=texts)


def _spellings(key: str) -> re.Pattern[str]:
    encoded = base64.b64encode(key.encode()).decode().rstrip("=")
    urlsafe = encoded.translate(str.maketrans("+/", "-_"))
    as_bytes = key.encode().decode("latin-1")
    spelt = [_EMPHASIS.join(map(_spelling, written)) for written in dict.fromkeys((key, as_bytes))]
    return re.compile("|".join([*spelt, re.escape(encoded), re.escape(urlsafe)]))


def _spelling(character: str) -> str:
    """One character as it is, or escaped once or more: `/`, `\\/`, `\\u002f`, `%2F`, `%252F`, `&#47;`, `&#x2F;`."""
    plain, code = re.escape(character), ord(character)
    hexadecimal = f"(?i:{code:02x})"
    named = {'"': "quot", "&": "amp", "'": "apos", "<": "lt", ">": "gt"}.get(character, "amp")
    entity = f"&(?:amp;){{0,2}}(?:#0{{0,5}}{code};|#[xX]0{{0,5}}{hexadecimal};|{named};)"
    return f"(?:{plain}|\\\\{{1,8}}(?:{plain}|u00{hexadecimal})|%(?:25){{0,3}}{hexadecimal}|{entity})"


# What a reply that is no list of results makes of a search: one table for all services, and what each does otherwise.


_SAID_CHARS = 200
_STATUSES: Mapping[int, SearchStatus] = {
    401: "blocked",
    402: "blocked",
    403: "blocked",
    407: "blocked",
    408: "timeout",
    429: "rate_limited",
    432: "blocked",
    433: "blocked",
    504: "timeout",
    524: "timeout",
}
_LONGEST_WAIT = 3_600.0
_PASSING = frozenset({408, 425, 429})


@dataclass(frozen=True, slots=True)
class SearchRefusal:
    """A search that failed. `retry_after` is the wait in seconds that the service asked for."""

    status: SearchStatus
    detail: str
    lasting: bool = False
    retry_after: float | None = None


@dataclass(frozen=True, slots=True)
class Quirk:
    """A reply that means something else for one service: its code, and what its message says (a regular expression).

    `remedy` is added to the detail.
    """

    code: int
    status: SearchStatus
    says: str = ""
    remedy: str = ""
    lasting: bool = True

    def fits(self, code: int, said: str) -> bool:
        return code == self.code and re.search(self.says, said, re.IGNORECASE) is not None


def refusal(reply: ApiReply, quirks: Iterable[Quirk], now: datetime) -> SearchRefusal | None:
    """None for a reply with status 200, which may hold results."""
    if reply.code == 200:
        return None
    said = message_of(reply.body)
    detail = _described(reply.code, said)
    wait = _retry_after(reply.headers, now)
    for quirk in quirks:
        if quirk.fits(reply.code, said):
            remedy = f"; {quirk.remedy}" if quirk.remedy else ""
            return SearchRefusal(quirk.status, detail + remedy, quirk.lasting, None if quirk.lasting else wait)
    if 300 <= reply.code < 400:
        return SearchRefusal("error", f"{detail}: redirected, and a search is not sent on", lasting=True)
    lasting = reply.code < 500 and reply.code not in _PASSING
    return SearchRefusal(_STATUSES.get(reply.code, "error"), detail, lasting, None if lasting else wait)


def message_of(body: bytes) -> str:
    """What a service says in the body of an error, on one line; empty where that is a web page or nothing."""
    try:
        found = _message(json.loads(body))
    except (ValueError, RecursionError):
        found = body[:1_000].decode("utf-8", "replace")
        if found.lstrip().startswith("<"):
            return ""
    return one_line(found, _SAID_CHARS)


def _message(said: JsonValue) -> str:
    """The words in `error`, `message` or `detail`, whichever way they are nested; a code word goes before them."""
    if isinstance(said, str):
        return said
    if not isinstance(said, dict):
        return ""
    word = next((word for name in ("code", "tag") if isinstance(word := said.get(name), str)), "")
    words = next((words for name in ("error", "message", "detail") if (words := _message(said.get(name)))), "")
    return " ".join(part for part in (word, words) if part)


def _described(code: int, said: str) -> str:
    try:
        phrase = f" {HTTPStatus(code).phrase}"
    except ValueError:
        phrase = ""
    return f"HTTP {code}{phrase}{': ' if said else ''}{said}"


def _retry_after(headers: Mapping[str, str], now: datetime) -> float | None:
    """Seconds by Retry-After (seconds or a date, RFC 9110 section 10.2.3), or by Brave's X-RateLimit-Reset.

    The latter names the resets of several windows, the shortest first. No wait is longer than an hour, which nobody
    who has a run under way would wait out.
    """
    written = headers.get("retry-after") or headers.get("x-ratelimit-reset", "").partition(",")[0]
    try:
        seconds = float(written)
    except ValueError:
        return _until(written, now)
    return min(seconds, _LONGEST_WAIT) if math.isfinite(seconds) and seconds >= 0 else None


def _until(written: str, now: datetime) -> float | None:
    try:
        moment = parsedate_to_datetime(written)
    except (ValueError, OverflowError):
        return None
    seconds = (moment.replace(tzinfo=moment.tzinfo or UTC) - now).total_seconds()
    return min(max(0.0, seconds), _LONGEST_WAIT)


# What tells one search service from another: where and how it is asked, and how its replies are read.


@dataclass(frozen=True, slots=True)
class Listing:
    """What a reply with status 200 holds. `refusal` is set where it says that the search has failed after all."""

    findings: tuple[ProviderResult, ...]
    refusal: SearchRefusal | None = None
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


def rest_provider(
    service: Callable[[SearchSettings], Service],
    *,
    key_variable: str = "",
    takes_region: bool = True,
    takes_backend: bool = False,
    needs_endpoint: bool = False,
    options: Mapping[str, tuple[str, ...]] | None = None,
) -> ProviderKind:
    """A provider that asks a REST service; `ProviderKind` says what the arguments are."""

    def identity(settings: SearchSettings) -> tuple[str, Mapping[str, JsonValue]]:
        made = service(settings)
        return made.traits.name, made.parameters

    return ProviderKind(
        open=lambda settings, key: RestSearch(service(settings), key),
        identity=identity,
        key_variable=key_variable,
        takes_region=takes_region,
        takes_backend=takes_backend,
        needs_endpoint=needs_endpoint,
        options=options or {},
    )


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


# A search service as a provider: asks it, and makes an envelope of whatever comes back.


@dataclass(frozen=True, slots=True)
class _Outcome:
    """What came of a search. `raw` is the body of the reply, if there was one."""

    fetched_at: datetime
    raw: bytes = b""
    refusal: SearchRefusal | None = None
    results: tuple[SearchResult, ...] = ()
    detail: str = ""


class RestSearch:
    """One request for each search, at most one page of results. The key is in no envelope, error or `repr`."""

    def __init__(self, service: Service, key: str = "", *, limits: RestLimits | None = None) -> None:
        self._service = service
        self._key = key
        self._redaction = Redaction(key)
        self._limits = limits or RestLimits()

    @property
    def name(self) -> str:
        return self._service.traits.name

    @property
    def parameters(self) -> Mapping[str, JsonValue]:
        return self._service.parameters

    async def search(self, asked: SearchQuery) -> Searched:
        query, cut = self._sent_query(asked.query)
        request = self._service.request(replace(asked, query=query))
        outcome = await self._ask(request, asked)
        query_parameter = self._service.traits.query_parameter
        sent = {name: value for name, value in request.parameters.items() if name != query_parameter}
        failed = outcome.refusal
        reply = SearchReply(
            query=clean_text(asked.query),
            parameters={**self.parameters, **sent},
            fetched_at=outcome.fetched_at,
            provider=self.name,
            engine=self._service.traits.engine,
            client_version=CLIENT_VERSION,
            status=failed.status if failed else "ok" if outcome.results else "empty",
            results=outcome.results,
            detail=self._redaction.text(
                "; ".join(part for part in (failed.detail if failed else outcome.detail, cut) if part)
            ),
            lasting=failed is not None and failed.lasting,
            retry_after=failed.retry_after if failed else None,
            raw_digest=raw_digest(outcome.raw),
        )
        return Searched(reply, outcome.raw)

    async def _ask(self, request: ApiRequest, asked: SearchQuery) -> _Outcome:
        try:
            reply = await send(request, self._service.key_headers(self._key), self._limits)
        except NoSearchReplyError as error:
            return _Outcome(datetime.now(UTC), refusal=SearchRefusal(error.status, error.message))
        # A service may say in an error, or wherever it likes, what key it was sent.
        reply = self._redaction.reply(reply)
        now = datetime.now(UTC)
        listing = self._listing(reply, asked.query, now)
        if listing.refusal:
            return _Outcome(now, reply.body, listing.refusal)
        ranking = ranked(listing.findings, asked, now)
        if listing.findings and not ranking.results and not ranking.left_out:
            nowhere = SearchRefusal("error", f"none of {len(listing.findings)} results has a web address")
            return _Outcome(now, reply.body, nowhere)
        dated = f"{ranking.left_out} left out by date" if ranking.left_out else ""
        detail = "; ".join(part for part in (listing.detail, dated) if part)
        results = tuple(map(self._redaction.result, ranking.results))
        return _Outcome(now, reply.body, results=results, detail=detail)

    def _listing(self, reply: ApiReply, query: str, now: datetime) -> Listing:
        if refused := refusal(reply, self._service.traits.quirks, now):
            return Listing((), refused)
        try:
            content: JsonValue = json.loads(reply.body)
        except (ValueError, RecursionError):
            return Listing((), _no_json(reply, query))
        try:
            return self._service.listing(content)
        except UnexpectedReplyError as error:
            said = message_of(reply.body)
            return Listing((), SearchRefusal("error", f"{error}{': ' if said else ''}{said}"))

    def _sent_query(self, query: str) -> tuple[str, str]:
        """The query within what the service takes, and a remark where it had to be cut for that.

        A service that refused it would spoil the trial; people who type too much into a search box lose the end too.
        """
        traits = self._service.traits
        query = normal_query(clean_text(query))
        short = query
        if traits.query_words and len(words := query.split()) > traits.query_words:
            short = " ".join(words[: traits.query_words])
        if traits.query_chars and len(short) > traits.query_chars:
            whole, blank, _ = short[: traits.query_chars + 1].rpartition(" ")
            short = whole if blank else short[: traits.query_chars]
        return short, "" if short == query else f"the query was cut to {len(short)} characters"


def _no_json(reply: ApiReply, query: str) -> SearchRefusal:
    text = reply.body.decode("utf-8", "replace")
    if is_robot_check(text, query):
        return SearchRefusal("blocked", "a robot check")
    kind = one_line(reply.headers.get("content-type", "no content type"), 60)
    return SearchRefusal("error", f"the reply is no JSON ({kind}, {len(reply.body):,} bytes)")
