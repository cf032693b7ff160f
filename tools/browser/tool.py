"""The tools `browser_open` and `browser_find`: pages as numbered lines, told apart by an explicit id."""

import re
from collections.abc import Iterator

from pydantic import Field

from toolablate.tools.browser.page import Page, PageSource, PageUnreadableError
from toolablate.tools.plain import one_line
from toolablate.tools.tool import ToolResult
from toolablate.tools.typed import Arguments, TypedTool, invalid_call

MAX_CHARS = 10_000
MAX_MATCHES = 20

_OPEN = (
    "Opens a web page as text with numbered lines: by its url, or by the page_id of a page that was opened before."
    " Long pages are shown in parts; go on with page_id and line."
)
_FIND = "Finds text, regardless of case, in a page that was opened before, and shows the lines that hold it."


class OpenArguments(Arguments):
    url: str | None = Field(default=None, description="Address of the page")
    page_id: str | None = Field(default=None, description="Id of a page that was opened before")
    line: int = Field(default=0, ge=0, description="First line to show; lines count from 0")
    num_lines: int | None = Field(default=None, ge=1, description="How many lines to show; as many as fit by default")


class FindArguments(Arguments):
    page_id: str = Field(description="Id of a page that was opened before")
    pattern: str = Field(min_length=1, max_length=200, description="Text to look for")


class Browser:
    """The pages that one trial has opened. Each call names its page: there is no current one."""

    def __init__(self, source: PageSource) -> None:
        self._source = source
        self._pages: dict[str, Page] = {}

    def open_tool(self) -> TypedTool[OpenArguments]:
        tool: TypedTool[OpenArguments] = TypedTool("browser_open", _OPEN, OpenArguments, self._open)
        self._open_spec = tool.spec
        return tool

    def find_tool(self) -> TypedTool[FindArguments]:
        return TypedTool("browser_find", _FIND, FindArguments, self._find)

    async def _open(self, arguments: OpenArguments) -> ToolResult:
        if (arguments.url is None) == (arguments.page_id is None):
            return invalid_call(self._open_spec, "give either url or page_id")
        if arguments.page_id is not None:
            page = self._pages.get(arguments.page_id)
            if page is None:
                return self._not_open(arguments.page_id)
        else:
            try:
                page = await self._source.read(arguments.url or "")
            except PageUnreadableError as error:
                return ToolResult(output=f"Error: {error.message}", status="error", error=error.code)
            # The page as it was first read stays, so that line numbers keep their meaning within a trial.
            page = self._pages.setdefault(page.id, page)
        return _view(page, arguments.line, arguments.num_lines)

    async def _find(self, arguments: FindArguments) -> ToolResult:
        page = self._pages.get(arguments.page_id)
        return _matches(page, arguments.pattern) if page else self._not_open(arguments.page_id)

    def _not_open(self, page_id: str) -> ToolResult:
        opened = ", ".join(sorted(self._pages)) or "none"
        return ToolResult(
            output=f"Error: no page {one_line(page_id, 40)!r} was opened. Opened pages: {opened}.",
            status="error",
            error="no_such_page",
        )


def _heading(page: Page) -> str:
    return f"[{page.id}] {page.title} ({page.url})"


def _view(page: Page, first: int, count: int | None) -> ToolResult:
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
        line = _numbered(page, number)
        room -= len(line) + 1
        if room < 0:
            break
        shown.append(line)
    last = first + len(shown) - 1
    output = "\n".join((_heading(page), f"lines {first}-{last} of {total}", *shown))
    return ToolResult(output=output, truncated=last + 1 < total)


def _numbered(page: Page, number: int) -> str:
    return f"L{number}: {page.lines[number].rstrip()}"


def _matches(page: Page, pattern: str) -> ToolResult:
    words = pattern.split()
    numbers = sorted(set(_lines_with(page, words))) if words else []
    if not numbers:
        return ToolResult(output=f"No match for {one_line(pattern, 200)!r} in {_heading(page)}.")
    count = f"{len(numbers)} {'line' if len(numbers) == 1 else 'lines'} with {one_line(pattern, 200)!r}"
    if len(numbers) > MAX_MATCHES:
        count += f", the first {MAX_MATCHES} of them"
    lines = (_numbered(page, number) for number in numbers[:MAX_MATCHES])
    return ToolResult(output="\n".join((_heading(page), count, *lines)), truncated=len(numbers) > MAX_MATCHES)


def _lines_with(page: Page, words: list[str]) -> Iterator[int]:
    """Lines in which a match begins. A blank in the pattern stands for any, since lines may be wrapped there."""
    expression = re.compile(r"\s+".join(map(re.escape, words)), re.IGNORECASE)
    return (page.line_at(match.start()) for match in expression.finditer(page.text))
