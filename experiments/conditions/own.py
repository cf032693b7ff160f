"""Conditions of the user's own, by the name that a module or a package gives them."""

import importlib
from functools import lru_cache
from importlib.metadata import EntryPoint, entry_points

from toolablate.experiments.conditions.built_in import scaffolded
from toolablate.tools import FunctionTool
from toolablate.tools.plain import one_line
from toolablate.traces.errors import InputError
from toolablate.traces.records import Condition

ENTRY_POINTS = "toolablate.conditions"
"""The entry point group in which a package names conditions; each is a `Condition`, or a function that gives one."""


@lru_cache
def registered_conditions() -> dict[str, EntryPoint]:
    """The conditions that installed packages name."""
    return {point.name: point for point in entry_points(group=ENTRY_POINTS)}


def own_condition(name: str) -> Condition:
    """By the name that a package registered, or `package.module:attribute`: a condition, a function without arguments
    that gives one, or a tool, which then has the built-in prompt. Raises InputError."""
    point = registered_conditions().get(name)
    found = loaded(point.value if point else name, f"conditions: {one_line(name, 80)!r}")
    if isinstance(found, FunctionTool) and point is None:
        return scaffolded(name, name)
    if callable(found) and not isinstance(found, type | FunctionTool):
        try:
            found = found()
        except InputError:
            raise
        except Exception as error:
            told = one_line(f"{type(error).__name__}: {error}", 200)
            raise InputError(f"conditions: {name!r} gives no condition: {told}", code="bad_condition") from error
    if not isinstance(found, Condition):
        raise InputError(
            f"conditions: {one_line(name, 80)!r} is no condition but a {type(found).__name__}",
            hint="make it by toolablate.experiments.condition(name, ...), or name a function that gives one",
            code="bad_condition",
        )
    return found


def loaded(place: str, key: str) -> object:
    """What `package.module:attribute` stands for; `key` begins what is said of it. Raises InputError."""
    module, _, attribute = place.partition(":")
    found = _imported(module, key)
    for part in attribute.split("."):
        if not hasattr(found, part):
            raise InputError(f"{key}: there is no {one_line(part, 80)!r} in {module!r}", code="not_there")
        found = getattr(found, part)
    return found


def _imported(module: str, key: str) -> object:
    try:
        return importlib.import_module(module)
    except InputError:
        raise
    except Exception as error:
        absent = isinstance(error, ModuleNotFoundError) and error.name == module.split(".")[0]
        raise InputError(
            f"{key}: cannot import {module!r}: {one_line(f'{type(error).__name__}: {error}', 200)}",
            hint="modules are looked for in the environment and in the plan's folder" if absent else "",
            code="not_there",
        ) from error
