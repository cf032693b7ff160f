"""Live search by one engine of ddgs, through an HTTP client of ours."""

import asyncio
import codecs
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from importlib.metadata import version
from typing import Any

from pydantic import JsonValue

from toolablate.tools.search.provider import ProviderKind, Searched, SearchQuery, normal_query, without_commands
from toolablate.tools.search.ranked_results import (
    ProviderResult,
    RankedResults,
    is_robot_check,
    leads_to_robot_check,
    ranked,
    raw_digest,
)
from toolablate.traces.errors import InputError
from toolablate.traces.records import SearchReply, SearchStatus, clean_text

REPLY_BYTES = 4_000_000
"""Of a reply as unpacked; the time for it bounds what is sent."""


@dataclass(frozen=True, slots=True)
class EngineReply:
    """What engines read of a reply; `location` is where it redirects to."""

    status_code: int
    content: bytes = b""
    text: str = ""
    location: str = ""


@dataclass(slots=True)
class EngineClient:
    """Asks by the engine's own client, which looks like a browser, but reads no more than a page and follows nothing.

    That client would read a reply whole, however large it is when unpacked, and follow redirects to any address.
    Replies are kept, since the engine throws them away unless they are 200. `endpoint` is put in place of every
    address.
    """

    inner: Any
    endpoint: str | None
    replies: list[EngineReply] = field(default_factory=list)

    @property
    def client(self) -> Any:
        return self.inner.client

    def request(self, method: str, url: str, **kwargs: Any) -> EngineReply:
        """Raises ddgs's exceptions, as the engine's own client does."""
        import primp
        from ddgs.exceptions import DDGSException, TimeoutException

        kwargs |= {"follow_redirects": False, "stream": True}
        try:
            with self.client.request(method, self.endpoint or url, **kwargs) as response:
                reply = _read(response)
        except primp.TimeoutError as error:
            raise TimeoutException(error) from error
        except primp.PrimpError as error:
            raise DDGSException(f"{type(error).__name__}: {error}") from error
        if reply is None:
            self.replies.append(EngineReply(response.status_code))
            raise DDGSException(f"the reply is larger than {REPLY_BYTES:,} bytes")
        self.replies.append(reply)
        return reply

    def verdict(self, query: str) -> tuple[SearchStatus, str]:
        """Why there are no results, by the first reply that is no page, or else by the last one."""
        if not self.replies:
            return "error", "the engine sent no request"
        reply = next((reply for reply in self.replies if reply.status_code != 200), self.replies[-1])
        code = reply.status_code
        if code == 200 and not reply.text.strip():
            return "error", "an empty page"
        if code == 200:
            return ("blocked", "a robot check") if is_robot_check(reply.text, query) else ("empty", "")
        if code == 429:
            return "rate_limited", "HTTP 429"
        if 300 <= code < 400:
            checked = leads_to_robot_check(reply.location)
            return ("blocked" if checked else "error"), f"HTTP {code}: redirected, and a search is not sent on"
        # DuckDuckGo answers 202 to whom it takes for a robot.
        return ("blocked" if code in (202, 401, 403) else "error"), f"HTTP {code}"


def _read(response: Any) -> EngineReply | None:
    """None for a reply that is too large."""
    content = bytearray()
    # It comes unpacked a few kilobytes at a time, so that no more of a bomb goes off.
    for piece in response.iter_bytes():
        content += piece
        if len(content) > REPLY_BYTES:
            return None
    location = str(response.headers.get("location", ""))
    return EngineReply(response.status_code, bytes(content), _decoded(bytes(content), response.encoding), location)


def _decoded(content: bytes, encoding: str) -> str:
    try:
        codec = codecs.lookup(encoding).name
    except LookupError:
        codec = "utf-8"
    return content.decode("utf-8-sig" if codec == "utf-8" else codec, "replace")


_SAFESEARCH = "moderate"
# DuckDuckGo and Brave send `!g` to another site.
_COMMANDS = "!"


def ddgs_backends() -> tuple[str, ...]:
    """The names of the text engines that the installed ddgs has."""
    from ddgs.engines import ENGINES

    return tuple(sorted(ENGINES["text"]))


def ddgs_identity(backend: str, region: str, endpoint: str = "") -> tuple[str, Mapping[str, JsonValue]]:
    """Name and parameters of a search by ddgs, without ddgs."""
    parameters: dict[str, JsonValue] = {"region": region, "safesearch": _SAFESEARCH}
    return f"ddgs/{backend}", {"endpoint": endpoint, **parameters} if endpoint else parameters


class DdgsSearch:
    """Search by one pinned engine of ddgs, in its own order; at most one page of its results.

    It cannot search by date: `before` leaves out only what comes with a date. `endpoint` puts another address in place
    of the engine's own (a mirror, a test). Raises InputError for a backend that the installed ddgs does not have.
    """

    def __init__(
        self,
        backend: str = "duckduckgo",
        *,
        region: str = "us-en",
        timeout_seconds: int = 15,
        endpoint: str | None = None,
    ) -> None:
        if backend not in ddgs_backends():
            raise InputError(
                f"search.backend: ddgs has no text backend {backend!r}",
                hint=f"it has {', '.join(ddgs_backends())}; choose exactly one: `auto` shuffles them",
                code="unknown_backend",
            )
        if not re.fullmatch(r"[a-z]{2}-[a-z]{2}", region):
            raise InputError(
                f"search.region: {region!r} is not a valid region",
                hint="country and language: us-en",
                code="bad_region",
            )
        self._backend = backend
        self._region = region
        self._timeout_seconds = timeout_seconds
        self._endpoint = endpoint
        self.name, self.parameters = ddgs_identity(backend, region, endpoint or "")

    async def search(self, asked: SearchQuery) -> Searched:
        return await asyncio.to_thread(self._search, asked)

    def _search(self, asked: SearchQuery) -> Searched:
        from ddgs.engines import ENGINES
        from ddgs.exceptions import RatelimitException, TimeoutException

        # A new one each time: engines hold cookies and results, which one search must not hand to the next.
        engine: Any = ENGINES["text"][self._backend](timeout=self._timeout_seconds)
        engine.http_client = client = EngineClient(engine.http_client, self._endpoint)
        query = without_commands(normal_query(clean_text(asked.query)), _COMMANDS)
        try:
            found = engine.search(query, region=self._region, safesearch=_SAFESEARCH) or []
            findings = [_finding(result) for result in found]
        except TimeoutException as error:
            return self._searched(asked, client, "timeout", str(error))
        except RatelimitException as error:
            return self._searched(asked, client, "rate_limited", str(error))
        except Exception as error:  # noqa: BLE001 - engines parse foreign pages and raise whatever the parser raises
            # A refusal comes first: what an engine cannot parse is mostly the page that refuses.
            status, detail = client.verdict(asked.query)
            if status in ("empty", "error"):
                status, detail = "error", f"{type(error).__name__}: {error}"
            return self._searched(asked, client, status, detail)
        return self._read(asked, client, findings)

    def _read(self, asked: SearchQuery, client: EngineClient, findings: list[ProviderResult]) -> Searched:
        ranking = ranked(findings, asked, datetime.now(UTC))
        if ranking.results:
            return self._searched(asked, client, "ok", ranking=ranking)
        if ranking.left_out:
            return self._searched(asked, client, "empty", f"{ranking.left_out} left out by date")
        status, detail = client.verdict(asked.query)
        return self._searched(asked, client, status, detail)

    def _searched(
        self,
        asked: SearchQuery,
        client: EngineClient,
        status: SearchStatus,
        detail: str = "",
        *,
        ranking: RankedResults | None = None,
    ) -> Searched:
        raw = client.replies[-1].content if client.replies else b""
        reply = SearchReply(
            query=clean_text(asked.query),
            parameters=dict(self.parameters),
            fetched_at=datetime.now(UTC),
            provider=self.name,
            engine=self._backend,
            client_version=f"ddgs {version('ddgs')}",
            status=status,
            results=ranking.results if ranking else (),
            detail=clean_text(detail),
            raw_digest=raw_digest(raw),
        )
        return Searched(reply, raw)


def _finding(result: Any) -> ProviderResult:
    return ProviderResult(str(result.href or ""), str(result.title or ""), str(result.body or ""))


_BACKEND, _REGION = "duckduckgo", "us-en"

DDGS = ProviderKind(
    open=lambda settings, _: DdgsSearch(
        settings.backend or _BACKEND, region=settings.region or _REGION, endpoint=settings.endpoint or None
    ),
    identity=lambda settings: ddgs_identity(
        settings.backend or _BACKEND, settings.region or _REGION, settings.endpoint
    ),
    takes_backend=True,
)
