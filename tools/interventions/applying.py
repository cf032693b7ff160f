"""A call taken through the interventions of its trial, with what they changed."""

import random
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import partial

from toolablate.tools.interventions.intervention import Call, Intervention, Proceed
from toolablate.tools.interventions.scope import Scope
from toolablate.tools.tool import ToolResult
from toolablate.traces.records import Change, ToolReply, clean_text


@dataclass(frozen=True, slots=True)
class Applied:
    """An intervention of one trial, under the name that its condition has for it, and the calls that it is for. `seed`
    is that of its draws, and tells it from those of every other trial and intervention."""

    name: str
    intervention: Intervention
    scope: Scope = field(default_factory=Scope)
    seed: str = ""


async def intervened(interventions: Sequence[Applied], call: Call, run: Proceed) -> ToolResult:
    """What the model is shown; `run` calls the tool itself. The first intervention is the nearest to the tool.

    Where anything was changed the result says by what, and keeps what the tool gave, if it was called. Raises what the
    tool or an intervention raises.
    """
    given: list[ToolResult] = []

    async def kept() -> ToolResult:
        given.append(await run())
        return given[-1]

    proceed: Proceed = kept
    # All scopes are asked before anything is awaited, since the next call may begin meanwhile.
    for applied in interventions:
        if applied.scope.holds(call):
            proceed = partial(_apply, applied, call, proceed)
    result = await proceed()
    return replace(result, original=_reply(given[-1])) if given and result.changes else result


async def _apply(applied: Applied, call: Call, proceed: Proceed) -> ToolResult:
    """The change is in the result also where the intervention says nothing of it."""
    came: list[ToolResult] = []

    async def kept() -> ToolResult:
        came.append(await proceed())
        return came[-1]

    chance = random.Random(f"{applied.seed} {call.number}")  # noqa: S311 - no secret
    result = await applied.intervention.apply(replace(call, chance=chance), kept)
    before = came[-1] if came else None
    known = before.changes if before else ()
    if result == before or len(result.changes) > len(known):
        return result
    return replace(result, changes=(*known, Change(intervention=applied.name)))


def _reply(result: ToolResult) -> ToolReply:
    return ToolReply(
        output=clean_text(result.output),
        status=result.status,
        error=clean_text(result.error),
        truncated=result.truncated,
        artifacts=result.artifacts,
    )
