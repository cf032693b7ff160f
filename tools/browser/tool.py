"""The tools `browser_open` and `browser_find`, what a model is shown of a page, and their result templates."""

import asyncio
from dataclasses import dataclass, replace

from pydantic import Field, JsonValue

from toolablate.tools.browser.find import PATTERN_CHARS, PatternError, lines_with
from toolablate.tools.browser.page import Page, PageSource, PageUnreadableError, marked_line
from toolablate.tools.guards.guard import Guard, Inspection, NoGuard
from toolablate.tools.text import MISS_MESSAGES, one_line, told, without_marks
from toolablate.tools.tool import (
    Arguments,
    CallArguments,
    PageAsked,
    PageShown,
    PageView,
    ResultTemplate,
    ToolResult,
    TypedTool,
    invalid_call,
)
from toolablate.traces.records import Lookup, Marker, digest_json

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
    parsed = PageView(shown(page), asked, f"lines {first}-{last} of {total}", tuple(lines))
    return ToolResult(output=parsed.output, truncated=last + 1 < total, parsed=parsed)


def matches(page: Page, pattern: str, *, regex: bool) -> ToolResult:
    """The lines in which a match begins. Raises PatternError."""
    asked = PageAsked(page_id=page.id, pattern=pattern, regex=regex)
    found = lines_with(page, pattern, regex=regex)
    numbers = found.lines
    wanted = one_line(pattern, 200)
    if not numbers:
        return ToolResult(output=no_match(pattern, shown(page).heading), parsed=PageView(shown(page), asked))
    number = f"{'' if found.complete else 'at least '}{len(numbers):,}"
    count = f"{number} {'line' if len(numbers) == 1 else 'lines'} with {wanted!r}"
    if len(numbers) > MAX_MATCHES:
        count += f", the first {MAX_MATCHES} of them"
    lines = tuple(_numbered(page, number) for number in numbers[:MAX_MATCHES])
    parsed = PageView(shown(page), asked, count, lines)
    return ToolResult(output=parsed.output, truncated=len(numbers) > MAX_MATCHES, parsed=parsed)


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
    return ToolResult(f"Error: {said}.", status="error", error=code, parsed=PageView(shown(page), asked))


def shown(page: Page) -> PageShown:
    """How a page is named in what is shown of it."""
    title, url = one_line(page.title, _TITLE_CHARS), one_line(page.url, _URL_CHARS)
    return PageShown(page.id, without_marks(title), without_marks(url), len(page.text))


def numbered(page: Page, number: int) -> str:
    """A line as a model sees it, behind its number."""
    return "".join(_numbered(page, number))


def _numbered(page: Page, number: int) -> tuple[str, str]:
    return f"L{number}: ", marked_line(page, number)


# How the browser words that a page is empty, and how it would show a page that says something.


def open_template() -> ResultTemplate:
    return ResultTemplate(
        nothing=lambda given: _page(given, ""), finding=lambda given, text: _page(given, text), form="page"
    )


def find_template() -> ResultTemplate:
    return ResultTemplate(nothing=_no_match, finding=_match, form="matches")


def _page(given: CallArguments, text: str) -> str:
    """Of a page that was named by its id alone, or by a link of it, no more than that is known."""
    url = _text(given.get("url")) or _address(given.get("id"))
    page = Page.of(url, url, text)
    output = window(page, 0, None).output
    if url:
        return output
    page_id = _text(given.get("page_id")) or _text(given.get("cursor"))
    return "\n".join((f"[{page_id}]", *output.split("\n")[1:]))


def _no_match(given: CallArguments) -> str:
    return no_match(_text(given["pattern"]), f"[{_page_id(given)}]")


def _match(given: CallArguments, text: str) -> str:
    lines = Page.of("", "", text)
    shown = (numbered(lines, number) for number in range(len(lines.lines)))
    return "\n".join((f"[{_page_id(given)}]", f"1 line with {one_line(_text(given['pattern']), 200)!r}", *shown))


def _page_id(given: CallArguments) -> str:
    return _text(given.get("page_id")) or _text(given.get("cursor"))


def _address(value: JsonValue) -> str:
    """What gpt-oss calls `id` is an address, or the number of a link."""
    return value if isinstance(value, str) and not value.isdigit() else ""


def _text(value: JsonValue) -> str:
    return "" if value is None else str(value)


_OPEN = (
    "Opens a web page as text with numbered lines: by its url; by the page_id of a page that was opened before; or,"
    " with page_id and link, the page that a link of that page leads to. Links are shown as 【number†text】, or"
    " 【number†text†host】 where they lead to another host. Long pages are shown in parts; go on with page_id and line."
)
_FIND = (
    "Finds text, regardless of case, in a page that was opened before, and shows the lines that hold it. With regex the"
    " pattern is a regular expression in RE2 syntax."
)

_LARGE_CHARS = 200_000


class OpenArguments(Arguments):
    url: str | None = Field(default=None, description="Address of the page")
    link: int | None = Field(default=None, ge=0, description="Number of a link of the page with that page_id")
    page_id: str | None = Field(default=None, description="Id of a page that was opened before")
    line: int = Field(default=0, ge=0, description="First line to show; lines count from 0")
    num_lines: int | None = Field(default=None, ge=1, description="How many lines to show; as many as fit by default")


class FindArguments(Arguments):
    page_id: str = Field(description="Id of a page that was opened before")
    pattern: str = Field(min_length=1, max_length=PATTERN_CHARS, description="Text to look for")
    regex: bool = Field(default=False, description="Whether the pattern is a regular expression")


@dataclass(frozen=True, slots=True)
class _Opened:
    page: Page
    markers: tuple[Marker, ...]


class _RefusedError(Exception):
    """A call that ends in this result instead of a page."""

    def __init__(self, result: ToolResult) -> None:
        super().__init__(result.output)
        self.result = result


class Browser:
    """The pages that one trial has opened. Each call names its page: there is no current one."""

    def __init__(self, source: PageSource, guard: Guard | None = None) -> None:
        self._source = source
        self._guard = guard or NoGuard()
        self._opened: dict[str, _Opened] = {}

    def open_tool(self, name: str = "browser_open", description: str = _OPEN) -> TypedTool[OpenArguments]:
        async def run(arguments: OpenArguments) -> ToolResult:
            mistake = _mistake(arguments)
            return invalid_call(tool.spec, mistake) if mistake else await self.open(arguments)

        tool: TypedTool[OpenArguments] = TypedTool(name, description, OpenArguments, run, template=open_template())
        return tool

    def find_tool(self, name: str = "browser_find", description: str = _FIND) -> TypedTool[FindArguments]:
        return TypedTool(name, description, FindArguments, self.find, template=find_template())

    async def open(self, arguments: OpenArguments) -> ToolResult:
        lookup = None
        try:
            if arguments.url is not None:
                opened, lookup = await self._read(arguments.url)
            else:
                opened = self._page(arguments.page_id or "")
                if arguments.link is not None:
                    opened, lookup = await self._read(_target(opened.page, arguments.link))
        except _RefusedError as refused:
            return refused.result
        shown = window(opened.page, arguments.line, arguments.num_lines)
        return replace(_as_asked(shown, arguments), lookup=lookup, markers=opened.markers)

    async def find(self, arguments: FindArguments) -> ToolResult:
        try:
            opened = self._page(arguments.page_id)
            # Off the event loop, since a model can write a pattern that takes seconds on a large page.
            found = await asyncio.to_thread(matches, opened.page, arguments.pattern, regex=arguments.regex)
        except _RefusedError as refused:
            return refused.result
        except PatternError as error:
            return bad_pattern(opened.page, arguments.pattern, error, regex=arguments.regex)
        return replace(found, markers=opened.markers)

    async def _read(self, url: str) -> tuple[_Opened, Lookup | None]:
        # Before anything is asked of the web: the address alone may be reason enough.
        by_address = self._guard.inspect(url, "")
        if by_address.blocked:
            raise _blocked(by_address, url, Lookup(kind="page", key=digest_json(["page", url])))
        try:
            page = await self._source.read(url)
        except PageUnreadableError as error:
            output = told(error.message)
            raise _RefusedError(
                ToolResult(output=output, status="error", error=error.code, lookup=error.lookup)
            ) from None
        inspection = await self._inspected(page)
        if inspection.blocked:
            raise _blocked(
                inspection, page.url, page.lookup or Lookup(kind="page", key=digest_json(["page", page.url]))
            )
        # The page as it was first read stays, so that line numbers keep their meaning within a trial.
        return self._opened.setdefault(page.id, _Opened(page, inspection.markers)), page.lookup

    async def _inspected(self, page: Page) -> Inspection:
        if len(page.text) < _LARGE_CHARS:
            return self._guard.inspect(page.url, page.text)
        # A large page that nearly matches everywhere would hold up all other trials for a second or more.
        return await asyncio.to_thread(self._guard.inspect, page.url, page.text)

    def _page(self, page_id: str) -> _Opened:
        opened = self._opened.get(page_id)
        if opened is None:
            there_are = ", ".join(sorted(self._opened)) or "none"
            said = f"no page {one_line(page_id, 40)!r} was opened. Opened pages: {there_are}"
            raise _refused("no_such_page", said)
        return opened


def _mistake(arguments: OpenArguments) -> str:
    """What is wrong with a call whose arguments are each right; empty where nothing is."""
    if arguments.link is not None and (arguments.page_id is None or arguments.url is not None):
        return "link needs the page_id of the page that shows it, and no url"
    if (arguments.url is None) == (arguments.page_id is None):
        return "give either url or page_id"
    return ""


def _target(page: Page, link: int) -> str:
    if link < len(page.links):
        return page.links[link].url
    raise _RefusedError(no_such_link(page, link))


def _as_asked(result: ToolResult, arguments: OpenArguments) -> ToolResult:
    """With how the call came to the page: by an address, or by a link."""
    assert isinstance(result.parsed, PageView)
    asked = PageAsked(arguments.url, arguments.page_id, arguments.link, arguments.line, arguments.num_lines)
    return replace(result, parsed=replace(result.parsed, asked=asked))


def _refused(code: str, said: str) -> _RefusedError:
    return _RefusedError(ToolResult(output=f"Error: {said}.", status="error", error=code))


def _blocked(inspection: Inspection, url: str, lookup: Lookup) -> _RefusedError:
    return _RefusedError(
        ToolResult(
            output=told(MISS_MESSAGES["blocked_by_policy"]),
            status="error",
            error="blocked_by_policy",
            lookup=lookup.model_copy(update={"miss": "blocked_by_policy"}),
            markers=inspection.markers_at(one_line(url, 2_000)),
        )
    )
