"""Search over a corpus of one's own: offline, and the same for everyone who asks."""

from collections.abc import Mapping
from datetime import UTC, datetime
from importlib.metadata import version
from math import log

from pydantic import JsonValue

from toolablate.tools.corpus.corpus import Corpus
from toolablate.tools.corpus.passage import passage
from toolablate.tools.search.provider import Searched, SearchQuery
from toolablate.tools.web.exchange import FetchError
from toolablate.tools.web.urls import normal_url
from toolablate.traces.records import SearchReply, SearchResult, clean_text

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
