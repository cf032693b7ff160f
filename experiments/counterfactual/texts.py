"""What is shown in place of a result: nothing, the right answer, a wrong one, or a result of another question."""

from toolablate.experiments.counterfactual.opening import OpenedTools
from toolablate.experiments.counterfactual.tools import rebuild
from toolablate.experiments.counterfactual.wanted import Content
from toolablate.tools import ToolResult
from toolablate.traces.errors import InputError
from toolablate.traces.records import Event, InterventionUse, Swap, ToolCall, clean_text

STAND_INS = {"null": "sham", "placebo": "placebo", "gold": "oracle", "adversarial": "adversarial"}
"""The interventions that say it, by what a swap calls it."""


async def swap_of(content: Content, recorded: ToolCall, before: tuple[Event, ...], opened: OpenedTools) -> Swap:
    """The swap of a recorded call's result for what the stand-in of this name gives. A placebo is made from the real
    result, for which the call is made again. Raises InputError where that may not be; ToolError, SandboxError."""
    name = recorded.call.name
    if content == "placebo":
        if name not in opened.askable:
            raise InputError(
                f"--swap placebo: it is made from what {name!r} really gives, which may not be asked again",
                hint="--live allows it; or --swap null, gold, adversarial or a FILE",
                code="not_recorded",
            )
        async with opened.toolset(()) as toolset:
            await rebuild(toolset, before, opened.rebuilt)
            result = await _stood_in(content, recorded, opened)
    else:
        result = await _stood_in(content, recorded, opened)
    if result.status == "invalid":
        raise InputError(
            f"--swap {content}: the call does not fit its tool, which never gave a result: {result.output}",
            hint="--swap FILE shows any text",
            code="invalid_call",
        )
    return Swap(content=content, text=clean_text(result.output))


async def _stood_in(content: Content, recorded: ToolCall, opened: OpenedTools) -> ToolResult:
    return await opened.toolset((InterventionUse(name=STAND_INS[content]),)).call(recorded.call)
