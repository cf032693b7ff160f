"""Conditions by the names that a plan can use for them.

A built-in one; one that a package registers; a toolset or a tool that a condition can have, with the built-in prompt;
an arm of the ladder of any of these, as in `python:sham`; a condition of one's own as `package.module:attribute`.
"""

from toolablate.experiments.conditions.built_in import BUILT_IN, scaffolded
from toolablate.experiments.conditions.ladder import ARMS, SUFFIXES, ladder_of
from toolablate.experiments.conditions.own import own_condition
from toolablate.tools import tool_names
from toolablate.tools.own import registered
from toolablate.tools.plain import one_line
from toolablate.traces.errors import InputError
from toolablate.traces.records import Condition


def named_condition(name: str) -> Condition:
    """Raises InputError for a name that stands for no condition."""
    found = BUILT_IN.get(name) or _own(name) or well_known(name)
    if found is None and all(name.partition(":")):
        found = own_condition(name)
    if found is None:
        there_are = ", ".join((*BUILT_IN, *sorted(registered("conditions"))))
        raise InputError(
            f"conditions: there is no built-in condition {one_line(name, 80)!r}",
            hint=f"built in are: {there_are}; an arm of a ladder is python:sham, with any tool or toolset before the"
            " colon; a condition of your own is a table with its tools or prompt, or module:name",
            code="unknown_condition",
        )
    return found


def well_known(name: str) -> Condition | None:
    """The condition of a name that is known without looking into a module of the user's own."""
    if name in BUILT_IN:
        return BUILT_IN[name]
    stem, _, suffix = name.rpartition(":")
    if suffix in SUFFIXES and stem and (start := well_known(stem)):
        return _member(name, start)
    if name in tool_names() or (name.startswith("mcp:") and name != "mcp:"):
        return scaffolded(name, name)
    return None


def _own(name: str) -> Condition | None:
    """One that a package registers, or an arm of what is the user's own."""
    if name in registered("conditions"):
        return own_condition(name)
    stem, _, suffix = name.rpartition(":")
    is_own = stem in registered("conditions") or (well_known(stem) is None and all(stem.partition(":")))
    return _member(name, own_condition(stem)) if suffix in SUFFIXES and is_own else None


def _member(name: str, start: Condition) -> Condition:
    stem, _, suffix = name.rpartition(":")
    members = ladder_of(start, ARMS, shapley=bool(start.prompt))
    wanted = f"{start.name}:{suffix}"
    for member in members:
        if member.name == wanted:
            return member
    raise InputError(
        f"conditions: the ladder of {one_line(stem, 80)!r} has no arm {suffix!r}",
        hint=f"its arms: {', '.join(member.name for member in members)}",
        code="unknown_condition",
    )
