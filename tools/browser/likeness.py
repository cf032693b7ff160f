"""How the browser words that a page is empty, and how it would show a page that says something."""

from pydantic import JsonValue

from toolablate.tools.browser.page import Page
from toolablate.tools.browser.view import no_match, numbered, window
from toolablate.tools.likeness import Arguments, Likeness
from toolablate.tools.plain import one_line


def open_likeness() -> Likeness:
    return Likeness(nothing=lambda given: _page(given, ""), finding=lambda given, text: _page(given, text), form="page")


def find_likeness() -> Likeness:
    return Likeness(nothing=_no_match, finding=_match, form="matches")


def _page(given: Arguments, text: str) -> str:
    """Of a page that was named by its id alone, or by a link of it, no more than that is known."""
    url = _text(given.get("url")) or _address(given.get("id"))
    page = Page.of(url, url, text)
    output = window(page, 0, None).output
    if url:
        return output
    page_id = _text(given.get("page_id")) or _text(given.get("cursor"))
    return "\n".join((f"[{page_id}]", *output.split("\n")[1:]))


def _no_match(given: Arguments) -> str:
    return no_match(_text(given["pattern"]), f"[{_page_id(given)}]")


def _match(given: Arguments, text: str) -> str:
    lines = Page.of("", "", text)
    shown = (numbered(lines, number) for number in range(len(lines.lines)))
    return "\n".join((f"[{_page_id(given)}]", f"1 line with {one_line(_text(given['pattern']), 200)!r}", *shown))


def _page_id(given: Arguments) -> str:
    return _text(given.get("page_id")) or _text(given.get("cursor"))


def _address(value: JsonValue) -> str:
    """What gpt-oss calls `id` is an address, or the number of a link."""
    return value if isinstance(value, str) and not value.isdigit() else ""


def _text(value: JsonValue) -> str:
    return "" if value is None else str(value)
