"""What a condition can hand to an agent: python, search, a browser, and functions of one's own."""

from toolablate.tools.browser import FetchPolicy, Page, PageSource, PageUnreadableError, WebPages
from toolablate.tools.corpus import Corpus, Document, load_corpus
from toolablate.tools.function import FunctionTool, tool
from toolablate.tools.python import FileSource
from toolablate.tools.registry import TOOLSETS, Resources, open_toolset, resources_needed, tool_names, tool_sources
from toolablate.tools.search import CorpusSearch, DdgsSearch, SearchProvider, SearchReply, SearchResult, ddgs_backends
from toolablate.tools.tool import Tool, ToolResult
from toolablate.tools.toolset import Toolset

__all__ = [
    "TOOLSETS",
    "Corpus",
    "CorpusSearch",
    "DdgsSearch",
    "Document",
    "FetchPolicy",
    "FileSource",
    "FunctionTool",
    "Page",
    "PageSource",
    "PageUnreadableError",
    "Resources",
    "SearchProvider",
    "SearchReply",
    "SearchResult",
    "Tool",
    "ToolResult",
    "Toolset",
    "WebPages",
    "ddgs_backends",
    "load_corpus",
    "open_toolset",
    "resources_needed",
    "tool",
    "tool_names",
    "tool_sources",
]
