"""The documents of questions: cut into parts that are searched like a corpus, and opened in part or whole."""

import asyncio
import json
import re
import tempfile
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from urllib.parse import quote, unquote, urlsplit

from toolablate.tools.browser.page import Page, PageUnreadableError
from toolablate.tools.corpus.build import VERSION
from toolablate.tools.corpus.corpus import Corpus, CorpusSearch, open_corpus
from toolablate.tools.search.provider import LiveSearch, SearchOutcome, SearchQuery
from toolablate.tools.text import one_line
from toolablate.traces.records import Lookup, Question, QuestionDocument, digest_json, digest_text

DOCUMENT_TOOLS = frozenset({"document_search", "document_open", "document_find"})

PART_CHARS = 1_500
"""Most characters of a part, as one result of a search is: about 300 words."""

ORIGIN = "https://documents.invalid/"
"""Where documents are said to be; `.invalid` never resolves (RFC 2606)."""

FINGERPRINT = f"parts/{PART_CHARS} index/{VERSION}"
"""What decides what is found in them, besides the documents."""

_DIGITS = 16
_BLANK_LINE = re.compile(r"(?<=\n)(?=[^\S\n]*\n)")
"""Before one. No look goes beyond its line, so that a text takes time in its length."""
_PART = re.compile(r"part=([1-9]\d{0,8})")


def parts_of(text: str) -> list[str]:
    """Whole paragraphs as long as they fit, else whole lines, else cut at blanks; joined they are the text, but for
    blanks at the ends of parts."""
    parts, part = [], ""
    for piece in _pieces(text):
        if part and len(part) + len(piece) > PART_CHARS:
            parts.append(part)
            part = ""
        part += piece
    return [stripped for each in (*parts, part) if (stripped := each.strip())]


def _pieces(text: str) -> Iterator[str]:
    for paragraph in _BLANK_LINE.split(text):
        if len(paragraph) <= PART_CHARS:
            yield paragraph
            continue
        for line in paragraph.splitlines(keepends=True):
            start = 0
            while len(line) - start > PART_CHARS:
                end = line.rfind(" ", start + PART_CHARS // 2, start + PART_CHARS) + 1 or start + PART_CHARS
                yield line[start:end]
                start = end
            yield line[start:]


def key_of(document: QuestionDocument) -> str:
    """Tells documents apart by name and text, and is part of the address: nobody can guess it."""
    return digest_text(f"{document.name}\n{document.text}")[:_DIGITS]


def address_of(document: QuestionDocument) -> str:
    return f"{ORIGIN}{key_of(document)}/{quote(document.name)}"


@dataclass(frozen=True, slots=True)
class _Known:
    document: QuestionDocument
    parts: Sequence[str]


class QuestionDocuments:
    """The documents of all questions that trials of a run have asked for so far, and their indexes, each built once and
    kept like a corpus's. A document is found by an address that only a result for its question shows."""

    def __init__(self) -> None:
        self._known: dict[str, _Known] = {}
        self._opened: dict[str, Corpus] = {}
        self._opening: defaultdict[str, asyncio.Lock] = defaultdict(asyncio.Lock)

    def search(self, documents: Sequence[QuestionDocument]) -> "DocumentSearch":
        return DocumentSearch(self, documents)

    def pages(self, documents: Sequence[QuestionDocument] = ()) -> "DocumentPages":
        return DocumentPages(self, documents)

    def add(self, questions: Iterable[Question]) -> None:
        """Makes their documents known, whose addresses placebos show under other questions."""
        for question in questions:
            for document in question.documents:
                self.known(document)

    def known(self, document: QuestionDocument) -> _Known:
        key = key_of(document)
        if key not in self._known:
            self._known[key] = _Known(document, parts_of(document.text))
        return self._known[key]

    def by_key(self, key: str) -> _Known | None:
        return self._known.get(key)

    async def corpus(self, documents: Sequence[QuestionDocument]) -> Corpus:
        """Raises InputError where the index cannot be built."""
        key = digest_json([key_of(document) for document in documents])
        async with self._opening[key]:
            if key not in self._opened:
                self._opened[key] = await asyncio.to_thread(self._built, documents)
            return self._opened[key]

    def _built(self, documents: Sequence[QuestionDocument]) -> Corpus:
        with tempfile.TemporaryDirectory(prefix="toolablate-documents-") as folder:
            path = Path(folder, "parts.jsonl")
            with path.open("w", encoding="utf-8") as file:
                file.writelines(_lines(map(self.known, documents)))
            return open_corpus(path)

    def close(self) -> None:
        """Removes indexes that could not be kept."""
        for corpus in self._opened.values():
            corpus.close()
        self._opened.clear()


def _lines(documents: Iterable[_Known]) -> Iterator[str]:
    for number, known in enumerate(documents):
        for part, text in enumerate(known.parts, start=1):
            page = _page_of_part(known, part)
            entry = {"id": f"{number:06}-{part:09}", "text": text, "url": page.url, "title": page.title}
            yield json.dumps(entry, ensure_ascii=False) + "\n"


def _page_of_part(known: _Known, part: int) -> Page:
    title = f"{known.document.name}, part {part} of {len(known.parts)}"
    return Page.of(f"{address_of(known.document)}?part={part}", title, known.parts[part - 1])


class DocumentSearch:
    """A `SearchSource` over the parts of one question's documents; nothing is built before the first search."""

    name = "documents"

    def __init__(self, all_documents: QuestionDocuments, own: Sequence[QuestionDocument]) -> None:
        self._all = all_documents
        self._own = own

    async def find(self, asked: SearchQuery) -> SearchOutcome:
        return await LiveSearch(CorpusSearch(await self._all.corpus(self._own))).find(asked)


class DocumentPages:
    """A `PageSource` of documents by their addresses, one part or the whole; a question's own also by their names."""

    def __init__(self, all_documents: QuestionDocuments, own: Sequence[QuestionDocument] = ()) -> None:
        self._all = all_documents
        self._own = {document.name: document for document in own}

    async def read(self, url: str) -> Page:
        lookup = Lookup(kind="page", key=digest_json(["document", url]))
        known, part = self._found(url.strip())
        if known is None:
            there_are = f"; the documents are {', '.join(self._own)}" if self._own else ""
            raise PageUnreadableError(
                f"there is no document {one_line(url, 300)}{one_line(there_are, 600)}",
                code="no_such_document",
                lookup=lookup,
            )
        if part:
            return replace(_page_of_part(known, part), lookup=lookup)
        return Page.of(address_of(known.document), known.document.name, known.document.text, lookup=lookup)

    def _found(self, url: str) -> tuple[_Known | None, int]:
        """The document, and the number of its part, 0 for the whole."""
        for document in self._own.values():
            self._all.known(document)
        if url in self._own:
            return self._all.known(self._own[url]), 0
        try:
            parts = urlsplit(url)
        except ValueError:
            return None, 0
        key, _, name = parts.path.lstrip("/").partition("/")
        known = self._all.by_key(key)
        if known is None or unquote(name) != known.document.name or not url.startswith(ORIGIN):
            return None, 0
        asked = _PART.fullmatch(parts.query)
        part = int(asked[1]) if asked else 0
        return (None, 0) if part > len(known.parts) or (parts.query and not asked) else (known, part)
