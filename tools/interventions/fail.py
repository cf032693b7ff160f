"""Calls that fail, as calls of an unreliable tool do."""

from pydantic import Field

from toolablate.tools.interventions.changing import changed
from toolablate.tools.interventions.intervention import Call, Proceed, Setting
from toolablate.tools.interventions.scope import OfCalls
from toolablate.tools.tool import ToolResult


class FailOptions(OfCalls):
    """`rate` is the probability that a call fails, and `message` what the model is then shown."""

    rate: float = Field(default=1.0, gt=0, le=1)
    message: str = Field(default="This call failed: the tool gave no result.", min_length=1)


class Fail:
    """A call that fails is answered and not run. It is part of the condition, so no failure of infrastructure."""

    def __init__(self, options: FailOptions, setting: Setting) -> None:
        self._options = options

    async def apply(self, call: Call, proceed: Proceed) -> ToolResult:
        rate = self._options.rate
        if call.chance.random() >= rate:
            return await proceed()
        failed = ToolResult(self._options.message, status="error", error="injected_failure")
        return changed(failed, "fail", f"failed at a rate of {rate:g}")
