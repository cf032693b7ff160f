"""A page as numbered lines with numbered links, and where pages come from."""

import re
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property, lru_cache, partial
from itertools import accumulate
from typing import Any, Protocol
from urllib.parse import urlsplit

from toolablate.tools.text import one_line, plain_text, without_marks
from toolablate.traces.records import Link, Lookup, digest_text

LINE_CHARS = 160


class PageUnreadableError(Exception):
    """A page that cannot be shown, which a model may be told; `code` is a stable word (`http_404`)."""

    def __init__(self, message: str, *, code: str, lookup: Lookup | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.code = code
        self.lookup = lookup

    def __reduce__(self) -> tuple[Any, ...]:
        return partial(type(self), code=self.code, lookup=self.lookup), (self.message,)


@dataclass(frozen=True)
class Page:
    """A page's text as lines, counted from 0; a line that ends a paragraph ends in `\\n`.

    `links` are spans of `text`, numbered by their place in the tuple. `lookup` is how it was found.
    """

    url: str
    title: str
    lines: tuple[str, ...]
    links: tuple[Link, ...] = ()
    lookup: Lookup | None = None

    @classmethod
    def of(cls, url: str, title: str, text: str, links: tuple[Link, ...] = (), lookup: Lookup | None = None) -> "Page":
        """Where `text` has links it is plain text already (see `plain_text`) and has no newline at its ends."""
        return cls(url, title, tuple(_wrapped(text if links else plain_text(text))), links, lookup)

    @cached_property
    def id(self) -> str:
        """Made of the URL, so that it does not depend on the order in which pages were opened."""
        return digest_text(self.url)[:8]

    @cached_property
    def text(self) -> str:
        return "".join(self.lines)

    def links_of_line(self, number: int) -> Iterator[tuple[int, int, int]]:
        """The links with text on that line, from left to right: the link's number, and where in the line its text
        begins and ends. What lies within another link already, or outside of the text, is left out."""
        line_start = self._starts[number]
        line_end = line_start + len(self.lines[number])
        position = line_start
        order, starts = self._link_order
        for index in range(max(bisect_right(starts, line_start) - 1, 0), len(order)):
            if starts[index] >= line_end:
                break
            link = self.links[order[index]]
            start, end = max(link.start, position), min(link.end, line_end)
            if start < end:
                yield order[index], start - line_start, end - line_start
                position = end

    @cached_property
    def _starts(self) -> list[int]:
        return list(accumulate(map(len, self.lines[:-1]), initial=0))

    @cached_property
    def _link_order(self) -> tuple[list[int], list[int]]:
        """Numbers of the links in the order in which they begin, and where they begin."""
        starts = [link.start for link in self.links]
        order = sorted(range(len(starts)), key=starts.__getitem__)
        return order, [starts[number] for number in order]


def _wrapped(text: str) -> Iterator[str]:
    """Lines of at most LINE_CHARS whose concatenation is the text; cut behind a blank where there is one."""
    for paragraph in text.strip("\n").split("\n"):
        if len(paragraph) <= LINE_CHARS:
            yield paragraph + "\n"
            continue
        start = 0
        while len(paragraph) - start > LINE_CHARS:
            blank = paragraph.rfind(" ", start + 1, start + LINE_CHARS)
            end = blank + 1 if blank > 0 else start + LINE_CHARS
            yield paragraph[start:end]
            start = end
        yield paragraph[start:] + "\n"


class PageSource(Protocol):
    """Reads pages for all trials of a run; keeps no state that a trial could notice."""

    async def read(self, url: str) -> Page:
        """Raises PageUnreadableError; the page's `url` is where it was found in the end, after redirects."""
        ...


# Links as a model sees them in a line of text, in the form that gpt-oss was trained on.


HOST_CHARS = 60


def marked_line(page: Page, number: int) -> str:
    """A line of the page with its links marked, without blanks at its end."""
    line = page.lines[number]
    if not page.links:
        return without_marks(line).rstrip()
    parts: list[str] = []
    position = 0
    for link, start, end in page.links_of_line(number):
        parts.append(without_marks(line[position:start]))
        parts.append(_marked(page, link, line[start:end]))
        position = end
    parts.append(without_marks(line[position:]))
    return "".join(parts).rstrip()


def _marked(page: Page, link: int, anchor: str) -> str:
    """Blanks at the ends of an anchor stay outside of the brackets; nothing but blanks is no link to see."""
    words = anchor.strip()
    if not words:
        return anchor
    before, _, after = anchor.partition(words)
    host = _host(page.links[link].url)
    shown = words.replace("†", "‡")
    elsewhere = "" if host == _host(page.url) else f"†{host}"
    return f"{before}【{link}†{shown}{elsewhere}】{after}"


@lru_cache(maxsize=8_192)
def _host(url: str) -> str:
    """Host and port, or the scheme of what has no host (`mailto`); whatever stands before an @ is no part of it."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return "?"
    host = parts.netloc.rpartition("@")[2].lower() or parts.scheme or "?"
    return re.sub(r"[【】†]", "?", one_line(host, HOST_CHARS))
