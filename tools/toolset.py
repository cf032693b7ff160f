"""The tools of one trial, called by name with the arguments that a model wrote."""

import asyncio
import json
import math
from collections.abc import Mapping, Sequence
from functools import partial
from types import TracebackType
from typing import Any, Self, cast

from pydantic import JsonValue

from toolablate.sandbox.kernel import KernelUnavailable
from toolablate.tools.interventions import Applied, Call, intervened
from toolablate.tools.text import one_line
from toolablate.tools.tool import Tool, ToolResult, invalid_call
from toolablate.traces.errors import InputError, InternalError, SandboxError, ToolError
from toolablate.traces.records import ToolRequest, ToolSpec, clean_text


class InvalidArgumentsError(Exception):
    """The text is no JSON object; the message, for the model, says where."""


def parse_arguments(text: str, spec: ToolSpec) -> dict[str, JsonValue]:
    """The JSON object in `text`; an empty text is an empty object.

    A tool with a single argument, a string, also takes bare text for it: the gpt-oss family sends code as it is.
    Numbers such as `10.0` become integers, as JSON Schema has it. Raises InvalidArgumentsError.
    """
    if not text.strip():
        return {}
    bare = _bare_argument(spec)
    if bare and not text.lstrip().startswith("{"):
        return {bare: _bare_text(text)}
    value = _load(text)
    if not isinstance(value, dict):
        raise InvalidArgumentsError(f"the arguments must be a JSON object, found {one_line(text, 60)}")
    return value


def _bare_argument(spec: ToolSpec) -> str | None:
    properties = spec.parameters.get("properties")
    if isinstance(properties, dict) and len(properties) == 1:
        name, schema = next(iter(properties.items()))
        if isinstance(schema, dict) and schema.get("type") == "string":
            return name
    return None


def _bare_text(text: str) -> str:
    """A JSON string stands for what it says, anything else for itself."""
    try:
        value = _load(text)
    except InvalidArgumentsError:
        return clean_text(text)
    return value if isinstance(value, str) else clean_text(text)


def _load(text: str) -> JsonValue:
    try:
        value = json.loads(
            text, object_pairs_hook=_object, parse_float=_number, parse_constant=_not_a_number, strict=False
        )
    except json.JSONDecodeError as error:
        near = one_line(text[max(0, error.pos - 20) : error.pos + 20], 60)
        raise InvalidArgumentsError(
            f"the arguments are not valid JSON: {error.msg} at line {error.lineno} column {error.colno}, near {near!r}"
        ) from None
    except RecursionError:
        raise InvalidArgumentsError("the arguments are nested too deeply") from None
    except ValueError as error:
        raise InvalidArgumentsError(f"the arguments are not valid JSON: {error}") from None
    return cast(JsonValue, _cleaned(value))


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    content = dict(pairs)
    if len(content) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise InvalidArgumentsError(f"{one_line(twice, 60)!r} is given twice")
    return content


def _number(digits: str) -> int | float:
    number = float(digits)
    if math.isinf(number):
        raise InvalidArgumentsError(f"the number {one_line(digits, 60)} is too large")
    return int(number) if number.is_integer() else number


def _not_a_number(word: str) -> float:
    raise InvalidArgumentsError(f"{word} is not a JSON value")


def _cleaned(value: Any) -> Any:
    if isinstance(value, str):
        return clean_text(value)
    if isinstance(value, list):
        return [_cleaned(part) for part in value]
    if isinstance(value, dict):
        return {clean_text(name): _cleaned(part) for name, part in value.items()}
    return value


def refuse_duplicates(names: Sequence[str]) -> None:
    """Raises InputError where two tools of one trial would have one name."""
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise InputError(
            f"tools: {twice!r} is named twice",
            hint="`all` holds `python` and `search`; `search` holds `web_search`, `browser_open`, `browser_find`;"
            " `documents` holds `document_search`, `document_open`, `document_find`; `mcp:SERVER` holds all tools of"
            " that server",
            code="duplicate_tool",
        )


class Toolset:
    """The tools of one trial, in order. An async context manager that closes them all.

    The interventions change, one after the other, what a call returns that fits its tool. Raises InputError where two
    tools have one name.
    """

    def __init__(self, tools: Sequence[Tool] = (), interventions: Sequence[Applied] = ()) -> None:
        refuse_duplicates([tool.spec.name for tool in tools])
        self._tools = {tool.spec.name: tool for tool in tools}
        self._interventions = tuple(interventions)
        self._calls: list[tuple[ToolRequest, Call]] = []
        self._closed = False

    @property
    def specs(self) -> tuple[ToolSpec, ...]:
        return tuple(tool.spec for tool in self._tools.values())

    async def call(self, request: ToolRequest) -> ToolResult:
        """Calls a tool; the result is what the model is to be shown. What the model got wrong has the status `invalid`.

        Raises ToolError or SandboxError where infrastructure failed.
        """
        if self._closed:
            raise InternalError(f"the tool {request.name!r} was called after its trial had ended")
        tool = self._tools.get(request.name)
        if tool is None:
            return ToolResult(output=self._unknown(request.name), status="invalid", error="unknown_tool")
        try:
            arguments = parse_arguments(request.arguments, tool.spec)
        except InvalidArgumentsError as error:
            return invalid_call(tool.spec, str(error))
        if not self._interventions:
            return await _run(tool, arguments)
        if refused := tool.refusal(arguments):
            return refused
        call = self._numbered(tool, request, arguments)
        return await intervened(self._interventions, call, partial(_run, tool, arguments))

    def pass_over(self, request: ToolRequest) -> None:
        """Has later calls numbered as if this one had been made before them. Where it is made after all, it has the
        number that it was given here."""
        tool = self._tools.get(request.name)
        if tool is None or not self._interventions:
            return
        try:
            arguments = parse_arguments(request.arguments, tool.spec)
        except InvalidArgumentsError:
            return
        if not tool.refusal(arguments):
            call = self._numbered(tool, request, arguments)
            for applied in self._interventions:
                applied.scope.holds(call)

    def _numbered(self, tool: Tool, request: ToolRequest, arguments: Mapping[str, JsonValue]) -> Call:
        # Not by the request's id, since some endpoints give all calls the same.
        for earlier, call in self._calls:
            if earlier is request:
                return call
        of_tool = sum(earlier.name == request.name for earlier, _ in self._calls) + 1
        call = Call(request.name, arguments, len(self._calls) + 1, of_tool, tool.template)
        self._calls.append((request, call))
        return call

    def _unknown(self, name: str) -> str:
        there_are = f"There are: {', '.join(self._tools)}." if self._tools else "There are no tools."
        return f"There is no tool {one_line(name, 80)!r}. {there_are}"

    async def close(self) -> None:
        """Closes every tool, even if one fails; then raises ToolError that names those that did."""
        self._closed = True
        ends = await asyncio.gather(*(tool.close() for tool in self._tools.values()), return_exceptions=True)
        failed = {name: end for name, end in zip(self._tools, ends, strict=True) if isinstance(end, BaseException)}
        if failed:
            reasons = "; ".join(f"{name}: {type(end).__name__}: {end}" for name, end in failed.items())
            raise ToolError(f"could not close {reasons}", code="close_failed") from next(iter(failed.values()))

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        try:
            await self.close()
        except ToolError as closing:
            if error is None:
                raise
            # What ended the trial matters more than what went wrong on the way out.
            error.add_note(str(closing))


async def _run(tool: Tool, arguments: Mapping[str, JsonValue]) -> ToolResult:
    try:
        return await tool.call(arguments)
    except KernelUnavailable as error:
        raise SandboxError(error.message, hint=error.hint, code=error.code, retryable=error.retryable) from error
