"""Foreign text on a page: inert, highlighted, with what was searched for marked."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import islice
from typing import Any

from markupsafe import Markup, escape

from toolablate.analysis.attribution.signals.adoption import has_number
from toolablate.analysis.attribution.signals.answers import NUMBER, normal_number
from toolablate.reports.html.cards import Body, Card, Excerpt, Form, MarkedSpan, Marks, Quote, Text
from toolablate.reports.html.columns import aligned, has_wide

UNSEEN = (
    "\x00-\x08\x0b-\x1f\x7f-\x9f\xad"  # all controls but tab and line feed, soft hyphens
    "\u061c\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff"  # text that reads as other text, or is not seen at all
    "\u2028\u2029\ufff9-\ufffb"  # line separators and annotations
    "\U000e0000-\U000e007f\ud800-\udfff"  # invisible tag characters, lone surrogates
)
"""What nobody would see, as a set of a pattern."""
_UNSEEN = re.compile(f"([{UNSEEN}])\\1*")
_COLOURS = re.compile("\x1b\\[[0-9;:]{0,64}m")


def inert(text: str) -> Markup:
    """Escaped, with characters that nobody would see named by their code points; for an element, not for an attribute.

    Where one of them is repeated, it is named once and counted.
    """
    return Markup(_UNSEEN.sub(_named, str(escape(text.replace("\r\n", "\n")))))  # noqa: S704 - escaped just here


def without_colours(text: str) -> str:
    """Without the sequences by which a terminal is told colours, as tracebacks of IPython have them. Any other escape
    sequence stays, to be seen."""
    return _COLOURS.sub("", text) if "\x1b" in text else text


def _named(found: re.Match[str]) -> str:
    count = len(found[0])
    times = f" ×{count:,}" if count > 1 else ""
    return f'<span class="unseen">U+{ord(found[1]):04X}{times}</span>'


# Texts as HTML: code in its colours, results and pages with their titles, addresses and line numbers set off.


Token = tuple[str, str]
"""The class of a piece of text, "" for none, and the piece."""

HIGHLIGHTED_CHARS = 12_000
"""Longer code is shown in one colour: its reader works at about a megabyte a second, and is no match for any input."""
_LONG_LINE = 2_000

_CLASSES = {
    "Comment": "k-comment",
    "Keyword": "k-word",
    "Name.Builtin": "k-name",
    "Name.Function": "k-name",
    "Name.Class": "k-name",
    "Name.Decorator": "k-name",
    "Name.Tag": "k-name",
    "Literal.String": "k-text",
    "Literal.Number": "k-number",
    "Operator.Word": "k-word",
}
_LINE = re.compile(
    r"(?P<number>L\d{1,9}: ?)(?P<line>.*)"  # a line of a page
    r"|(?P<url>[ ]{1,8}https?://\S{1,4000}(?: .*)?)"
    r"|(?P<title>\d{1,4}\. .*)"
    r"|(?P<heading>\[[0-9a-f]{8}\] .*)"
)
_FOUND = re.compile(r"(?:Results for |\[[0-9a-f]{8}\] )")


def as_shown(text: str, form: Form) -> str:
    """What of a text is written out: places in it are of this."""
    text = text.replace("\r\n", "\n")
    return without_colours(text) if form == "output" else text


def shown(text: str, form: Form, marks: Sequence[MarkedSpan] = ()) -> Markup:
    """What stands in a `pre`: everything that a text says, and nothing that it does. `marks` are places of what
    `as_shown` gives, in order and apart."""
    tokens = _tokens(as_shown(text, form), form)
    return _written(_apart(tokens, marks), marks) if marks else Markup("").join(map(_token, tokens))


def _tokens(text: str, form: Form) -> Sequence[Token]:
    match form:
        case "code":
            return _highlighted(text, "python")
        case "json":
            return _highlighted(text, "json")
        case "output" if _FOUND.match(text):
            return list(_found_tokens(text))
        case "output" if has_wide(text):
            return list(aligned(text))
        case _:
            return (("", text),)


def _token(token: Token) -> Markup:
    name, text = token
    if name.startswith("pad-"):
        return Markup('<span class="pad">{}</span>').format(" " * int(name.removeprefix("pad-")))
    return Markup('<span class="{}">{}</span>').format(name, inert(text)) if name else inert(text)


def _apart(tokens: Iterable[Token], marks: Sequence[MarkedSpan]) -> Iterator[tuple[int, Token]]:
    """The tokens with where each begins, cut where a mark begins or ends."""
    cuts = [place for mark in marks for place in (mark.start, mark.end)]
    place, upcoming = 0, 0
    for name, text in tokens:
        begin, end = place, place + len(text)
        while upcoming < len(cuts) and cuts[upcoming] < end:
            if cuts[upcoming] > begin:
                yield begin, (name, text[begin - place : cuts[upcoming] - place])
                begin = cuts[upcoming]
            upcoming += 1
        yield begin, (name, text[begin - place :])
        place = end


def _written(tokens: Iterable[tuple[int, Token]], marks: Sequence[MarkedSpan]) -> Markup:
    parts, opening, closing = [], iter(marks), 0
    upcoming = next(opening, None)
    for begin, token in tokens:
        if closing and begin >= closing:
            parts.append(Markup("</mark>"))
            closing = 0
        if upcoming is not None and begin == upcoming.start:
            parts.append(Markup('<mark{} title="{}">').format(_id(upcoming.anchor), upcoming.says))
            closing, upcoming = upcoming.end, next(opening, None)
        parts.append(_token(token))
    return Markup("").join([*parts, Markup("</mark>")] if closing else parts)


def _id(anchor: str) -> Markup:
    return Markup(' id="{}"').format(anchor) if anchor else Markup("")


@lru_cache(maxsize=2_000)
def _highlighted(text: str, language: str) -> Sequence[Token]:
    if len(text) > HIGHLIGHTED_CHARS or max(map(len, text.split("\n")), default=0) > _LONG_LINE:
        return (("", text),)
    found = tuple((_class_of(kind), value) for kind, value in _lexer(language).get_tokens(text))
    # The lexer leaves out a mark of byte order, and places are of the whole text.
    return found if sum(len(value) for _, value in found) == len(text) else (("", text),)


_LANGUAGES = {
    "bash": "bash",
    "c": "c",
    "c++": "cpp",
    "cpp": "cpp",
    "ipython": "python",
    "java": "java",
    "javascript": "javascript",
    "js": "javascript",
    "json": "json",
    "py": "python",
    "python": "python",
    "python3": "python",
    "r": "r",
    "sh": "bash",
    "shell": "bash",
    "sql": "sql",
}
"""As people name them; lexers of others were not tried with what is made to keep them busy."""


def in_colours(code: str, language: str) -> Sequence[Token]:
    """Code in a language by its usual name; in one colour where that is no language that is known here, with its tables
    straight."""
    known = _LANGUAGES.get(language)
    if known is not None:
        return _highlighted(code, known)
    return list(aligned(code)) if has_wide(code) else (("", code),)


@lru_cache(maxsize=16)
def _lexer(language: str) -> Any:
    from pygments.lexers import get_lexer_by_name  # type: ignore[import-untyped]

    return get_lexer_by_name(language, stripnl=False, ensurenl=False)


@lru_cache(maxsize=500)
def _class_of(kind: Any) -> str:
    name = str(kind).removeprefix("Token.")
    while name and name not in _CLASSES:
        name = name.rpartition(".")[0]
    return _CLASSES.get(name, "")


def _found_tokens(text: str) -> Iterator[Token]:
    """Line by line as the model saw it. Addresses are no links: who reads a trace does not visit what is in it."""
    for number, line in enumerate(text.split("\n")):
        if number:
            yield "", "\n"
        yield from _found_line(line)


def _found_line(line: str) -> Iterator[Token]:
    found = _LINE.fullmatch(line)
    if found is None:
        yield "", line
    elif found["number"]:
        yield "found-number", found["number"]
        yield "", found["line"]
    else:
        yield next(f"found-{name}" for name in ("url", "title", "heading") if found[name]), line


MOST_PLACES = 20
"""Of one quote in one text: an answer may stand in a table a thousand times."""
LONGEST = 400
"""Characters of a quote that are looked for."""
WHOLE = 100
"""Longer quotes may be cut within a word; shorter ones are looked for as whole words."""
MOST_PIECES, AROUND = 6, 400
"""Of the middle of one text, and how many characters are shown before and after what was looked for."""
APART, STEPS = 80, 20_000_000
"""Signs that may stand between two words of a quote, and letters that are compared at most where one may begin: that
bounds what a text may cost that begins with a quote again and again, and ends otherwise."""
_BEGINNING = 8
"""Letters of a quote at which it may begin."""
_SIGNS, _BOLD = re.compile(r"^[\W_]+|[\W_]+$"), re.compile("[*`]")
"""What is left out of a quote: signs around its words, and marks of bold type and code."""


def marked(card: Card, quotes: Sequence[Quote], found: str = "") -> Card:
    """The same with the places of these quotes marked. The first has an id that links lead to, and a text that is
    folded is opened. Of what is left out of a long text that is shown in which a quote stands, or the text `found`."""
    if not quotes and not found:
        return card
    anchor = iter((f"event-{card.number}-quote",))
    panels = [
        replace(panel, bodies=tuple(_marked(body, quotes, anchor, found) for body in panel.bodies))
        for panel in card.panels
    ]
    return replace(card, panels=tuple(panels))


def places_of(cards: Sequence[Card], marks: Mapping[int, Marks]) -> Mapping[int, str]:
    """The id of the first quote that is marked in an event, by its number; those without any are not among them."""
    found = {}
    for number, each in marks.items():
        if each.quotes and number < len(cards):
            bodies = [body for panel in marked(cards[number], each.quotes).panels for body in panel.bodies]
            if any(isinstance(body, Text) and _is_marked(body) for body in bodies):
                found[number] = f"event-{number}-quote"
    return found


def target(cards: Sequence[Card], places: Mapping[int, str], number: int) -> str:
    """The id to which a link to an event that is evidence leads: of its first quote, or of that in the reply which made
    the call, else of the event."""
    above = number
    while 0 < above < len(cards) and cards[above].kind == "tool_call":
        above -= 1
    return places.get(number) or places.get(above) or f"event-{number}"


def holds(card: Card, folded: str) -> bool:
    """Whether a text, of one case as `casefold` has it, stands in an event as it is shown, were all of it shown."""
    bodies = [body for panel in card.panels for body in panel.bodies if isinstance(body, Text)]
    return any(folded in as_shown(body.whole or body.head, body.form).casefold() for body in bodies)


def _is_marked(text: Text) -> bool:
    return bool(text.marks or text.tail_marks or any(piece.marks for piece in text.pieces))


def _marked(body: Body, quotes: Sequence[Quote], anchor: Iterator[str], found: str) -> Body:
    if not isinstance(body, Text):
        return body
    own = [quote for quote in quotes if quote.part == body.part]
    first, last = as_shown(body.head, body.form), as_shown(body.tail, body.form)
    ended = [quote for quote in own if _places(last, quote)]
    deeper = [quote for quote in own if quote not in ended and (quote.last or not _places(first, quote))]
    middle = as_shown(body.middle, body.form) if deeper or found else ""
    pieces = _pieces(middle, deeper, found)
    if any(piece.marks for piece in pieces):
        ended += deeper
    head, tail = spans(first, [quote for quote in own if not (quote.last and quote in ended)]), spans(last, own)
    beyond = len(middle) - sum(piece.skipped + len(piece.text) for piece in pieces)
    made = replace(body, marks=tuple(head), tail_marks=tuple(tail), pieces=pieces, beyond=beyond)
    return _anchored(replace(made, folded=False), next(anchor, "")) if _is_marked(made) else made


def _anchored(text: Text, anchor: str) -> Text:
    """With the anchor at the first of its marks."""
    if text.marks:
        return replace(text, marks=_first(text.marks, anchor))
    for place, piece in enumerate(text.pieces):
        if piece.marks:
            changed = replace(piece, marks=_first(piece.marks, anchor))
            return replace(text, pieces=(*text.pieces[:place], changed, *text.pieces[place + 1 :]))
    return replace(text, tail_marks=_first(text.tail_marks, anchor))


def _first(marks: Sequence[MarkedSpan], anchor: str) -> tuple[MarkedSpan, ...]:
    return replace(marks[0], anchor=anchor), *marks[1:]


def _pieces(middle: str, quotes: Sequence[Quote], found: str) -> tuple[Excerpt, ...]:
    """What stands around quotes, and around a text that was found."""
    known = spans(middle, quotes)
    places = sorted([(span.start, span.end) for span in known] + _found(middle, found))
    windows: list[tuple[int, int]] = []
    for start, stop in places:
        begin, end = max(0, start - AROUND), min(len(middle), stop + AROUND)
        if windows and begin <= windows[-1][1]:
            windows[-1] = windows[-1][0], max(windows[-1][1], end)
        elif len(windows) < MOST_PIECES:
            windows.append((begin, end))
    pieces: list[Excerpt] = []
    shown = 0
    for begin, end in windows:
        marks = [
            replace(span, start=span.start - begin, end=span.end - begin) for span in known if begin <= span.start < end
        ]
        pieces.append(Excerpt(middle[begin:end], begin - shown, tuple(marks)))
        shown = end
    return tuple(pieces)


def _found(text: str, wanted: str) -> list[tuple[int, int]]:
    """Whatever their case, where letters do not change in number with it."""
    low = text.lower()
    looked, sought = (low, wanted.lower()) if len(low) == len(text) else (text, wanted)
    places: list[tuple[int, int]] = []
    place = looked.find(sought) if sought else -1
    while place >= 0 and len(places) < MOST_PLACES:
        places.append((place, place + len(sought)))
        place = looked.find(sought, place + len(sought))
    return places


def spans(text: str, quotes: Sequence[Quote]) -> list[MarkedSpan]:
    """Where quotes stand in a text as it is shown: in order, and joined where they overlap."""
    found = sorted(
        (MarkedSpan(start, end, quote.says) for quote in quotes for start, end in _places(text, quote)),
        key=lambda span: (span.start, -span.end),
    )
    joined: list[MarkedSpan] = []
    for span in found:
        if joined and span.start < joined[-1].end:
            before = joined[-1]
            says = before.says if span.says in before.says else f"{before.says}; {span.says}"
            joined[-1] = MarkedSpan(before.start, max(before.end, span.end), says)
        else:
            joined.append(span)
    return joined


def _places(text: str, quote: Quote) -> list[tuple[int, int]]:
    if not text or (looked := _looked_for(quote)) is None:
        return []
    found: list[tuple[int, int]] = []
    for begun in islice(looked.begins.finditer(text), looked.tries):
        if found and begun.start() < found[-1][1]:
            continue
        whole = looked.pattern.match(text, begun.start())
        if whole is None or not _is_it(whole[0], quote):
            continue
        found.append(whole.span())
        if len(found) == MOST_PLACES and not quote.last:
            break
    return found[-1:] if quote.last else found


def _is_it(text: str, quote: Quote) -> bool:
    return quote.kind != "number" or has_number([float(normal_number(text))], quote.text)


@dataclass(frozen=True, slots=True)
class _LookedFor:
    """`begins` is found where it may begin, `tries` such places are looked at, and `pattern` is all of it."""

    begins: re.Pattern[str]
    pattern: re.Pattern[str]
    tries: int


def _looked_for(quote: Quote) -> _LookedFor | None:
    """None where nothing of a quote can be looked for.

    No letter of it can stand for what may be between two of them, so that there is one way at most to read a text from
    a place on; and of long texts so many places are looked at that it takes linear time.
    """
    if quote.kind == "number":
        return _LookedFor(NUMBER, NUMBER, STEPS // LONGEST)
    between, signs = (rf"[\W_]{{0,{APART}}}", _SIGNS) if quote.kind == "words" else (rf"[\s*`]{{1,{APART}}}", _BOLD)
    words = [bare for word in quote.text[:LONGEST].split() if (bare := signs.sub("", word))]
    if not words:
        return None
    spelled = re.escape if quote.kind == "words" else _letters
    pattern = between.join(map(spelled, words))
    if len(quote.text) < WHOLE:
        pattern = f"{_bound(words[0][0], '(?<!')}{pattern}{_bound(words[-1][-1], '(?!')}"
    # Looked ahead for, since it may begin within what looks like its beginning.
    begins = re.compile(f"(?={spelled(words[0][:_BEGINNING])})", re.IGNORECASE)
    return _LookedFor(begins, re.compile(pattern, re.IGNORECASE), STEPS // (LONGEST + APART * len(words)))


def _letters(word: str) -> str:
    return "[*`]{0,4}".join(map(re.escape, word))


def _bound(letter: str, way: str) -> str:
    """Scripts that write no blanks have none."""
    return f"{way}[A-Za-z0-9])" if letter.isalnum() and letter.isascii() else ""
