"""Pages for the browser: from the live web, recorded on the way, or replayed; and their extracted texts."""

import asyncio
from collections import OrderedDict
from collections.abc import Callable
from contextlib import suppress
from typing import Protocol

from toolablate.tools.archive import Archive, ArchiveEntry, EntryKind, Missing, StoredExchange
from toolablate.tools.browser.page import Page, PageUnreadableError
from toolablate.tools.extraction.kinds import ExtractionOptions
from toolablate.tools.recorded.http_client import NO_NETWORK, RecordedHttpClient
from toolablate.tools.recorded.lookups import MissedError, SingleFlight, error_of, failure_of, record_of
from toolablate.tools.text import MISS_MESSAGES, one_line
from toolablate.tools.web import Exchange, FetchError, HttpClient, WebPolicy, decoded_body, follow, request_key
from toolablate.tools.web.follow import redirect_target
from toolablate.tools.web.urls import page_url
from toolablate.traces.errors import ToolError
from toolablate.traces.records import FetchFailure, Lookup, PageText, clean_text, digest_json

HELD_CHARS = 64_000_000
"""About 100 MB of memory."""
_LINK_CHARS = 500
"""A link takes about as much memory as so many characters of text."""


class PageCache:
    """Holds the pages that were asked for last. What is shown of them must not depend on whether they were held."""

    def __init__(self, max_chars: int) -> None:
        self._max_chars = max_chars
        self._chars = 0
        self._pages: OrderedDict[str, Page] = OrderedDict()

    def get(self, key: str) -> Page | None:
        page = self._pages.get(key)
        if page is not None:
            self._pages.move_to_end(key)
        return page

    def put(self, key: str, page: Page) -> None:
        before = self._pages.pop(key, None)
        if before is not None:
            self._chars -= _size(before)
        self._pages[key] = page
        self._chars += _size(page)
        while self._chars > self._max_chars:
            _, dropped = self._pages.popitem(last=False)
            self._chars -= _size(dropped)


def _size(page: Page) -> int:
    return sum(map(len, page.lines)) + _LINK_CHARS * len(page.links)


# Texts of pages by way of an archive.


PASSING = frozenset({"timeout", "crashed"})
"""Codes of extractions that another machine, or the same one on a better day, may well finish."""


class Extractor(Protocol):
    """Reads the text of documents; `identity` names all that decides what it reads: programs and their versions."""

    @property
    def identity(self) -> str: ...

    async def extract(self, body: bytes, options: ExtractionOptions) -> PageText: ...


class RecordedTexts:
    """The text of a recorded exchange is the one that was extracted when it was recorded, whatever is installed now.

    Texts are kept by what went in: the payload as sent, its content type and URL, and the extractor with its version.
    A second entry, whose key is of the capture and of no extractor, says which text was the first. Only where there is
    none, the payload is read now; a replay then stays with what first came of it.
    """

    def __init__(self, archive: Archive, extractor: Extractor, *, keep: bool, limit: int) -> None:
        self._archive = archive
        self._extractor = extractor
        self._keep = keep
        self._limit = limit
        self._passing: dict[str, PageText] = {}
        self._flights: SingleFlight[PageText] = SingleFlight()

    async def read(self, stored: StoredExchange) -> PageText:
        """`stored` has the status 200. Raises FetchError where its body cannot be unpacked."""
        first = first_key(stored)
        text = self._recorded(first, stored)
        return await self._flights.run(first, lambda: self._extract(first, stored)) if text is None else text

    def _recorded(self, first: str, stored: StoredExchange) -> PageText | None:
        pointer = self._archive.find("extraction", first, stored.url)
        if isinstance(pointer, ArchiveEntry):
            return None if self._keep and pointer.failed else self._text(pointer.content.decode(), stored)
        failure = self._archive.find("failure", first, stored.url)
        if isinstance(failure, ArchiveEntry) and not self._keep:
            raise error_of(record_of(FetchFailure, failure, self._archive))
        return self._passing.get(first)

    def _text(self, key: str, stored: StoredExchange) -> PageText | None:
        entry = self._archive.find("extraction", key, stored.url)
        return None if isinstance(entry, Missing) else record_of(PageText, entry, self._archive)

    async def _extract(self, first: str, stored: StoredExchange) -> PageText:
        try:
            body = decoded_body(stored.read(), self._limit)
        except FetchError as error:
            await self._keep_failure(first, stored, error)
            raise
        options = ExtractionOptions(url=stored.url, content_type=stored.content_type)
        text = await self._extractor.extract(body, options)
        if self._keep:
            await asyncio.to_thread(self._keep_text, first, stored, text)
            return self._recorded(first, stored) or text
        if text.code in PASSING:
            self._passing[first] = text
        return text

    async def _keep_failure(self, first: str, stored: StoredExchange, error: FetchError) -> None:
        if self._keep:
            content, captured = failure_of(error).to_json().encode(), stored.captured_at
            await asyncio.to_thread(self._archive.keep, "failure", first, stored.url, content, captured, failed=True)

    def _keep_text(self, first: str, stored: StoredExchange, text: PageText) -> None:
        key = _text_key(stored, self._extractor.identity)
        failed = text.code in PASSING
        captured = stored.captured_at
        self._archive.keep("extraction", key, stored.url, text.to_json().encode(), captured, failed=failed)
        self._archive.keep("extraction", first, stored.url, key.encode(), captured, failed=failed)


def has_text(archive: Archive, stored: StoredExchange) -> bool:
    """Whether anything came of it when it was recorded, be it that it could not be read."""
    first = first_key(stored)
    kinds: tuple[EntryKind, ...] = ("extraction", "failure")
    return any(isinstance(archive.find(kind, first, stored.url), ArchiveEntry) for kind in kinds)


def _text_key(stored: StoredExchange, identity: str) -> str:
    return digest_json(["extraction", stored.payload_digest, identity, stored.content_type, stored.url])


def first_key(stored: StoredExchange) -> str:
    """Of one capture, so that what is added later changes the text of none that was there before."""
    captured = stored.captured_at.isoformat()
    content = [stored.payload_digest, stored.content_type, stored.url]
    return digest_json(["extraction", stored.key, captured, *content])


TITLE_CHARS = 200


class WebPages:
    """A `PageSource`. With `RecordedHttpClient`, texts come from the same archive as the replies, and what was read is
    held in memory for the next who asks, up to `held_chars`; with live ones every page is fetched each time."""

    def __init__(
        self, client: HttpClient, policy: WebPolicy, extractor: Extractor, *, held_chars: int = HELD_CHARS
    ) -> None:
        self._policy = policy
        self._source = (
            _ArchivedTexts(client, policy, extractor)
            if isinstance(client, RecordedHttpClient)
            else _LiveTexts(client, policy, extractor)
        )
        self._cache = PageCache(held_chars) if isinstance(client, RecordedHttpClient) else None

    async def read(self, url: str) -> Page:
        """Raises PageUnreadableError, caused by a FetchError where there is one, and ToolError where this machine has
        no network at all."""
        try:
            place = page_url(url)
        except FetchError as error:
            key = request_key("GET", clean_text(url), language=self._policy.language)
            raise _unreadable(error, Lookup(kind="page", key=key) if error.policy else None) from error
        lookup = Lookup(kind="page", key=request_key("GET", place, language=self._policy.language))
        if self._cache is None:
            return await self._read(place, lookup)
        page = self._cache.get(lookup.key)
        if page is None:
            page = await self._read(place, lookup)
            self._cache.put(lookup.key, page)
        return page

    async def _read(self, place: str, lookup: Lookup) -> Page:
        try:
            url, text = await self._source.read(place)
        except FetchError as error:
            raise _unreadable(error, lookup) from error
        if text.code:
            message = f"{one_line(url, 300)}: {text.reason}"
            raise PageUnreadableError(message, code=text.code, lookup=lookup)
        return Page.of(url, one_line(text.title, TITLE_CHARS) or url, text.text, text.links, lookup)


class _LiveTexts:
    def __init__(self, client: HttpClient, policy: WebPolicy, extractor: Extractor) -> None:
        self._client = client
        self._policy = policy
        self._extractor = extractor

    async def read(self, place: str) -> tuple[str, PageText]:
        """Where the page was found in the end, and its text. Raises FetchError."""
        fetched = await follow(place, self._client, self._policy)
        options = ExtractionOptions(url=fetched.url, content_type=fetched.content_type)
        return fetched.url, await self._extractor.extract(fetched.body, options)


class _ArchivedTexts:
    def __init__(self, client: RecordedHttpClient, policy: WebPolicy, extractor: Extractor) -> None:
        self._client = client
        self._policy = policy
        self._texts = RecordedTexts(client.archive, extractor, keep=client.records, limit=policy.decoded_bytes)

    async def read(self, place: str) -> tuple[str, PageText]:
        heads = _Heads(self._client)
        fetched = await follow(place, heads, self._policy)
        return fetched.url, await self._texts.read(heads.found[-1])


class _Heads:
    """An HTTP client without bodies: where the text is in the archive they are not needed, and reading them takes
    longest."""

    def __init__(self, client: RecordedHttpClient) -> None:
        self._client = client
        self.found: list[StoredExchange] = []

    async def get(self, url: str) -> Exchange:
        stored = await self._client.find(url)
        self.found.append(stored)
        if stored.status != 200 and redirect_target(url, stored.status, stored.location) is None:
            return stored.read()
        headers = (("location", stored.location), ("content-type", stored.content_type))
        return Exchange(url, stored.status, "", headers, b"", stored.captured_at)


def _unreadable(error: FetchError, lookup: Lookup | None) -> PageUnreadableError:
    """What a model is told. Whatever a policy forbids is told in the same words, live and replayed."""
    if error.code == NO_NETWORK:
        raise ToolError(
            f"browser_open: {error.message}",
            hint="this machine reaches no network; replay an archive, or connect it",
            code=NO_NETWORK,
            retryable=True,
        )
    if error.policy:
        return _blocked(error, lookup)
    if isinstance(error, MissedError) and lookup is not None:
        lookup = lookup.model_copy(update={"miss": error.miss, "nearest": error.nearest})
    return PageUnreadableError(error.message, code=error.code, lookup=lookup)


def _blocked(error: FetchError, lookup: Lookup | None) -> PageUnreadableError:
    miss = "blocked_by_policy"
    blocked = lookup and lookup.model_copy(update={"miss": miss, "reason": clean_text(error.message)})
    return PageUnreadableError(MISS_MESSAGES["blocked_by_policy"], code=miss, lookup=blocked)


# What a recording that was cut short left undone.


AT_ONCE = 4

Tell = Callable[[int, int], None]
"""Is told how many pages are done, of how many."""


def has_all_texts(archive: Archive) -> bool:
    """Whether of each page that was recorded it is kept what was read of it."""
    return all(has_text(archive, stored) for stored in archive.pages())


async def complete_texts(archive: Archive, extractor: Extractor, *, limit: int, tell: Tell) -> int:
    """Reads the pages that were kept without a text, so that every replay gives the same one; says how many there were.

    `limit` is that of a body unpacked, in bytes. One that cannot be read is kept as such.
    """
    texts = RecordedTexts(archive, extractor, keep=True, limit=limit)
    lacking = [stored for stored in archive.pages() if not has_text(archive, stored)]
    places, done = asyncio.Semaphore(AT_ONCE), 0

    async def complete(stored: StoredExchange) -> None:
        nonlocal done
        async with places:
            # Kept, and told in a replay.
            with suppress(FetchError):
                await texts.read(stored)
        done += 1
        tell(done, len(lacking))

    await asyncio.gather(*map(complete, lacking))
    return len(lacking)
