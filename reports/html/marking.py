"""Where quotes, and what somebody looks for, stand in the texts of a card."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice

from toolablate.analysis.attribution.signals.adoption import has_number
from toolablate.analysis.attribution.signals.answers import NUMBER, normal_number
from toolablate.reports.html.cards import Body, Card, Marks, Piece, Quote, Span, Text
from toolablate.reports.html.highlighting import as_shown

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
    head, tail = _spans(first, [quote for quote in own if not (quote.last and quote in ended)]), _spans(last, own)
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


def _first(marks: Sequence[Span], anchor: str) -> tuple[Span, ...]:
    return replace(marks[0], anchor=anchor), *marks[1:]


def _pieces(middle: str, quotes: Sequence[Quote], found: str) -> tuple[Piece, ...]:
    """What stands around quotes, and around a text that was found."""
    spans = _spans(middle, quotes)
    places = sorted([(span.start, span.end) for span in spans] + _found(middle, found))
    windows: list[tuple[int, int]] = []
    for start, stop in places:
        begin, end = max(0, start - AROUND), min(len(middle), stop + AROUND)
        if windows and begin <= windows[-1][1]:
            windows[-1] = windows[-1][0], max(windows[-1][1], end)
        elif len(windows) < MOST_PIECES:
            windows.append((begin, end))
    pieces: list[Piece] = []
    shown = 0
    for begin, end in windows:
        marks = [
            replace(span, start=span.start - begin, end=span.end - begin) for span in spans if begin <= span.start < end
        ]
        pieces.append(Piece(middle[begin:end], begin - shown, tuple(marks)))
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


def _spans(text: str, quotes: Sequence[Quote]) -> list[Span]:
    """In order, and joined where they overlap."""
    found = sorted(
        (Span(start, end, quote.says) for quote in quotes for start, end in _places(text, quote)),
        key=lambda span: (span.start, -span.end),
    )
    joined: list[Span] = []
    for span in found:
        if joined and span.start < joined[-1].end:
            before = joined[-1]
            says = before.says if span.says in before.says else f"{before.says}; {span.says}"
            joined[-1] = Span(before.start, max(before.end, span.end), says)
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
