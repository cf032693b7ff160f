"""Tools of the user's own: a Python function with annotated parameters and a docstring; their options and calls."""

import asyncio
import contextlib
import contextvars
import inspect
import json
import re
import sys
import threading
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from functools import partial, reduce
from typing import Any, Generic, ParamSpec, TypeVar, cast, get_type_hints, overload

from pydantic import BaseModel, ConfigDict, Field, JsonValue, ValidationError, create_model
from pydantic.errors import PydanticUserError
from pydantic_core import PydanticSerializationError, to_jsonable_python

from toolablate.tools.text import one_line
from toolablate.tools.tool import NO_OUTPUT, PLAIN, ResultTemplate, ToolResult, TypedTool, flat_schema
from toolablate.traces.errors import InputError, SandboxError, ToolError
from toolablate.traces.records import ToolUse, clean_text

Outcome = tuple[Any, BaseException | None]
"""What a function gave, or what it raised."""


async def outcome_of(function: Callable[..., Any], *positional: Any, **named: Any) -> Outcome:
    """A plain function runs in a thread of its own; where it never returns, that thread is left behind.

    Raises ToolError where no thread can be started.
    """
    if inspect.iscoroutinefunction(function):
        return await _awaited(function(*positional, **named))
    value, error = await _in_own_thread(partial(function, *positional, **named), function.__name__)
    if error is None and inspect.isawaitable(value):
        return await _awaited(value)
    return value, error


async def _in_own_thread(function: Callable[[], Any], name: str) -> Outcome:
    """Not in a pool: a function that hangs would keep a place in it from all other trials, and the process from
    ending, since pools are joined at exit and daemon threads are not."""
    loop = asyncio.get_running_loop()
    done: asyncio.Future[Outcome] = loop.create_future()
    context = contextvars.copy_context()

    def deliver(outcome: Outcome) -> None:
        if not done.done():
            done.set_result(outcome)

    def run() -> None:
        outcome = context.run(_outcome, function)
        # The loop is closed where the run ended without this call; nobody waits for the outcome then.
        with contextlib.suppress(RuntimeError):
            loop.call_soon_threadsafe(deliver, outcome)

    try:
        threading.Thread(target=run, name=f"function {name}", daemon=True).start()
    except RuntimeError as error:
        raise ToolError(f"no thread could be started for {name!r}: {error}", code="no_thread", retryable=True) from None
    return await done


def _outcome(function: Callable[[], Any]) -> Outcome:
    # Caught inside the thread: a StopIteration cannot pass through a future, and neither sys.exit() nor an interrupt
    # that the function raises by itself may end the run. A real one is delivered to the main thread alone.
    try:
        return function(), None
    except BaseException as error:  # noqa: BLE001 - what a user's function raises is an outcome
        return None, error


async def _awaited(waiting: Awaitable[Any]) -> Outcome:
    try:
        return await waiting, None
    except asyncio.CancelledError as error:
        # A call that somebody ends passes; what the function raises by itself, or a task of its own, is an outcome.
        if (task := asyncio.current_task()) is not None and task.cancelling():
            raise
        return None, error
    except (KeyboardInterrupt, GeneratorExit):
        # Of whoever ends the run: unlike a thread's own, an interrupt is delivered here.
        raise
    except BaseException as error:  # noqa: BLE001 - as above; the panic of a compiled library is no Exception
        return None, error


# What a function of the user's own takes, as fields of pydantic models, and the name by which a plan finds it.


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


# Options that a plan gives to what it names: checked, and written as a plan would write them.


OptionsT = TypeVar("OptionsT", bound=BaseModel)


def read_options(options: type[OptionsT], given: Mapping[str, JsonValue], key: str, name: str) -> OptionsT:
    """The options of `name`, which stands under `key` in a plan. Raises InputError."""
    try:
        # Strict by way of JSON, where a string may become an enum, but no string a number.
        return options.model_validate_json(json.dumps(dict(given)))
    except ValidationError as error:
        detail = error.errors(include_url=False)[0]
        found = "" if detail["type"] == "missing" else f", found {one_line(repr(detail['input']), 60)}"
        allowed = ", ".join(field.alias or name for name, field in options.model_fields.items()) or "none"
        raise InputError(
            f"{key}: options of {one_line(name, 80)!r}: {'.'.join(map(str, detail['loc']))}: {detail['msg']}{found}",
            hint=f"its options: {allowed}",
            code="unknown_option" if detail["type"] == "extra_forbidden" else "bad_option",
        ) from None


def written_options(options: type[BaseModel], given: Mapping[str, object], key: str, name: str) -> dict[str, JsonValue]:
    """Options given in Python as a plan would write them. Raises InputError for what a plan cannot hold, and as
    `read_options` does."""
    try:
        written: dict[str, JsonValue] = {option: to_jsonable_python(value) for option, value in given.items()}
        json.dumps(written, allow_nan=False)
    except (PydanticSerializationError, ValueError) as error:
        raise InputError(
            f"{key}: options of {name!r}: {one_line(str(error), 200)}",
            hint="options are texts, finite numbers, booleans, and lists and tables of these",
            code="bad_option",
        ) from None
    read_options(options, written, key, name)
    return written


def by_parameter(values: BaseModel) -> dict[str, Any]:
    """What was given of the fields that stand for parameters, by their names. What was not is left to the function's
    own default."""
    fields = type(values).model_fields
    aliases = {name: alias for name in values.model_fields_set if (alias := fields[name].alias)}
    return {alias: getattr(values, name) for name, alias in aliases.items()}


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
            return await call_function(self.function, {**by_parameter(arguments), **fixed}, self.nothing)

        template = ResultTemplate(nothing=lambda _: self.nothing, finding=PLAIN.finding)
        return TypedTool(
            self.name, self.description, self.arguments, run, parameters=self.parameters, template=template
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


def is_sendable(name: str) -> bool:
    """Whether it can be the name of a tool in a request."""
    return _NAME.fullmatch(name) is not None


def _documentation(function: Callable[..., Any], name: str) -> tuple[str, dict[str, str]]:
    if not is_sendable(name):
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


async def call_function(function: Callable[..., Any], arguments: dict[str, Any], nothing: str) -> ToolResult:
    """What a model is shown of a call: what the function returns, or the exception that it raises. Raises ToolError and
    SandboxError, which say that infrastructure failed."""
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
