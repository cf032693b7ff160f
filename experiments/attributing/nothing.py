"""What the results of a trial would be where its tools found nothing."""

from collections.abc import Mapping

from toolablate.experiments.attributing.case import Case
from toolablate.experiments.counterfactual.unrecorded import UnrecordedPages, UnrecordedSearch, UnrecordedTool
from toolablate.tools import Resources, Tool, Toolset, expanded_uses, open_interventions, open_tools, resource_of
from toolablate.tools.guards.guard import NoGuard
from toolablate.tools.interventions import Setting
from toolablate.tools.python import no_files
from toolablate.traces.records import Condition, InterventionUse, ModelCall, ToolCall, Trace, clean_text

_STARTED = ("sandbox", "mcp")
"""What tools stand on that would have to be started; they say nothing in words of their own."""


async def nothing_found(case: Case, trace: Trace, condition: Condition) -> Mapping[int, str]:
    """By the events of `Case.shown`, in the words of the stand-in `sham`, which calls nobody. Raises InputError where a
    function of the user's own cannot be imported."""
    toolset = Toolset(_tools(trace, condition), open_interventions((InterventionUse(name="sham"),), Setting()))
    calls = {event: trace.events[event] for event in case.shown}
    async with toolset:
        return {
            event: clean_text((await toolset.call(made.call)).output)
            for event, made in calls.items()
            if isinstance(made, ToolCall)
        }


def _tools(trace: Trace, condition: Condition) -> list[Tool]:
    uses = [use for use in expanded_uses(condition.tools) if resource_of(use) not in _STARTED]
    resources = Resources(search=UnrecordedSearch(), pages=UnrecordedPages())
    opened: list[Tool] = [each.tool for each in open_tools(uses, resources, no_files, NoGuard())]
    there = {tool.spec.name for tool in opened}
    offered = next((event.request.tools for event in trace.events if isinstance(event, ModelCall)), ())
    return [*opened, *(UnrecordedTool(spec) for spec in offered if spec.name not in there)]
