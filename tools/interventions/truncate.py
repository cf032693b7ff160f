"""Results that are cut."""

from dataclasses import replace
from typing import Literal

from pydantic import Field

from toolablate.tools.interventions.changing import changed
from toolablate.tools.interventions.intervention import Call, Proceed, Setting
from toolablate.tools.interventions.scope import OfCalls
from toolablate.tools.tool import ToolResult

Keep = Literal["head", "tail", "both"]


class TruncateOptions(OfCalls):
    """`chars` is how many characters of a longer result are left, of its `keep` end or half of both."""

    chars: int = Field(gt=0)
    keep: Keep = "head"


class Truncate:
    def __init__(self, options: TruncateOptions, setting: Setting) -> None:
        self._options = options

    async def apply(self, call: Call, proceed: Proceed) -> ToolResult:
        result = await proceed()
        chars, length = self._options.chars, len(result.output)
        if length <= chars:
            return result
        cut = replace(result, output=truncated(result.output, chars, self._options.keep), truncated=True)
        return changed(cut, "truncate", f"kept {chars:,} of {length:,} characters")


def truncated(text: str, chars: int, keep: Keep) -> str:
    """`chars` characters of a longer text, and a line in the place of the others, which says how many they are. Of an
    odd number the beginning has one more."""
    head = {"head": chars, "tail": 0, "both": chars - chars // 2}[keep]
    tail = chars - head
    line = f"[{len(text) - chars:,} characters left out]"
    return "\n".join(part for part in (text[:head], line, text[len(text) - tail :]) if part)
