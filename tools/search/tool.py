"""The `web_search` tool."""

from typing import Annotated

from pydantic import Field, StringConstraints

from toolablate.tools.plain import one_line
from toolablate.tools.search.provider import SearchProvider, SearchReply, SearchResult
from toolablate.tools.tool import ToolResult
from toolablate.tools.typed import Arguments, TypedTool
from toolablate.traces.errors import ToolError

_DESCRIPTION = "Searches the web and returns titles, addresses and short extracts of pages."
_TITLE_CHARS = 200
_URL_CHARS = 2_000
_SNIPPET_CHARS = 400

_HINTS = {
    "blocked": "the service took us for a robot; wait, use another backend, or search a corpus",
    "rate_limited": "fewer requests at once, another backend, or search a corpus",
    "timeout": "the service did not answer in time",
    "error": "the service answered with something that is no list of results",
}


class SearchArguments(Arguments):
    query: Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=2_000)] = Field(
        description="What to search for"
    )
    max_results: int = Field(default=10, ge=1, le=50, description="How many results to return")


def search_tool(provider: SearchProvider) -> TypedTool[SearchArguments]:
    """The tool for one trial. Raises ToolError where the search failed: that must not look as if nothing existed."""

    async def run(arguments: SearchArguments) -> ToolResult:
        reply = await provider.search(arguments.query, arguments.max_results)
        if reply.status not in ("ok", "empty"):
            raise ToolError(
                f"web_search: {reply.provider} {reply.status}: {one_line(reply.detail, 300)}",
                hint=_HINTS[reply.status],
                code=reply.status,
                retryable=True,
            )
        return ToolResult(output=_shown(reply, arguments.max_results))

    return TypedTool("web_search", _DESCRIPTION, SearchArguments, run)


def _shown(reply: SearchReply, limit: int) -> str:
    query = one_line(reply.query, 200)
    if not reply.results:
        return f"No results for {query!r}."
    return "\n".join((f"Results for {query!r}:", *map(_result, reply.results[:limit])))


def _result(result: SearchResult) -> str:
    published = f" ({one_line(result.published, 40)})" if result.published else ""
    title = one_line(result.title, _TITLE_CHARS) or "(no title)"
    return (
        f"{result.rank}. {title}{published}\n"
        f"    {one_line(result.url, _URL_CHARS)}\n"
        f"    {one_line(result.snippet, _SNIPPET_CHARS)}"
    )
