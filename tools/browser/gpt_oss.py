"""The browser under the names that the gpt-oss models were trained with, of the tools and of their arguments.

Source: the tool `browser` of the harmony format. There `cursor` counts pages, and is the last one by default; here it
is a page id and has to be given, since calls that are made at once have no last page.
"""

import re

from pydantic import Field

from toolablate.tools.browser.find import PATTERN_CHARS
from toolablate.tools.browser.tool import Browser, FindArguments, OpenArguments, find_template, open_template
from toolablate.tools.tool import Arguments, ToolResult, TypedTool, invalid_call

_OPEN = (
    "Opens a web page as text with numbered lines: `id` is an address, or the number of a link 【number†text】 of the"
    " page `cursor`. Without `id`, shows more of the page `cursor`, from line `loc`. The cursor of a page stands in"
    " brackets before its title."
)
_FIND = "Finds text, regardless of case, in the page `cursor`, and shows the lines that hold it."


_DIGITS = re.compile(r"[0-9]{1,9}")


class GptOssOpenArguments(Arguments):
    id: int | str | None = Field(default=None, description="Number of a link of the page `cursor`, or an address")
    cursor: str | int | None = Field(default=None, description="Id of a page that was opened before")
    loc: int = Field(default=0, ge=-1, description="First line to show; lines count from 0")
    num_lines: int = Field(default=-1, ge=-1, description="How many lines to show; -1 for as many as fit")

    def mistake(self) -> str:
        if self.link is not None and self.cursor is None:
            return "the number of a link needs the cursor of the page that shows it"
        return "give an id or a cursor" if self.url is None and self.cursor is None else ""

    @property
    def link(self) -> int | None:
        number = int(self.id) if isinstance(self.id, str) and _DIGITS.fullmatch(self.id) else self.id
        return number if isinstance(number, int) and number >= 0 else None

    @property
    def url(self) -> str | None:
        return self.id if isinstance(self.id, str) and self.id and self.link is None else None

    def meant(self) -> OpenArguments:
        return OpenArguments(
            url=self.url,
            link=self.link,
            page_id=None if self.url or self.cursor is None else _page_id(self.cursor),
            line=max(self.loc, 0),
            num_lines=self.num_lines if self.num_lines > 0 else None,
        )


class GptOssFindArguments(Arguments):
    pattern: str = Field(min_length=1, max_length=PATTERN_CHARS, description="Text to look for")
    cursor: str | int = Field(description="Id of a page that was opened before")


def _page_id(cursor: str | int) -> str:
    """An id that is all digits may come back as a number."""
    return f"{cursor:08}" if isinstance(cursor, int) else cursor


def gpt_oss_open_tool(browser: Browser) -> TypedTool[GptOssOpenArguments]:
    async def run(arguments: GptOssOpenArguments) -> ToolResult:
        mistake = arguments.mistake()
        return invalid_call(tool.spec, mistake) if mistake else await browser.open(arguments.meant())

    tool: TypedTool[GptOssOpenArguments] = TypedTool(
        "browser.open", _OPEN, GptOssOpenArguments, run, template=open_template()
    )
    return tool


def gpt_oss_find_tool(browser: Browser) -> TypedTool[GptOssFindArguments]:
    async def run(arguments: GptOssFindArguments) -> ToolResult:
        return await browser.find(FindArguments(page_id=_page_id(arguments.cursor), pattern=arguments.pattern))

    return TypedTool("browser.find", _FIND, GptOssFindArguments, run, template=find_template())
