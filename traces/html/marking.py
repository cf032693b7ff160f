"""Where quotes, and what somebody looks for, stand in the texts of a card."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import islice

from toolablate.traces.analysis.attribution.signals.adoption import has_number
from toolablate.traces.analysis.attribution.signals.answers import NUMBER, normal_number
from toolablate.traces.html.cards import Body, Card, Marks, Quote, Span, Text
from toolablate.traces.html.highlighting import as_shown

MOST_PLACES = 20
"""Of one quote in one text: an answer may stand in a table a thousand times."""
LONGEST = 400
"""Characters of a quote that are looked for."""
WHOLE = 100
"""Longer quotes may be cut within a word; shorter ones are looked for as whole words."""
_SIGNS, _BOLD = re.compile(r"^[\W_]+|[\W_]+$"), re.compile("[*`]")
"""What is left out of a quote: signs around its words, and marks of bold type and code."""


def marked(card: Card, quotes: Sequence[Quote]) -> Card:
    """The same with the places of these quotes marked: as many as are found in what is shown of it. The first has an id
    that links lead to, and a text that is folded is opened."""
    if not quotes:
        return card
    anchor = iter((f"event-{card.number}-quote",))
    panels = [
        replace(panel, bodies=tuple(_marked(body, quotes, anchor) for body in panel.bodies)) for panel in card.panels
    ]
    return replace(card, panels=tuple(panels))


def places_of(cards: Sequence[Card], marks: Mapping[int, Marks]) -> Mapping[int, str]:
    """The id of the first quote that is marked in an event, by its number; those without any are not among them."""
    found = {}
    for number, each in marks.items():
        if each.quotes and number < len(cards):
            bodies = [body for panel in marked(cards[number], each.quotes).panels for body in panel.bodies]
            if any(isinstance(body, Text) and (body.marks or body.tail_marks) for body in bodies):
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
    """Whether a text, of one case as `casefold` has it, stands in what is shown of an event."""
    bodies = [body for panel in card.panels for body in panel.bodies if isinstance(body, Text)]
    return any(folded in as_shown(text, body.form).casefold() for body in bodies for text in (body.head, body.tail))


def _marked(body: Body, quotes: Sequence[Quote], anchor: Iterator[str]) -> Body:
    own = [quote for quote in quotes if isinstance(body, Text) and quote.part == body.part]
    if not own or not isinstance(body, Text):
        return body
    tail = _spans(as_shown(body.tail, body.form), own)
    last = [quote for quote in own if not (quote.last and tail)]
    head = _spans(as_shown(body.head, body.form), last)
    if not (head or tail):
        return body
    first = next(anchor, "")
    if head:
        head[0] = replace(head[0], anchor=first)
    else:
        tail[0] = replace(tail[0], anchor=first)
    return replace(body, folded=False, marks=tuple(head), tail_marks=tuple(tail))


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
    pattern = _pattern(quote)
    if pattern is None:
        return []
    found = (match.span() for match in pattern.finditer(text) if _is_it(match[0], quote))
    return list(found)[-1:] if quote.last else list(islice(found, MOST_PLACES))


def _is_it(text: str, quote: Quote) -> bool:
    return quote.kind != "number" or has_number([float(normal_number(text))], quote.text)


def _pattern(quote: Quote) -> re.Pattern[str] | None:
    """None where nothing of a quote can be looked for.

    No letter of it can stand for what may be between two of them, so that there is one way at most to read a text from
    a place on, and looking takes linear time.
    """
    if quote.kind == "number":
        return NUMBER
    between, signs = (r"[\W_]*", _SIGNS) if quote.kind == "words" else (r"[\s*`]+", _BOLD)
    words = [bare for word in quote.text[:LONGEST].split() if (bare := signs.sub("", word))]
    if not words:
        return None
    pattern = between.join(map(re.escape, words) if quote.kind == "words" else map(_letters, words))
    if len(quote.text) < WHOLE:
        pattern = f"{_bound(words[0][0], '(?<!')}{pattern}{_bound(words[-1][-1], '(?!')}"
    return re.compile(pattern, re.IGNORECASE)


def _letters(word: str) -> str:
    return "[*`]*".join(map(re.escape, word))


def _bound(letter: str, way: str) -> str:
    """Scripts that write no blanks have none."""
    return f"{way}[A-Za-z0-9])" if letter.isalnum() and letter.isascii() else ""
