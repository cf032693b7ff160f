"""A text behind results, such as a reminder of what the answer must look like."""

from dataclasses import replace

from pydantic import Field

from toolablate.tools.interventions.changing import changed
from toolablate.tools.interventions.intervention import Call, Proceed, Setting
from toolablate.tools.interventions.scope import OfCalls
from toolablate.tools.tool import ToolResult


class RemindOptions(OfCalls):
    """`text` is what stands behind a result, after an empty line."""

    text: str = Field(min_length=1)


class Remind:
    def __init__(self, options: RemindOptions, setting: Setting) -> None:
        self._text = options.text

    async def apply(self, call: Call, proceed: Proceed) -> ToolResult:
        result = await proceed()
        reminded = replace(result, output=f"{result.output}\n\n{self._text}")
        return changed(reminded, "remind", f"added {len(self._text):,} characters")
