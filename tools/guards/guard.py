"""What looks at every result that comes from outside before a model sees it, and which hosts are blocked."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Protocol
from urllib.parse import unquote

from pydantic import JsonValue

from toolablate.tools.text import MISS_MESSAGES, told
from toolablate.tools.tool import ResultTemplate, Tool, ToolResult
from toolablate.tools.web.exchange import FetchError
from toolablate.tools.web.policy import WebPolicy
from toolablate.tools.web.urls import page_url, target_of
from toolablate.traces.records import Marker, ToolSpec


@dataclass(frozen=True, slots=True)
class Inspection:
    """What was noticed in one text, and whether the plan keeps it from the model."""

    markers: tuple[Marker, ...] = ()
    blocked: bool = False

    def markers_at(self, where: str) -> tuple[Marker, ...]:
        """What was noticed, and where it is withheld, that too."""
        return (*self.markers, Marker(kind="withheld", where=where)) if self.blocked else self.markers


class Guard(Protocol):
    """Looks at texts for one question; the same for every condition. Never alters a text.

    `text` is empty where only the address is known yet.
    """

    def inspect(self, url: str, text: str) -> Inspection: ...


class NoGuard:
    """Notices nothing."""

    def inspect(self, url: str, text: str) -> Inspection:
        return Inspection()


class Guards:
    """Several as one: what any of them notices, in their order; blocked where one of them blocks."""

    def __init__(self, *guards: Guard) -> None:
        self._guards = guards

    def inspect(self, url: str, text: str) -> Inspection:
        inspections = [guard.inspect(url, text) for guard in self._guards]
        markers = tuple(marker for inspection in inspections for marker in inspection.markers)
        return Inspection(markers, any(inspection.blocked for inspection in inspections))


# A tool whose results a guard looks at.


class GuardedTool:
    """A tool from outside that knows nothing of guards: its text is inspected under the tool's name."""

    def __init__(self, tool: Tool, guard: Guard) -> None:
        self._tool = tool
        self._guard = guard

    @property
    def spec(self) -> ToolSpec:
        return self._tool.spec

    @property
    def template(self) -> ResultTemplate:
        return self._tool.template

    def refusal(self, arguments: Mapping[str, JsonValue]) -> ToolResult | None:
        return self._tool.refusal(arguments)

    async def call(self, arguments: Mapping[str, JsonValue]) -> ToolResult:
        result = await self._tool.call(arguments)
        inspection = self._guard.inspect(self.spec.name, result.output)
        markers = result.markers + inspection.markers_at(self.spec.name)
        if not inspection.blocked:
            return replace(result, markers=markers) if markers else result
        lookup = result.lookup and result.lookup.model_copy(update={"miss": "blocked_by_policy"})
        output = told(MISS_MESSAGES["blocked_by_policy"])
        return ToolResult(output, status="error", error="blocked_by_policy", lookup=lookup, markers=markers)

    async def close(self) -> None:
        await self._tool.close()


# Whether an address lies on a host that the plan blocks, or names one, as services do that copy, show or translate.


_BEFORE_HOST = re.compile(r"\s*(?:https?:)?[/\\]*(?:[^/\\?#@]*@)?", re.IGNORECASE)
_WITH_SCHEME = re.compile(r"https?:/*", re.IGNORECASE)
# A search for a host's name is no copy of it.
_PARAMETER = re.compile(
    r"(?:^|[?&])(?:u|ur[il]|link|href|src|source|target|to|page|site|address|web)=/*", re.IGNORECASE
)
_HOST = re.compile(r"(?:[^/?#&=@\s]*@)?[^/?#&=@:\s.。．｡]+[.。．｡][^/?#&=@:\s]+(?=[/?#&:\s]|$)")
# As those who read an address do.
_SKIPPED = re.compile(r"[\t\r\n]")
# Of an address that is too long to be read: hosts and blocked paths are short.
_HEAD_CHARS = 400
_INSIDE_CHARS = 8_000
_MAX_UNQUOTED = 20


class BlockedHosts:
    """`example.org` with all hosts below it, `example.org/data`. Raises ValueError for what cannot be read."""

    def __init__(self, entries: frozenset[str]) -> None:
        self._policy = WebPolicy(blocked_hosts=entries)

    def named_by(self, url: str) -> bool:
        if not self._policy.blocked_hosts:
            return False
        return self._is_blocked(url) or any(map(self._is_blocked, _inside(url)))

    def _is_blocked(self, url: str) -> bool:
        url = _BEFORE_HOST.sub("https://", url, count=1)
        for spelling in (url, url[:_HEAD_CHARS]):
            try:
                return self._policy.blocks(target_of(page_url(spelling)))
            except FetchError:
                continue
        return False


def _inside(url: str) -> Iterator[str]:
    """The parts of an address that may be addresses themselves."""
    inside = _plain(_BEFORE_HOST.sub("", url[:_INSIDE_CHARS], count=1).partition("#")[0]).partition("/")[2]
    path, _, query = inside.partition("?")
    yield from (inside[match.end() :].partition("&")[0] for match in _WITH_SCHEME.finditer(inside))
    given = (match.end() for match in _PARAMETER.finditer(query))
    yield from (query[start:].partition("&")[0] for start in given if _HOST.match(query, start))
    below = [0, *(match.end() for match in re.finditer("/", path))]
    yield from (path[start:] for start in below if _HOST.match(path, start))


def _plain(url: str) -> str:
    """Without escapes, however often they were escaped again."""
    for _ in range(_MAX_UNQUOTED):
        url, before = unquote(url), url
        if url == before:
            break
    return _SKIPPED.sub("", url).replace("\\", "/")
