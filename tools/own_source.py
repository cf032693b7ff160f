"""The code that a module of the user's own is made of: the files that an import would read, and their digest."""

import ast
import hashlib
import sys
import sysconfig
import warnings
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from toolablate.traces.records import digest_json


def class_source(module: str, folder: Path) -> dict[str, str]:
    """Where the module of a class comes from, without importing it: the `package` that is installed with its version;
    and the `source_digest` of a file that may be edited, which lies in the folder or in a package that is installed in
    place. Nothing where it is neither."""
    return source_of(module, digests_of({module: path} if (path := editable_file(module, folder)) else {}))


def code_source(module: str, folder: Path) -> dict[str, str]:
    """As `class_source`; the digest is that of the module and of all modules beside it that it imports, by however many
    others."""
    return source_of(module, digests_of(closure(module, editable_file(module, folder))))


def source_of(module: str, digests: dict[str, str]) -> dict[str, str]:
    source = _package_of(root_of(module), looked_up=not digests)
    if digests:
        source["source_digest"] = one_digest(digests)
    return source


def one_digest(digests: dict[str, str]) -> str:
    return digest_json(digests) if len(digests) > 1 else next(iter(digests.values()))


def _package_of(root: str, *, looked_up: bool) -> dict[str, str]:
    """By its name; and by all that is installed, which takes longer, where it is to be looked up."""
    from importlib.metadata import PackageNotFoundError, packages_distributions, version

    try:
        return {"package": f"{root.replace('_', '-')} {version(root)}"}
    except PackageNotFoundError:
        names = packages_distributions().get(root, ()) if looked_up else ()
        return {"package": f"{names[0]} {version(names[0])}"} if names else {}


LIBRARIES = tuple(sysconfig.get_paths()[key] for key in ("stdlib", "platstdlib", "purelib", "platlib"))


def editable_file(module: str, folder: Path) -> Path | None:
    """The file that an import would find, or one in the folder; None for one of an installed package, which its version
    tells."""
    root = root_of(module)
    if str(getattr(sys.modules.get(root), "__file__", None)).startswith(LIBRARIES):
        return None
    spec = None
    for finder in sys.meta_path:
        # Not by `importlib.util.find_spec`, which gives what is imported already.
        with suppress(Exception):
            spec = spec or finder.find_spec(root, None)
    if spec is not None and str(spec.origin).startswith((*LIBRARIES, "built-in", "frozen")):
        return None
    places = (Path(place).parent for place in (spec and spec.submodule_search_locations) or ())
    at = (Path(spec.origin).parent,) if spec is not None and spec.origin and not spec.submodule_search_locations else ()
    files = (_file_of(module, place) for place in (*places, *at, folder))
    return next((file for file in files if file.is_file()), None)


def closure(module: str, first: Path | None) -> dict[str, Path]:
    """The files of the module, whose own is `first`, and of what it imports from where it lies, with the packages that
    these are in; of an installed package what is in the package."""
    files: dict[str, Path] = {}
    left = [module] if first is not None else []
    root = root_of(module) if str(first).startswith(LIBRARIES) else ""
    while left:
        name = left.pop()
        if name in files or (root and root_of(name) != root):
            continue
        path = first if name == module and first is not None else _file_of(name, _above(module, first))
        if "." in name:
            left.append(name.rpartition(".")[0])
        with suppress(*UNREADABLE):
            text = path.read_bytes()
            if text.strip() and (name == module or root or _is_imported(name, path, _above(module, first))):
                left += _imports(text, f"{name}.__init__" if path.name == "__init__.py" else name)
                files[name] = path
    return files


def _is_imported(name: str, path: Path, folder: Path) -> bool:
    """Whether an import of this name gives the file in the folder, and not a library's."""
    found = editable_file(name, folder)
    return found is not None and found.samefile(path)


def _above(module: str, path: Path | None) -> Path:
    """The folder in which the first part of a module's name stands."""
    assert path is not None
    inner = path.parent if path.name == "__init__.py" else path
    return inner.parents[module.count(".")]


UNREADABLE = (OSError, ValueError, SyntaxError, RecursionError, MemoryError)


def digests_of(files: dict[str, Path]) -> dict[str, str]:
    digests: dict[str, str] = {}
    for name, path in files.items():
        with suppress(*UNREADABLE):
            digests[name] = code_digest(path.read_bytes())
    return digests


def root_of(module: str) -> str:
    return module.partition(".")[0]


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
        elif isinstance(node, ast.Assign) and any(getattr(each, "id", "") == "__all__" for each in node.targets):
            # Of a package `import *` imports what this names.
            package = module.removesuffix(".__init__")
            values = (getattr(part, "value", None) for part in ast.walk(node.value))
            names += [f"{package}.{name}" for name in values if isinstance(name, str)]
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
