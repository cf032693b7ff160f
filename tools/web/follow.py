"""From a URL to a page's bytes by way of its redirects, within one page's time; the same live and from an archive."""

import asyncio
import math
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from contextvars import ContextVar
from dataclasses import dataclass

from toolablate.tools.text import one_line
from toolablate.tools.web.exchange import Exchange, FetchError, HttpClient, decoded_body
from toolablate.tools.web.policy import WebPolicy, check_url
from toolablate.tools.web.urls import normal_url, page_url


@dataclass(slots=True)
class _Budget:
    seconds: float


# A context variable, because between a page and its requests there may be an archive, whose interface knows no time.
_PAGE: ContextVar[_Budget | None] = ContextVar("page_budget", default=None)


@contextmanager
def page_budget(seconds: float) -> Iterator[None]:
    """What is spent inside is spent for one page."""
    token = _PAGE.set(_Budget(seconds))
    try:
        yield
    finally:
        _PAGE.reset(token)


@contextmanager
def within_page(seconds: float) -> Iterator[None]:
    """What is spent inside is spent for the page that is under way, or where there is none for one of its own."""
    if _PAGE.get():
        yield
        return
    with page_budget(seconds):
        yield


def seconds_left() -> float:
    """For the page that is under way; no end of them where there is none."""
    budget = _PAGE.get()
    return budget.seconds if budget else math.inf


@asynccontextmanager
async def spending(url: str, seconds: float) -> AsyncIterator[None]:
    """Allows what is inside at most `seconds`, and no more than is left for the page. Raises FetchError (`timeout`)."""
    budget = _PAGE.get() or _Budget(seconds)
    loop = asyncio.get_running_loop()
    started = loop.time()
    try:
        async with asyncio.timeout(min(seconds, budget.seconds)):
            yield
    except TimeoutError:
        message = f"{one_line(url, 300)} took longer than {seconds:g} seconds"
        raise FetchError(message, code="timeout", transient=True) from None
    finally:
        budget.seconds -= loop.time() - started


_REDIRECTS = frozenset({301, 302, 303, 307, 308})
_TRANSIENT = frozenset({408, 425, 429, 500, 502, 503, 504})


@dataclass(frozen=True, slots=True)
class Fetched:
    """A page: where it was found in the end, its body unpacked, and the exchanges that led there, the last one its own.

    `content_type` is the header as sent.
    """

    url: str
    content_type: str
    body: bytes
    exchanges: tuple[Exchange, ...] = ()


async def follow(url: str, client: HttpClient, policy: WebPolicy) -> Fetched:
    """Gets a page. `url` may lack its `https://`. Raises FetchError for whatever keeps it from being had."""
    place = page_url(url)
    exchanges: list[Exchange] = []
    with page_budget(policy.seconds):
        while True:
            check_url(place, policy)
            exchange = await client.get(place)
            exchanges.append(exchange)
            onward = redirect_target(place, exchange.status, exchange.header("location"))
            if onward is None:
                break
            if len(exchanges) > policy.redirects:
                raise too_many_redirects(url, policy)
            place = onward
    check_status(place, exchange.status, exchange.reason)
    body = decoded_body(exchange, policy.decoded_bytes)
    return Fetched(place, exchange.header("content-type"), body, tuple(exchanges))


def redirect_target(url: str, status: int, location: str) -> str | None:
    """Where a reply leads on to, in normal form; None where it is no redirect. Raises FetchError as `normal_url`."""
    if status not in _REDIRECTS or not location:
        return None
    return normal_url(_as_meant(location), url)


def check_status(url: str, status: int, reason: str) -> None:
    """Raises FetchError (`http_404`) unless the status is 200."""
    if status != 200:
        message = f"{one_line(url, 300)}: HTTP {status} {one_line(reason, 80)}".strip()
        raise FetchError(message, code=f"http_{status}", transient=status in _TRANSIENT)


def too_many_redirects(url: str, policy: WebPolicy) -> FetchError:
    return FetchError(f"{one_line(url, 300)} redirects more than {policy.redirects} times", code="too_many_redirects")


def _as_meant(location: str) -> str:
    """Headers are read as Latin-1, but servers that send more than ASCII there mean UTF-8."""
    try:
        return location.encode("latin-1").decode("utf-8")
    except UnicodeError:
        return location
