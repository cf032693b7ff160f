"""The inverted index: terms, BM25 by tantivy, and the passage shown of a hit."""

import re
import time
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from itertools import islice
from operator import add
from pathlib import Path
from typing import TYPE_CHECKING

from toolablate.traces.errors import InputError

if TYPE_CHECKING:
    from tantivy import Query, Schema, TextAnalyzer

TOKENIZER = "toolablate"
MAX_TERM_BYTES = 100
"""Longer terms are no words but data (base64, digests); they are not indexed."""

_HAN = "\u2e80-\u2fdf\u3005-\u3007\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U000323af"
_KANA_HANGUL = "\u3040-\u30ff\u31f0-\u31ff\uac00-\ud7af"
_SOUTH_EAST_ASIAN = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff"
UNSPACED = re.compile(f"[{_HAN}{_KANA_HANGUL}{_SOUTH_EAST_ASIAN}]+")


def folded(text: str) -> str:
    """The text with all differences removed that a search must not see, accents apart; its length may change."""
    if text.isascii():
        return text.lower()
    return unicodedata.normalize("NFKC", text).casefold()


def spaced(text: str) -> str:
    """Folded text in which every term is a word: runs of unspaced scripts become characters and pairs."""
    text = folded(text)
    return text if text.isascii() else UNSPACED.sub(_grams, text)


def _grams(run: re.Match[str]) -> str:
    characters = run.group()
    return f" {' '.join(characters)} {' '.join(map(add, characters, characters[1:]))} "


def analyzer() -> "TextAnalyzer":
    """Splits what `spaced` gives. Both the index and the queries go through it."""
    from tantivy import Filter, TextAnalyzerBuilder, Tokenizer

    words = TextAnalyzerBuilder(Tokenizer.simple()).filter(Filter.remove_long(MAX_TERM_BYTES + 1))
    return words.filter(Filter.ascii_fold()).build()


def terms(text: str, split: "TextAnalyzer") -> Sequence[str]:
    """The distinct terms of a text without lone surrogates, in one order whatever that of the words."""
    return sorted(set(split.analyze(spaced(text))))


# Keeps what waits to be indexed small.


MAX_CHARS = 2_000_000
"""So much text may wait; about a tenth of a second's work."""

_THREAD = "thrd-tantivy-in"  # The kernel keeps 15 characters of `thrd-tantivy-index0`.
_PAUSE_SECONDS = 0.002
_LONGEST_WAIT_SECONDS = 60.0


class Backlog:
    def __init__(self) -> None:
        self._chars = 0

    def wait_for_room(self, chars: int) -> None:
        """Waits until all is indexed, if the next text were too much. Where that cannot be told it does not wait."""
        if self._chars + chars > MAX_CHARS and self._chars:
            until = time.monotonic() + _LONGEST_WAIT_SECONDS
            while _is_busy() and time.monotonic() < until:
                time.sleep(_PAUSE_SECONDS)
            self._chars = 0
        self._chars += chars


def _is_busy() -> bool:
    try:
        return any(_runs(thread) for thread in Path("/proc/self/task").iterdir())
    except OSError:
        return False


def _runs(thread: Path) -> bool:
    try:
        name, _, state = (thread / "stat").read_text().partition("(")[2].rpartition(") ")
    except OSError:
        # It ended meanwhile.
        return False
    return name == _THREAD and not state.startswith("S")


# What can be read of a date that somebody wrote.


_ISO = re.compile(r"\s*(\d{4})(?:-(\d{2})(?:-(\d{2}))?)?(?![\d-])")


def day_number(published: str) -> int | None:
    """The first day that a date may mean (`2024` is the first of January), as `date.toordinal`; None if it is not
    ISO 8601."""
    match = _ISO.match(published)
    if match is None:
        return None
    year, month, day = (int(part or 1) for part in match.groups())
    try:
        return date(year, month, day).toordinal()
    except ValueError:
        return None


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


class CorpusIndex:
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


# The passage of a text that is shown in a list of results.


PASSAGE_CHARS = 280
MAX_OCCURRENCES = 50
"""Of one term; a term that is everywhere says little about where to look."""

_EDGE_CHARS = 40


def passage(text: str, weights: Mapping[str, float], *, complete: bool = True) -> str:
    """The stretch of the text whose terms weigh most, each counted once; the first of equals.

    `complete` tells whether the text is all there is; where something is left out there is an ellipsis.
    """
    start = _best_start(text, weights)
    end = start + PASSAGE_CHARS
    cut = text[start:end]
    more = end < len(text) or not complete
    # No half words at the edges, where there are blanks to cut at.
    head = cut.find(" ") + 1 if start and not text[start - 1].isspace() else 0
    tail = cut.rfind(" ") if more else -1
    inner = cut[head if head < _EDGE_CHARS else 0 : tail if tail > max(head, len(cut) - _EDGE_CHARS) else len(cut)]
    return f"{'…' if start else ''}{inner.strip()}{'…' if more else ''}"


def _best_start(text: str, weights: Mapping[str, float]) -> int:
    """Windows begin at every half of a passage, as far as the text goes."""
    step = PASSAGE_CHARS // 2
    last = max(0, (len(text) - 1) // step - 1)
    windows: dict[int, float] = {}
    folded = _of_same_length(text)
    for term, weight in weights.items():
        seen = set[int]()
        for place in _occurrences(folded, term):
            half = place // step
            # A window is two halves: the one that begins at this half, and the one before it.
            seen.update({min(half, last), max(0, min(half - 1, last))})
        for window in seen:
            windows[window] = windows.get(window, 0.0) + weight
    return min(windows, key=lambda window: (-windows[window], window)) * step if windows else 0


def _of_same_length(text: str) -> str:
    """Lower case where that leaves every character in its place."""
    lower = text.lower()
    return lower if len(lower) == len(text) else text


def _occurrences(text: str, term: str) -> Iterator[int]:
    """Where a term stands as a whole word, or anywhere for scripts that are written without blanks."""
    anywhere = UNSPACED.match(term) is not None
    left = MAX_OCCURRENCES
    place = text.find(term)
    while place >= 0 and left:
        end = place + len(term)
        if anywhere or not (text[place - 1 : place].isalnum() or text[end : end + 1].isalnum()):
            yield place
            left -= 1
        place = text.find(term, end)
