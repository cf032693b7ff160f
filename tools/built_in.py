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


_OPEN_DOCUMENT = (
    "Opens a document of this question as text with numbered lines: by its name, by its address (with ?part=N that part"
    " of it, without it the whole), or by the page_id that it had when it was opened before. Long documents are not"
    " shown at once; go on with page_id and line."
)
_FIND_IN_DOCUMENT = (
    "Finds text, regardless of case, in a document that was opened before, and shows the lines that hold it. With regex"
    " the pattern is a regular expression in RE2 syntax."
)


def _document_search(opening: Opening) -> Tool:
    from toolablate.tools.guards.guard import NoGuard
    from toolablate.tools.search import document_search_tool

    return document_search_tool(opening.document_search, NoGuard())


def _document_open(opening: Opening) -> Tool:
    return opening.document_browser.open_tool("document_open", _OPEN_DOCUMENT)


def _document_find(opening: Opening) -> Tool:
    return opening.document_browser.find_tool("document_find", _FIND_IN_DOCUMENT)


PYTHON = ToolKind("sandbox", _python)
WEB_SEARCH = ToolKind("search", _web_search)
BROWSER_OPEN = ToolKind("pages", lambda opening: opening.browser.open_tool())
BROWSER_FIND = ToolKind("pages", lambda opening: opening.browser.find_tool())
GPT_OSS_SEARCH = ToolKind("search", _gpt_oss_search)
GPT_OSS_OPEN = ToolKind("pages", _gpt_oss_open)
GPT_OSS_FIND = ToolKind("pages", _gpt_oss_find)
DOCUMENT_SEARCH = ToolKind("documents", _document_search)
DOCUMENT_OPEN = ToolKind("documents", _document_open)
DOCUMENT_FIND = ToolKind("documents", _document_find)
