"""The time that one page may take, shared by all its hops and by the robots.txt of their sites."""

import asyncio
import math
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from contextvars import ContextVar
from dataclasses import dataclass

from toolablate.tools.plain import one_line
from toolablate.tools.web.exchange import FetchError


@dataclass(slots=True)
class _Budget:
    seconds: float


# A context variable, because between a page and its hops there may be an archive, whose interface knows no time.
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
