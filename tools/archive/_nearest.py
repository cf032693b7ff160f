"""Which recorded request is most like one that was not recorded: for a person who reads the trace, not for a model."""

import heapq
import re
from array import array
from collections.abc import Iterable, Iterator, Sequence
from math import log

MAX_CHARS = 300
MAX_REQUESTS = 10_000
COMPARED = 16
LOOKED_AT = 1_500
"""So many mentions of words are looked at for one request, those of the rarest words first."""
NEIGHBOURS = 4

_UNSPACED = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af\uf900-\ufaff"
_WORD = re.compile(rf"[{_UNSPACED}]|[^\W_{_UNSPACED}]+")
"""A word, or a letter of a script that puts no blanks between words."""
_START = 3
_ALIKE = 20


class Requests:
    """Recorded requests, to be found by the words that they share, the rarer the better, and then compared closely."""

    def __init__(self, texts: Iterable[str]) -> None:
        self._texts = sorted(set(texts))
        self._holders: dict[str, array[int]] = {}
        for number, text in enumerate(self._texts):
            for word in _words(text):
                holders = self._holders.get(word)
                if holders is None:
                    holders = self._holders[word] = array("I")
                holders.append(number)
        self._starts: dict[str, list[str]] = {}
        for word in sorted(self._holders):
            self._starts.setdefault(word[:_START], []).append(word)

    def nearest(self, request: str) -> str:
        """Empty where nothing shares a word, or the start of one. Of equals, the first in alphabetical order."""
        pieces = _pieces(request)
        likely = self._likely(request)
        best = max(likely, key=lambda number: (_likeness(pieces, self._texts[number]), -number), default=None)
        return "" if best is None else shortened(self._texts[best])

    def _likely(self, request: str) -> Sequence[int]:
        shared: dict[int, float] = {}
        room = LOOKED_AT
        words = {known for word in _words(request) for known in self._known(word)}
        for word in sorted(words, key=lambda word: (len(self._holders[word]), word)):
            holders = self._holders[word]
            weight = log(1 + len(self._texts) / len(holders))
            for number in holders[:room]:
                shared[number] = shared.get(number, 0.0) + weight
            room -= len(holders)
            if room <= 0:
                break
        return heapq.nsmallest(COMPARED, shared, key=lambda number: (-shared[number], number))

    def _known(self, word: str) -> Iterator[str]:
        """The word if it was recorded, else words that begin like it."""
        if word in self._holders:
            yield word
        else:
            yield from self._starts.get(word[:_START], ())[:_ALIKE]


def _words(text: str) -> set[str]:
    return set(_WORD.findall(text[:MAX_CHARS].casefold()))


def _pieces(text: str) -> frozenset[str]:
    # Two letters' worth of padding, so that a word of one Chinese character has pieces too.
    padded = f"  {text[:MAX_CHARS].casefold()} "
    return frozenset(padded[start : start + 3] for start in range(len(padded) - 2))


def _likeness(pieces: frozenset[str], other: str) -> float:
    """The share of pieces of three letters that both have (Dice's coefficient)."""
    others = _pieces(other)
    return 2 * len(pieces & others) / (len(pieces) + len(others))


def near_form(url: str) -> str:
    """A URL by which those of one host are neighbours, whether with `https` and `www` or without."""
    return url.partition("://")[2].removeprefix("www.")


def nearest_url(url: str, neighbours: Iterable[tuple[str, str]]) -> str:
    """Of (near form, URL), the one of the same host that begins most like `url`; empty where there is none."""
    near = near_form(url)
    host = near.partition("/")[0] + "/"
    likely = [(form, other) for form, other in neighbours if form.startswith(host)]
    best = min(likely, key=lambda found: (-_shared_beginning(near, found[0]), found[1]), default=None)
    return "" if best is None else shortened(best[1])


def _shared_beginning(one: str, other: str) -> int:
    differing = (number for number, (left, right) in enumerate(zip(one, other, strict=False)) if left != right)
    return next(differing, min(len(one), len(other)))


def shortened(text: str) -> str:
    return text if len(text) <= MAX_CHARS else text[: MAX_CHARS - 1] + "…"
