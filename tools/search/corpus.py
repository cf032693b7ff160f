"""Search over a corpus of one's own: offline, and the same for everyone who asks."""

from functools import cached_property
from pathlib import Path
from typing import Self

from toolablate.tools.browser.corpus import CorpusPages
from toolablate.tools.corpus import Corpus, Document, load_corpus
from toolablate.tools.search.bm25 import Bm25
from toolablate.tools.search.provider import SearchReply, SearchResult
from toolablate.tools.search.words import terms

SNIPPET_CHARS = 280
TITLE_WEIGHT = 2


class CorpusSearch:
    """BM25 over a corpus; ties are broken by document id. `pages` opens its documents and nothing else."""

    name = "corpus"

    def __init__(self, corpus: Corpus) -> None:
        self._corpus = corpus
        self.pages = CorpusPages(corpus)

    @classmethod
    def from_file(cls, path: Path) -> Self:
        """Raises InputError that names the line of the file that is wrong."""
        return cls(load_corpus(path))

    @cached_property
    def _index(self) -> Bm25:
        return Bm25(
            [terms(document.title) * TITLE_WEIGHT + terms(document.text) for document in self._corpus.documents]
        )

    async def search(self, query: str, max_results: int) -> SearchReply:
        wanted = terms(query)
        found = [self._corpus.documents[number] for number, _ in self._index.top(wanted, max_results)]
        results = tuple(_result(rank, document, set(wanted)) for rank, document in enumerate(found, 1))
        return SearchReply(query, self.name, "ok" if results else "empty", results)


def _result(rank: int, document: Document, wanted: set[str]) -> SearchResult:
    snippet = _passage(document.text, wanted)
    return SearchResult(rank, document.title or document.url, document.url, snippet, document.published)


def _passage(text: str, wanted: set[str]) -> str:
    """The stretch of the text that holds most of the wanted terms; the first of equals."""
    step = SNIPPET_CHARS // 2
    starts = range(0, max(1, len(text) - step), step)
    best = max(starts, key=lambda start: len(wanted.intersection(terms(text[start : start + SNIPPET_CHARS]))))
    passage = text[best : best + SNIPPET_CHARS]
    # No half words at the edges, where there are blanks to cut at.
    head = passage.find(" ") + 1 if best and not text[best - 1].isspace() else 0
    tail = passage.rfind(" ") if best + SNIPPET_CHARS < len(text) else len(passage)
    inner = passage[head if head < 40 else 0 : tail if tail > SNIPPET_CHARS - 40 else len(passage)]
    return f"{'…' if best else ''}{inner.strip()}{'…' if best + SNIPPET_CHARS < len(text) else ''}"
