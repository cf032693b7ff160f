"""A server's tools as models are told of them."""

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from pydantic import JsonValue, TypeAdapter

from toolablate.tools.plain import plain_text
from toolablate.traces.errors import ToolError
from toolablate.traces.records import Record, ToolSpec, digest_text

if TYPE_CHECKING:
    from mcp.types import Tool

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


def listing(server: str, tools: "Sequence[Tool]") -> tuple[ListedTool, ...]:
    """In the server's order. Raises ToolError where there are too many, or two with one name."""
    if len(tools) > MAX_TOOLS:
        raise ToolError(f"mcp {server}: {len(tools)} tools, more than {MAX_TOOLS}", code="mcp_too_many")
    listed = tuple(_listed(server, tool) for tool in tools)
    names = [each.spec.name for each in listed]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise ToolError(f"mcp {server}: two tools are named {twice!r}", code="mcp_same_name")
    return listed


def _listed(server: str, tool: "Tool") -> ListedTool:
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
