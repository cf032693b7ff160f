"""What a tool is: a specification that a model is told, and a call that returns what the model is shown."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, Protocol

from pydantic import JsonValue

from toolablate.tools.frame import Frame
from toolablate.tools.likeness import Likeness
from toolablate.traces.records import Artifact, Change, Lookup, Marker, ToolReply, ToolSpec


@dataclass(frozen=True, slots=True)
class ToolResult:
    """What one call gave. `output` is exactly what the model is shown; the rest is for the trace (see `ToolCall`), but
    `frame`, which is for the intervention nearest to the tool."""

    output: str
    status: Literal["ok", "error", "invalid"] = "ok"
    error: str = ""
    truncated: bool = False
    artifacts: tuple[Artifact, ...] = ()
    lookup: Lookup | None = None
    markers: tuple[Marker, ...] = ()
    changes: tuple[Change, ...] = ()
    original: ToolReply | None = None
    frame: Frame | None = field(default=None, compare=False, repr=False)


class Tool(Protocol):
    """A tool opened for one trial. It may keep state (a kernel, opened pages) until it is closed.

    A call that the model got wrong is a `ToolResult` with a status; a tool whose own infrastructure failed raises
    `ToolError` or `SandboxError`, which never counts as something the model did.
    """

    @property
    def spec(self) -> ToolSpec: ...

    @property
    def likeness(self) -> Likeness: ...

    def refusal(self, arguments: Mapping[str, JsonValue]) -> ToolResult | None:
        """The result of status `invalid` that a call with these arguments would give; None where they fit, and where
        only calling can tell. Nothing is run by it."""
        ...

    async def call(self, arguments: Mapping[str, JsonValue]) -> ToolResult: ...

    async def close(self) -> None: ...
