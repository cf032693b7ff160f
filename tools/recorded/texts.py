"""Texts of pages by way of an archive."""

import asyncio
from typing import Protocol

from toolablate.tools.archive import Archive, Entry, EntryKind, Missing, StoredExchange
from toolablate.tools.extraction.options import ExtractionOptions
from toolablate.tools.recorded.failures import error_of, failure_of
from toolablate.tools.recorded.reading import record_of
from toolablate.tools.recorded.single_flight import SingleFlight
from toolablate.tools.web import FetchError, decoded_body
from toolablate.traces.records import FetchFailure, PageText, digest_json

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
        if isinstance(pointer, Entry):
            return None if self._keep and pointer.failed else self._text(pointer.content.decode(), stored)
        failure = self._archive.find("failure", first, stored.url)
        if isinstance(failure, Entry) and not self._keep:
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
    return any(isinstance(archive.find(kind, first, stored.url), Entry) for kind in kinds)


def _text_key(stored: StoredExchange, identity: str) -> str:
    return digest_json(["extraction", stored.payload_digest, identity, stored.content_type, stored.url])


def first_key(stored: StoredExchange) -> str:
    """Of one capture, so that what is added later changes the text of none that was there before."""
    captured = stored.captured_at.isoformat()
    content = [stored.payload_digest, stored.content_type, stored.url]
    return digest_json(["extraction", stored.key, captured, *content])
