"""Outputs as the tools that made them have them: what is a tool's own in them, and what it found. No model is shown it;
it is for whoever puts something in the place of what was found."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date


@dataclass(frozen=True, slots=True)
class Printed:
    """What a program printed, and what the sandbox says behind it: that the cell was stopped, or its output cut."""

    text: str
    note: str = ""


@dataclass(frozen=True, slots=True)
class Entry:
    """One result of a list, without its number: a title, below it the address, below that an extract."""

    text: str
    url: str


@dataclass(frozen=True, slots=True)
class Listed:
    """A list of results; `heading` repeats what was asked. `most` and `before` are those of the call."""

    heading: str
    entries: tuple[Entry, ...]
    most: int
    before: date | None = None

    @property
    def output(self) -> str:
        return listed(self.heading, [entry.text for entry in self.entries])


def listed(heading: str, entries: Sequence[str]) -> str:
    """Results behind their numbers."""
    return "\n".join((heading, *(f"{rank}. {entry}" for rank, entry in enumerate(entries, start=1))))


@dataclass(frozen=True, slots=True)
class PageAsked:
    """What a call wanted of the browser: a page by its address, by its id, or by the number of a link on the page with
    that id, from a line on; or, where there is a `pattern`, the lines that hold it."""

    url: str | None = None
    page_id: str | None = None
    link: int | None = None
    line: int = 0
    num_lines: int | None = None
    pattern: str | None = None
    regex: bool = False


@dataclass(frozen=True, slots=True)
class PageShown:
    """A page as it is named above its lines, and how many characters the whole of it has."""

    id: str
    title: str
    url: str
    chars: int

    @property
    def heading(self) -> str:
        return f"[{self.id}] {self.title} ({self.url})"


@dataclass(frozen=True, slots=True)
class PageView:
    """Lines of a page, each behind its number, under the page's heading and a line that counts them. Without lines, the
    output is what the browser says of the page: that it has no such line, no match, no such link."""

    page: PageShown
    asked: PageAsked
    count: str = ""
    lines: tuple[tuple[str, str], ...] = ()

    @property
    def output(self) -> str:
        return "\n".join((self.page.heading, self.count, *(f"{number}{text}" for number, text in self.lines)))


Frame = Printed | Listed | PageView
