"""The text of a parsed page in the order of its elements, reduced to what extractors leave as it is, and its links."""

import re
import unicodedata
from dataclasses import dataclass, field
from typing import Any

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
class Outline:
    """`key` is the page's word characters with nothing between them; `starts` are the places where a text node begins.

    What differs between a page and the text extracted from it (blanks, bullets, bars of tables, controls) is no word.
    """

    key: str = ""
    starts: list[int] = field(default_factory=list)
    anchors: list[Anchor] = field(default_factory=list)
    base: str = ""
    depth: int = 0
    elements: int = 0


def outline(tree: Any) -> Outline:
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
        self.found = Outline()
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
