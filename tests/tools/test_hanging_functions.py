"""A user's function that does not return costs its own call and nothing else."""

import asyncio
import contextvars
import subprocess
import sys
import threading
from typing import Any

import pytest

from toolablate.tools import FunctionTool, ToolResult, tool


async def called(function: FunctionTool[[], Any]) -> ToolResult:
    return await function.open(function.options()).call({})


async def test_functions_that_hang_hold_up_nobody() -> None:
    release = threading.Event()

    @tool
    def hang() -> None:
        """Does not return before it is let go."""
        release.wait()

    @tool
    def quick() -> str:
        """Returns."""
        return "here"

    # More than any default pool has threads.
    hanging = [asyncio.create_task(called(hang)) for _ in range(40)]
    try:
        async with asyncio.timeout(30):
            assert (await called(quick)).output == "here"
            assert await asyncio.to_thread(lambda: "the pool is free") == "the pool is free"
        assert not any(task.done() for task in hanging)
        for task in hanging[:20]:
            task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await hanging[0]
    finally:
        release.set()
    assert {result.output for result in await asyncio.gather(*hanging[20:])} == {"(no output)"}


def test_a_process_whose_tool_hangs_for_ever_ends() -> None:
    program = """
import asyncio, threading
from toolablate.tools import tool

@tool
def hang() -> None:
    "Never returns."
    threading.Event().wait()

async def main():
    opened = hang.open(hang.options())
    for _ in range(10):
        try:
            async with asyncio.timeout(0.05):
                await opened.call({})
        except TimeoutError:
            print("gave up")

asyncio.run(main())
"""
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=False)
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, "gave up\n" * 10, "")


async def test_a_function_that_returns_after_its_loop_is_closed_is_not_heard_of(
    capfd: pytest.CaptureFixture[str],
) -> None:
    release, thread = threading.Event(), []

    @tool
    def late() -> str:
        """Returns late."""
        thread.append(threading.current_thread())
        release.wait()
        return "late"

    async def give_up() -> None:
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.05):
                await called(late)

    await asyncio.to_thread(asyncio.run, give_up())
    release.set()
    thread[0].join(10)
    assert not thread[0].is_alive()
    assert capfd.readouterr().err == ""


async def test_a_function_sees_the_context_of_its_trial() -> None:
    variable = contextvars.ContextVar("variable", default="none")

    @tool
    def read() -> str:
        """Reads."""
        return variable.get()

    variable.set("of this trial")
    assert (await called(read)).output == "of this trial"
