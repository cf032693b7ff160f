"""From what a plan writes to the conditions that it runs, each once."""

from collections.abc import Sequence

from toolablate.experiments.plans.conditions.entry import ConditionEntry, LadderEntry
from toolablate.tools.text import one_line
from toolablate.traces.errors import InputError
from toolablate.traces.records import Budget, Condition


def expanded(ladder: Sequence[LadderEntry], entries: Sequence[ConditionEntry], budget: Budget) -> tuple[Condition, ...]:
    """The arms of all ladders, in their order, then the other conditions.

    An arm that is there already is not run twice. Raises InputError for two conditions of one name, for one under two
    names, and for interventions without tools.
    """
    taken: dict[str, Condition] = {}
    for toolset in ladder:
        for arm in toolset.expand(budget):
            # What has no tools is no toolset's own, whichever of them gave it its name.
            if arm.tools or arm.identity() not in taken:
                _take(arm, taken)
    for entry in entries:
        _take(entry.resolve(budget), taken)
    return tuple(taken.values())


def _take(condition: Condition, taken: dict[str, Condition]) -> None:
    if condition.interventions and not condition.tools:
        raise InputError(
            f"conditions: {one_line(condition.name, 80)!r} has interventions and no tools whose results they change",
            hint="give it tools, or leave the interventions to the conditions that have some",
            code="no_tools",
        )
    other = taken.setdefault(condition.identity(), condition)
    if other.name != condition.name:
        raise InputError(
            f"conditions: {one_line(other.name, 80)!r} and {one_line(condition.name, 80)!r} are the same condition"
            " under two names",
            hint="raise `repeats` to run a condition again",
            code="same_condition",
        )
    alike = next((each for each in taken.values() if each.name == condition.name and each is not other), None)
    if alike is not None:
        differing = ", ".join(key for key, value in other if value != getattr(alike, key))
        raise InputError(
            f"conditions: the name {one_line(condition.name, 80)!r} is used for two conditions that differ in"
            f" {differing}",
            hint="names must be distinct; toolsets whose ladders share `none` and `scaffold` need the same budget,"
            " which [budget] gives to all",
            code="same_name",
        )
