"""Results that come late."""

import asyncio

from pydantic import Field

from toolablate.tools.interventions.changing import changed
from toolablate.tools.interventions.intervention import Call, Proceed, Setting
from toolablate.tools.interventions.scope import OfCalls
from toolablate.tools.tool import ToolResult


class DelayOptions(OfCalls):
    """`seconds` is how much later a result comes."""

    seconds: float = Field(gt=0)


class Delay:
    """Waits as a slow tool would: it counts against the trial's seconds, and ends with them."""

    def __init__(self, options: DelayOptions, setting: Setting) -> None:
        self._seconds = options.seconds

    async def apply(self, call: Call, proceed: Proceed) -> ToolResult:
        result = await proceed()
        await asyncio.sleep(self._seconds)
        return changed(result, "delay", f"waited {self._seconds:g} s")
