"""What is the user's own, by the names that a plan or a package gives it."""

import ast
import hashlib
import importlib
import importlib.util
import inspect
import sys
import sysconfig
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
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
    except (*_UNREADABLE, TypeError) as error:
        raise InputError(
            f"{key}: the source of {name!r} cannot be read: {error}",
            hint="define it in a module file, so that changes to it are detected",
            code="no_source",
        ) from None
    if file := getattr(sys.modules.get(named), "__file__", None):
        digests = _digests(_closure(named, Path(file))) | digests
    return _one_digest(_digests(_closure(module, path)) | digests)


def _module_of(name: str, key: Key) -> str:
    points = registered(key).get(name, ())
    return (points[0].value if points else name).partition(":")[0]


def class_source(module: str, folder: Path) -> dict[str, str]:
    """Where the module of a class comes from, without importing it: the `package` that is installed with its version;
    and the `source_digest` of a file that may be edited, which lies in the folder or in a package that is installed in
    place. Nothing where it is neither."""
    return _source(module, {module: path} if (path := _found(module, folder)) else {})


def code_source(module: str, folder: Path) -> dict[str, str]:
    """As `class_source`; the digest is that of the module and of all modules beside it that it imports, by however many
    others."""
    return _source(module, _closure(module, _found(module, folder)))


def _source(module: str, files: dict[str, Path]) -> dict[str, str]:
    source = _package_of(module.partition(".")[0], looked_up=not files)
    digests = _digests(files)
    if digests:
        source["source_digest"] = _one_digest(digests)
    return source


def _one_digest(digests: dict[str, str]) -> str:
    return digest_json(digests) if len(digests) > 1 else next(iter(digests.values()))


def _package_of(root: str, *, looked_up: bool) -> dict[str, str]:
    """By its name; and by all that is installed, which takes longer, where it is to be looked up."""
    from importlib.metadata import PackageNotFoundError, packages_distributions, version

    try:
        return {"package": f"{root.replace('_', '-')} {version(root)}"}
    except PackageNotFoundError:
        names = packages_distributions().get(root, ()) if looked_up else ()
        return {"package": f"{names[0]} {version(names[0])}"} if names else {}


# Code that may be edited.

_LIBRARIES = tuple(sysconfig.get_paths()[key] for key in ("stdlib", "platstdlib", "purelib", "platlib"))


def _found(module: str, folder: Path) -> Path | None:
    """The file that an import would find, or one in the folder; None for one of an installed package, which its version
    tells."""
    root = module.partition(".")[0]
    spec = None
    for finder in sys.meta_path:
        # Not by `importlib.util.find_spec`, which gives what is imported already.
        with suppress(Exception):
            spec = spec or finder.find_spec(root, None)
    if spec is not None and spec.origin and spec.origin.startswith(_LIBRARIES):
        return None
    places = (Path(place).parent for place in (spec and spec.submodule_search_locations) or ())
    at = (Path(spec.origin).parent,) if spec is not None and spec.origin and not spec.submodule_search_locations else ()
    files = (_file_of(module, place) for place in (*places, *at, folder))
    return next((file for file in files if file.is_file()), None)


def _closure(module: str, first: Path | None) -> dict[str, Path]:
    """The files of the module, whose own is `first`, and of what it imports from where it lies; of an installed package
    what is in the package."""
    files: dict[str, Path] = {}
    left = [module] if first is not None else []
    root = module.partition(".")[0] if str(first).startswith(_LIBRARIES) else ""
    while left:
        name = left.pop()
        if name in files or (root and name.partition(".")[0] != root):
            continue
        path = first if name == module and first is not None else _file_of(name, _above(module, first))
        with suppress(*_UNREADABLE):
            text = path.read_bytes()
            left += _imports(text, f"{name}.__init__" if path.name == "__init__.py" else name)
            files[name] = path
    return files


def _above(module: str, path: Path | None) -> Path:
    """The folder in which the first part of a module's name stands."""
    assert path is not None
    inner = path.parent if path.name == "__init__.py" else path
    return inner.parents[module.count(".")]


_UNREADABLE = (OSError, ValueError, SyntaxError, RecursionError, MemoryError)


def _digests(files: dict[str, Path]) -> dict[str, str]:
    digests: dict[str, str] = {}
    for name, path in files.items():
        with suppress(*_UNREADABLE):
            digests[name] = code_digest(path.read_bytes())
    return digests


_BEGAN = time.time()
_imported: dict[str, tuple[ModuleType, str]] = {}


@contextmanager
def importing_as_it_stands(module: str, folder: Path) -> Iterator[dict[str, str]]:
    """What is imported inside has the code that the files hold now, which `code_source` says: where one of them was
    edited after it was imported in this process, all are forgotten. Inside is to import the module."""
    files = _closure(module, _found(module, folder))
    digests = _digests(files)
    running = {name: sys.modules[name] for name in digests if _may_be_edited(sys.modules.get(name))}
    if any(_is_older(name, here, digests[name], files[name]) for name, here in running.items()):
        for name in running:
            del sys.modules[name]
            with suppress(OSError, NotImplementedError):
                # Bytecode is told apart by the second.
                Path(importlib.util.cache_from_source(str(files[name]))).unlink(missing_ok=True)
        importlib.invalidate_caches()
    yield code_source(module, folder)
    _imported.update({name: (sys.modules[name], digest) for name, digest in digests.items() if name in sys.modules})


def _may_be_edited(module: ModuleType | None) -> bool:
    """Whether it is the user's: a file beside an agent may have the name of a library that is imported."""
    file = getattr(module, "__file__", None)
    return (
        bool(file)
        and not str(file).startswith(_LIBRARIES)
        and not str(getattr(module, "__name__", "")).startswith(OURS)
    )


def _is_older(name: str, module: ModuleType, digest: str, path: Path) -> bool:
    """Whether what is imported under this name may have other code than the file. Of what others imported it is known
    only when the file was written."""
    known = _imported.get(name)
    if known is not None and known[0] is module:
        return known[1] != digest or module.__file__ != str(path)
    return path.stat().st_mtime >= _BEGAN or module.__file__ != str(path)


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
