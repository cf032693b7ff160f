"""What a model is shown of a page: a window of its numbered lines, or the lines that hold a pattern."""

from toolablate.tools.browser.find import lines_with
from toolablate.tools.browser.links import marked_line
from toolablate.tools.browser.page import Page
from toolablate.tools.marks import without_marks
from toolablate.tools.plain import one_line
from toolablate.tools.tool import ToolResult

MAX_CHARS = 10_000
MAX_MATCHES = 20

_TITLE_CHARS = 200
_URL_CHARS = 2_000


def window(page: Page, first: int, count: int | None) -> ToolResult:
    """The lines from `first` on: `count` of them, or as many as MAX_CHARS hold; the first one in any case."""
    total = len(page.lines)
    if first >= total:
        return ToolResult(
            output=f"Error: there is no line {first}; {_heading(page)} has lines 0-{total - 1}.",
            status="error",
            error="no_such_line",
        )
    shown: list[str] = []
    room = MAX_CHARS
    for number in range(first, min(total, first + count) if count else total):
        line = numbered(page, number)
        room -= len(line) + 1
        if room < 0 and shown:
            break
        shown.append(line)
    last = first + len(shown) - 1
    output = "\n".join((_heading(page), f"lines {first}-{last} of {total}", *shown))
    return ToolResult(output=output, truncated=last + 1 < total)


def matches(page: Page, pattern: str, *, regex: bool) -> ToolResult:
    """The lines in which a match begins. Raises PatternError."""
    found = lines_with(page, pattern, regex=regex)
    numbers = found.lines
    wanted = one_line(pattern, 200)
    if not numbers:
        return ToolResult(output=no_match(pattern, _heading(page)))
    number = f"{'' if found.complete else 'at least '}{len(numbers):,}"
    count = f"{number} {'line' if len(numbers) == 1 else 'lines'} with {wanted!r}"
    if len(numbers) > MAX_MATCHES:
        count += f", the first {MAX_MATCHES} of them"
    lines = (numbered(page, number) for number in numbers[:MAX_MATCHES])
    return ToolResult(output="\n".join((_heading(page), count, *lines)), truncated=len(numbers) > MAX_MATCHES)


def no_match(pattern: str, heading: str) -> str:
    return f"No match for {one_line(pattern, 200)!r} in {heading}."


def _heading(page: Page) -> str:
    title, url = one_line(page.title, _TITLE_CHARS), one_line(page.url, _URL_CHARS)
    return without_marks(f"[{page.id}] {title} ({url})")


def numbered(page: Page, number: int) -> str:
    """A line as a model sees it, behind its number."""
    return f"L{number}: {marked_line(page, number)}"
