"""Cells that go for process 1, which guards them, or that try to outlive or to outlast it."""

import asyncio
import os
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest
from tests.sandbox.conftest import unhurried

from toolablate.sandbox import Kernel, Sandbox

pytestmark = [pytest.mark.deep, pytest.mark.asyncio(loop_scope="module")]

OpenKernel = Callable[..., Awaitable[Kernel]]
Start = Callable[[Sandbox], Awaitable[Kernel]]

START = "import ctypes, fcntl, os, resource, signal, socket, time\nlibc = ctypes.CDLL(None, use_errno=True)\n"


@pytest.mark.parametrize(
    "attempt",
    ["resource.prlimit(1, resource.RLIMIT_NOFILE, (0, 0))", "os.sched_setaffinity(1, {0})",
     "os.sched_setscheduler(1, os.SCHED_IDLE, os.sched_param(0))", "os.sched_setparam(1, os.sched_param(0))",
     "os.setpriority(os.PRIO_PROCESS, 1, 19)", "os.setpriority(os.PRIO_USER, os.getuid(), 19)", "os.setpriority(os.PRIO_PGRP, 1, 19)",
     "os.setpriority(os.PRIO_PGRP, os.getpgid(1), 19)", "os.setpgid(1, 1)", "open('/proc/1/mem', 'r+b')", "open('/proc/1/oom_score_adj', 'w')",
     "open('/proc/1/autogroup', 'w')", "open('/proc/1/clear_refs', 'w')", "open('/proc/1/coredump_filter', 'w')",
     "open('/proc/self/../1/autogroup', 'w')", "open('/proc/1/sched', 'w')", "open('/proc/1/timens_offsets', 'w')", "os.write(os.open('/proc/1/timerslack_ns', os.O_WRONLY), b'1')",
     "open('/proc/1/task/1/comm', 'w')", "open('/proc/1/task/1/oom_score_adj', 'w')", "os.open('/proc/1/fd/3', 0)", "os.listdir('/proc/1/fd')[0]",
     "os.listdir('/proc/1/fdinfo')[0]", "os.listdir('/proc/1/task/1/fd')[0]",
     "os.listdir('/proc/1/root')", "os.readlink('/proc/1/exe')", "os.open('/proc/1/ns/mnt', 0)", "os.chdir('/proc/1/cwd')"],
)  # fmt: skip
async def test_guardian_is_out_of_reach(jail: Kernel, attempt: str) -> None:
    result = await jail.execute(START + attempt)
    refused = ("PermissionError", "FileNotFoundError", "ProcessLookupError", "IndexError")
    assert result.error in refused or "Read-only file system" in result.text, result


async def test_guardian_shares_its_turn_on_the_processor_with_no_other(isolating: Sandbox, start: Start) -> None:
    """Linux shares the processor out by session: one of another guardian's could be held back with that one."""
    kernel = await start(isolating)
    assert (await kernel.execute("import os; print(os.getsid(1), os.getsid(0) == os.getpid())")).text == "1 True\n"


@pytest.mark.parametrize(
    "attempt",
    ["for number in range(1, 65):\n try: os.kill(1, number)\n except OSError: pass",
     "descriptor = os.pidfd_open(1)\nfor number in range(1, 65):\n try: signal.pidfd_send_signal(descriptor, number)\n except OSError: pass",
     "for number in (19, 18, 20, 21, 22, 18) * 1000: os.kill(1, number)",
     "one, other = socket.socketpair()\nfcntl.fcntl(one, fcntl.F_SETOWN, 1); fcntl.fcntl(one, 10, signal.SIGKILL)\n"
     "fcntl.fcntl(one, fcntl.F_SETFL, os.O_ASYNC); other.send(b'x')",
     "for _ in range(50_000): os.kill(1, signal.SIGCHLD)",
     "for _ in range(100):\n try: child = os.fork()\n except BlockingIOError: time.sleep(0.05); continue\n if child == 0:\n  try: os.fork()\n  finally: os._exit(0)\n os.waitpid(child, 0)",
     "for number in range(1, 1 << 12): libc.syscall({'x86_64': 129, 'aarch64': 138}[os.uname().machine], 1, 34 + number % 30, bytes(128))"],
    ids=["every signal", "by descriptor", "stop and go", "by a socket", "many signals", "orphans", "queued signals"],
)  # fmt: skip
async def test_guardian_does_not_heed_signals(jail: Kernel, attempt: str) -> None:
    result = await unhurried(jail).execute(START + "kept = 1\n" + attempt)
    assert result.status == "ok", result.text
    assert (await jail.execute("kept")).text == "1\n"


async def test_guardian_ends_what_is_stuck_after_all_signals(jail_with: OpenKernel) -> None:
    kernel = await jail_with(cell_seconds=1.0, grace_seconds=0.5)
    code = "for number in range(1, 65):\n try: os.kill(1, number)\n except OSError: pass\n"
    stuck = await kernel.execute(START + code + "signal.signal(signal.SIGINT, signal.SIG_IGN)\nwhile True: pass")
    assert (stuck.status, stuck.error) == ("died", "time")
    assert (await unhurried(kernel).execute("6 * 7")).text == "42\n"


@pytest.mark.parametrize(
    ("code", "causes"),
    [
        ("os.kill(-1, signal.SIGKILL)", {"ProcessLookupError"}),
        ("os.killpg(0, signal.SIGKILL)", {"signal 9"}),
        ("os.kill(os.getpid(), signal.SIGSTOP)", {"time"}),
        ("if os.fork() == 0: os.kill(-1, signal.SIGSTOP); os.kill(-1, signal.SIGKILL)\ntime.sleep(60)", {"signal 9"}),
        (
            "if os.fork() == 0:\n time.sleep(0.2); os.kill(os.getppid(), signal.SIGSTOP); os._exit(0)\ntime.sleep(60)",
            {"time"},
        ),
        ("signal.signal(signal.SIGINT, signal.SIG_IGN)\nwhile True: pass", {"time"}),
        ("while True:\n try:\n  while True: time.sleep(9)\n except BaseException: pass", {"time"}),
        ("import collections, itertools; collections.deque(itertools.repeat(0), maxlen=0)", {"time"}),
        ("import re; re.match('(a+)+$', 'a' * 40 + 'b')", {"time", "timeout"}),
        ("ctypes.PyDLL(None).sleep(60)", {"time", "timeout", "ok"}),
        ("os.closerange(0, 4096); time.sleep(60)", {"time", "exit", "signal 6"}),
        ("import faulthandler; faulthandler._sigsegv()", {"signal 11"}),
        ("ctypes.string_at(0)", {"signal 11"}),
        ("ctypes.memset(id(None), 255, 4096)", {"signal 11", "signal 6", "signal 7", "time"}),
        ("os.abort()", {"signal 6"}),
        (
            "def f(): f()\nimport sys; sys.setrecursionlimit(10**9); f()",
            {"signal 11", "RecursionError", "MemoryError", "time"},
        ),
        ("os.execv('/bin/sleep', ['sleep', '60'])", {"time", "exit"}),
        ("os.execv('/bin/true', ['true'])", {"exit"}),
        ("if os.fork(): os._exit(0)\ntime.sleep(60)", {"exit"}),
        ("libc.syscall({'x86_64': 60, 'aarch64': 93}[os.uname().machine], 0)", {"time", "exit"}),
        ("signal.setitimer(signal.ITIMER_REAL, 0.1); time.sleep(60)", {"signal 14"}),
        ("resource.setrlimit(resource.RLIMIT_CPU, (1, 1))\nwhile True: pass", {"time", "signal 9", "timeout"}),
        (
            "resource.setrlimit(resource.RLIMIT_AS, (0, 0)); x = bytes(10**8)",
            {"MemoryError", "signal 11", "signal 6", "exit"},
        ),
        ("resource.setrlimit(resource.RLIMIT_NOFILE, (0, 0)); open('x', 'w')", {"OSError", "signal 6"}),
        ("libc.prctl(22, 1, 0, 0, 0); time.sleep(0.5)", {"signal 9", "signal 31", "exit", "ok"}),
    ],
)
async def test_kernel_that_ends_itself_is_replaced(jail_with: OpenKernel, code: str, causes: set[str]) -> None:
    kernel = await jail_with(cell_seconds=1.0, grace_seconds=0.5)
    # What ends by itself has all the time that it needs.
    result = await unhurried(kernel, 1.0 if {"time", "timeout"} & causes else 60.0).execute(START + code)
    assert (result.error or result.status) in causes, result
    after = await unhurried(kernel).execute("6 * 7")
    if result.status != "died" and "setrlimit" in code:
        # A kernel that took its own memory or time and lives on may lack it for this too, or die of that.
        if "MemoryError" in after.text:
            return
        if after.status == "died":
            after = await unhurried(kernel).execute("6 * 7")
    assert after.text.endswith("42\n"), after


PAGES_OF_NOBODY = """
import mmap, os, time
for _ in range(4):
    if os.fork() == 0: break
held = []
for _ in range(200):
    try: held.append(mmap.mmap(-1, 16 << 20))
    except OSError: break
    for _ in range(64):
        held[-1].write(bytes(1 << 18))
        held[-1].madvise(mmap.MADV_DONTNEED)
time.sleep(60)
"""


async def test_guardian_that_dies_of_what_it_guards_is_no_accident(jail_with: OpenKernel) -> None:
    kernel = await jail_with(memory_mb=100)
    await kernel.execute("import os, sys; open('/proc/self/oom_score_adj', 'w').write('0')")
    result = await kernel.execute(f"os.execv(sys.executable, [sys.executable, '-I', '-S', '-c', {PAGES_OF_NOBODY!r}])")
    assert result.status == "died"
    assert result.error in {"memory", "time"}  # time: where no cgroup counts, there are no such mappings
    assert (await kernel.execute("6 * 7")).text == "42\n"


@pytest.mark.usefixtures("restless")
async def test_daemon_does_not_outlive_its_kernel(jail_with: OpenKernel) -> None:
    kernel = await jail_with()
    mark = f"9{os.getpid()}{id(kernel) % 1000}"
    code = f"""
import os, signal, subprocess
def daemon():
    if os.fork(): return
    os.setsid()
    if os.fork(): os._exit(0)
    for number in range(1, 32):
        if number not in (9, 17, 19): signal.signal(number, signal.SIG_IGN)
    os.execv("/bin/sleep", ["sleep", "{mark}"])
daemon()
subprocess.Popen(["setsid", "nohup", "sleep", "{mark}"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
"""
    await kernel.execute(code)
    while len(sleepers(mark)) < 2:  # noqa: ASYNC110 - the test's own time limit ends this
        await asyncio.sleep(0.05)
    await kernel.close()
    assert sleepers(mark) == []


@pytest.mark.usefixtures("restless")
async def test_daemon_of_a_dead_kernel_is_gone_with_it(jail_with: OpenKernel) -> None:
    kernel = await jail_with()
    mark = f"8{os.getpid()}{id(kernel) % 1000}"
    await kernel.execute(f"import os, subprocess; subprocess.Popen(['setsid', 'sleep', '{mark}'])")
    while not sleepers(mark):  # noqa: ASYNC110 - the test's own time limit ends this
        await asyncio.sleep(0.05)
    await kernel.execute("os._exit(1)")
    await kernel.execute("1")
    while sleepers(mark):  # noqa: ASYNC110 - as above
        await asyncio.sleep(0.05)


def sleepers(mark: str) -> list[str]:
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            command = (process / "cmdline").read_bytes()
        except OSError:
            continue
        if command == f"sleep\0{mark}\0".encode():
            found.append(process.name)
    return found
