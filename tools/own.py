"""Tools and interventions of the user's own, by the names that a plan or a package gives them."""

import importlib
import inspect
from collections.abc import Callable
from functools import lru_cache
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from typing import Any, Literal, TypeVar

from pydantic import BaseModel

from toolablate.tools.function import FunctionTool
from toolablate.tools.options import read_options
from toolablate.traces.errors import InputError
from toolablate.traces.records import ToolUse, digest_text

Key = Literal["tools", "interventions"]
"""Where they stand in a plan. The entry point group in which a package names its own is `toolablate.` and this; each is
a function decorated with `@tool` or `@intervention`."""

Own = TypeVar("Own")


@lru_cache
def registered(key: Key = "tools") -> dict[str, EntryPoint]:
    """What installed packages name."""
    return {point.name: point for point in entry_points(group=f"toolablate.{key}")}


def is_own(name: str, key: Key) -> bool:
    """Whether a package names it, or it has the form `package.module:function`; it need not be there."""
    module, _, attribute = name.partition(":")
    return name in registered(key) or bool(module and attribute)


def find_own(name: str, key: Key, kind: type[Own]) -> Own:
    """By the name that a package registered, or `package.module:function`. Raises InputError."""
    loaded = _load(name, key)
    if not isinstance(loaded, kind):
        noun = key.removesuffix("s")
        raise InputError(
            f"{key}: {name!r} is no {noun} but a {type(loaded).__name__}",
            hint=f"decorate the function with @toolablate.tools.{noun}",
            code=f"bad_{noun}",
        )
    return loaded


def function_tool(name: str) -> FunctionTool[..., object]:
    """The tool of that name. Raises InputError."""
    return find_own(name, "tools", FunctionTool)


def options_of(use: ToolUse, function: FunctionTool[..., object]) -> BaseModel:
    """The options that the plan gives. Raises InputError."""
    return read_options(function.options, use.options, "tools", use.name)


def source_digest(name: str) -> str:
    """Digest of the module that defines the tool; what it imports is not looked at. Raises InputError."""
    return module_digest(function_tool(name).function, name, "tools")


def module_digest(function: Callable[..., Any], name: str, key: Key) -> str:
    """Digest of the module that defines the function. Raises InputError."""
    try:
        return digest_text(Path(inspect.getsourcefile(function) or "").read_text(encoding="utf-8"))
    except (OSError, TypeError, UnicodeDecodeError) as error:
        raise InputError(
            f"{key}: the source of {name!r} cannot be read: {error}",
            hint="define it in a module file, so that a change of it can be told",
            code="no_source",
        ) from None


def _load(name: str, key: Key) -> object:
    point = registered(key).get(name)
    module, _, attribute = (point.value if point else name).partition(":")
    found: object = _import(module, name, key)
    for part in attribute.split("."):
        if not hasattr(found, part):
            raise InputError(
                f"{key}: {name!r}: there is no {part!r} in {module!r}", code=f"unknown_{key.removesuffix('s')}"
            )
        found = getattr(found, part)
    return found


def _import(module: str, name: str, key: Key) -> object:
    try:
        return importlib.import_module(module)
    except InputError:
        raise
    except Exception as error:
        absent = isinstance(error, ModuleNotFoundError) and error.name == module.split(".")[0]
        raise InputError(
            f"{key}: {name!r}: cannot import {module!r}: {type(error).__name__}: {error}",
            hint="modules are looked for in the environment and in the plan's folder" if absent else "",
            code=f"unknown_{key.removesuffix('s')}",
        ) from error
