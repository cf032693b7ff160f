"""A server as a source of tools: listed once for a run, connected to anew for each trial."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial
from typing import Protocol

from pydantic import JsonValue

from toolablate.tools.likeness import PLAIN, Likeness
from toolablate.tools.mcp.address import HttpAddress, StdioAddress
from toolablate.tools.mcp.content import reply_of
from toolablate.tools.mcp.listing import LISTING, ListedTool, listing
from toolablate.tools.mcp.session import RefusedCallError, Session, require_client
from toolablate.tools.misses import MISS_MESSAGES, told
from toolablate.tools.plain import one_line
from toolablate.tools.tool import Tool, ToolResult
from toolablate.traces.errors import InputError, InternalError, ToolError
from toolablate.traces.records import Lookup, ToolReply, ToolSpec

Live = Callable[[], Awaitable[bytes]]


class Calls(Protocol):
    """Makes calls live, or gives what was recorded of them."""

    async def call(
        self, server: str, tool: str, arguments: Mapping[str, JsonValue], live: Live
    ) -> tuple[bytes | None, Lookup]: ...

    async def tools(self, server: str, live: Live) -> bytes: ...


class McpServer:
    """The tools of one server. What a call gives is looked up by the server, the tool and the arguments: a server whose
    answers depend on earlier calls of the same trial is not replayed as it was.

    `list` comes first; then `specs` is what there is, and `open` makes the tools of one trial.
    """

    def __init__(
        self,
        name: str,
        address: StdioAddress | HttpAddress,
        calls: Calls,
        *,
        seconds: float = 60.0,
        start_seconds: float = 60.0,
    ) -> None:
        self.name = name
        self._address = address
        self._calls = calls
        self._connect = partial(Session, name, address, seconds, start_seconds)
        self._listed: tuple[ListedTool, ...] | None = None

    @property
    def identity(self) -> str:
        """Name and address, without anything secret."""
        return f"{self.name}/{self._address.identity[:12]}"

    @property
    def specs(self) -> tuple[ToolSpec, ...]:
        return tuple(each.spec for each in self._tools())

    async def list(self) -> None:
        """Asks the server for its tools, or the archive. Raises ToolError, InputError."""
        self._listed = LISTING.validate_json(await self._calls.tools(self.identity, self._list_live))

    def open(self, names: Sequence[str] | None = None) -> Sequence[Tool]:
        """The tools of one trial, all or those named, over one connection that the first call opens.

        Raises InputError for a tool that the server does not have.
        """
        found = {each.spec.name: each for each in self._tools()} | {each.own_name: each for each in self._tools()}
        unknown = next((name for name in names or () if name not in found), None)
        if unknown is not None:
            raise InputError(
                f"tools: the MCP server {self.name!r} has no tool {one_line(unknown, 80)!r}",
                hint=f"it has {', '.join(each.own_name for each in self._tools())}",
                code="unknown_tool",
            )
        chosen = self._tools() if names is None else [found[name] for name in names]
        line = _Line(self._connect)
        return [_McpTool(self.identity, each, line, self._calls) for each in chosen]

    def _tools(self) -> tuple[ListedTool, ...]:
        if self._listed is None:
            raise InternalError(f"the tools of the MCP server {self.name!r} were not listed")
        return self._listed

    async def _list_live(self) -> bytes:
        require_client()
        session = self._connect()
        try:
            return LISTING.dump_json(listing(self.name, await session.tools()))
        finally:
            await session.close()


class _Line:
    """The one connection of a trial's tools of one server: opened by the first call, anew after one that failed."""

    def __init__(self, connect: Callable[[], Session]) -> None:
        self._connect = connect
        self._session: Session | None = None

    async def call(self, tool: str, arguments: Mapping[str, JsonValue]) -> ToolReply:
        if self._session is None:
            require_client()
            self._session = self._connect()
        session = self._session
        try:
            return reply_of(await session.call(tool, arguments))
        except RefusedCallError as refusal:
            return ToolReply(output=f"Error: {one_line(str(refusal), 2_000)}", status="invalid", error="refused")
        except ToolError:
            if self._session is session:
                await self.close()
            raise

    async def close(self) -> None:
        session, self._session = self._session, None
        if session is not None:
            await session.close()


class _McpTool:
    def __init__(self, server: str, listed: ListedTool, line: _Line, calls: Calls) -> None:
        self.spec = listed.spec
        self._server = server
        self._own_name = listed.own_name
        self._line = line
        self._calls = calls

    @property
    def likeness(self) -> Likeness:
        return PLAIN

    def refusal(self, arguments: Mapping[str, JsonValue]) -> ToolResult | None:
        return None

    async def call(self, arguments: Mapping[str, JsonValue]) -> ToolResult:
        async def live() -> bytes:
            return (await self._line.call(self._own_name, arguments)).to_json().encode()

        content, lookup = await self._calls.call(self._server, self._own_name, arguments, live)
        if content is None:
            assert lookup.miss is not None
            output = told(MISS_MESSAGES[lookup.miss])
            return ToolResult(output, status="error", error=lookup.miss, lookup=lookup)
        reply = ToolReply.from_json(content)
        return ToolResult(reply.output, reply.status, reply.error, reply.truncated, reply.artifacts, lookup=lookup)

    async def close(self) -> None:
        await self._line.close()
