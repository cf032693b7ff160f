"""Tools of the user's own, by the name that a plan or a package gives them."""

import importlib
import inspect
from functools import lru_cache
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path

from pydantic import BaseModel, ValidationError

from toolablate.tools.function import FunctionTool
from toolablate.tools.plain import one_line
from toolablate.traces.errors import InputError
from toolablate.traces.records import ToolUse, digest_text

ENTRY_POINTS = "toolablate.tools"
"""The entry point group in which a package names tools of its own; each is a function decorated with `@tool`."""


@lru_cache
def registered() -> dict[str, EntryPoint]:
    """The tools that installed packages name."""
    return {point.name: point for point in entry_points(group=ENTRY_POINTS)}


def function_tool(name: str) -> FunctionTool[..., object]:
    """By the name that a package registered, or `package.module:function`. Raises InputError."""
    loaded = _load(name)
    if not isinstance(loaded, FunctionTool):
        raise InputError(
            f"tools: {name!r} is no tool but a {type(loaded).__name__}",
            hint="decorate the function with @toolablate.tools.tool",
            code="bad_tool",
        )
    return loaded


def options_of(use: ToolUse, function: FunctionTool[..., object]) -> BaseModel:
    """The options that the plan gives. Raises InputError."""
    try:
        return function.options.model_validate(use.options)
    except ValidationError as error:
        detail = error.errors(include_url=False)[0]
        allowed = ", ".join(str(field.alias) for field in function.options.model_fields.values()) or "none"
        found = "" if detail["type"] == "missing" else f", found {one_line(repr(detail['input']), 60)}"
        raise InputError(
            f"tools: options of {use.name!r}: {'.'.join(map(str, detail['loc']))}: {detail['msg']}{found}",
            hint=f"its options, the keyword-only parameters of the function: {allowed}",
            code="unknown_option" if detail["type"] == "extra_forbidden" else "bad_option",
        ) from None


def source_digest(name: str) -> str:
    """Digest of the module that defines the tool; what it imports is not looked at. Raises InputError."""
    function = function_tool(name).function
    try:
        return digest_text(Path(inspect.getsourcefile(function) or "").read_text(encoding="utf-8"))
    except (OSError, TypeError, UnicodeDecodeError) as error:
        raise InputError(
            f"tools: the source of {name!r} cannot be read: {error}",
            hint="define it in a module file, so that a change of it can be told",
            code="no_source",
        ) from None


def _load(name: str) -> object:
    point = registered().get(name)
    module, _, attribute = (point.value if point else name).partition(":")
    found: object = _import(module, name)
    for part in attribute.split("."):
        if not hasattr(found, part):
            raise InputError(f"tools: {name!r}: there is no {part!r} in {module!r}", code="unknown_tool")
        found = getattr(found, part)
    return found


def _import(module: str, name: str) -> object:
    try:
        return importlib.import_module(module)
    except InputError:
        raise
    except Exception as error:
        absent = isinstance(error, ModuleNotFoundError) and error.name == module.split(".")[0]
        raise InputError(
            f"tools: {name!r}: cannot import {module!r}: {type(error).__name__}: {error}",
            hint="modules are looked for in the environment and in the plan's folder" if absent else "",
            code="unknown_tool",
        ) from error
