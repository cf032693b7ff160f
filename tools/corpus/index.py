"""The inverted index: BM25 by tantivy over one field of terms.

One thread adds the documents in the order of their ids and all of them end in one segment. So two builds rank
identically, the statistics are those of the whole corpus, and tantivy's own order among equal scores, by number, is
the order of the ids. A title counts twice, as if its words stood in the text twice more often (weighted before
saturation as in BM25F: Robertson, Zaragoza and Taylor, Simple BM25 Extension to Multiple Weighted Fields, 2004).

Not every term of a query is searched for: see `COMMON` and `MAX_QUERY_TERMS`. Where that finds fewer documents than
are asked for, all of them are, and the ranking is by all.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from toolablate.tools.corpus.backlog import Backlog
from toolablate.tools.corpus.dates import day_number
from toolablate.tools.corpus.terms import TOKENIZER, analyzer, spaced, terms
from toolablate.traces.errors import InputError

if TYPE_CHECKING:
    from tantivy import Query, Schema

TITLE_WEIGHT = 2
COMMON = 0.8
"""Terms that more than this share of the documents have tell hardly anything and take longest: in a large corpus they
are left out, as stop words would be, of queries that have others."""

LARGE = 5_000
"""Documents; in a smaller corpus every term is quick."""

MAX_QUERY_TERMS = 64
"""Of a longer query the rarest terms are used; the rest hardly changes what comes first, and costs time."""

TERMS = "terms"
PUBLISHED = "published"
_FREQUENCIES = "freq"
_MOST_MEMORY = 4_000_000_000
"""Bytes of postings that tantivy can collect for one segment; what is used is what the documents need."""


def _schema() -> "Schema":
    from tantivy import SchemaBuilder

    builder = SchemaBuilder()
    builder.add_text_field(TERMS, tokenizer_name=TOKENIZER, index_option=_FREQUENCIES)
    builder.add_integer_field(PUBLISHED, indexed=True, fast=True)
    return builder.build()


class IndexWriter:
    """Writes an index into an empty folder."""

    def __init__(self, folder: Path) -> None:
        from tantivy import Index

        self._index = Index(_schema(), path=str(folder))
        self._index.register_tokenizer(TOKENIZER, analyzer())
        self._writer = self._index.writer(_MOST_MEMORY, num_threads=1)
        self._backlog = Backlog()

    def add(self, title: str, text: str, published: str) -> None:
        from tantivy import Document

        document = Document()
        whole = spaced(f"{title}\n" * TITLE_WEIGHT + text)
        document.add_text(TERMS, whole)
        day = day_number(published)
        if day is not None:
            document.add_integer(PUBLISHED, day)
        self._backlog.wait_for_room(len(whole))
        self._writer.add_document(document)

    def finish(self) -> None:
        """Raises InputError for a corpus that is too large for one segment."""
        self._writer.commit()
        self._writer.wait_merging_threads()
        self._index.reload()
        if self._index.searcher().num_segments != 1:
            raise InputError(
                "the corpus is too large: its index needs more than 4 GB of memory",
                hint="split it; about four million documents of 300 words fit",
                code="bad_corpus",
            )


@dataclass(frozen=True, slots=True)
class Hits:
    """Numbers of documents, best first, equals by number. `shares` has the terms that decided, each with the share of
    documents that have it."""

    numbers: tuple[int, ...]
    shares: Mapping[str, float]


class Index:
    """Searches; any number of threads at once."""

    def __init__(self, folder: Path) -> None:
        import tantivy

        index = tantivy.Index.open(str(folder))
        # The index never changes, so nothing has to watch it.
        index.config_reader("Manual")
        index.reload()
        self._schema = index.schema
        self._searcher = index.searcher()
        self._analyzer = analyzer()

    def __len__(self) -> int:
        return self._searcher.num_docs

    def best(self, query: str, limit: int, before: date | None = None) -> Hits:
        """The best documents for the words of a query; none that is known to be of `before` or later."""
        shares = self._shares(query)
        telling = self._telling(shares)
        numbers = self._best(telling, limit, before)
        if len(numbers) < limit and len(telling) < len(shares):
            telling, numbers = shares, self._best(shares, limit, before)
        return Hits(numbers, telling)

    def _shares(self, query: str) -> dict[str, float]:
        """The terms that any document has, rarest first."""
        counts = {term: self._searcher.doc_freq(TERMS, term) for term in terms(query, self._analyzer)}
        return {
            term: count / len(self) for count, term in sorted((count, term) for term, count in counts.items() if count)
        }

    def _telling(self, shares: dict[str, float]) -> dict[str, float]:
        telling = dict(islice(shares.items(), MAX_QUERY_TERMS))
        if len(self) < LARGE:
            return telling
        return {term: share for term, share in telling.items() if share <= COMMON} or telling

    def _best(self, wanted: Mapping[str, float], limit: int, before: date | None) -> tuple[int, ...]:
        from tantivy import Occur, Query

        if not wanted:
            return ()
        any_term = Query.boolean_query([(Occur.Should, self._term(term)) for term in sorted(wanted)])
        if before is not None:
            any_term = Query.boolean_query([(Occur.Must, any_term), (Occur.MustNot, self._since(before))])
        hits = self._searcher.search(any_term, limit, count=False).hits
        return tuple(number for _, number in sorted((-score, address.doc) for score, address in hits))

    def _term(self, term: str) -> "Query":
        from tantivy import Query

        return Query.term_query(self._schema, TERMS, term, _FREQUENCIES)

    def _since(self, day: date) -> "Query":
        from tantivy import FieldType, Query

        return Query.range_query(self._schema, PUBLISHED, FieldType.Integer, lower_bound=day.toordinal())
