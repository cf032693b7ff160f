"""Texts as HTML: code in its colours, results and pages with their titles, addresses and line numbers set off."""

import re
from functools import lru_cache
from typing import Any

from markupsafe import Markup

from toolablate.traces.html.cards import Form
from toolablate.traces.html.inert import inert, without_colours

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


def shown(text: str, form: Form) -> Markup:
    """What stands in a `pre`: everything that a text says, and nothing that it does."""
    match form:
        case "code":
            return _highlighted(text, "python")
        case "json":
            return _highlighted(text, "json")
        case "output":
            return _found(text) if _FOUND.match(text) else inert(without_colours(text))
        case "prose":
            return inert(text)


@lru_cache(maxsize=2_000)
def _highlighted(text: str, language: str) -> Markup:
    if len(text) > HIGHLIGHTED_CHARS or max(map(len, text.split("\n")), default=0) > _LONG_LINE:
        return inert(text)
    parts = []
    for kind, value in _lexer(language).get_tokens(text):
        name = _class_of(kind)
        parts.append(Markup('<span class="{}">{}</span>').format(name, inert(value)) if name else inert(value))
    return Markup("").join(parts)


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


def _found(text: str) -> Markup:
    """Line by line as the model saw it. Addresses are no links: who reads a trace does not visit what is in it."""
    return Markup("\n").join(map(_found_line, text.split("\n")))


def _found_line(line: str) -> Markup:
    found = _LINE.fullmatch(line)
    if found is None:
        return inert(line)
    if found["number"]:
        return Markup('<span class="found-number">{}</span>{}').format(inert(found["number"]), inert(found["line"]))
    kind = next(name for name in ("url", "title", "heading") if found[name])
    return Markup('<span class="found-{}">{}</span>').format(kind, inert(line))
