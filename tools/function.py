"""Tools of the user's own: a Python function with annotated parameters and a docstring."""

import inspect
import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, Generic, ParamSpec, TypeVar, cast, overload

from pydantic import BaseModel, JsonValue, create_model
from pydantic.errors import PydanticUserError
from pydantic_core import to_jsonable_python

from toolablate.tools.calling import outcome_of
from toolablate.tools.likeness import NO_OUTPUT, PLAIN, Likeness
from toolablate.tools.options import by_parameter, written_options
from toolablate.tools.plain import one_line
from toolablate.tools.signature import STRICT, parameters_of, plan_name
from toolablate.tools.tool import ToolResult
from toolablate.tools.typed import TypedTool, flat_schema
from toolablate.traces.errors import InputError, SandboxError, ToolError
from toolablate.traces.records import ToolUse, clean_text

MAX_OUTPUT_CHARS = 20_000

_ARGUMENT_HELP = re.compile(r"\s*(\w+)(?: \([^)]*\))?: *(\S.*)")
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_-]{0,63}")

P = ParamSpec("P")
R = TypeVar("R")


@dataclass(frozen=True, slots=True)
class FunctionTool(Generic[P, R]):
    """A function that a plan can name as a tool. It can still be called as the function that it is.

    `arguments` is what a model gives; `options` is what the plan gives: the function's keyword-only parameters;
    `nothing` is what the model is shown where there is nothing.
    """

    function: Callable[P, R]
    name: str
    description: str
    arguments: type[BaseModel]
    options: type[BaseModel]
    parameters: Mapping[str, JsonValue]
    nothing: str = NO_OUTPUT

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        return self.function(*args, **kwargs)

    def use(self, **options: object) -> ToolUse:
        """For a condition made in Python: the same as a plan's `{ name = "module:function", options = {...} }`. Raises
        InputError for options that do not fit, and where no plan could name the function."""
        name = plan_name(self, self.function, "tools")
        return ToolUse(name=name, options=written_options(self.options, options, "tools", name))

    def open(self, options: BaseModel) -> TypedTool[BaseModel]:
        fixed = by_parameter(options)

        async def run(arguments: BaseModel) -> ToolResult:
            return await _call(self.function, {**by_parameter(arguments), **fixed}, self.nothing)

        likeness = Likeness(nothing=lambda _: self.nothing, finding=PLAIN.finding)
        return TypedTool(
            self.name, self.description, self.arguments, run, parameters=self.parameters, likeness=likeness
        )


@overload
def tool(function: Callable[P, R]) -> FunctionTool[P, R]: ...


@overload
def tool(*, nothing: str) -> Callable[[Callable[P, R]], FunctionTool[P, R]]: ...


def tool(function: Callable[..., Any] | None = None, *, nothing: str = NO_OUTPUT) -> Any:
    """Makes a tool of a function, plain or async. A plain one runs in a thread of its own; where it never returns, that
    thread is left behind.

    `@tool(nothing="nothing is known")` gives the tool's words for a result that is empty, and for all results of its
    sham.

    The docstring is the description that a model reads; lines `name: help` under `Args:` describe arguments.
    Keyword-only parameters are set by the plan's `options` and unseen by the model. What the function returns is shown
    as text, or as JSON where it is no text; a `ToolResult` is taken as it is. An exception is shown to the model as an
    error, but `ToolError` says that the tool's own infrastructure failed. Raises InputError where the function has no
    docstring, or a parameter no type that JSON can carry.
    """
    return partial(_made, nothing=nothing) if function is None else _made(function, nothing=nothing)


def _made(function: Callable[P, R], *, nothing: str) -> FunctionTool[P, R]:
    name = function.__name__
    if not nothing.strip():
        raise InputError(f"tool {name!r}: nothing: no text", hint="a model is shown it", code="bad_tool")
    description, help_lines = _documentation(function, name)
    taken = parameters_of(function, "tool", help_lines)
    try:
        arguments = create_model(f"{name}_arguments", __config__=STRICT, **taken.shown)
        options = create_model(f"{name}_options", __config__=STRICT, **taken.fixed)
        parameters = _with_defaults(flat_schema(arguments, name), function)
    except PydanticUserError as error:
        raise InputError(f"tool {name!r}: {one_line(str(error), 300)}", code="bad_tool") from None
    return FunctionTool(function, name, description, arguments, options, parameters, nothing)


def _documentation(function: Callable[..., Any], name: str) -> tuple[str, dict[str, str]]:
    if not _NAME.fullmatch(name):
        raise InputError(f"{name!r} cannot be a tool's name: letters, digits and _ only", code="bad_tool")
    text = inspect.getdoc(function) or ""
    if not text.strip():
        raise InputError(
            f"tool {name!r}: there is no docstring",
            hint="its text is what a model is told about the tool",
            code="bad_tool",
        )
    description, _, arguments = text.partition("\nArgs:\n")
    matches = (_ARGUMENT_HELP.fullmatch(line) for line in arguments.splitlines())
    return description.strip(), {match[1]: match[2].strip() for match in matches if match}


def _with_defaults(schema: dict[str, JsonValue], function: Callable[..., Any]) -> dict[str, JsonValue]:
    properties = cast(dict[str, dict[str, JsonValue]], schema["properties"])
    for name, parameter in inspect.signature(function).parameters.items():
        if name in properties and isinstance(parameter.default, str | bool | int | float):
            properties[name]["default"] = parameter.default
    return schema


async def _call(function: Callable[..., Any], arguments: dict[str, Any], nothing: str) -> ToolResult:
    value, error = await outcome_of(function, **arguments)
    if isinstance(error, ToolError | SandboxError):
        raise error
    if error is not None:
        name = type(error).__name__
        return ToolResult(output=clean_text(f"{name}: {error}")[:MAX_OUTPUT_CHARS], status="error", error=name)
    return value if isinstance(value, ToolResult) else _shown(value, nothing)


def _shown(value: Any, nothing: str) -> ToolResult:
    text = clean_text(value if isinstance(value, str) else _as_json(value))
    return ToolResult(output=text[:MAX_OUTPUT_CHARS] or nothing, truncated=len(text) > MAX_OUTPUT_CHARS)


def _as_json(value: Any) -> str:
    if value is None:
        return ""
    return json.dumps(to_jsonable_python(value, inf_nan_mode="constants", fallback=str), ensure_ascii=False)
