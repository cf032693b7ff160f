"""Deep nesting taken out of HTML before anything recursive reads it."""

import re
from collections import Counter

_TAG = re.compile(r"<!--.*?(?:-->|\Z)|<(/?)([a-zA-Z][^\s/>]*)[^>]*>?", re.DOTALL)
_RAW_NAMES = ("script", "style", "textarea", "title", "xmp", "noframes")
_RAW_ENDS = {name: re.compile(rf"</{name}\b", re.IGNORECASE) for name in _RAW_NAMES}
_VOID = frozenset(
    {"area", "base", "basefont", "bgsound", "br", "col", "embed", "frame", "hr", "img", "input", "keygen", "link"}
    | {"meta", "param", "source", "track", "wbr"}
)
_INLINE = frozenset(
    {"a", "abbr", "acronym", "b", "bdi", "bdo", "big", "cite", "code", "del", "dfn", "em", "font", "i", "ins", "kbd"}
    | {"label", "mark", "q", "s", "samp", "small", "span", "strike", "strong", "sub", "sup", "tt", "u", "var"}
)
_HOLDERS = (_INLINE - {"a"}) | {"article", "aside", "center", "div", "fieldset", "form", "main", "nav", "section"}
# An element of the key ends those of its value that are still open around it.
_ENDS: dict[str, frozenset[str]] = {
    "li": frozenset({"p", "li"}),
    "p": frozenset({"p"}),
    "dt": frozenset({"p", "dt", "dd"}),
    "dd": frozenset({"p", "dt", "dd"}),
    "tr": frozenset({"p", "td", "th", "tr"}),
    "td": frozenset({"p", "td", "th"}),
    "th": frozenset({"p", "td", "th"}),
    "option": frozenset({"option"}),
}


def flattened(html: str, most: int) -> str:
    """`html` with no element deeper than `most`, in linear time: the text of what is taken out stays.

    What only holds others goes first, so that paragraphs and lists stay what they are.
    """
    kept: list[str] = []
    around = _Around(most)
    end = 0
    while found := _TAG.search(html, end):
        kept.append(html[end : found.start()])
        end = found.end()
        name = (found[2] or "").lower()
        if not name or name in _VOID:
            kept.append(found[0])
        elif found[1]:
            kept.append(found[0] if around.leave(name) else _gap(name))
        else:
            shown = around.enter(name)
            raw_end = _RAW_ENDS[name].search(html, end) if name in _RAW_ENDS else None
            inside = html[end : raw_end.start()] if raw_end else ""
            end += len(inside)
            kept.append(found[0] + inside if shown else _gap(name))
    kept.append(html[end:])
    return "".join(kept)


def _gap(name: str) -> str:
    return "" if name in _INLINE else " "


class _Around:
    """The elements that are open at a place, and which of them are kept."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._open: list[tuple[str, bool]] = []
        self._counts: Counter[str] = Counter()
        self._kept = 0

    def enter(self, name: str) -> bool:
        """Whether the element is kept."""
        ended = _ENDS.get(name, frozenset())
        while self._open and self._open[-1][0] in ended:
            self._pop()
        kept = self._kept < (self._most // 2 if name in _HOLDERS else self._most)
        self._open.append((name, kept))
        self._counts[name] += 1
        self._kept += kept
        return kept

    def leave(self, name: str) -> bool:
        """Whether the element that ends was kept; what was left open inside ends with it."""
        if not self._counts[name]:
            return False
        while True:
            last, kept = self._pop()
            if last == name:
                return kept

    def _pop(self) -> tuple[str, bool]:
        last, kept = self._open.pop()
        self._counts[last] -= 1
        self._kept -= kept
        return last, kept
