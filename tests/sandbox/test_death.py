"""Cells that do not stop, and kernels that die: on every backend."""

import asyncio
import contextlib
import os
import select
import signal
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path

import pytest
from tests.sandbox.conftest import unhurried

from toolablate.sandbox import Kernel, KernelUnavailable
from toolablate.sandbox.client import ConnectionEnded
from toolablate.sandbox.process import Exit, is_running, kill

pytestmark = [pytest.mark.deep, pytest.mark.asyncio(loop_scope="module")]

OpenKernel = Callable[..., Awaitable[Kernel]]


@pytest.mark.parametrize(
    ("code", "cause"),
    [
        ("import os; os._exit(7)", "exit"),
        ("import ctypes; ctypes.string_at(0)", "signal 11"),
        ("import os, signal; os.kill(os.getpid(), signal.SIGKILL)", "signal 9"),
        ("exit()", "exit"),
    ],
)
async def test_death_is_told_and_a_fresh_kernel_follows(with_limits: OpenKernel, code: str, cause: str) -> None:
    kernel = await with_limits()
    await kernel.execute("x = 1")
    result = await kernel.execute(f"print('last words', flush=True)\nimport time; time.sleep(0.3)\n{code}")
    assert (result.status, result.error) == ("died", cause)
    assert "fresh kernel" in result.text
    assert "last words" in result.text
    assert (await kernel.execute("x")).error == "NameError"


@pytest.mark.parametrize("seconds", [0.3, 2.0], ids=["while output is awaited", "while it is asked if it answers"])
async def test_death_after_the_reply_is_told(with_limits: OpenKernel, seconds: float) -> None:
    kernel = await with_limits(grace_seconds=20.0)
    leave = f"import os, threading; threading.Timer({seconds}, os._exit, [1]).start()"
    result = await kernel.execute(f"{leave}; get_ipython().kernel.iopub_thread.stop()")
    assert (result.status, result.error) == ("died", "exit")
    assert (await kernel.execute("6 * 7")).text == "42\n"


@pytest.mark.usefixtures("restless")
async def test_death_between_cells_is_told(with_limits: OpenKernel) -> None:
    kernel = await with_limits()
    await kernel.execute("import os, threading; threading.Timer(0.2, os._exit, [1]).start()")
    await kernel._process.wait()  # type: ignore[attr-defined]
    result = await kernel.execute("1 + 1")
    assert result.status == "ok"
    assert result.text.startswith("[the kernel died before this cell")
    assert result.text.endswith("2\n")


@pytest.mark.usefixtures("restless")
async def test_how_a_kernel_ended_is_told_where_its_guardian_left_words_unread(jail_with: OpenKernel) -> None:
    kernel = await jail_with()
    await kernel.execute("import os, threading; threading.Timer(0.2, os._exit, [1]).start()")
    process = kernel._process  # type: ignore[attr-defined]
    signal.pidfd_send_signal(process._guardian, signal.SIGSTOP)
    try:
        with contextlib.suppress(ConnectionEnded):
            while True:
                await kernel._client.next_output()  # type: ignore[attr-defined]
        await asyncio.sleep(0.1)  # its files are closed before it has ended
        for _ in range(5):
            process.begin_cell()
    finally:
        signal.pidfd_send_signal(process._guardian, signal.SIGCONT)
    select.select([process._guardian], [], [])  # its end: we hear of it only now, as on a busy machine
    assert await process.wait() == Exit(code=1)


def kill_from_outside(kernel: Kernel) -> None:
    """Ends the guardian as the machine's administrator or its kernel could; nobody inside can."""
    process = kernel._process  # type: ignore[attr-defined]
    if hasattr(process, "_container"):
        process._container.kill()
    elif hasattr(process, "_server"):
        signal.pidfd_send_signal(process._guardian, signal.SIGKILL)
    else:
        outer = process._child._process.pid
        for guardian in Path(f"/proc/{outer}/task/{outer}/children").read_text().split():
            os.kill(int(guardian), signal.SIGKILL)


async def test_kernel_ended_from_outside_is_no_result(jail_with: OpenKernel) -> None:
    kernel = await jail_with()
    asyncio.get_running_loop().call_later(0.3, kill_from_outside, kernel)
    with pytest.raises(KernelUnavailable) as lost:
        await kernel.execute("import time; time.sleep(60)")
    assert (lost.value.code, lost.value.retryable) == ("kernel_lost", True)
    again = await kernel.execute("x = 1; x")
    assert (again.status, again.text.splitlines()[1:]) == ("ok", ["1"])
    assert "lost through no fault of the code" in again.text
    assert (await kernel.execute("x")).text == "1\n"


@pytest.mark.parametrize("between", [True, False], ids=["between cells", "in a cell"])
async def test_loss_of_state_cannot_be_retried(jail_with: OpenKernel, between: bool) -> None:
    kernel = await jail_with()
    assert (await kernel.execute("x = 1")).status == "ok"
    if between:
        kill_from_outside(kernel)
        await kernel._process.wait()  # type: ignore[attr-defined]
    else:
        asyncio.get_running_loop().call_later(0.3, kill_from_outside, kernel)
    with pytest.raises(KernelUnavailable, match="earlier cells") as lost:
        await kernel.execute("import time; time.sleep(60)")
    assert (lost.value.code, lost.value.retryable) == ("kernel_lost", False)


@pytest.fixture
def ctrl_c_blocked() -> Iterator[None]:
    """As in the workers of Ray, whose children inherit it."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    yield
    signal.pthread_sigmask(signal.SIG_SETMASK, before)


@pytest.mark.usefixtures("ctrl_c_blocked")
async def test_overlong_cell_is_interrupted_and_state_kept(with_limits: OpenKernel) -> None:
    kernel = await with_limits(cell_seconds=1.0)
    result = await kernel.execute("x = 5\nprint('working', flush=True)\nwhile True: pass")
    assert (result.status, result.error) == ("timeout", "timeout")
    assert result.text.startswith("working\n")
    assert "interrupted after 1 s" in result.text
    assert (await unhurried(kernel).execute("x")).text == "5\n"


@pytest.mark.parametrize(
    "code",
    [
        "import signal; signal.signal(signal.SIGINT, signal.SIG_IGN)\nwhile True: pass",
        "import time\nwhile True:\n try: time.sleep(9)\n except BaseException: pass",
        "import collections, itertools; collections.deque(itertools.repeat(0), maxlen=0)",
        "import os, signal; os.kill(os.getpid(), signal.SIGSTOP)",
        "import os\nfor fd in range(256):\n try: os.close(fd)\n except OSError: pass",
    ],
    ids=["ignores", "swallows", "holds the interpreter lock", "stops itself", "closes all descriptors"],
)
async def test_cell_that_cannot_be_interrupted_is_killed(with_limits: OpenKernel, code: str) -> None:
    kernel = await with_limits(cell_seconds=1.0, grace_seconds=1.0)
    result = await kernel.execute(code)
    assert result.status == "died"
    assert (await unhurried(kernel).execute("1")).text == "1\n"


async def test_cpu_time_is_limited(with_limits: OpenKernel) -> None:
    kernel = await with_limits(cpu_seconds=2)
    result = await kernel.execute("while True: pass")
    assert (result.status, result.error) == ("died", "time")


async def test_a_process_that_has_died_is_killed_without_a_warning(caplog: pytest.LogCaptureFixture) -> None:
    for _ in range(60):
        process = await asyncio.create_subprocess_exec("sleep", "60")
        assert is_running(process)
        kill(process)
        with contextlib.suppress(ChildProcessError):
            os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)  # noqa: ASYNC222 - the loop shall not notice
        kill(process)
        assert await process.wait() == -signal.SIGKILL
    assert caplog.messages == []
