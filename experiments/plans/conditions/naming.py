"""Conditions by the names that a plan can use for them.

A built-in one; one that a package registers; a toolset or a tool that a condition can have, with the built-in prompt;
an arm of the ladder of any of these, as in `python:sham`; a condition of one's own as `package.module:attribute`.
"""

from toolablate.experiments.plans.conditions.built_in import BUILT_IN, scaffolded
from toolablate.experiments.plans.conditions.ladder import ARMS, SUFFIXES, ladder_of
from toolablate.experiments.plans.conditions.own import own_condition
from toolablate.experiments.plans.conditions.unknown import no_arm, unknown_condition
from toolablate.tools import tool_names
from toolablate.tools.own import is_importable, registered
from toolablate.traces.records import Condition


def named_condition(name: str) -> Condition:
    """Raises InputError for a name that stands for no condition."""
    found = BUILT_IN.get(name) or _own(name) or well_known(name)
    if found is None and all(name.partition(":")):
        refuse_mistyped_arm(name)
        found = own_condition(name)
    if found is None:
        raise unknown_condition(name)
    return found


def well_known(name: str) -> Condition | None:
    """The condition of a name that is known without looking into a module of the user's own."""
    start = _toolset(name)
    stem, _, suffix = name.rpartition(":")
    if start is None and suffix in SUFFIXES and (start := _toolset(stem)):
        return _member(name, start)
    return start


def _toolset(name: str) -> Condition | None:
    """What is no arm of another condition."""
    if name in BUILT_IN:
        return BUILT_IN[name]
    server = name.removeprefix("mcp:").partition("/")[0]
    of_server = name.startswith("mcp:") and server and ":" not in server
    return scaffolded(name, name) if of_server or name in tool_names() else None


def _own(name: str) -> Condition | None:
    """One that a package registers, or an arm of what is the user's own."""
    if name in registered("conditions"):
        return own_condition(name)
    stem, _, suffix = name.rpartition(":")
    is_own = stem in registered("conditions") or (well_known(stem) is None and stem.count(":") == 1)
    return _member(name, own_condition(stem)) if suffix in SUFFIXES and is_own else None


def _member(name: str, start: Condition) -> Condition:
    stem, _, suffix = name.rpartition(":")
    members = {member.name: member for member in ladder_of(start, ARMS, shapley=bool(start.prompt))}
    wanted = members.get(f"{start.name}:{suffix}")
    if wanted is None:
        raise no_arm(stem, suffix, list(members))
    return wanted


def refuse_mistyped_arm(name: str) -> None:
    """Raises InputError for what was meant as an arm of a ladder, where no module of the user's own can be meant."""
    stem, _, suffix = name.rpartition(":")
    if stem.count(":") == 0 and is_importable(stem):
        return
    if start := well_known(stem):
        raise no_arm(stem, suffix, [arm.name for arm in ladder_of(start, ARMS, shapley=bool(start.prompt))])
    if suffix in SUFFIXES:
        raise unknown_condition(name, [f"{known}:{suffix}" for known in tool_names()])
