"""Texts as HTML: code in its colours, results and pages with their titles, addresses and line numbers set off."""

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from typing import Any

from markupsafe import Markup

from toolablate.reports.html.cards import Form, Span
from toolablate.reports.html.inert import inert, without_colours

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


def shown(text: str, form: Form, marks: Sequence[Span] = ()) -> Markup:
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
            return list(_found(text))
        case _:
            return (("", text),)


def _token(token: Token) -> Markup:
    name, text = token
    return Markup('<span class="{}">{}</span>').format(name, inert(text)) if name else inert(text)


def _apart(tokens: Iterable[Token], marks: Sequence[Span]) -> Iterator[tuple[int, Token]]:
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


def _written(tokens: Iterable[tuple[int, Token]], marks: Sequence[Span]) -> Markup:
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


@lru_cache(maxsize=8)
def _lexer(language: str) -> Any:
    from pygments.lexers import get_lexer_by_name  # type: ignore[import-untyped]

    return get_lexer_by_name(language, stripnl=False, ensurenl=False)


@lru_cache(maxsize=500)
def _class_of(kind: Any) -> str:
    name = str(kind).removeprefix("Token.")
    while name and name not in _CLASSES:
        name = name.rpartition(".")[0]
    return _CLASSES.get(name, "")


def _found(text: str) -> Iterator[Token]:
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
