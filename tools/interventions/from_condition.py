"""From the interventions that a condition names to those of one trial, and a call taken through them."""

import random
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from toolablate.tools.function import read_options
from toolablate.tools.interventions.built_in import (
    Delay,
    DelayOptions,
    Fail,
    FailOptions,
    Limit,
    LimitOptions,
    Noise,
    NoiseOptions,
    Remind,
    RemindOptions,
    Spotlight,
    SpotlightOptions,
    SwapOptions,
    SwapResults,
    Truncate,
    TruncateOptions,
)
from toolablate.tools.interventions.function import FunctionIntervention
from toolablate.tools.interventions.intervention import (
    Call,
    CallScope,
    Intervention,
    InterventionKind,
    InterventionSetting,
    OfTools,
    Options,
    Proceed,
)
from toolablate.tools.interventions.substitutes import SUBSTITUTES
from toolablate.tools.text import one_line
from toolablate.tools.tool import ToolResult
from toolablate.tools.user_code import find_own, import_as_it_stands, is_own, module_digest, refuse_claim, registered
from toolablate.traces.errors import InputError
from toolablate.traces.records import Change, InterventionUse, ToolReply, clean_text


@dataclass(frozen=True, slots=True)
class Applied:
    """An intervention of one trial, under the name that its condition has for it, and the calls that it is for. `seed`
    is that of its draws, and tells it from those of every other trial and intervention."""

    name: str
    intervention: Intervention
    scope: CallScope = field(default_factory=CallScope)
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


# From the interventions that a condition names to those of one trial.


INTERVENTIONS: Mapping[str, InterventionKind[Any]] = {
    "delay": InterventionKind(DelayOptions, Delay),
    "fail": InterventionKind(FailOptions, Fail),
    "limit": InterventionKind(LimitOptions, Limit),
    "noise": InterventionKind(NoiseOptions, Noise),
    "remind": InterventionKind(RemindOptions, Remind),
    "spotlight": InterventionKind(SpotlightOptions, lambda *_: Spotlight(), for_outside=True),
    "swap": InterventionKind(SwapOptions, SwapResults),
    "truncate": InterventionKind(TruncateOptions, Truncate),
    **SUBSTITUTES,
}
"""Every name that a plan can use, apart from those of the user's own."""


def open_interventions(
    uses: Sequence[InterventionUse], setting: InterventionSetting | None = None
) -> tuple[Applied, ...]:
    """One trial's interventions, in the order in which they are applied. Raises InputError for an unknown name or
    option, for two that answer in the tool's place or one that does not stand first, and where the setting knows the
    tools, for one that is for a tool that is none of them."""
    _refuse_two_substitutes(uses)
    _refuse_late_substitute(uses)
    before: Counter[str] = Counter()
    opened = []
    for use in uses:
        opened.append(_open(use, setting or InterventionSetting(), before[use.name]))
        before[use.name] += 1
    return tuple(opened)


def intervention_sources(uses: Sequence[InterventionUse]) -> dict[str, str]:
    """Digests of the modules of those that are functions of the user's own, by the names in the plan.

    What such a module imports from beside it is part of it; a module that was edited is imported anew. Raises
    InputError where one is not there or has no source text.
    """
    names = [use.name for use in uses if _built_in(use.name) is None]
    for name in names:
        if is_own(name, "interventions"):
            import_as_it_stands(name, "interventions")
    return {name: module_digest(_own(name).function, name, "interventions") for name in names}


def _refuse_two_substitutes(uses: Sequence[InterventionUse]) -> None:
    standing_in = [use.name for use in uses if use.name in SUBSTITUTES]
    if len(standing_in) > 1:
        raise InputError(
            f"interventions: {standing_in[0]!r} and {standing_in[1]!r} are substitutes in one condition, and a"
            " tool's output can have only one",
            hint="make two conditions of it",
            code="two_substitutes",
        )


def _refuse_late_substitute(uses: Sequence[InterventionUse]) -> None:
    """What stands in for a result has to know what of it is the tool's own."""
    late = next((use.name for use in uses[1:] if use.name in SUBSTITUTES), None)
    if late is not None:
        raise InputError(
            f"interventions: {late!r} comes after {one_line(uses[0].name, 80)!r}; a substitute must come first",
            hint=f"name {late!r} first: the first intervention is the nearest to the tool",
            code="late_substitute",
        )


def _open(use: InterventionUse, setting: InterventionSetting, place: int) -> Applied:
    """`place` counts those of the same name before it, so that no two have the same draws."""
    kind = _built_in(use.name) or _own(use.name).kind(use.name)
    options = read_options(kind.options, use.options, "interventions", use.name)
    scope = _scope(use.name, kind, options, setting)
    return Applied(use.name, kind.make(options, setting), scope, f"{setting.seed} {use.name} {place}")


def _built_in(name: str) -> InterventionKind[Any] | None:
    """Raises InputError where a package registers another one by this name."""
    if name in INTERVENTIONS:
        refuse_claim(name, "interventions")
    return INTERVENTIONS.get(name)


def _own(name: str) -> FunctionIntervention[..., object]:
    if not is_own(name, "interventions"):
        there_are = [*INTERVENTIONS, *sorted(registered("interventions").keys() - INTERVENTIONS.keys())]
        raise InputError(
            f"interventions: there is no intervention {one_line(name, 80)!r}",
            hint=f"there are {', '.join(there_are)}; one of your own is named as package.module:function",
            code="unknown_intervention",
        )
    return find_own(name, "interventions", FunctionIntervention)


def _scope(name: str, kind: InterventionKind[Any], options: Options, setting: InterventionSetting) -> CallScope:
    usual = setting.outside if kind.for_outside else None
    if not isinstance(options, OfTools):
        return CallScope(usual)
    absent = [tool for tool in options.tools or () if setting.tools is not None and tool not in setting.tools]
    if absent:
        there_are = f"its tools are {', '.join(setting.tools)}" if setting.tools else "it has no tools"
        raise InputError(
            f"interventions: tools of {name!r}: the condition has no tool {one_line(absent[0], 80)!r}",
            hint=f"{there_are}; an intervention names them as the model does",
            code="unknown_tool",
        )
    return CallScope(usual if options.tools is None else options.tools, options.chosen_calls())
