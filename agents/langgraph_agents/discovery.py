"""What an agent is made of, found without running it: its tools, and what its models are bound to besides."""

import functools
import sys
import sysconfig
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from types import CodeType, FunctionType, MethodType, ModuleType
from typing import Any

from langchain_core.language_models import BaseChatModel
from langchain_core.runnables import Runnable
from langchain_core.tools import BaseTool

from toolablate.agents.langgraph_agents.requests import specs_of

# What is looked at at most; an agent has some hundred parts.
_MOST_PARTS = 50_000
_MOST_ELEMENTS = 2_000
LIBRARIES = tuple(sysconfig.get_paths()[key] for key in ("stdlib", "platstdlib", "purelib", "platlib"))
# Parts of these are not looked into: they hold no tools, and much else.
_PASSED_OVER = (BaseChatModel, type, ModuleType, str, bytes, int, float, bool, complex)
_PATTERN_NAMES = ("transfer_to_", "transfer_back_to_", "handoff_to_")
_HANDOFF = "__handoff_destination"


@dataclass(slots=True)
class Parts:
    """`tools` are the agent's by name, `bound` the names of other functions that a model of its is offered, `schemas`
    those by which a reply is put into a form. `models` are those that were seen. `blocks` tells of a part that has no
    coroutine."""

    tools: dict[str, BaseTool] = field(default_factory=dict)
    bound: set[str] = field(default_factory=set)
    schemas: set[str] = field(default_factory=set)
    models: list[BaseChatModel] = field(default_factory=list)
    blocks: bool = False


def parts_of(agent: object, module: Mapping[str, object]) -> Parts:
    """Walks through graphs, nodes, closures and the names that functions of the user's own use. A tool that a model was
    bound to in the module, where nothing else uses it, is looked for among the names of the `module`."""
    found, seen, left = Parts(), dict[int, object](), [agent]
    while left and len(seen) < _MOST_PARTS:
        part = left.pop()
        if part is None or id(part) in seen:
            continue
        # Kept, since the id of what is gone may be given to another.
        seen[id(part)] = part
        _take(part, found)
        left += _inside(part)
    for name in found.schemas:
        found.tools.pop(name, None)
    for value in module.values():
        if isinstance(value, BaseTool) and value.name in found.bound:
            found.tools.setdefault(value.name, value)
    found.bound -= found.schemas | set(found.tools)
    return found


def _take(part: object, found: Parts) -> None:
    if isinstance(part, BaseTool):
        found.tools.setdefault(part.name, part)
    elif isinstance(part, BaseChatModel):
        found.models.append(part)
    elif _blocks(type(part)):
        found.blocks = True
    elif type(part).__name__ == "OutputToolBinding":
        found.schemas.add(getattr(part, "tool").name)  # noqa: B009 - of any version of langchain
    elif isinstance(part, Runnable) and isinstance(kwargs := getattr(part, "kwargs", None), Mapping):
        for spec in specs_of(kwargs):
            # A form has a schema, which what a provider runs has not.
            is_form = "ls_structured_output_format" in kwargs and bool(spec.parameters)
            (found.schemas if is_form else found.bound).add(spec.name)


def _blocks(kind: type) -> bool:
    """Whether it is a middleware of langchain's that wraps calls by plain functions alone."""
    base = next((each for each in kind.__mro__ if each.__name__ == "AgentMiddleware"), None)
    if base is None or base is kind:
        return False

    def own(name: str) -> bool:
        return getattr(kind, name, None) is not getattr(base, name, None)

    return any(own(name) and not own(f"a{name}") for name in ("wrap_tool_call", "wrap_model_call"))


def _inside(part: object) -> Iterator[Any]:
    if isinstance(part, _PASSED_OVER):
        return
    if isinstance(part, FunctionType):
        yield from _of_function(part)
    elif isinstance(part, MethodType):
        yield part.__self__
        yield part.__func__
    elif isinstance(part, functools.partial):
        yield from (part.func, part.args, part.keywords)
    elif isinstance(part, Mapping):
        yield from _few(part.values())
    elif isinstance(part, list | tuple | set | frozenset):
        yield from _few(part)
    elif not _is_of_python(type(part)):
        yield from _attributes(part)


def _few(elements: Iterable[Any]) -> list[Any]:
    try:
        return [element for _, element in zip(range(_MOST_ELEMENTS), elements, strict=False)]
    except Exception:  # noqa: BLE001 - a mapping of anybody's
        return []


def _attributes(part: object) -> Iterator[Any]:
    yield from list(getattr(part, "__dict__", {}).values())
    for kind in type(part).__mro__:
        slots = kind.__dict__.get("__slots__", ())
        for name in (slots,) if isinstance(slots, str) else slots:
            # Only what is kept: a property may do anything.
            if name not in ("__dict__", "__weakref__"):
                yield getattr(part, name, None)
    if not _is_of_library(type(part)):
        yield from (value for value in vars(type(part)).values() if isinstance(value, FunctionType))


def _of_function(function: FunctionType) -> Iterator[Any]:
    yield getattr(function, "__wrapped__", None)
    yield function.__defaults__
    yield function.__kwdefaults__
    for cell in function.__closure__ or ():
        try:
            yield cell.cell_contents
        except ValueError:
            continue
    if not _is_in_library(function.__code__.co_filename):
        yield from _globals(function)


def _globals(function: FunctionType) -> Iterator[Any]:
    """What the names in its code stand for, in its module and in modules that it names."""
    names = set(_names(function.__code__))
    for name in names:
        value = function.__globals__.get(name)
        if isinstance(value, ModuleType):
            if not _is_in_library(getattr(value, "__file__", None) or ""):
                yield from (vars(value).get(inner) for inner in names)
        else:
            yield value


def _names(code: CodeType) -> Iterator[str]:
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _names(constant)


def _is_of_python(kind: type) -> bool:
    return kind.__module__ in ("builtins", "threading", "asyncio", "logging", "re", "ssl", "socket", "weakref")


def _is_of_library(kind: type) -> bool:
    module = sys.modules.get(kind.__module__)
    return _is_in_library(getattr(module, "__file__", None) or "")


def _is_in_library(path: str) -> bool:
    return not path or path.startswith(("<frozen", *LIBRARIES))


# Tools that pass control from one agent to another.


def is_handoff(tool: BaseTool) -> bool:
    """Whether it only says who goes on: by the mark that LangGraph's own packages set, by its name, or because its
    code says where the graph goes to."""
    if _HANDOFF in (tool.metadata or {}) or tool.name.startswith(_PATTERN_NAMES):
        return True
    made_of: tuple[Callable[..., Any] | None, ...] = (getattr(tool, "func", None), getattr(tool, "coroutine", None))
    return any(_says_where(function.__code__) for function in made_of if isinstance(function, FunctionType))


def _says_where(code: CodeType) -> bool:
    """Whether a call in it has the keyword `goto`."""
    return any(isinstance(constant, tuple) and "goto" in constant for constant in code.co_consts)
