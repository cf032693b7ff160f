"""A tool whose results a guard looks at."""

from collections.abc import Mapping
from dataclasses import replace

from pydantic import JsonValue

from toolablate.tools.guards.guard import Guard
from toolablate.tools.likeness import Likeness
from toolablate.tools.misses import MISS_MESSAGES, told
from toolablate.tools.tool import Tool, ToolResult
from toolablate.traces.records import ToolSpec


class GuardedTool:
    """A tool from outside that knows nothing of guards: its text is inspected under the tool's name."""

    def __init__(self, tool: Tool, guard: Guard) -> None:
        self._tool = tool
        self._guard = guard

    @property
    def spec(self) -> ToolSpec:
        return self._tool.spec

    @property
    def likeness(self) -> Likeness:
        return self._tool.likeness

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
