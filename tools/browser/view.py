"""What a model is shown of a page: a window of its numbered lines, or the lines that hold a pattern."""

from toolablate.tools.browser.find import PatternError, lines_with
from toolablate.tools.browser.links import marked_line
from toolablate.tools.browser.page import Page
from toolablate.tools.frame import PageAsked, PageShown, PageView
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
    asked = PageAsked(page_id=page.id, line=first, num_lines=count)
    if first >= total:
        said = f"there is no line {first}; {shown(page).heading} has lines 0-{total - 1}"
        return said_of(page, asked, said, "no_such_line")
    lines: list[tuple[str, str]] = []
    room = MAX_CHARS
    for number in range(first, min(total, first + count) if count else total):
        line = _numbered(page, number)
        room -= sum(map(len, line)) + 1
        if room < 0 and lines:
            break
        lines.append(line)
    last = first + len(lines) - 1
    frame = PageView(shown(page), asked, f"lines {first}-{last} of {total}", tuple(lines))
    return ToolResult(output=frame.output, truncated=last + 1 < total, frame=frame)


def matches(page: Page, pattern: str, *, regex: bool) -> ToolResult:
    """The lines in which a match begins. Raises PatternError."""
    asked = PageAsked(page_id=page.id, pattern=pattern, regex=regex)
    found = lines_with(page, pattern, regex=regex)
    numbers = found.lines
    wanted = one_line(pattern, 200)
    if not numbers:
        return ToolResult(output=no_match(pattern, shown(page).heading), frame=PageView(shown(page), asked))
    number = f"{'' if found.complete else 'at least '}{len(numbers):,}"
    count = f"{number} {'line' if len(numbers) == 1 else 'lines'} with {wanted!r}"
    if len(numbers) > MAX_MATCHES:
        count += f", the first {MAX_MATCHES} of them"
    lines = tuple(_numbered(page, number) for number in numbers[:MAX_MATCHES])
    frame = PageView(shown(page), asked, count, lines)
    return ToolResult(output=frame.output, truncated=len(numbers) > MAX_MATCHES, frame=frame)


def no_match(pattern: str, heading: str) -> str:
    return f"No match for {one_line(pattern, 200)!r} in {heading}."


def no_such_link(page: Page, link: int) -> ToolResult:
    there_are = f"has links 0-{len(page.links) - 1}" if page.links else "has no links"
    asked = PageAsked(page_id=page.id, link=link)
    return said_of(page, asked, f"there is no link {link}; page {page.id} {there_are}", "no_such_link")


def bad_pattern(page: Page, pattern: str, error: PatternError, *, regex: bool) -> ToolResult:
    return said_of(page, PageAsked(page_id=page.id, pattern=pattern, regex=regex), str(error), "bad_pattern")


def said_of(page: Page, asked: PageAsked, said: str, code: str) -> ToolResult:
    """What is wrong with a call for a page that is there."""
    return ToolResult(f"Error: {said}.", status="error", error=code, frame=PageView(shown(page), asked))


def shown(page: Page) -> PageShown:
    """How a page is named in what is shown of it."""
    title, url = one_line(page.title, _TITLE_CHARS), one_line(page.url, _URL_CHARS)
    return PageShown(page.id, without_marks(title), without_marks(url), len(page.text))


def numbered(page: Page, number: int) -> str:
    """A line as a model sees it, behind its number."""
    return "".join(_numbered(page, number))


def _numbered(page: Page, number: int) -> tuple[str, str]:
    return f"L{number}: ", marked_line(page, number)
