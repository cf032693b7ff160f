"""What is the user's own, by the names that a plan or a package gives it."""

import importlib
import importlib.util
import inspect
import sys
from collections.abc import Callable, Sequence
from functools import lru_cache
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from pydantic import BaseModel

from toolablate.tools.function import FunctionTool, read_options
from toolablate.tools.importing_anew import importing_as_it_stands
from toolablate.tools.own_source import UNREADABLE, closure, code_digest, digests_of, one_digest
from toolablate.tools.text import one_line
from toolablate.traces.errors import InputError, ToolablateError
from toolablate.traces.plugins import (
    OURS,
    UNKNOWN,
    by_name,
    checked,
    having,
    is_not,
    only,
    package,
    package_and_version,
    refuse_built_in,
)
from toolablate.traces.records import ToolUse

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

Key = Literal["tools", "interventions", "conditions", "mcp", "search_providers", "providers"]
"""The entry-point group in which a package names them is `toolablate.` and this. Our own stand in the same groups."""

_NOUNS: dict[Key, str] = {
    "tools": "tool",
    "interventions": "intervention",
    "conditions": "condition",
    "mcp": "server",
    "search_providers": "provider",
    "providers": "provider",
}

Own = TypeVar("Own")


@lru_cache
def registered(key: Key = "tools") -> "dict[str, tuple[EntryPoint, ...]]":
    """What installed packages name, ours first; more than one entry point where several packages claim a name, which
    `load_own` refuses."""
    return by_name(f"toolablate.{key}")


def package_of(name: str, key: Key) -> str:
    """The package that registers the name, with its version; "" where none does, or it tells none."""
    point = next(iter(registered(key).get(name, ())), None)
    return package_and_version(point) if point and package(point) != UNKNOWN else ""


def is_ours(name: str, key: Key) -> bool:
    """Whether it is registered by this package itself."""
    return any(package(point) == OURS for point in registered(key).get(name, ()))


def refuse_claim(name: str, key: Key) -> None:
    """Raises InputError where a package registers a name that is built in."""
    refuse_built_in(registered(key).get(name, ()), f"{key}: {name!r}")


def is_own(name: str, key: Key) -> bool:
    """Whether a package names it, or it has the form `package.module:function`; it need not be there."""
    module, _, attribute = name.partition(":")
    return name in registered(key) or bool(module and attribute)


def find_own(name: str, key: Literal["tools", "interventions"], kind: type[Own]) -> Own:
    """The function decorated with `@tool` or `@intervention` of that name. Raises InputError."""
    loaded = load_own(name, key)
    if not isinstance(loaded, kind):
        noun = key.removesuffix("s")
        raise InputError(
            f"{key}: {name!r} {is_not(noun, loaded)}",
            hint=f"decorate the function with @toolablate.tools.{noun}",
            code=f"bad_{noun}",
        )
    return loaded


def function_tool(name: str) -> FunctionTool[..., object]:
    """The tool of that name, decorated with `@tool` or of LangChain. Raises InputError."""
    loaded = load_own(name, "tools")
    if "langchain_core.tools.base" in sys.modules:
        from toolablate.tools.langchain_tools import is_langchain_tool, langchain_tool

        if is_langchain_tool(loaded):
            return langchain_tool(loaded, name)
    return find_own(name, "tools", FunctionTool)


def options_of(use: ToolUse, function: FunctionTool[..., object]) -> BaseModel:
    """The options that the plan gives. Raises InputError."""
    return read_options(function.options, use.options, "tools", use.name)


def source_digest(name: str) -> str:
    """`module_digest` of a tool that is a function. Raises InputError."""
    found = function_tool(name)
    # An object of LangChain's is defined where it is named, and its class elsewhere.
    own = found.function if getattr(found, "made", None) is None else sys.modules[_module_of(name, "tools")]
    return module_digest(own, name, "tools")


def module_digest(function: Callable[..., Any] | ModuleType, name: str, key: Key) -> str:
    """Digest of the code of the module that it is, or that defines it: `code_digest`. Where that module, or the one
    that `name` names, imports others from beside it, by however many, it is a digest of all of them. Raises
    InputError."""
    if isinstance(function, ModuleType):
        module = function.__name__
    else:
        # A decorator's wrapper has the module of what it wraps, and the file of the decorator.
        module, function = str(function.__module__), inspect.unwrap(function)
    named = _module_of(name, key)
    try:
        path = Path(inspect.getsourcefile(function) or "")
        digests = {module: code_digest(path.read_bytes())}
    except (*UNREADABLE, TypeError) as error:
        raise InputError(
            f"{key}: the source of {name!r} cannot be read: {error}",
            hint="define it in a module file, so that changes to it are detected",
            code="no_source",
        ) from None
    if file := getattr(sys.modules.get(named), "__file__", None):
        digests = digests_of(closure(named, Path(file))) | digests
    return one_digest(digests_of(closure(module, path)) | digests)


def _module_of(name: str, key: Key) -> str:
    points = registered(key).get(name, ())
    return (points[0].value if points else name).partition(":")[0]


def import_as_it_stands(name: str, key: Key) -> None:
    """`importing_as_it_stands` of the module in which something of the user's own is. Call it where a run begins, and
    not while trials call it. Raises InputError as `load_own`."""
    with importing_as_it_stands(_module_of(name, key), Path()):
        load_own(name, key)


def load_own(name: str, key: Key) -> object:
    """By the name that a package registered, or `package.module:attribute`. Raises InputError, which names the package
    whose entry point cannot be loaded, or all packages that claim the name."""
    points = registered(key).get(name, ())
    value = only(points, f"{key}: {one_line(name, 80)!r}").value if points else name
    module, _, attribute = value.partition(":")
    said = said_of(name, key)
    found: object = _import(module, said, _unknown(key))
    for part in attribute.split("."):
        found = _attribute(found, part, f"{said}: there is no {one_line(part, 80)!r} in {module!r}", _unknown(key))
    return found


def open_own(name: str, key: Key, opening: Callable[[], object], parts: Sequence[str], expected: str) -> Any:
    """What `opening` makes with what a package registered: an object with these attributes. Raises InputError, which
    names the package, where it fails or makes something else."""
    return checked(
        f"{said_of(name, key)} cannot be opened",
        opening,
        having(*parts),
        expected,
        code=f"bad_{_NOUNS[key]}",
        passing=(ToolablateError,),
    )


def said_of(name: str, key: Key) -> str:
    """The name with its key and the package that registers it, as messages begin."""
    points = registered(key).get(name, ())
    return f"{key}: {one_line(name, 80)!r}" + (f" of the package {package(points[0])}" if points else "")


def _attribute(of: object, name: str, said: str, code: str) -> object:
    try:
        return getattr(of, name)
    except AttributeError:
        raise InputError(said, code=code) from None
    except (Exception, SystemExit) as error:
        # A module may have a `__getattr__` of its own.
        raise InputError(f"{said}: {one_line(f'{type(error).__name__}: {error}', 200)}", code=code) from error


def is_importable(module: str) -> bool:
    """Whether there is a module of this name, which has no dots; it is not imported."""
    try:
        return importlib.util.find_spec(module) is not None
    except (ImportError, ValueError):
        return False


def _unknown(key: Key) -> str:
    return f"unknown_{_NOUNS[key]}"


def _import(module: str, said: str, code: str) -> object:
    try:
        return importlib.import_module(module)
    except InputError:
        raise
    except (Exception, SystemExit) as error:
        root = module.split(".")[0]
        absent = isinstance(error, ModuleNotFoundError) and error.name == root
        hint = "modules are looked for in the environment and in the plan's folder" if absent else ""
        if absent and root.startswith("langchain"):
            hint = f"pip install {root.replace('_', '-')}"
        raise InputError(
            f"{said}: cannot import {module!r}: {one_line(f'{type(error).__name__}: {error}', 200)}",
            hint=hint,
            code=code,
        ) from error
