"""Calls by name, what a model gets wrong, and the closing of tools."""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field

import pytest
from pydantic import JsonValue
from tests.tools.conftest import Caller

from toolablate.sandbox import KernelUnavailable
from toolablate.tools import ToolResult, Toolset
from toolablate.tools.tool import PLAIN, ResultTemplate
from toolablate.traces.errors import InputError, InternalError, SandboxError, StoreError, ToolError
from toolablate.traces.records import ToolRequest, ToolSpec


@dataclass
class Probe:
    """A tool that does what a test tells it to; the protocol's smallest implementation."""

    name: str = "probe"
    error: Exception | None = None
    closing_error: Exception | None = None
    calls: list[Mapping[str, JsonValue]] = field(default_factory=list)
    closed: int = 0

    @property
    def spec(self) -> ToolSpec:
        properties: JsonValue = {"a": {"type": "string"}, "b": {"type": "integer"}}
        return ToolSpec(name=self.name, description="", parameters={"type": "object", "properties": properties})

    @property
    def template(self) -> ResultTemplate:
        return PLAIN

    def refusal(self, arguments: Mapping[str, JsonValue]) -> ToolResult | None:
        return None

    async def call(self, arguments: Mapping[str, JsonValue]) -> ToolResult:
        self.calls.append(arguments)
        if self.error:
            raise self.error
        return ToolResult(output="done")

    async def close(self) -> None:
        self.closed += 1
        if self.closing_error:
            raise self.closing_error


async def test_a_tool_is_called_by_its_name(call: Caller) -> None:
    first, second = Probe("first"), Probe("second")
    async with Toolset([first, second]) as tools:
        assert [spec.name for spec in tools.specs] == ["first", "second"]
        assert (await call(tools, "second", a="x")).output == "done"
    assert (first.calls, second.calls) == ([], [{"a": "x"}])
    assert (first.closed, second.closed) == (1, 1)


@pytest.mark.parametrize("name", ["", "Probe", "probe ", "x" * 10_000, "\x1b[31mprobe", "функция"])
async def test_an_unknown_tool_is_the_models_mistake(name: str) -> None:
    result = await Toolset([Probe()]).call(ToolRequest(id="1", name=name, arguments="{}"))
    assert (result.status, result.error) == ("invalid", "unknown_tool")
    assert result.output.endswith("There are: probe.")
    assert len(result.output) < 200
    assert "\x1b" not in result.output


async def test_without_tools_it_says_so() -> None:
    result = await Toolset().call(ToolRequest(id="1", name="python", arguments="{}"))
    assert result.output == "There is no tool 'python'. There are no tools."


async def test_broken_json_never_reaches_the_tool() -> None:
    probe = Probe()
    result = await Toolset([probe]).call(ToolRequest(id="1", name="probe", arguments='{"a": '))
    assert (result.status, result.error, probe.calls) == ("invalid", "invalid_arguments", [])
    assert "line 1 column 7" in result.output
    assert "a (string, optional), b (integer, optional)" in result.output


async def test_no_kernel_is_an_error_of_the_sandbox(call: Caller) -> None:
    cause = KernelUnavailable("no bwrap", hint="apt-get install bubblewrap", code="not_installed", retryable=True)
    with pytest.raises(SandboxError) as raised:
        await call(Toolset([Probe(error=cause)]), "probe")
    error = raised.value
    assert (error.message, error.hint, error.code, error.retryable) == (
        "no bwrap",
        "apt-get install bubblewrap",
        "not_installed",
        True,
    )


async def test_a_bug_in_a_tool_is_no_result(call: Caller) -> None:
    with pytest.raises(ZeroDivisionError):
        await call(Toolset([Probe(error=ZeroDivisionError())]), "probe")


async def test_all_are_closed_even_if_one_fails() -> None:
    probes = [Probe("a", closing_error=OSError("stuck")), Probe("b"), Probe("c", closing_error=ValueError("too"))]
    with pytest.raises(ToolError, match=r"a: OSError: stuck; c: ValueError: too"):
        await Toolset(probes).close()
    assert [probe.closed for probe in probes] == [1, 1, 1]


async def test_what_ended_the_trial_is_not_hidden_by_the_closing() -> None:
    with pytest.raises(StoreError) as raised:
        async with Toolset([Probe(closing_error=OSError("stuck"))]):
            raise StoreError("disk full")
    assert "stuck" in raised.value.__notes__[0]


async def test_a_closing_that_fails_alone_is_raised() -> None:
    with pytest.raises(ToolError, match="stuck"):
        async with Toolset([Probe(closing_error=OSError("stuck"))]):
            pass


async def test_cancellation_passes_and_still_closes(call: Caller) -> None:
    probe = Probe()
    entered = asyncio.Event()

    async def trial() -> None:
        async with Toolset([probe]):
            entered.set()
            await asyncio.sleep(60)

    task = asyncio.create_task(trial())
    await entered.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert probe.closed == 1


async def test_a_closed_toolset_is_not_called_again(call: Caller) -> None:
    tools = Toolset([Probe()])
    await tools.close()
    with pytest.raises(InternalError):
        await call(tools, "probe")


def test_two_tools_of_one_name_are_refused() -> None:
    with pytest.raises(InputError, match="'probe' is named twice"):
        Toolset([Probe(), Probe()])
