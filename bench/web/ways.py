"""Ways to give a model a recorded page or search: ours, and what one would write instead."""

import json
import sqlite3
import zlib
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack, closing
from dataclasses import dataclass
from pathlib import Path

from bench.web.site import PARAMETERS, Provider, Site, html, url_of

from toolablate.tools import Resources, open_toolset
from toolablate.tools.archive import open_archive, seal
from toolablate.tools.browser.page import PageUnreadableError
from toolablate.tools.extraction import ExtractionWorker
from toolablate.tools.recorded import RecordedHttpClient, RecordedSearch, WebPages
from toolablate.tools.search import SearchQuery
from toolablate.tools.web import WebPolicy
from toolablate.traces.records import ToolRequest, ToolUse

Call = Callable[[int], Awaitable[str]]
TRIAL = 10
"""Calls of one trial."""


@dataclass(frozen=True, slots=True)
class Folder:
    path: Path
    pages: int
    queries: int

    @property
    def archive(self) -> Path:
        return self.path / "archive"

    @property
    def plain(self) -> Path:
        return self.path / "plain.sqlite"


def query_of(number: int) -> str:
    return f"what is number {number}"


async def record(folder: Folder) -> None:
    """Makes a sealed archive and, with the same pages, a table of raw HTML."""
    async with AsyncExitStack() as stack:
        archive = stack.enter_context(open_archive(folder.archive, write=True))
        worker = ExtractionWorker()
        stack.push_async_callback(worker.close)
        pages = WebPages(RecordedHttpClient(archive, "record", Site()), WebPolicy(), worker)
        search = RecordedSearch(Provider.name, PARAMETERS, archive, "record", Provider())
        for number in range(folder.pages):
            try:
                await pages.read(url_of(number))
            except PageUnreadableError as error:
                raise SystemExit(f"page {number} of the benchmark cannot be read: {error.message}") from None
        for number in range(folder.queries):
            await search.find(SearchQuery(query_of(number)))
    seal(folder.archive)
    with closing(sqlite3.connect(folder.plain)) as plain, plain:
        plain.execute("CREATE TABLE pages (url TEXT PRIMARY KEY, body BLOB)")
        rows = ((url_of(number), zlib.compress(html(number).encode())) for number in range(folder.pages))
        plain.executemany("INSERT INTO pages VALUES (?, ?)", rows)


class Ours:
    """`browser_open` and `web_search` as an agent calls them, with tools that were opened before, as for each trial.

    `held` keeps pages in memory from one trial to the next.
    """

    def __init__(self, folder: Folder, stack: AsyncExitStack, calls: int, *, held: bool = True) -> None:
        archive = stack.enter_context(open_archive(folder.archive))
        settings = {} if held else {"held_chars": 0}
        pages = WebPages(RecordedHttpClient(archive, "replay"), WebPolicy(), ExtractionWorker(), **settings)
        search = RecordedSearch(Provider.name, PARAMETERS, archive, "replay")
        resources = Resources(search=search, pages=pages)
        self._trials = [open_toolset([ToolUse(name="search")], resources) for _ in range(calls // TRIAL + 1)]
        self._left = 0
        self._tools = self._trials[-1]

    async def open(self, number: int) -> str:
        return await self._call("browser_open", url=url_of(number))

    async def search(self, number: int) -> str:
        return await self._call("web_search", query=query_of(number))

    async def _call(self, name: str, **arguments: str) -> str:
        if not self._left:
            self._tools, self._left = self._trials.pop(), TRIAL
        self._left -= 1
        result = await self._tools.call(ToolRequest(id="1", name=name, arguments=json.dumps(arguments)))
        assert result.status == "ok", result.output
        return result.output


def from_warc(folder: Folder) -> Call:
    """The page's record found by its offset, read by warcio, and extracted each time."""
    from trafilatura import extract
    from warcio.archiveiterator import ArchiveIterator

    places: dict[str, tuple[Path, int]] = {}
    for path in sorted(folder.archive.rglob("*.warc.gz")):
        with path.open("rb") as file:
            records = ArchiveIterator(file)
            for record in records:
                if record.rec_type == "response":
                    places[record.rec_headers.get_header("WARC-Target-URI")] = (path, records.get_record_offset())

    def read(url: str) -> str:
        path, offset = places[url]
        with path.open("rb") as file:
            file.seek(offset)
            record = next(ArchiveIterator(file))
            location = record.http_headers.get_header("Location")
            return read(location) if location else extract(record.content_stream().read(), include_links=True) or ""

    async def call(number: int) -> str:
        return read(url_of(number))

    return call


def from_table(folder: Folder, stack: AsyncExitStack) -> Call:
    """The page's HTML from SQLite, as caches of HTTP requests keep it, and extracted each time."""
    from trafilatura import extract

    connection = stack.enter_context(closing(sqlite3.connect(folder.plain)))

    async def call(number: int) -> str:
        (body,) = connection.execute("SELECT body FROM pages WHERE url = ?", (url_of(number),)).fetchone()
        return extract(zlib.decompress(body).decode(), include_links=True) or ""

    return call
