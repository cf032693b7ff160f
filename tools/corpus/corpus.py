"""An open corpus: searched and read without a network, and without being held in memory."""

import sys
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import version
from math import log
from pathlib import Path

from pydantic import JsonValue

from toolablate.tools.browser.page import Page, PageUnreadableError
from toolablate.tools.corpus.build import INDEX_FOLDER, VERSION, Kept, Progress, build, default_cache, kept
from toolablate.tools.corpus.document_texts import AddressIndex, Shelf
from toolablate.tools.corpus.documents import DocumentHeading, Source, find_source, url_key
from toolablate.tools.corpus.inverted_index import CorpusIndex, passage
from toolablate.tools.extraction import extractor_identity
from toolablate.tools.search.provider import Searched, SearchQuery
from toolablate.tools.text import one_line
from toolablate.tools.web.exchange import FetchError
from toolablate.tools.web.urls import normal_url
from toolablate.traces.records import Lookup, SearchReply, SearchResult, clean_text, digest_json, digest_text

_ATTEMPTS = 5


@dataclass(frozen=True, slots=True)
class StoredDocument:
    """`complete` tells whether `text` is all of it."""

    heading: DocumentHeading
    text: str
    complete: bool


class Corpus:
    """Documents, numbered in the order of their ids. Several threads may ask at once.

    `digest` tells what it holds (see `corpus_digest`); `parameters` whatever else decides what is found in it;
    `skipped` lists files that could not be read.
    """

    def __init__(self, digest: str, parameters: Mapping[str, JsonValue], built: Kept) -> None:
        self.digest = digest
        self.parameters = parameters
        self.skipped = built.manifest.built.skipped
        self.index = CorpusIndex(built.folder / INDEX_FOLDER)
        self._shelf = Shelf(built.folder)
        self._addresses = AddressIndex(built.folder)
        self._built = built

    def __len__(self) -> int:
        return self._built.manifest.built.documents

    def document(self, number: int, max_bytes: int | None = None) -> StoredDocument:
        """The document of that number; of its text, in UTF-8, at most so many bytes."""
        heading, text = self._shelf.read(number, max_bytes)
        complete = max_bytes is None or len(text) < max_bytes
        return StoredDocument(DocumentHeading.from_json(heading), text.decode("utf-8", "ignore"), complete)

    def at(self, address: str) -> StoredDocument | None:
        """The document at a URL, or with an id; of a URL see `url_key` for what makes no difference."""
        for number in self._addresses.find(address):
            document = self.document(number)
            if document.heading.id == address or url_key(document.heading.url) == url_key(address):
                return document
        return None

    def close(self) -> None:
        """Removes what was built where it could not be kept."""
        if self._built.temporary is not None:
            self._built.temporary.cleanup()


def open_corpus(path: Path, *, cache: Path | None = None, progress: Progress | None = None) -> Corpus:
    """Opens a JSONL file, or a folder of documents; builds its index if `cache` does not have it yet.

    Raises InputError that names the file and line that is wrong.
    """
    source = find_source(path)
    parameters = _parameters(source)
    key = digest_json([source.digest, VERSION, version("tantivy"), sys.byteorder, dict(parameters)])
    attempts = 0
    while True:
        built = kept(key, lambda folder: build(source, folder, progress), cache or default_cache())
        try:
            return Corpus(source.digest, parameters, built)
        except (OSError, ValueError):
            # Another process took it away, because it had found it damaged.
            attempts += 1
            if attempts == _ATTEMPTS:
                raise


def _parameters(source: Source) -> dict[str, JsonValue]:
    common: dict[str, JsonValue] = {"corpus": source.digest[:12], "index": VERSION}
    return common | {"extractor": extractor_identity()} if source.is_extracted else common


# The pages of a corpus, for browsing without a network.


class CorpusPages:
    """Opens the documents of a corpus and nothing else."""

    def __init__(self, corpus: Corpus) -> None:
        self._corpus = corpus

    async def read(self, url: str) -> Page:
        document = self._corpus.at(url)
        if document is None:
            raise PageUnreadableError(
                f"{one_line(url, 300)} is not in this corpus", code="not_in_corpus", lookup=_lookup(url)
            )
        heading = document.heading
        return Page.of(heading.url, heading.title or heading.url, document.text, heading.links, _lookup(heading.url))


def _lookup(url: str) -> Lookup:
    return Lookup(kind="page", key=digest_text(clean_text(url)))


# Search over a corpus of one's own: offline, and the same for everyone who asks.


SCANNED_BYTES = 65_536
"""Of each document, from its beginning, when a passage is looked for."""


class CorpusSearch:
    """BM25 over a corpus; ties are broken by document id."""

    name = "corpus"

    def __init__(self, corpus: Corpus) -> None:
        self._corpus = corpus
        self._version = version("tantivy")

    @property
    def parameters(self) -> Mapping[str, JsonValue]:
        return self._corpus.parameters

    async def search(self, asked: SearchQuery) -> Searched:
        query = clean_text(asked.query)
        hits = self._corpus.index.best(query, asked.max_results, asked.before)
        weights = {term: log(1 + 1 / share) for term, share in hits.shares.items()}
        results = tuple(self._result(rank, number, weights) for rank, number in enumerate(hits.numbers, 1))
        return Searched(
            SearchReply(
                query=query,
                parameters=dict(self.parameters),
                fetched_at=datetime.now(UTC),
                provider=self.name,
                engine="tantivy",
                client_version=self._version,
                status="ok" if results else "empty",
                results=results,
            )
        )

    def _result(self, rank: int, number: int, weights: Mapping[str, float]) -> SearchResult:
        document = self._corpus.document(number, SCANNED_BYTES)
        heading = document.heading
        return SearchResult(
            rank=rank,
            url=heading.url,
            canonical_url=_canonical(heading.url),
            title=heading.title or heading.url,
            snippet=passage(document.text, weights, complete=document.complete),
            published_at=heading.published,
            published_from="published" if heading.published else "",
        )


def _canonical(url: str) -> str:
    try:
        return normal_url(url)
    except FetchError:
        # An address of a corpus may be anything that its author calls one.
        return url
