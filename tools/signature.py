"""What a function of the user's own takes, as fields of pydantic models, and the name by which a plan finds it."""

import inspect
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import reduce
from typing import Any, get_type_hints

from pydantic import ConfigDict, Field

from toolablate.traces.errors import InputError

STRICT = ConfigDict(frozen=True, extra="forbid", strict=True, allow_inf_nan=False)

Fields = dict[str, Any]
"""For `create_model`. Their aliases are the names of the parameters, which may be `json` or `copy`."""


@dataclass(frozen=True, slots=True)
class Parameters:
    """`shown` are those that can be given by position, `fixed` the keyword-only ones, which a plan sets."""

    shown: Fields
    fixed: Fields


def parameters_of(function: Callable[..., Any], noun: str, told: Mapping[str, str]) -> Parameters:
    """`noun` is what the function is to be, `told` what a model is told of its parameters, by name. Raises InputError
    where a parameter has no annotation that can be read, or cannot be given by name."""
    name, code = function.__name__, f"bad_{noun}"
    try:
        hints = get_type_hints(function, include_extras=True)
    except Exception as error:
        raise InputError(f"{noun} {name!r}: its annotations cannot be read: {error}", code=code) from error
    found = Parameters({}, {})
    for index, parameter in enumerate(inspect.signature(function).parameters.values()):
        if parameter.kind not in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY):
            raise InputError(f"{noun} {name!r}: {parameter} cannot be called by name", code=code)
        if parameter.name not in hints:
            raise InputError(f"{noun} {name!r}: the parameter {parameter.name!r} has no type annotation", code=code)
        required = parameter.default is parameter.empty
        help_line: dict[str, Any] = {"description": told[parameter.name]} if parameter.name in told else {}
        field = Field(... if required else None, alias=parameter.name, **help_line)
        group = found.fixed if parameter.kind is parameter.KEYWORD_ONLY else found.shown
        group[f"parameter_{index}"] = (hints[parameter.name], field)
    return found


def plan_name(made: object, function: Callable[..., Any], key: str) -> str:
    """The name by which a plan finds `made`, which was made of the function. Raises InputError where it could not."""
    module, path = function.__module__, function.__qualname__
    try:
        found = reduce(getattr, path.split("."), sys.modules.get(module))
    except AttributeError:
        found = None
    if found is not made or module == "__main__":
        raise InputError(
            f"{key}: no plan could name {path!r} of {module!r}",
            hint="define it at the top of a module that can be imported, under the function's own name",
            code="no_name",
        )
    return f"{module}:{path}"
