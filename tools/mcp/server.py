"""An MCP server as a source of tools: listed once for a run, connected to anew for each trial."""

import json
import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol

from pydantic import JsonValue, TypeAdapter

from toolablate.tools.mcp.session import HttpAddress, RefusedCallError, Session, StdioAddress, require_client
from toolablate.tools.text import MISS_MESSAGES, one_line, plain_text, told
from toolablate.tools.tool import NO_OUTPUT, PLAIN, ResultTemplate, Tool, ToolResult
from toolablate.traces.errors import InputError, InternalError, ToolError
from toolablate.traces.records import Artifact, Lookup, Record, ToolReply, ToolSpec, digest_text

if TYPE_CHECKING:
    from mcp.types import CallToolResult
    from mcp.types import Tool as ServerTool

MAX_TOOLS = 200
MAX_DESCRIPTION_CHARS = 8_000
MAX_SCHEMA_CHARS = 50_000
MAX_NAME_CHARS = 64

_NOT_IN_NAMES = re.compile(r"[^a-zA-Z0-9_-]+")


class ListedTool(Record):
    """`own_name` is the server's, `spec.name` one that chat APIs take."""

    own_name: str
    spec: ToolSpec


LISTING: TypeAdapter[tuple[ListedTool, ...]] = TypeAdapter(tuple[ListedTool, ...])


def listing(server: str, tools: "Sequence[ServerTool]") -> tuple[ListedTool, ...]:
    """In the server's order. Raises ToolError where there are too many, or two with one name."""
    if len(tools) > MAX_TOOLS:
        raise ToolError(f"mcp {server}: {len(tools)} tools, more than {MAX_TOOLS}", code="mcp_too_many")
    listed = tuple(_listed(server, tool) for tool in tools)
    names = [each.spec.name for each in listed]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise ToolError(f"mcp {server}: two tools are named {twice!r}", code="mcp_same_name")
    return listed


def _listed(server: str, tool: "ServerTool") -> ListedTool:
    parameters: dict[str, JsonValue] = dict(tool.input_schema)
    if len(str(parameters)) > MAX_SCHEMA_CHARS:
        raise ToolError(f"mcp {server}: the schema of {tool.name!r} is too large", code="mcp_bad_tool")
    parameters.setdefault("properties", {})
    spec = ToolSpec(
        name=_chat_name(tool.name),
        description=plain_text(tool.description or "")[:MAX_DESCRIPTION_CHARS],
        parameters=parameters,
    )
    return ListedTool(own_name=tool.name, spec=spec)


def _chat_name(name: str) -> str:
    """The name itself where it will do; else one that tells apart those that differ in what had to go."""
    plain = _NOT_IN_NAMES.sub("_", name)
    if plain == name and len(name) <= MAX_NAME_CHARS:
        return name
    return f"{plain[: MAX_NAME_CHARS - 7]}_{digest_text(name)[:6]}"


# From a server's result to what a model is shown and a trace keeps.


MAX_OUTPUT_CHARS = 20_000
MAX_ARTIFACTS_CHARS = 2_000_000
"""Of all artifacts of one result together, as base64."""


def reply_of(result: "CallToolResult") -> ToolReply:
    """Texts one after the other; images and sounds as artifacts, with a word of them in the text."""
    texts: list[str] = []
    artifacts: list[Artifact] = []
    room = MAX_ARTIFACTS_CHARS
    for block in result.content:
        text, artifact = _block(block)
        texts.append(text)
        if artifact is not None and len(artifact.data) <= room:
            artifacts.append(artifact)
            room -= len(artifact.data)
    if not any(texts) and result.structured_content is not None:
        texts = [json.dumps(result.structured_content, ensure_ascii=False, default=str)]
    output = plain_text("\n".join(texts))
    return ToolReply(
        output=output[:MAX_OUTPUT_CHARS] or NO_OUTPUT,
        status="error" if result.is_error else "ok",
        error="mcp_error" if result.is_error else "",
        truncated=len(output) > MAX_OUTPUT_CHARS,
        artifacts=tuple(artifacts),
    )


def _block(block: Any) -> tuple[str, Artifact | None]:
    match block.type:
        case "text":
            return block.text, None
        case "image" | "audio":
            return f"[{block.type}: {block.mime_type}]", Artifact(mime=block.mime_type, data=block.data)
        case "resource":
            held = block.resource
            if hasattr(held, "text"):
                return held.text, None
            mime = held.mime_type or "application/octet-stream"
            return f"[resource {held.uri}: {mime}]", Artifact(mime=mime, data=held.blob)
        case "resource_link":
            return f"[resource {block.uri}: {block.name}]", None
        case other:
            return f"[{other}]", None


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
        self._session = partial(Session, name, address, seconds, start_seconds)
        self._listed: tuple[ListedTool, ...] | None = None

    @property
    def identity(self) -> str:
        """Name and address, without anything secret."""
        return f"{self.name}/{self._address.identity[:12]}"

    @property
    def listing(self) -> bytes:
        """The tools as they were listed, to be given by other `Calls`."""
        return LISTING.dump_json(self._tools())

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
        connection = self.connect()
        return [_McpTool(each, connection) for each in chosen]

    def connect(self) -> "Connection":
        """That of one trial's tools; nothing is opened before the first call."""
        return Connection(self.identity, self._session, self._calls)

    def _tools(self) -> tuple[ListedTool, ...]:
        if self._listed is None:
            raise InternalError(f"the tools of the MCP server {self.name!r} were not listed")
        return self._listed

    async def _list_live(self) -> bytes:
        require_client()
        session = self._session()
        try:
            return LISTING.dump_json(listing(self.name, await session.tools()))
        finally:
            await session.close()


class Connection:
    """The one of a trial's tools of one server: opened by the first call, anew after one that failed."""

    def __init__(self, server: str, connect: Callable[[], Session], calls: Calls) -> None:
        self._server = server
        self._connect = connect
        self._calls = calls
        self._session: Session | None = None

    async def call(self, tool: str, arguments: Mapping[str, JsonValue]) -> tuple[bytes | None, Lookup]:
        """As `Calls.call` gives it, of a tool by the server's own name for it. Raises ToolError."""

        async def live() -> bytes:
            return (await self._called(tool, arguments)).to_json().encode()

        return await self._calls.call(self._server, tool, arguments, live)

    async def _called(self, tool: str, arguments: Mapping[str, JsonValue]) -> ToolReply:
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
    def __init__(self, listed: ListedTool, connection: Connection) -> None:
        self.spec = listed.spec
        self._own_name = listed.own_name
        self._connection = connection

    @property
    def template(self) -> ResultTemplate:
        return PLAIN

    def refusal(self, arguments: Mapping[str, JsonValue]) -> ToolResult | None:
        return None

    async def call(self, arguments: Mapping[str, JsonValue]) -> ToolResult:
        content, lookup = await self._connection.call(self._own_name, arguments)
        if content is None:
            assert lookup.miss is not None
            output = told(MISS_MESSAGES[lookup.miss])
            return ToolResult(output, status="error", error=lookup.miss, lookup=lookup)
        reply = ToolReply.from_json(content)
        return ToolResult(reply.output, reply.status, reply.error, reply.truncated, reply.artifacts, lookup=lookup)

    async def close(self) -> None:
        await self._connection.close()
