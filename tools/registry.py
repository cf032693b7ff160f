"""From the tools that a condition names to tools that are open for one trial."""

import importlib
import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ValidationError

from toolablate.sandbox.kernel import Sandbox
from toolablate.tools.browser import Browser, PageSource
from toolablate.tools.function import FunctionTool
from toolablate.tools.plain import one_line
from toolablate.tools.python import FileSource, no_files, python_tool
from toolablate.tools.search import SearchProvider, search_tool
from toolablate.tools.tool import Tool
from toolablate.tools.toolset import Toolset, refuse_duplicates
from toolablate.traces.errors import InputError
from toolablate.traces.records import ToolUse, digest_text

ENTRY_POINTS = "toolablate.tools"
"""The entry point group in which a package names tools of its own; each is a function decorated with `@tool`."""

TOOLSETS: Mapping[str, tuple[str, ...]] = {
    "search": ("web_search", "browser_open", "browser_find"),
    "all": ("python", "web_search", "browser_open", "browser_find"),
}
"""Names that stand for several tools."""


@dataclass(frozen=True, slots=True)
class Resources:
    """What the tools of all trials share. `pages` is where the browser reads; by default the search provider's own."""

    sandbox: Sandbox | None = None
    search: SearchProvider | None = None
    pages: PageSource | None = None


class _Opening:
    """One toolset while it is opened; its browser tools share their pages."""

    def __init__(self, resources: Resources, files: FileSource) -> None:
        self._resources = resources
        self.files = files

    @property
    def sandbox(self) -> Sandbox:
        if self._resources.sandbox is None:
            raise _missing("python", "a sandbox", 'a table [sandbox] with backend = "bubblewrap" or "docker"')
        return self._resources.sandbox

    @property
    def search(self) -> SearchProvider:
        if self._resources.search is None:
            raise _missing("web_search", "a search provider", 'a table [search] with provider = "corpus" or "ddgs"')
        return self._resources.search

    @cached_property
    def browser(self) -> Browser:
        pages = self._resources.pages
        if pages is None and self._resources.search is not None:
            pages = self._resources.search.pages
        if pages is None:
            raise _missing("browser_open", "pages", 'a table [search] with provider = "corpus" or "ddgs"')
        return Browser(pages)


_BUILT_IN: Mapping[str, tuple[Literal["sandbox", "search"], Callable[[_Opening], Tool]]] = {
    "python": ("sandbox", lambda opening: python_tool(opening.sandbox, opening.files)),
    "web_search": ("search", lambda opening: search_tool(opening.search)),
    "browser_open": ("search", lambda opening: opening.browser.open_tool()),
    "browser_find": ("search", lambda opening: opening.browser.find_tool()),
}


def open_toolset(uses: Sequence[ToolUse], resources: Resources, files: FileSource = no_files) -> Toolset:
    """Opens the tools of one trial; nothing is started, and none of its `files` read, before the first call.

    Raises InputError for an unknown tool or option, a tool named twice, or a resource that the plan does not provide.
    """
    opening = _Opening(resources, files)
    return Toolset([_open(use, opening) for use in _expanded(uses)])


def resources_needed(uses: Sequence[ToolUse]) -> frozenset[Literal["sandbox", "search"]]:
    """Which parts of `Resources` the tools cannot do without. Raises InputError as `open_toolset` does."""
    return frozenset(_BUILT_IN[use.name][0] for use in _checked(uses) if use.name in _BUILT_IN)


def tool_sources(uses: Sequence[ToolUse]) -> dict[str, str]:
    """Digests of the modules of those tools that are functions of the user's own, by the names in the plan.

    What such a module imports is not looked at. Raises InputError where a tool has no source text.
    """
    return {use.name: _source_digest(use.name) for use in _checked(uses) if use.name not in _BUILT_IN}


def _source_digest(name: str) -> str:
    function = _function_tool(name).function
    try:
        return digest_text(Path(inspect.getsourcefile(function) or "").read_text(encoding="utf-8"))
    except (OSError, TypeError, UnicodeDecodeError) as error:
        raise InputError(
            f"tools: the source of {name!r} cannot be read: {error}",
            hint="define it in a module file, so that a change of it can be told",
            code="no_source",
        ) from None


def tool_names() -> tuple[str, ...]:
    """Every name that a plan can use, apart from `package.module:function`."""
    return (*_BUILT_IN, *TOOLSETS, *sorted(_registered()))


def _checked(uses: Sequence[ToolUse]) -> list[ToolUse]:
    expanded = list(_expanded(uses))
    refuse_duplicates([_checked_name(use) for use in expanded])
    return expanded


def _checked_name(use: ToolUse) -> str:
    if use.name in _BUILT_IN:
        _refuse_options(use)
        return use.name
    function = _function_tool(use.name)
    _options(use, function)
    return function.name


def _expanded(uses: Sequence[ToolUse]) -> Iterator[ToolUse]:
    for use in uses:
        names = TOOLSETS.get(use.name)
        if names is None:
            yield use
        else:
            _refuse_options(use)
            yield from (ToolUse(name=name) for name in names)


def _open(use: ToolUse, opening: _Opening) -> Tool:
    if use.name in _BUILT_IN:
        _refuse_options(use)
        return _BUILT_IN[use.name][1](opening)
    function = _function_tool(use.name)
    return function.open(_options(use, function))


def _refuse_options(use: ToolUse) -> None:
    if use.options:
        raise InputError(
            f"tools: {use.name!r} has no option {next(iter(use.options))!r}; it takes none", code="unknown_option"
        )


def _options(use: ToolUse, function: FunctionTool[..., object]) -> BaseModel:
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


def _function_tool(name: str) -> FunctionTool[..., object]:
    loaded = _load(name)
    if not isinstance(loaded, FunctionTool):
        raise InputError(
            f"tools: {name!r} is no tool but a {type(loaded).__name__}",
            hint="decorate the function with @toolablate.tools.tool",
            code="bad_tool",
        )
    return loaded


@lru_cache
def _registered() -> dict[str, EntryPoint]:
    return {point.name: point for point in entry_points(group=ENTRY_POINTS) if point.name not in _BUILT_IN}


def _load(name: str) -> object:
    point = _registered().get(name)
    module, colon, attribute = (point.value if point else name).partition(":")
    if not (module and colon and attribute):
        raise InputError(
            f"tools: there is no tool {one_line(name, 80)!r}",
            hint=f"there are {', '.join(tool_names())}; a function of your own is named as package.module:function",
            code="unknown_tool",
        )
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


def _missing(tool: str, what: str, remedy: str) -> InputError:
    return InputError(f"tools: {tool!r} needs {what}", hint=f"put into the plan {remedy}", code="missing_resource")
