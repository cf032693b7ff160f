"""Ours, and what a user would pick instead: SQLite's full-text index, which Python brings along."""

import asyncio
import math
import re
import sqlite3
from collections import Counter, defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

from bench.corpus.documents import rows

from toolablate.tools.corpus import CorpusSearch, open_corpus
from toolablate.tools.search.provider import SearchQuery

TOP = 10
_WORD = re.compile(r"\w+")


class Engine(Protocol):
    """Builds itself in a folder from a JSONL file, or opens what it has built there."""

    def __init__(self, documents: Path, folder: Path) -> None: ...

    def search(self, query: str) -> Sequence[str]:
        """Ids of the best documents, and a snippet of each made on the way."""
        ...


class Ours:
    def __init__(self, documents: Path, folder: Path) -> None:
        self._search = CorpusSearch(open_corpus(documents, cache=folder))
        self._loop = asyncio.new_event_loop()

    def search(self, query: str) -> Sequence[str]:
        found = self._loop.run_until_complete(self._search.search(SearchQuery(query, TOP)))
        return [result.url.rpartition("/")[2] for result in found.reply.results]


class Fts5:
    tokenizer = "unicode61"

    def __init__(self, documents: Path, folder: Path) -> None:
        path = folder / "fts5.sqlite"
        built = path.exists()
        self._connection = sqlite3.connect(path)
        if not built:
            self._connection.execute(
                f"CREATE VIRTUAL TABLE documents USING fts5(id UNINDEXED, title, text, tokenize='{self.tokenizer}')"
            )
            fields = ((row["id"], row.get("title", ""), row["text"]) for row in rows(documents))
            self._connection.executemany("INSERT INTO documents VALUES (?, ?, ?)", fields)
            self._connection.execute("INSERT INTO documents(documents) VALUES ('optimize')")
            self._connection.commit()

    def search(self, query: str) -> Sequence[str]:
        words = " OR ".join(f'"{word}"' for word in _WORD.findall(query))
        found = self._connection.execute(
            "SELECT id, snippet(documents, 2, '', '', '…', 40) FROM documents WHERE documents MATCH ? "
            f"ORDER BY bm25(documents, 0, 2, 1) LIMIT {TOP}",
            (words,),
        )
        return [identity for identity, _ in found]


class Fts5Trigram(Fts5):
    tokenizer = "trigram"


class PlainPython:
    """BM25 in dictionaries, as small libraries do it; all in memory, nothing kept, and no snippets."""

    def __init__(self, documents: Path, folder: Path) -> None:
        self._postings: dict[str, list[tuple[int, int]]] = defaultdict(list)
        self._ids: list[str] = []
        lengths = []
        for row in rows(documents):
            words = _WORD.findall(f"{row.get('title', '')} {row['text']}".lower())
            for word, count in Counter(words).items():
                self._postings[word].append((len(self._ids), count))
            self._ids.append(row["id"])
            lengths.append(len(words))
        average = sum(lengths) / len(lengths)
        self._norms = [1.2 * (0.25 + 0.75 * length / average) for length in lengths]

    def search(self, query: str) -> Sequence[str]:
        scores: dict[int, float] = defaultdict(float)
        for word in set(_WORD.findall(query.lower())):
            postings = self._postings.get(word, ())
            weight = math.log(1 + (len(self._ids) - len(postings) + 0.5) / (len(postings) + 0.5))
            for number, count in postings:
                scores[number] += weight * count * 2.2 / (count + self._norms[number])
        best = sorted(scores.items(), key=lambda item: (-item[1], item[0]))[:TOP]
        return [self._ids[number] for number, _ in best]


ENGINES: dict[str, type[Engine]] = {
    "ours": Ours,
    "fts5": Fts5,
    "fts5 trigram": Fts5Trigram,
    "plain python": PlainPython,
}
