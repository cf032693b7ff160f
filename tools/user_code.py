"""What is the user's own, by the names that a plan or a package gives it."""

import ast
import hashlib
import importlib
import importlib.util
import inspect
import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from pydantic import BaseModel

from toolablate.tools.function import FunctionTool, read_options
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
from toolablate.traces.records import ToolUse, digest_json

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
    """Digest of the code of the module that defines the tool; what it imports is not looked at. Raises InputError."""
    found = function_tool(name)
    if getattr(found, "made", None) is None:
        return module_digest(found.function, name, "tools")
    # An object of LangChain's is defined where it is named, and its class elsewhere.
    points = registered("tools").get(name, ())
    return module_digest(sys.modules[(points[0].value if points else name).partition(":")[0]], name, "tools")


def module_digest(function: Callable[..., Any] | ModuleType, name: str, key: Key) -> str:
    """Digest of the code of the module that it is, or that defines it: `code_digest`. Raises InputError."""
    try:
        return code_digest(Path(inspect.getsourcefile(function) or "").read_bytes())
    except (OSError, TypeError, ValueError, SyntaxError, RecursionError, MemoryError) as error:
        raise InputError(
            f"{key}: the source of {name!r} cannot be read: {error}",
            hint="define it in a module file, so that changes to it are detected",
            code="no_source",
        ) from None


def class_source(module: str, folder: Path) -> dict[str, str]:
    """Where the module of a class comes from, without importing it: the `package` that is installed with its version,
    or the `source_digest` of a file in the folder. Nothing where it is neither."""
    from importlib.metadata import PackageNotFoundError, packages_distributions, version

    root = module.partition(".")[0]
    try:
        return {"package": f"{root.replace('_', '-')} {version(root)}"}
    except PackageNotFoundError:
        pass
    path = _file_of(module, folder)
    if path.is_file():
        with suppress(OSError, ValueError, SyntaxError, RecursionError, MemoryError):
            return {"source_digest": code_digest(path.read_bytes())}
        return {}
    names = packages_distributions().get(root, ())
    return {"package": f"{names[0]} {version(names[0])}"} if names else {}


def code_source(module: str, folder: Path) -> dict[str, str]:
    """As `class_source`; the digest is that of the module and of all modules in the folder that it imports, by however
    many others."""
    source = class_source(module, folder)
    if "source_digest" not in source:
        return source
    digests: dict[str, str] = {}
    left = [module]
    while left:
        name = left.pop()
        path = _file_of(name, folder)
        if name in digests or not path.is_file():
            continue
        with suppress(OSError, ValueError, SyntaxError, RecursionError, MemoryError):
            text = path.read_bytes()
            digests[name] = code_digest(text)
            left += _imports(text, f"{name}.__init__" if path.name == "__init__.py" else name)
    return {"source_digest": digest_json(digests)} if len(digests) > 1 else source


def _file_of(module: str, folder: Path) -> Path:
    place = folder.joinpath(*module.split("."))
    package = place / "__init__.py"
    return package if package.is_file() else place.with_suffix(".py")


def _imports(source: bytes, module: str) -> list[str]:
    """The names of what a module imports, which may be modules and may be something in them."""
    names: list[str] = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            names += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            parts = module.split(".")
            above = parts[: len(parts) - node.level] if node.level else []
            base = ".".join((*above, *([node.module] if node.module else ())))
            names += [base, *(f"{base}.{alias.name}" if base else alias.name for alias in node.names)]
    return names


def code_digest(source: bytes) -> str:
    """Digest of a module's syntax tree: "code " and the first 128 bits of a SHA-256, as hexadecimal digits.

    Comments, blank lines, quotes and line breaks are not part of it; docstrings are, since a model reads them. It is
    the same for all versions of Python that can read the module. Raises SyntaxError, ValueError, and RecursionError or
    MemoryError where the code is nested too deep.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        tree = ast.parse(source)
    digest = hashlib.sha256()
    left: list[object] = [tree]
    # Not by recursion: Python reads expressions that are nested deeper than its own stack.
    while left:
        node = left.pop()
        if isinstance(node, ast.AST):
            digest.update(f"({type(node).__name__} ".encode())
            left.append(_END)
            for field, value in sorted(_told(node), reverse=True):
                left += [value, f"{field}="]
        elif isinstance(node, list):
            digest.update(b"[")
            left += [_END, *reversed(node)]
        else:
            digest.update(f"{node} ".encode())
    return f"code {digest.hexdigest()[:32]}"


_END = ")"


def _told(node: ast.AST) -> Iterator[tuple[str, object]]:
    """The fields that say something. Versions of Python differ in those that are empty: each adds some."""
    if isinstance(node, ast.Constant):
        yield "value", _literal(node.value)
        return
    for field, value in ast.iter_fields(node):
        if isinstance(value, list) and isinstance(node, ast.JoinedStr):
            value = _joined(value)
        if field in ("ctx", "type_ignores", "type_comment") or value is None or value == []:
            continue
        if field == "format_spec" and isinstance(value, ast.JoinedStr) and not _joined(value.values):
            continue
        yield field, value if isinstance(value, ast.AST | list) else _literal(value)


def _joined(parts: list[ast.expr]) -> list[ast.expr]:
    """The parts of an f-string; versions of Python differ in where they cut its text."""
    joined: list[ast.expr] = []
    for part in parts:
        last = joined[-1] if joined else None
        if isinstance(part, ast.Constant) and isinstance(last, ast.Constant):
            joined[-1] = ast.Constant(str(last.value) + str(part.value))
        elif not isinstance(part, ast.Constant) or part.value != "":
            joined.append(part)
    return joined


def _literal(value: object) -> str:
    """Of what type it is, and what; a text in ASCII, since versions of Python differ in what they hold for printable.
    Integers can have more decimal digits than Python writes."""
    return f"{type(value).__name__}:{hex(value) if type(value) is int else ascii(value)}"


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
