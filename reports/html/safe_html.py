"""Markup that was made of foreign text, made safe: elements and attributes by allow-list, then checked tag by tag.

`nh3` reads markup as browsers do (html5ever) and leaves what a list allows. What it gives is looked at once more,
without a parser: where a tag does not look exactly like those of the list, all of it is refused.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from functools import lru_cache
from html import unescape
from typing import Any, Literal

from markupsafe import Markup, escape

from toolablate.reports.html import formulas
from toolablate.reports.html.cards import MarkedSpan
from toolablate.reports.html.marking import UNSEEN, inert

Kind = Literal["prose", "table"]

_PROSE = frozenset(
    re.findall(
        "[a-z]+",
        "a blockquote br code del div em hr li ol p pre span strong table tbody td th thead tr ul",
    )
)
TABLE_TAGS = frozenset(
    re.findall(
        "[a-z]+",
        "b br caption code div em i li ol p pre small span strong sub sup table tbody td tfoot th thead tr u ul",
    )
)
_CLASSES: Mapping[str, Set[str]] = {
    "p": frozenset(("md-heading", "md-lang", *(f"md-h{level}" for level in range(1, 7)))),
    "div": frozenset(("md-table", "md-code")),
    "span": frozenset(
        ("md-url", "md-image", "md-wide", "wide", "pad", "k-comment", "k-word", "k-name", "k-text", "k-number")
    ),
    "code": frozenset(("md-formula",)),
    "td": frozenset(("md-right", "md-center")),
    "th": frozenset(("md-right", "md-center")),
}
"""Words of ours. No text names one: the maker of prose reads no markup, and markup of others keeps no class."""
_SPANS = frozenset(map(str, range(1, 101)))
_PRIVATE_BUT_REFERENCE = "\U000f0000-\U000f0025\U000f0027-\U0010ffff"
BOX = 'tabindex="0" role="group" aria-label="{}"'
"""Of an element that may be wider than a window."""
_BOXES = (("div", "Table"), ("span", "Formula"))
REL = "nofollow noopener noreferrer"


class Unsafe(ValueError):
    """What was made is not what the lists allow; its message is for a reader."""


@lru_cache(maxsize=2)
def _cleaner(kind: Kind) -> Any:
    import nh3

    if kind == "prose":
        return nh3.Cleaner(
            tags=set(_PROSE | formulas.TAGS),
            attributes={"a": {"href"}, "li": {"value"}, **{tag: set(formulas.ATTRIBUTES) for tag in formulas.TAGS}},
            tag_attribute_values={
                "annotation": {"encoding": {"application/x-tex"}},
                **{tag: {"tabindex": {"0"}, "role": {"group"}, "aria-label": {label}} for tag, label in _BOXES},
                "math": {"display": {"inline", "block"}},
            },
            generic_attribute_prefixes=None,
            allowed_classes={tag: set(names) for tag, names in _CLASSES.items()},
            set_tag_attribute_values={"a": {"target": "_blank"}},
            link_rel=REL,
            url_schemes={"http", "https"},
            url_relative="deny",
        )
    return nh3.Cleaner(
        tags=set(TABLE_TAGS),
        attributes={},
        tag_attribute_values={
            cell: {"colspan": set(_SPANS), "rowspan": set(_SPANS), "scope": {"row", "col"}} for cell in ("td", "th")
        },
        clean_content_tags={"script", "style"},
        link_rel=None,
    )


_HREF = re.compile(r"https?://[^\s\"'<>\\`]{1,2000}", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Node:
    """A tag as it is written, or a text as it is read. `tag` is "" for a text, and `end` says that it closes; `value`
    is the number of an item."""

    text: str
    tag: str = ""
    end: bool = False
    value: str = ""


def may_lead_to(address: str) -> bool:
    """Whether a text may link there: an address of the web in full, without characters that are not seen."""
    return _HREF.fullmatch(address) is not None and not PRIVATE.search(address.replace(_REFERENCE, ""))


def safe(markup: str, kind: Kind) -> str:
    """Markup of the lists alone. Raises Unsafe where anything else is left.

    In it are still the characters that `hidden` hid: `written` writes it for a page.
    """
    found: str = _cleaner(kind).clean(markup)
    if _PATTERNS[kind].fullmatch(found) is None:
        raise Unsafe("it would have become something that no text may be")
    return found


def deepest(markup: str) -> int:
    """How many elements of safe markup are within each other."""
    depth = most = 0
    for end, tag in _ELEMENT.findall(markup):
        depth += 0 if tag in ("br", "hr") else -1 if end else 1
        most = max(most, depth)
    return most


def _pattern(tags: Iterable[str], whole: Iterable[str]) -> re.Pattern[str]:
    """Of a text in which each tag is one of these, without attributes, or as these patterns have it."""
    names = "|".join(sorted(tags))
    return re.compile(f"(?:[^<]++|</?(?:{names})>|<(?:{'|'.join(whole)})>)*+", re.DOTALL)


def _classed(tag: str) -> str:
    return f'{tag} class="(?:{"|".join(sorted(_CLASSES[tag]))})(?: md-h[1-6])?"'


_FORMULA = "|".join(sorted(formulas.TAGS))
_PATTERNS = {
    "prose": _pattern(
        _PROSE - {"a"} | formulas.TAGS,
        (
            *map(_classed, _CLASSES),
            rf"""a href="https?://[^\s"'<>\\`{_PRIVATE_BUT_REFERENCE}]{{1,9000}}" target="_blank" rel="{REL}\"""",
            r"/a",
            *(f'{tag} class="md-[a-z]+" {BOX.format(label)}' for tag, label in _BOXES),
            'li value="[0-9]{1,9}"',
            'math display="(?:inline|block)"',
            'annotation encoding="application/x-tex"',
            rf'(?:{_FORMULA})(?: (?:{"|".join(sorted(formulas.ATTRIBUTES))})="[a-z0-9 .-]*")+',
        ),
    ),
    "table": _pattern(TABLE_TAGS, ('t[dh](?: (?:(?:col|row)span="[0-9]{1,3}"|scope="(?:row|col)"))+',)),
}
_NODE = re.compile(r"<(/?)([a-z]+)[^>]*>|[^<]+")
_ELEMENT = re.compile("<(/?)([a-z]+)")
_VALUE = re.compile('<li value="([0-9]+)">')


def _nodes(markup: str) -> Iterator[Node]:
    for found in _NODE.finditer(markup):
        if found[2] is None:
            yield Node(unescape(found[0]))
        else:
            value = _VALUE.fullmatch(found[0])
            yield Node(found[0], found[2], bool(found[1]), value[1] if value else "")


# Characters that have to survive a parser: what is not seen, and references that it would read.


_HIDDEN = re.compile(f"[{UNSEEN}]|&(?=#?[0-9A-Za-z]{{1,40}};)")
_NOT_SEEN = re.compile(f"[{UNSEEN}]")
PRIVATE = re.compile("[\U000f0000-\U0010ffff]")
_PLANE, _TAGS_PLANE = 0xF0000, 0x100000
_REFERENCE = chr(_PLANE + ord("&"))
_NOT_LETTERS = re.compile(f"[\x00-\x2f\x3a-\x40\x5b-\x60\x7b-\x7f\\s{UNSEEN}\U000f0000-\U0010ffff]+")


def hidden(text: str) -> str:
    """With a private character for each that a parser would drop, replace or read as another. Raises Unsafe for a text
    that has such private characters of its own."""
    if PRIVATE.search(text):
        raise Unsafe("it has characters for private use")
    return _HIDDEN.sub(_hide, text)


def _hide(found: re.Match[str]) -> str:
    code = ord(found[0])
    return chr(_TAGS_PLANE + code - 0xE0000 if code >= 0xE0000 else _PLANE + code)


def revealed(text: str) -> str:
    """What `hidden` hid."""
    return PRIVATE.sub(_reveal, text)


def _reveal(found: re.Match[str]) -> str:
    code = ord(found[0])
    return chr(code - _TAGS_PLANE + 0xE0000 if code >= _TAGS_PLANE else code - _PLANE)


def letters(text: str) -> str:
    """What no markup consumes: all but blanks, unseen characters and the signs of ASCII."""
    return _NOT_LETTERS.sub("", text)


# Nodes written out, with marks.


_PRESENTED = re.compile("<math[^>]*>.*?<annotation[^>]*>", re.DOTALL)
_TAG = re.compile("<[^>]*>")


def said(markup: str) -> str:
    """The letters that safe markup shows, in order: numbers of items among them, and of a formula its source."""
    text = _TAG.sub("", _VALUE.sub(r"\1", _PRESENTED.sub("", markup)))
    return letters(unescape(text))


def written(markup: str, marks: Sequence[tuple[int, int, MarkedSpan]] = ()) -> Markup:
    """Safe markup for a page, with what nobody would see named. A mark is a stretch of the letters that `said` gives,
    with what it says; it may begin and end in different elements, and has its anchor at the first."""
    # Most that is hidden are signs that begin references, which mean the same in texts and addresses.
    markup = markup.replace(_REFERENCE, "&amp;")
    if not marks and not PRIVATE.search(markup) and not _NOT_SEEN.search(markup):
        return Markup(markup)  # noqa: S704 - as `safe` gave it
    writer, found = _Writer(marks), tuple(_nodes(markup))
    for place, node in enumerate(found):
        writer.node(found, place, node)
    return Markup("").join(writer.parts)


class _Writer:
    def __init__(self, marks: Sequence[tuple[int, int, MarkedSpan]]) -> None:
        self.parts: list[Markup] = []
        self._marks = list(marks)
        self._place = 0
        self._anchored: set[int] = set()
        self._formula = self._source = self._marking = False

    def node(self, found: Sequence[Node], place: int, node: Node) -> None:
        if node.tag == "math":
            self._math(found, place, node)
        elif node.tag:
            if node.tag == "annotation":
                self._source = not node.end
            self._place += len(letters(node.value))
            self.parts.append(Markup(node.text))  # noqa: S704 - a tag of the lists
        elif self._formula:
            if self._source:
                self._place += len(letters(node.text))
            # No element may be in it.
            self.parts.append(escape(_named(revealed(node.text))))
        else:
            self._text(node.text)

    def _math(self, found: Sequence[Node], place: int, node: Node) -> None:
        """A mark that is in a formula is around all of it."""
        self._formula = not node.end
        if node.end:
            self.parts.append(Markup("</math></mark>") if self._marking else Markup("</math>"))
            self._marking = False
            return
        source = next((place for place in range(place, len(found)) if found[place].tag == "annotation"), place)
        end = self._place + len(letters(found[source + 1].text)) if source + 1 < len(found) else self._place
        touched = next((each for each in self._marks if each[0] < end and self._place < each[1]), None)
        if touched is not None:
            self.parts.append(self._opened(touched))
            self._marking = True
        self.parts.append(Markup(node.text))  # noqa: S704 - a tag of the lists

    def _text(self, text: str) -> None:
        count = len(letters(text))
        own = [each for each in self._marks if each[0] < self._place + count and self._place < each[1]]
        if not own:
            self.parts.append(inert(revealed(text)))
        else:
            begin = 0
            for mark in own:
                start = _position(text, max(0, mark[0] - self._place))
                stop = _position(text, min(count, mark[1] - self._place) - 1) + 1
                self.parts.append(inert(revealed(text[begin:start])))
                self.parts += (self._opened(mark), inert(revealed(text[start:stop])), Markup("</mark>"))
                begin = stop
            self.parts.append(inert(revealed(text[begin:])))
        self._place += count

    def _opened(self, mark: tuple[int, int, MarkedSpan]) -> Markup:
        start, _, span = mark
        anchor = span.anchor if start not in self._anchored else ""
        self._anchored.add(start)
        return Markup('<mark{} title="{}">').format(Markup(' id="{}"').format(anchor) if anchor else "", span.says)


def _position(text: str, number: int) -> int:
    """Where the letter of this number is, counted from 0."""
    for place, char in enumerate(text):
        if letters(char):
            if number == 0:
                return place
            number -= 1
    return len(text)


def _named(text: str) -> str:
    return _NOT_SEEN.sub(lambda found: f"U+{ord(found[0]):04X}", text)
