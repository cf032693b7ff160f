"""Conditions of the user's own, by the name that a module or a package gives them."""

from toolablate.experiments.plans.conditions.built_in import scaffolded
from toolablate.tools import FunctionTool
from toolablate.tools.own import load_own, registered
from toolablate.tools.text import one_line
from toolablate.traces.errors import InputError
from toolablate.traces.records import Condition


def own_condition(name: str) -> Condition:
    """By the name that a package registered, or `package.module:attribute`: a condition, a function without arguments
    that gives one, or a tool, which then has the built-in prompt. Raises InputError."""
    found = load_own(name, "conditions")
    if isinstance(found, FunctionTool) and name not in registered("conditions"):
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
