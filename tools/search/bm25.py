"""BM25 over an inverted index in memory.

Source: Robertson and Zaragoza, The Probabilistic Relevance Framework: BM25 and Beyond (2009), with the idf of Lucene,
which is never negative.
"""

from collections import Counter, defaultdict
from collections.abc import Sequence
from math import log

K1 = 1.2
B = 0.75


class Bm25:
    """An index of documents that are given as lists of terms."""

    def __init__(self, documents: Sequence[Sequence[str]]) -> None:
        self._postings: dict[str, list[tuple[int, int]]] = defaultdict(list)
        for number, terms in enumerate(documents):
            for term, count in Counter(terms).items():
                self._postings[term].append((number, count))
        average = sum(map(len, documents)) / max(1, len(documents))
        self._norms = [K1 * (1 - B + B * len(terms) / max(1.0, average)) for terms in documents]

    def top(self, query: Sequence[str], limit: int) -> list[tuple[int, float]]:
        """Numbers and scores of the best documents, best first; equal scores by number. None without a common term."""
        scores: dict[int, float] = defaultdict(float)
        # Sorted, so that sums of floats do not depend on the order of the words.
        for term in sorted(set(query)):
            postings = self._postings.get(term, ())
            weight = log(1 + (len(self._norms) - len(postings) + 0.5) / (len(postings) + 0.5))
            for number, count in postings:
                scores[number] += weight * count * (K1 + 1) / (count + self._norms[number])
        return sorted(scores.items(), key=lambda item: (-item[1], item[0]))[:limit]
