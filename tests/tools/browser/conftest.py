"""Browser tools over pages that a test writes down, and over the live web of a server on this machine."""

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field

import pytest
from tests.tools.web_server import WebServer

from toolablate.tools import (
    Guard,
    LiveHttpClient,
    Page,
    PageUnreadableError,
    Resources,
    Toolset,
    WebPages,
    WebPolicy,
    open_toolset,
)
from toolablate.tools.extraction import extract
from toolablate.tools.extraction.kinds import ExtractionOptions
from toolablate.traces.records import Link, Lookup, PageText, ToolUse

USES = (ToolUse(name="browser_open"), ToolUse(name="browser_find"))


@dataclass
class Shelf:
    """A source of pages that remembers what it was asked for."""

    pages: dict[str, Page] = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)

    def put(self, url: str, text: str, *links: tuple[str, str], title: str = "Title") -> Page:
        """Each link is an anchor, which is looked for in the text behind the one before, and where it leads."""
        spans, position = [], 0
        for anchor, target in links:
            start = text.index(anchor, position)
            position = start + len(anchor)
            spans.append(Link(start=start, end=position, url=target))
        page = Page.of(url, title, text, tuple(spans), Lookup(kind="page", key=url))
        self.pages[url] = page
        return page

    async def read(self, url: str) -> Page:
        self.asked.append(url)
        if url not in self.pages:
            raise PageUnreadableError(f"{url} is not here", code="not_in_archive", lookup=missed(url))
        return self.pages[url]


def missed(url: str) -> Lookup:
    return Lookup(kind="page", key=url, miss="not_in_archive", nearest="something like it")


class InProcess:
    identity = "in this process"

    async def extract(self, body: bytes, options: ExtractionOptions) -> PageText:
        return extract(body, options)


@pytest.fixture
def shelf() -> Shelf:
    return Shelf()


@pytest.fixture
async def tools(shelf: Shelf) -> AsyncIterator[Toolset]:
    async with open_toolset(USES, Resources(pages=shelf)) as tools:
        yield tools


Browsing = Callable[..., AbstractAsyncContextManager[Toolset]]


@pytest.fixture
def browsing(web: WebServer) -> Browsing:
    @asynccontextmanager
    async def browsing(guard: Guard | None = None) -> AsyncIterator[Toolset]:
        policy = WebPolicy(allow=frozenset({web.host}), seconds=5, robots=False, delay_seconds=0)
        client = LiveHttpClient(policy)
        try:
            async with open_toolset(USES, Resources(pages=WebPages(client, policy, InProcess())), guard=guard) as tools:
                yield tools
        finally:
            await client.close()

    return browsing


def page_id(output: str) -> str:
    return output[1:9]
