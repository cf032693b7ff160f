"""Trials that say what another says: by the words of the index that tell it from the rest."""

import math
import sqlite3
from collections import Counter, defaultdict
from collections.abc import Sequence

from toolablate.viewer.finding.text_index import CALLS, SHARED
from toolablate.viewer.finding.tokens import tokens_of

MOST_WORDS = 16
MOST_TRIED = 100
MOST_DOCUMENTS = 5_000
_COMMON = 0.8
"""Of the documents; a word of more tells nothing."""
MOST_HITS = 300_000
"""Of all words together, so that common ones are left out where rarer ones are enough."""


def alike(connection: sqlite3.Connection, words: Sequence[str]) -> dict[str, float]:
    """The trials in whose texts these words stand, the most alike first, each with its BM25, summed over its documents:
    the index keeps no lengths of documents, so that these do not count. Raises sqlite3.Error."""
    telling = _telling(connection, words)
    if not telling:
        return {}
    rows = connection.execute(
        "SELECT rowid, -bm25(words) FROM words WHERE words MATCH ? ORDER BY rank LIMIT ?",
        (" OR ".join(map(_phrase, telling)), MOST_DOCUMENTS),
    ).fetchall()
    found: dict[int, float] = defaultdict(float)
    for row, score in rows:
        for document in [row] if row < SHARED else _sharing(connection, row - SHARED):
            found[document // CALLS] += score
    trials = dict(connection.execute("SELECT number, trial FROM entries WHERE live"))
    named = ((trials[number], score) for number, score in found.items() if number in trials)
    return dict(sorted(named, key=lambda each: (-each[1], each[0])))


def _telling(connection: sqlite3.Connection, words: Sequence[str]) -> list[str]:
    """Those with the largest tf * log(n / df), of words that stand in another document as well."""
    (documents,) = connection.execute("SELECT count(*) FROM documents").fetchone()
    most = max(2, int(_COMMON * documents))
    weights: dict[str, tuple[float, int]] = {}
    for word, number in Counter(word for word in words if tokens_of(word)).most_common(MOST_TRIED):
        (df,) = connection.execute(
            "SELECT count(*) FROM (SELECT 1 FROM words WHERE words MATCH ? LIMIT ?)", (_phrase(word), most + 1)
        ).fetchone()
        if 2 <= df <= most:
            weights[word] = (number * math.log(documents / df), df)
    chosen, hits = list[str](), 0
    for word in sorted(weights, key=lambda word: (-weights[word][0], word))[:MOST_WORDS]:
        hits += weights[word][1]
        if chosen and hits > MOST_HITS:
            break
        chosen.append(word)
    return chosen


def _sharing(connection: sqlite3.Connection, shared: int) -> list[int]:
    return [document for (document,) in connection.execute("SELECT document FROM places WHERE shared = ?", (shared,))]


def _phrase(word: str) -> str:
    """A pair of Chinese signs is two words of the index in a row."""
    return f'"{" ".join(tokens_of(word))}"'
