"""Conditions built in Python, as a plan's tables are."""

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from pydantic import ValidationError

from toolablate.experiments.plans.conditions.entry import ConditionEntry
from toolablate.experiments.plans.conditions.naming import named_condition
from toolablate.tools import FunctionIntervention, FunctionTool
from toolablate.traces.errors import InputError
from toolablate.traces.records import Budget, Condition, InterventionUse, ToolUse
from toolablate.traces.validation import explain


def condition(
    name: str,
    *,
    base: str | Condition | None = None,
    prompt: str | None = None,
    tools: Sequence[str | ToolUse | FunctionTool[..., Any] | Mapping[str, Any]] | None = None,
    tool_choice: str | None = None,
    parallel_tool_calls: bool | None = None,
    reasoning: Literal["keep", "drop"] | None = None,
    interventions: Sequence[str | InterventionUse | FunctionIntervention[..., Any] | Mapping[str, Any]] | None = None,
    budget: Budget | Mapping[str, Any] | None = None,
) -> Condition:
    """A condition like the table of a plan with these keys: it has the same id.

    A tool or an intervention is a name, a `ToolUse` or an `InterventionUse`, a mapping with `name` and `options`, or a
    function decorated with `@tool` or `@intervention`; `base` may be a condition. What `budget` leaves out is said by
    the plan that uses the condition. Raises InputError.
    """
    table = {
        "name": name,
        "prompt": prompt,
        "tools": _uses(tools),
        "tool_choice": tool_choice,
        "parallel_tool_calls": parallel_tool_calls,
        "reasoning": reasoning,
        "interventions": _uses(interventions),
        "budget": dict(budget) if isinstance(budget, Mapping) else budget,
    }
    try:
        entry = ConditionEntry.model_validate({key: value for key, value in table.items() if value is not None})
    except ValidationError as error:
        raise InputError(f"condition {name!r}: {explain(error, ConditionEntry)}", code="bad_condition") from None
    if base is None:
        return entry.resolve(Budget())
    if not isinstance(base, str | Condition):
        raise InputError(
            f"condition {name!r}: base: neither a name nor a condition, but {base!r}", code="bad_condition"
        )
    start = base if isinstance(base, Condition) else named_condition(base)
    return entry.applied_to(start, name, Budget())


def _uses(given: object) -> object:
    """What is no list is left to the check of the table."""
    return list(map(_use, given)) if isinstance(given, list | tuple) else given


def _use(given: object) -> object:
    if isinstance(given, FunctionTool | FunctionIntervention):
        return given.use()
    return dict(given) if isinstance(given, Mapping) else given
