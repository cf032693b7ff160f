"""The tools of this package, registered in the entry-point group `toolablate.tools` as those of others are.

Each tool's module is imported where one is opened: reading a plan opens none.
"""

from toolablate.tools.registry import Opening, ToolKind
from toolablate.tools.tool import Tool


def _python(opening: Opening) -> Tool:
    from toolablate.tools.python import python_tool

    return python_tool(opening.sandbox, opening.files)


def _web_search(opening: Opening) -> Tool:
    from toolablate.tools.search import search_tool

    return search_tool(opening.search, opening.guard)


def _gpt_oss_search(opening: Opening) -> Tool:
    from toolablate.tools.search import gpt_oss_search_tool

    return gpt_oss_search_tool(opening.search, opening.guard)


def _gpt_oss_open(opening: Opening) -> Tool:
    from toolablate.tools.browser.gpt_oss import gpt_oss_open_tool

    return gpt_oss_open_tool(opening.browser)


def _gpt_oss_find(opening: Opening) -> Tool:
    from toolablate.tools.browser.gpt_oss import gpt_oss_find_tool

    return gpt_oss_find_tool(opening.browser)


PYTHON = ToolKind("sandbox", _python)
WEB_SEARCH = ToolKind("search", _web_search)
BROWSER_OPEN = ToolKind("pages", lambda opening: opening.browser.open_tool())
BROWSER_FIND = ToolKind("pages", lambda opening: opening.browser.find_tool())
GPT_OSS_SEARCH = ToolKind("search", _gpt_oss_search)
GPT_OSS_OPEN = ToolKind("pages", _gpt_oss_open)
GPT_OSS_FIND = ToolKind("pages", _gpt_oss_find)
