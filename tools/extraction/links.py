"""Where the links of a page are in the text extracted from it, whichever extractor did that."""

import re
import unicodedata
from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from toolablate.traces.records import Link

WORDS = re.compile(r"\w+")
_NO_TEXT = frozenset({"script", "style"})
MOST_ANCHORS = 20_000
"""Of a page; further ones are text only, since a page of more would take longer than it may."""


@dataclass(frozen=True, slots=True)
class Anchor:
    """A link whose text is `key[start:end]` of its outline; `shown` is that text as written, `href` as written."""

    start: int
    end: int
    shown: str
    href: str


@dataclass(slots=True)
class PageOutline:
    """`key` is the page's word characters with nothing between them; `starts` are the places where a text node begins.

    What differs between a page and the text extracted from it (blanks, bullets, bars of tables, controls) is no word.
    """

    key: str = ""
    starts: list[int] = field(default_factory=list)
    anchors: list[Anchor] = field(default_factory=list)
    base: str = ""
    depth: int = 0
    elements: int = 0


def outline(tree: Any) -> PageOutline:
    """Of an lxml tree, which stays as it is."""
    from lxml.etree import iterwalk  # type: ignore[import-untyped]

    walk = _Walk()
    for event, element in iterwalk(tree, events=("start", "end")):
        if event == "start":
            walk.enter(element)
        else:
            walk.leave(element)
    walk.found.anchors = [anchor for anchor in walk.found.anchors if anchor.end > anchor.start]
    walk.found.key = "".join(walk.parts)
    return walk.found


class _Walk:
    """Through the elements of a page, in their order."""

    def __init__(self) -> None:
        self.found = PageOutline()
        self.parts: list[str] = []
        self._length = self._depth = self._hidden = 0
        # Those that are open: where their text began, and their place among the anchors.
        self._open: dict[Any, tuple[int, int]] = {}

    def enter(self, element: Any) -> None:
        found, tag = self.found, element.tag
        self._depth += 1
        found.depth = max(found.depth, self._depth)
        found.elements += 1
        self._hidden += tag in _NO_TEXT
        if tag == "a" and element.get("href") and len(found.anchors) < MOST_ANCHORS:
            self._open[element] = self._length, len(found.anchors)
            found.anchors.append(Anchor(self._length, self._length, "", ""))
        elif tag == "base" and not found.base:
            found.base = element.get("href") or ""
        self._add(element.text)

    def leave(self, element: Any) -> None:
        self._depth -= 1
        if element.tag == "a" and element in self._open:
            start, place = self._open.pop(element)
            shown = "".join(element.itertext()).strip()
            self.found.anchors[place] = Anchor(start, self._length, shown, element.get("href"))
        self._hidden -= element.tag in _NO_TEXT
        self._add(element.tail)

    def _add(self, text: str | None) -> None:
        words = key_of(text) if text and not self._hidden else ""
        if words:
            self.found.starts.append(self._length)
            self.parts.append(words)
            self._length += len(words)


def key_of(text: str) -> str:
    """The word characters of a text, in Unicode's composed form."""
    return "".join(WORDS.findall(unicodedata.normalize("NFC", text)))


# Where the links of a page are in the text that was extracted from it, whichever extractor did that.


_SHINGLES = (6, 2)
"""Word characters by which a place is looked up; fewer where a short link stands alone."""
_CANDIDATES = 12
"""Places of the page that are compared for one place of the text, nearest first."""
_SURE = 24
"""Word characters that agree only where it is the same place; fewer are believed if they come next."""
_NEAR = 2_000
"""How far ahead a short piece may be, in word characters."""


@dataclass(frozen=True, slots=True)
class _Agreement:
    """`text[in_text : in_text + length]` is what the page has at `in_page`, both by word characters."""

    in_text: int
    in_page: int
    length: int


def links_in(text: str, page: PageOutline, absolute: dict[str, str]) -> tuple[Link, ...]:
    """The anchors of `page` that `text` shows, in the order of the text; `absolute` has the URL of each href."""
    if not page.anchors:
        return ()
    words = _Words(text)
    starts = [anchor.start for anchor in page.anchors]
    links: list[Link] = []
    for agreement in _agreements(words, page):
        first = bisect_left(starts, agreement.in_page)
        for anchor in page.anchors[first : bisect_right(starts, agreement.in_page + agreement.length)]:
            url = absolute.get(anchor.href)
            if url and anchor.end <= agreement.in_page + agreement.length:
                links.append(_link(words, anchor, agreement.in_text - agreement.in_page, url))
    return tuple(links)


class _Words:
    """The word characters of a text, and where they are in it."""

    def __init__(self, text: str) -> None:
        self.text = text
        runs = [(found.start(), found[0]) for found in WORDS.finditer(text)]
        self.key = "".join(run for _, run in runs)
        self.starts: list[int] = []
        self._offsets = [start for start, _ in runs]
        length = 0
        for _, run in runs:
            self.starts.append(length)
            length += len(run)

    def offset(self, place: int) -> int:
        """Where in the text the word character number `place` is."""
        run = bisect_right(self.starts, place) - 1
        return self._offsets[run] + place - self.starts[run]


def _agreements(words: _Words, page: PageOutline) -> Iterator[_Agreement]:
    """In the order of the text, without overlaps."""
    places = _places(page)
    cursor = place = run = 0
    while place < len(words.key):
        found = _best(words.key, place, page.key, places, cursor)
        if found is not None:
            yield found
            cursor, place = found.in_page + found.length, place + found.length
        else:
            run = bisect_right(words.starts, place, run)
            place = words.starts[run] if run < len(words.starts) else len(words.key)


def _places(page: PageOutline) -> dict[str, list[int]]:
    """Where the page's text nodes begin, in order, by how they begin."""
    places: dict[str, list[int]] = defaultdict(list)
    for start in page.starts:
        for size in _SHINGLES:
            places[page.key[start : start + size]].append(start)
    return places


def _best(text: str, place: int, page: str, places: dict[str, list[int]], cursor: int) -> _Agreement | None:
    for size in _SHINGLES:
        known = places.get(text[place : place + size], ())
        ahead = bisect_left(known, cursor)
        candidates = (*known[ahead : ahead + _CANDIDATES], *known[max(0, ahead - _CANDIDATES) : ahead][::-1])
        best = None
        for candidate in candidates:
            length = _agreeing(text, place, page, candidate)
            near = cursor <= candidate <= cursor + _NEAR
            if (length >= _SURE or near) and (best is None or length > best.length):
                best = _Agreement(place, candidate, length)
        if best is not None:
            return best
    return None


def _agreeing(text: str, place: int, page: str, candidate: int) -> int:
    length, step = 0, 64
    while True:
        ours, theirs = (
            text[place + length : place + length + step],
            page[candidate + length : candidate + length + step],
        )
        if ours != theirs or not ours:
            pairs = enumerate(zip(ours, theirs, strict=False))
            return length + next((same for same, (a, b) in pairs if a != b), min(len(ours), len(theirs)))
        length, step = length + len(ours), step * 2


def _link(words: _Words, anchor: Anchor, shift: int, url: str) -> Link:
    """With the anchor's signs in front and behind, where the text has them too."""
    text, shown = words.text, anchor.shown
    start, end = words.offset(anchor.start + shift), words.offset(anchor.end - 1 + shift) + 1
    first = last = 0
    while first < len(shown) and not _is_word(shown[first]):
        first += 1
    while last < len(shown) and not _is_word(shown[-1 - last]):
        last += 1
    if first and text.endswith(shown[:first], 0, start):
        start -= first
    if last and text.startswith(shown[-last:], end):
        end += last
    return Link(start=start, end=end, url=url)


def _is_word(character: str) -> bool:
    return character.isalnum() or character == "_"
