"""The tools of one trial, called by name with the arguments that a model wrote."""

import asyncio
from collections.abc import Mapping, Sequence
from functools import partial
from types import TracebackType
from typing import Self

from pydantic import JsonValue

from toolablate.sandbox.kernel import KernelUnavailable
from toolablate.tools.arguments import InvalidArgumentsError, parse_arguments
from toolablate.tools.interventions import Applied, Call, intervened
from toolablate.tools.plain import one_line
from toolablate.tools.tool import Tool, ToolResult
from toolablate.tools.typed import invalid_call
from toolablate.traces.errors import InputError, InternalError, SandboxError, ToolError
from toolablate.traces.records import ToolRequest, ToolSpec


def refuse_duplicates(names: Sequence[str]) -> None:
    """Raises InputError where two tools of one trial would have one name."""
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise InputError(
            f"tools: {twice!r} is named twice",
            hint="`all` holds `python` and `search`; `search` holds `web_search`, `browser_open`, `browser_find`;"
            " `mcp:SERVER` holds all tools of that server",
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
        call = Call(request.name, arguments, len(self._calls) + 1, of_tool, tool.likeness)
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
