"""A text in the place of results."""

from pydantic import Field

from toolablate.tools.interventions.changing import changed
from toolablate.tools.interventions.intervention import Call, Proceed, Setting
from toolablate.tools.interventions.scope import OfCalls
from toolablate.tools.tool import ToolResult


class SwapOptions(OfCalls):
    """`text` is what the model is shown."""

    text: str = Field(min_length=1)


class Swap:
    """The tool is called all the same, with its time and its effects, and its call is shown as one that worked."""

    def __init__(self, options: SwapOptions, setting: Setting) -> None:
        self._text = options.text

    async def apply(self, call: Call, proceed: Proceed) -> ToolResult:
        result = await proceed()
        swapped = ToolResult(self._text, lookup=result.lookup, changes=result.changes)
        return changed(swapped, "swap", f"showed {len(self._text):,} characters in place of {len(result.output):,}")
