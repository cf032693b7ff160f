"""What interventions share: saying what was changed, and drawing by chance what a replay draws again."""

import random
from dataclasses import replace

from toolablate.tools.interventions.intervention import Call, Setting
from toolablate.tools.tool import ToolResult
from toolablate.traces.records import Change


def changed(result: ToolResult, intervention: str, detail: str) -> ToolResult:
    """The result with what an intervention did to it."""
    return replace(result, changes=(*result.changes, Change(intervention=intervention, detail=detail)))


def draws(setting: Setting, intervention: str, call: Call) -> random.Random:
    """The chance of one intervention at one call: the same in a replay and when a call is tried again, and another than
    that of every other intervention, call and trial."""
    return random.Random(f"{setting.seed} {intervention} {setting.place} {call.number}")  # noqa: S311 - no secret
