"""What interventions share: saying what was changed."""

from dataclasses import replace

from toolablate.tools.tool import ToolResult
from toolablate.traces.records import Change


def changed(result: ToolResult, intervention: str, detail: str) -> ToolResult:
    """The result with what an intervention did to it."""
    return replace(result, changes=(*result.changes, Change(intervention=intervention, detail=detail)))
