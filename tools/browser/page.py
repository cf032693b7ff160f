"""A page as text in numbered lines, and where pages come from."""

from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate
from typing import Protocol

from toolablate.tools.plain import plain_text
from toolablate.traces.records import digest_text

LINE_CHARS = 160


class PageUnreadableError(Exception):
    """A page that cannot be shown, which a model may be told; `code` is a stable word (`http_404`)."""

    def __init__(self, message: str, *, code: str) -> None:
        super().__init__(message)
        self.message = message
        self.code = code


@dataclass(frozen=True)
class Page:
    """A page's text as lines, counted from 0; a line that ends a paragraph ends in `\\n`."""

    url: str
    title: str
    lines: tuple[str, ...]

    @classmethod
    def of(cls, url: str, title: str, text: str) -> "Page":
        return cls(url, title, tuple(_wrapped(plain_text(text))))

    @cached_property
    def id(self) -> str:
        """Made of the URL, so that it does not depend on the order in which pages were opened."""
        return digest_text(self.url)[:8]

    @cached_property
    def text(self) -> str:
        return "".join(self.lines)

    def line_at(self, offset: int) -> int:
        """The number of the line that holds the character at `offset` of the text."""
        return bisect_right(self._starts, offset) - 1

    @cached_property
    def _starts(self) -> list[int]:
        return list(accumulate((len(line) for line in self.lines[:-1]), initial=0))


def _wrapped(text: str) -> Iterator[str]:
    """Lines of at most LINE_CHARS whose concatenation is the text; cut behind a blank where there is one."""
    for paragraph in text.strip("\n").split("\n"):
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
        """Raises PageUnreadableError; its `url` is where the page was found in the end, after redirects."""
        ...
