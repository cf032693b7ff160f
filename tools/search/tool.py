"""The `web_search` tool."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date
from typing import Annotated

from pydantic import BeforeValidator, Field, StringConstraints

from toolablate.tools.guards.guard import Guard
from toolablate.tools.search.provider import SearchOutcome, SearchQuery, SearchSource, normal_query
from toolablate.tools.text import one_line, plain_text, told, without_marks
from toolablate.tools.tool import Arguments, Entry, Listed, ResultTemplate, ToolResult, TypedTool, listed
from toolablate.tools.tool import CallArguments as Given
from toolablate.traces.errors import ToolError
from toolablate.traces.records import Marker, SearchReply, SearchResult, digest_text

_DESCRIPTION = "Searches the web and returns titles, addresses and short extracts of pages."
_TITLE_CHARS = 200
_URL_CHARS = 2_000
_SNIPPET_CHARS = 400
_FOUND_URL = "https://reference.example/"

_HINTS = {
    "blocked": "the service took us for a robot; wait, use another backend, or search a corpus",
    "rate_limited": "fewer requests at once, another backend, or search a corpus",
    "timeout": "the service did not answer in time",
    "error": "the service cannot be reached, or answers with no list of results: look at the plan's table [search]",
}
_LASTING_HINT = "it would say so again; look at the provider, its endpoint and its key in the plan's table [search]"


def _day(value: object) -> date | None:
    """Only what looks like a day: pydantic would take a number in quotes for seconds since 1970."""
    if value is None:
        return None
    if isinstance(value, str) and re.fullmatch(r"\d{4}-\d{2}-\d{2}", value, re.ASCII):
        return date.fromisoformat(value)
    raise ValueError("must be a day, written as YYYY-MM-DD")


class SearchArguments(Arguments):
    query: Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=2_000)] = Field(
        description="What to search for"
    )
    max_results: int = Field(default=10, ge=1, le=50, description="How many results to return")
    before: Annotated[date | None, BeforeValidator(_day)] = Field(
        default=None, description="Leaves out what is known to have been published on this day or later: YYYY-MM-DD"
    )


class DocumentSearchArguments(Arguments):
    query: Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=2_000)] = Field(
        description="What to search for"
    )
    max_results: int = Field(default=10, ge=1, le=50, description="How many results to return")


class GptOssSearchArguments(Arguments):
    query: Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=2_000)] = Field(
        description="What to search for"
    )
    topn: int = Field(default=10, ge=1, le=50, description="How many results to return")


def gpt_oss_search_tool(source: SearchSource, guard: Guard) -> TypedTool[GptOssSearchArguments]:
    """The same under the names that the gpt-oss models know."""
    tool = search_tool(source, guard, "browser.search")

    async def run(arguments: GptOssSearchArguments) -> ToolResult:
        return await tool.call({"query": arguments.query, "max_results": arguments.topn})

    return TypedTool(tool.spec.name, _DESCRIPTION, GptOssSearchArguments, run, template=tool.template)


_DOCUMENTS = (
    "Searches the documents of this question and returns the parts that fit best: title, address, short extract."
)


def document_search_tool(source: SearchSource, guard: Guard) -> TypedTool[DocumentSearchArguments]:
    """The same over the documents of a question."""
    tool = search_tool(source, guard, "document_search")

    async def run(arguments: DocumentSearchArguments) -> ToolResult:
        return await tool.call({"query": arguments.query, "max_results": arguments.max_results})

    return TypedTool(tool.spec.name, _DOCUMENTS, DocumentSearchArguments, run, template=tool.template)


def search_tool(source: SearchSource, guard: Guard, name: str = "web_search") -> TypedTool[SearchArguments]:
    """The tool for one trial. Raises ToolError where the search failed: that must not look as if nothing existed.

    What the guard blocks is left out without a word, since a model that was told of it would learn where to look.
    """

    async def run(arguments: SearchArguments) -> ToolResult:
        query = normal_query(arguments.query)
        found = await source.find(SearchQuery(query, arguments.max_results, arguments.before))
        if found.reply is None:
            return _missed(found)
        if found.reply.status not in ("ok", "empty"):
            raise _failure(found.reply, name)
        results, markers = _inspected(found.reply.results[: arguments.max_results], guard)
        parsed = _listed(query, results, arguments)
        return ToolResult(output=parsed.output, lookup=found.lookup, markers=markers, parsed=parsed)

    template = ResultTemplate(nothing=_nothing, finding=_finding, form="results")
    return TypedTool(name, _DESCRIPTION, SearchArguments, run, template=template)


def _nothing(given: Given) -> str:
    return _heading(normal_query(str(given["query"])), found=False)


def _finding(given: Given, text: str) -> str:
    query = normal_query(str(given["query"]))
    shown = _ShownResult(one_line(query, _TITLE_CHARS), "", f"{_FOUND_URL}{digest_text(query)[:8]}", plain_text(text))
    return listed(_heading(query, found=True), [shown.entry.text])


def _missed(found: SearchOutcome) -> ToolResult:
    return ToolResult(told(found.message), status="error", error=found.lookup.miss or "error", lookup=found.lookup)


def _failure(reply: SearchReply, tool: str) -> ToolError:
    return ToolError(
        f"{tool}: {reply.provider} {reply.status}: {one_line(reply.detail, 300)}",
        hint=_LASTING_HINT if reply.lasting else _HINTS[reply.status],
        code=reply.status,
        retryable=not reply.lasting,
        retry_after=reply.retry_after,
    )


@dataclass(frozen=True, slots=True)
class _ShownResult:
    """A result as a model is shown it."""

    title: str
    published: str
    url: str
    snippet: str

    @classmethod
    def of(cls, result: SearchResult) -> "_ShownResult":
        return cls(
            title=without_marks(one_line(result.title, _TITLE_CHARS)) or "(no title)",
            published=f" ({one_line(result.published_at, 40)[:10]})" if result.published_at else "",
            url=without_marks(one_line(result.url, _URL_CHARS)),
            snippet=without_marks(one_line(result.snippet, _SNIPPET_CHARS)),
        )

    @property
    def entry(self) -> Entry:
        return Entry(f"{self.title}{self.published}\n    {self.url}\n    {self.snippet}", self.url)


def _inspected(results: Iterable[SearchResult], guard: Guard) -> tuple[list[_ShownResult], tuple[Marker, ...]]:
    """What is not blocked, and what was noticed in what is shown of all of them: no model sees the rest."""
    kept: list[_ShownResult] = []
    markers: list[Marker] = []
    for result in results:
        shown = _ShownResult.of(result)
        inspection = guard.inspect(result.url, f"{shown.title}\n{shown.snippet}")
        markers.extend(inspection.markers_at(shown.url))
        if not inspection.blocked:
            kept.append(shown)
    return kept, tuple(markers)


def _listed(query: str, results: list[_ShownResult], asked: SearchArguments) -> Listed:
    entries = tuple(shown.entry for shown in results)
    return Listed(_heading(query, found=bool(entries)), entries, asked.max_results, asked.before)


def _heading(query: str, *, found: bool) -> str:
    asked = one_line(query, 200)
    return f"Results for {asked!r}:" if found else f"No results for {asked!r}."
