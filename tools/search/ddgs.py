"""Live search by one engine of ddgs.

The engine is driven directly, not through `DDGS.text`: that class tries all engines, in shuffled order, where it does
not know the one that was named, and reports a refused request (403, 429) or one that timed out as "No results found".
"""

import asyncio
import re
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

from toolablate.tools.search.provider import SearchReply, SearchResult, SearchStatus
from toolablate.traces.errors import InputError

if TYPE_CHECKING:
    from toolablate.tools.browser.web import WebPages

# Pages that say so with status 200. DuckDuckGo's own word for it is "anomaly".
_ROBOT_CHECK = re.compile(
    r"anomaly-modal|captcha|unusual traffic|are you a robot|not a robot|challenge-platform", re.IGNORECASE
)


def ddgs_backends() -> tuple[str, ...]:
    """The names of the text engines that the installed ddgs has."""
    from ddgs.engines import ENGINES

    return tuple(sorted(ENGINES["text"]))


class DdgsSearch:
    """Search by one pinned engine of ddgs, in its own order; at most one page of its results.

    `endpoint` puts another address in place of the engine's own (a mirror, a test). Raises InputError for a backend
    that the installed ddgs does not have.
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
                hint=f"it has {', '.join(ddgs_backends())}; exactly one, since `auto` would shuffle them",
                code="unknown_backend",
            )
        if not re.fullmatch(r"[a-z]{2}-[a-z]{2}", region):
            raise InputError(
                f"search.region: {region!r} is no region", hint="country and language: us-en", code="bad_region"
            )
        self._backend = backend
        self._region = region
        self._timeout_seconds = timeout_seconds
        self._endpoint = endpoint
        self.name = f"ddgs/{backend}"

    @cached_property
    def pages(self) -> "WebPages":
        from toolablate.tools.browser.web import WebPages

        return WebPages()

    async def search(self, query: str, max_results: int) -> SearchReply:
        return await asyncio.to_thread(self._search, query, max_results)

    def _search(self, query: str, max_results: int) -> SearchReply:
        from ddgs.engines import ENGINES
        from ddgs.exceptions import RatelimitException, TimeoutException

        # A new one each time: engines hold cookies and results, which one search must not hand to the next.
        engine: Any = ENGINES["text"][self._backend](timeout=self._timeout_seconds)
        engine.http_client = watched = _WatchedClient(engine.http_client, self._endpoint)
        try:
            found = engine.search(query, region=self._region, safesearch="moderate")
        except TimeoutException as error:
            return self._failed(query, "timeout", str(error))
        except RatelimitException as error:
            return self._failed(query, "rate_limited", str(error))
        except Exception as error:  # noqa: BLE001 - engines parse foreign pages and raise whatever the parser raises
            # A refusal comes first: what an engine cannot parse is mostly the page that refuses.
            status, detail = watched.verdict()
            if status in ("empty", "error"):
                status, detail = "error", f"{type(error).__name__}: {error}"
            return self._failed(query, status, detail)
        results = _results(found or [], max_results)
        if results:
            return SearchReply(query, self.name, "ok", results)
        status, detail = watched.verdict()
        return SearchReply(query, self.name, status, detail=detail)

    def _failed(self, query: str, status: SearchStatus, detail: str) -> SearchReply:
        return SearchReply(query, self.name, status, detail=detail)


def _results(found: list[Any], max_results: int) -> tuple[SearchResult, ...]:
    first_by_url: dict[str, Any] = {result.href: result for result in reversed(found) if result.href}
    kept: list[Any] = [result for result in found if first_by_url.get(result.href) is result][:max_results]
    return tuple(SearchResult(rank, each.title, each.href, each.body) for rank, each in enumerate(kept, 1))


@dataclass(slots=True)
class _WatchedClient:
    """Stands before the engine's HTTP client and remembers the reply, which the engine throws away unless it is 200."""

    inner: Any
    endpoint: str | None
    responses: list[tuple[int, str]] = field(default_factory=list)

    @property
    def client(self) -> Any:
        return self.inner.client

    def request(self, method: str, url: str, **kwargs: Any) -> Any:
        response = self.inner.request(method, self.endpoint or url, **kwargs)
        self.responses.append((response.status_code, response.text))
        return response

    def verdict(self) -> tuple[SearchStatus, str]:
        """Why there are no results, by the first reply that is no page, or else by the last one."""
        if not self.responses:
            return "error", "the engine sent no request"
        code, text = next((reply for reply in self.responses if reply[0] != 200), self.responses[-1])
        if code == 200 and not text.strip():
            return "error", "an empty page"
        if code == 200:
            return ("blocked", "a robot check") if _ROBOT_CHECK.search(text) else ("empty", "")
        if code == 429:
            return "rate_limited", "HTTP 429"
        # DuckDuckGo answers 202 to whom it takes for a robot.
        return ("blocked" if code in (202, 401, 403) else "error"), f"HTTP {code}"
