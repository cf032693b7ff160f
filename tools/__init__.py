"""What a condition can hand to an agent: python, search, a browser, MCP servers, and functions of one's own."""

from typing import TYPE_CHECKING

from toolablate.tools.function import FunctionTool, tool
from toolablate.traces._lazy import importing

if TYPE_CHECKING:
    from toolablate.tools.archive import Archive, create_overlay, open_archive
    from toolablate.tools.browser import Page, PageSource, PageUnreadableError
    from toolablate.tools.corpus import Corpus, CorpusPages, CorpusSearch, Document, corpus_digest, open_corpus
    from toolablate.tools.extraction import ExtractionOptions, ExtractionWorker, extract
    from toolablate.tools.guards.guard import Guard, Guards, Inspection, NoGuard
    from toolablate.tools.guards.leaks import LeakGuard
    from toolablate.tools.guards.markers import InstructionGuard
    from toolablate.tools.interventions import (
        INTERVENTIONS,
        Call,
        FunctionIntervention,
        Intervention,
        intervention,
        intervention_sources,
        open_interventions,
    )
    from toolablate.tools.mcp import HttpAddress, McpServer, StdioAddress
    from toolablate.tools.python import FileSource
    from toolablate.tools.recorded import Mode, RecordedCalls, RecordedHttpClient, RecordedSearch, WebPages
    from toolablate.tools.registry import (
        TOOLSETS,
        OpenedTool,
        Resources,
        expanded_uses,
        mcp_servers_needed,
        of_agent,
        open_tools,
        open_toolset,
        resource_of,
        resources_needed,
        tool_names,
        tool_sources,
    )
    from toolablate.tools.search import (
        DdgsSearch,
        LiveSearch,
        SearchOutcome,
        SearchProvider,
        SearchQuery,
        SearchSource,
        ddgs_backends,
        open_provider,
    )
    from toolablate.tools.tool import Tool, ToolResult
    from toolablate.tools.toolset import Toolset
    from toolablate.tools.web import FetchError, LiveHttpClient, WebPolicy

__all__ = [
    "INTERVENTIONS",
    "TOOLSETS",
    "Archive",
    "Call",
    "Corpus",
    "CorpusPages",
    "CorpusSearch",
    "DdgsSearch",
    "Document",
    "ExtractionOptions",
    "ExtractionWorker",
    "FetchError",
    "FileSource",
    "FunctionIntervention",
    "FunctionTool",
    "Guard",
    "Guards",
    "HttpAddress",
    "Inspection",
    "InstructionGuard",
    "Intervention",
    "LeakGuard",
    "LiveHttpClient",
    "LiveSearch",
    "McpServer",
    "Mode",
    "NoGuard",
    "OpenedTool",
    "Page",
    "PageSource",
    "PageUnreadableError",
    "RecordedCalls",
    "RecordedHttpClient",
    "RecordedSearch",
    "Resources",
    "SearchOutcome",
    "SearchProvider",
    "SearchQuery",
    "SearchSource",
    "StdioAddress",
    "Tool",
    "ToolResult",
    "Toolset",
    "WebPages",
    "WebPolicy",
    "corpus_digest",
    "create_overlay",
    "ddgs_backends",
    "expanded_uses",
    "extract",
    "intervention",
    "intervention_sources",
    "mcp_servers_needed",
    "of_agent",
    "open_archive",
    "open_corpus",
    "open_interventions",
    "open_provider",
    "open_tools",
    "open_toolset",
    "resource_of",
    "resources_needed",
    "tool",
    "tool_names",
    "tool_sources",
]

__getattr__ = importing(
    __name__,
    {
        "archive": (
            "Archive",
            "create_overlay",
            "open_archive",
        ),
        "browser": (
            "Page",
            "PageSource",
            "PageUnreadableError",
        ),
        "corpus": (
            "Corpus",
            "CorpusPages",
            "CorpusSearch",
            "Document",
            "corpus_digest",
            "open_corpus",
        ),
        "extraction": (
            "ExtractionOptions",
            "ExtractionWorker",
            "extract",
        ),
        "guards.guard": (
            "Guard",
            "Guards",
            "Inspection",
            "NoGuard",
        ),
        "guards.leaks": ("LeakGuard",),
        "guards.markers": ("InstructionGuard",),
        "interventions": (
            "INTERVENTIONS",
            "Call",
            "FunctionIntervention",
            "Intervention",
            "intervention",
            "intervention_sources",
            "open_interventions",
        ),
        "mcp": (
            "HttpAddress",
            "McpServer",
            "StdioAddress",
        ),
        "python": ("FileSource",),
        "recorded": (
            "Mode",
            "RecordedCalls",
            "RecordedHttpClient",
            "RecordedSearch",
            "WebPages",
        ),
        "registry": (
            "TOOLSETS",
            "OpenedTool",
            "Resources",
            "expanded_uses",
            "mcp_servers_needed",
            "of_agent",
            "open_tools",
            "open_toolset",
            "resource_of",
            "resources_needed",
            "tool_names",
            "tool_sources",
        ),
        "search": (
            "DdgsSearch",
            "SearchOutcome",
            "LiveSearch",
            "SearchProvider",
            "SearchQuery",
            "SearchSource",
            "ddgs_backends",
            "open_provider",
        ),
        "tool": (
            "Tool",
            "ToolResult",
        ),
        "toolset": ("Toolset",),
        "web": (
            "FetchError",
            "LiveHttpClient",
            "WebPolicy",
        ),
    },
)
