"""Tools of the user's own: a Python function with annotated parameters and a docstring."""

import asyncio
import contextlib
import contextvars
import inspect
import json
import re
import threading
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any, Generic, ParamSpec, TypeVar, cast, get_type_hints

from pydantic import BaseModel, ConfigDict, Field, JsonValue, create_model
from pydantic.errors import PydanticUserError
from pydantic_core import to_jsonable_python

from toolablate.tools.plain import one_line
from toolablate.tools.tool import ToolResult
from toolablate.tools.typed import TypedTool, flat_schema
from toolablate.traces.errors import InputError, SandboxError, ToolError
from toolablate.traces.records import clean_text

MAX_OUTPUT_CHARS = 20_000

_STRICT = ConfigDict(frozen=True, extra="forbid", strict=True, allow_inf_nan=False)
_ARGUMENT_HELP = re.compile(r"\s*(\w+)(?: \([^)]*\))?: *(\S.*)")
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_-]{0,63}")

P = ParamSpec("P")
R = TypeVar("R")


@dataclass(frozen=True, slots=True)
class FunctionTool(Generic[P, R]):
    """A function that a plan can name as a tool. It can still be called as the function that it is.

    `arguments` is what a model gives; `options` is what the plan gives: the function's keyword-only parameters.
    """

    function: Callable[P, R]
    name: str
    description: str
    arguments: type[BaseModel]
    options: type[BaseModel]
    parameters: Mapping[str, JsonValue]

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        return self.function(*args, **kwargs)

    def open(self, options: BaseModel) -> TypedTool[BaseModel]:
        fixed = _given(options)

        async def run(arguments: BaseModel) -> ToolResult:
            return await _call(self.function, {**_given(arguments), **fixed})

        return TypedTool(self.name, self.description, self.arguments, run, parameters=self.parameters)


def tool(function: Callable[P, R]) -> FunctionTool[P, R]:
    """Makes a tool of a function, plain or async. A plain one runs in a thread of its own; where it never returns, that
    thread is left behind.

    The docstring is the description that a model reads; lines `name: help` under `Args:` describe arguments.
    Keyword-only parameters are set by the plan's `options` and unseen by the model. What the function returns is shown
    as text, or as JSON where it is no text; a `ToolResult` is taken as it is. An exception is shown to the model as an
    error, but `ToolError` says that the tool's own infrastructure failed. Raises InputError where the function has no
    docstring, or a parameter no type that JSON can carry.
    """
    name = function.__name__
    description, help_lines = _documentation(function, name)
    shown, fixed = _parameters(function, name, help_lines)
    try:
        arguments = create_model(f"{name}_arguments", __config__=_STRICT, **shown)
        options = create_model(f"{name}_options", __config__=_STRICT, **fixed)
        parameters = _with_defaults(flat_schema(arguments, name), function)
    except PydanticUserError as error:
        raise InputError(f"tool {name!r}: {one_line(str(error), 300)}", code="bad_tool") from None
    return FunctionTool(function, name, description, arguments, options, parameters)


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


def _parameters(
    function: Callable[..., Any], tool_name: str, help_lines: Mapping[str, str]
) -> tuple[dict[str, Any], dict[str, Any]]:
    """The fields of the arguments and of the options. Aliases, since a parameter may be called `json` or `copy`."""
    try:
        hints = get_type_hints(function, include_extras=True)
    except Exception as error:
        raise InputError(f"tool {tool_name!r}: its annotations cannot be read: {error}", code="bad_tool") from error
    shown: dict[str, Any] = {}
    fixed: dict[str, Any] = {}
    for index, (name, parameter) in enumerate(inspect.signature(function).parameters.items()):
        if parameter.kind not in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY):
            raise InputError(f"tool {tool_name!r}: {parameter} cannot be called by name", code="bad_tool")
        if name not in hints:
            raise InputError(f"tool {tool_name!r}: the parameter {name!r} has no type annotation", code="bad_tool")
        required = parameter.default is parameter.empty
        told: dict[str, Any] = {"description": help_lines[name]} if name in help_lines else {}
        field = Field(... if required else None, alias=name, **told)
        group = fixed if parameter.kind is parameter.KEYWORD_ONLY else shown
        group[f"parameter_{index}"] = (hints[name], field)
    return shown, fixed


def _with_defaults(schema: dict[str, JsonValue], function: Callable[..., Any]) -> dict[str, JsonValue]:
    properties = cast(dict[str, dict[str, JsonValue]], schema["properties"])
    for name, parameter in inspect.signature(function).parameters.items():
        if name in properties and isinstance(parameter.default, str | bool | int | float):
            properties[name]["default"] = parameter.default
    return schema


def _given(values: BaseModel) -> dict[str, Any]:
    """What was given, by parameter name; what was not is left to the function's own default."""
    fields = type(values).model_fields
    return {cast(str, fields[name].alias): getattr(values, name) for name in values.model_fields_set}


async def _call(function: Callable[..., Any], arguments: dict[str, Any]) -> ToolResult:
    if inspect.iscoroutinefunction(function):
        value, error = await _outcome_of(function(**arguments))
    else:
        value, error = await _in_own_thread(function, arguments)
        if error is None and inspect.isawaitable(value):
            value, error = await _outcome_of(value)
    if isinstance(error, ToolError | SandboxError):
        raise error
    if error is not None:
        name = type(error).__name__
        return ToolResult(output=clean_text(f"{name}: {error}")[:MAX_OUTPUT_CHARS], status="error", error=name)
    return value if isinstance(value, ToolResult) else _shown(value)


Outcome = tuple[Any, BaseException | None]


async def _in_own_thread(function: Callable[..., Any], arguments: dict[str, Any]) -> Outcome:
    """Not in a pool: a function that hangs would keep a place in it from all other trials, and the process from
    ending, since pools are joined at exit and daemon threads are not."""
    loop = asyncio.get_running_loop()
    done: asyncio.Future[Outcome] = loop.create_future()
    context = contextvars.copy_context()

    def deliver(outcome: Outcome) -> None:
        if not done.done():
            done.set_result(outcome)

    def run() -> None:
        outcome = context.run(_outcome, function, arguments)
        # The loop is closed where the run ended without this call; nobody waits for the outcome then.
        with contextlib.suppress(RuntimeError):
            loop.call_soon_threadsafe(deliver, outcome)

    try:
        threading.Thread(target=run, name=f"tool {function.__name__}", daemon=True).start()
    except RuntimeError as error:
        raise ToolError(f"no thread could be started for a tool: {error}", code="no_thread", retryable=True) from None
    return await done


def _outcome(function: Callable[..., Any], arguments: dict[str, Any]) -> Outcome:
    # Caught inside the thread: a StopIteration cannot pass through a future, and neither sys.exit() nor an interrupt
    # that the function raises by itself may end the run. A real one is delivered to the main thread alone.
    try:
        return function(**arguments), None
    except BaseException as error:  # noqa: BLE001 - what a user's function raises is the tool's result
        return None, error


async def _outcome_of(waiting: Awaitable[Any]) -> Outcome:
    try:
        return await waiting, None
    except (Exception, SystemExit) as error:  # noqa: BLE001 - as above; cancellation is no Exception and passes
        return None, error


def _shown(value: Any) -> ToolResult:
    text = clean_text(value if isinstance(value, str) else _as_json(value))
    return ToolResult(output=text[:MAX_OUTPUT_CHARS] or "(no output)", truncated=len(text) > MAX_OUTPUT_CHARS)


def _as_json(value: Any) -> str:
    if value is None:
        return ""
    return json.dumps(to_jsonable_python(value, inf_nan_mode="constants", fallback=str), ensure_ascii=False)
