"""A tool that is called in name only: what comes back is what it says where there is nothing."""

from toolablate.tools.interventions.changing import changed
from toolablate.tools.interventions.intervention import Call, Options, Proceed, Setting
from toolablate.tools.tool import ToolResult


class Sham:
    """The tool is not called, so that nothing is started and nobody is asked."""

    def __init__(self, options: Options, setting: Setting) -> None: ...

    async def apply(self, call: Call, proceed: Proceed) -> ToolResult:
        return changed(ToolResult(call.likeness.nothing(call.arguments)), "sham", "not called")
