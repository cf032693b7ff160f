"""A limit to the calls of some tools."""

import sys
from collections.abc import Container

from pydantic import Field

from toolablate.tools.interventions.changing import changed
from toolablate.tools.interventions.intervention import Call, Proceed, Setting
from toolablate.tools.interventions.scope import OfTools
from toolablate.tools.tool import ToolResult

# What an agent answers calls with for which its budget has no place: how a limit is made must not show.
NOT_EXECUTED = "This call was not executed: no further tool calls are possible for this question."


class LimitOptions(OfTools):
    """`calls` is how many calls of these tools, of all together, are run."""

    calls: int = Field(ge=0)

    def chosen_calls(self) -> Container[int]:
        return range(self.calls + 1, sys.maxsize)


class Limit:
    """Answers the calls beyond the limit, which are all that it is applied to, and runs none of them."""

    def __init__(self, options: LimitOptions, setting: Setting) -> None:
        self._calls = options.calls

    async def apply(self, call: Call, proceed: Proceed) -> ToolResult:
        refused = ToolResult(NOT_EXECUTED, status="error", error="call_limit")
        return changed(refused, "limit", f"not run: the limit is {self._calls:,}")
