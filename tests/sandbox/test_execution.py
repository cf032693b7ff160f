"""One execute request whose two channels come in an order that a busy machine makes."""

import asyncio
import time
from typing import cast

from toolablate.sandbox.client import BoundedClient, KernelMessage
from toolablate.sandbox.jupyter import Execution
from toolablate.sandbox.kernel import Limits
from toolablate.sandbox.process import Exit, KernelProcess

RAISED = {"status": "error", "ename": "ZeroDivisionError", "evalue": "division by zero", "traceback": ["Traceback ..."]}


class LateOutput:
    """The channels of a kernel whose reply overtakes its output."""

    def __init__(self, *output: KernelMessage) -> None:
        self._output = list(output)

    def execute(self, code: str) -> str:
        return "cell"

    async def next_reply(self) -> KernelMessage:
        return KernelMessage("execute_reply", "cell", RAISED)

    async def next_output(self) -> KernelMessage:
        await asyncio.sleep(0.05)
        return self._output.pop(0)


class Lives:
    async def wait(self) -> Exit:
        await asyncio.sleep(60)
        return Exit()


async def shown(*output: KernelMessage) -> str:
    client, process = cast(BoundedClient, LateOutput(*output)), cast(KernelProcess, Lives())
    execution = Execution(client, process, Limits())
    await execution.run("print('before')\n1 / 0")
    return execution.output.text()


PRINTED = KernelMessage("stream", "cell", {"name": "stdout", "text": "before\n"})
ERROR = KernelMessage("error", "cell", RAISED)
IDLE = KernelMessage("status", "cell", {"execution_state": "idle"})


async def test_what_was_printed_stands_before_the_traceback_though_the_reply_comes_first() -> None:
    assert await shown(PRINTED, ERROR, IDLE) == "before\nTraceback ...\n"


async def test_a_traceback_that_only_the_reply_brings_is_shown_after_all() -> None:
    assert await shown(PRINTED, IDLE) == "before\nTraceback ...\n"


class LastWords(LateOutput):
    """The output of a kernel that dies: it comes soon, and takes a few turns to be read."""

    async def next_reply(self) -> KernelMessage:
        await asyncio.sleep(60)
        raise AssertionError("a dead kernel does not reply")

    async def next_output(self) -> KernelMessage:
        await asyncio.sleep(0.1)
        for _ in range(10):
            await asyncio.sleep(0)
        return self._output.pop(0)


class Dies:
    """And meanwhile this process is not heard of for longer than silence is waited for."""

    async def wait(self) -> Exit:
        asyncio.get_running_loop().call_later(0.05, time.sleep, 0.4)
        return Exit(code=1)


async def test_a_pause_of_this_process_is_no_silence_of_a_kernel_that_died() -> None:
    client, process = cast(BoundedClient, LastWords(PRINTED, IDLE)), cast(KernelProcess, Dies())
    execution = Execution(client, process, Limits())
    await execution.run("print('before')\nimport os; os._exit(1)")
    assert (execution.output.text(), execution.ended) == ("before\n", Exit(code=1))
