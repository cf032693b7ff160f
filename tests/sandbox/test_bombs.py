"""Cells that take all they can get: processes, threads, memory, files."""

from collections.abc import Awaitable, Callable

import pytest

from toolablate.sandbox import Kernel, Sandbox

pytestmark = pytest.mark.asyncio(loop_scope="module")

OpenKernel = Callable[..., Awaitable[Kernel]]


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("import os, time\nn = 0\ntry:\n while n < 5000:\n  if os.fork() == 0: time.sleep(30); os._exit(0)\n  n += 1\n"
         "except OSError: pass\nprint(n < 100)", "True\n"),
        ("import threading, time\nn = 0\ntry:\n while n < 5000: threading.Thread(target=time.sleep, args=[30],"
         " daemon=True).start(); n += 1\nexcept RuntimeError: pass\nprint(n < 100)", "True\n"),
        ("n = 0\ntry:\n with open('big', 'wb') as f:\n  while n < 4000: n += 1; f.write(bytes(10**6)); f.flush()\n"
         "except OSError as e: pass\nprint(n < 40)", "True\n"),
        ("import os\nn = 0\ntry:\n for i in range(100):\n  with open(f'part{i}', 'wb') as f: f.write(bytes(10**6)); n += 1\n"
         "except OSError: pass\nprint(n < 40)", "True\n"),
    ],
    ids=["processes", "threads", "one big file", "many files"],
)  # fmt: skip
async def test_bomb_is_bounded(
    isolating: Sandbox, start: Callable[[Sandbox], Awaitable[Kernel]], code: str, expected: str
) -> None:
    kernel = await start(isolating)
    result = await kernel.execute(code)
    assert (result.status, result.text) == ("ok", expected)


async def test_memory_bomb_is_an_ordinary_error(
    isolating: Sandbox, start: Callable[[Sandbox], Awaitable[Kernel]]
) -> None:
    kernel = await start(isolating)
    await kernel.execute("kept = 1")
    result = await kernel.execute("hoard = []\nwhile True: hoard.append(bytearray(10**7))")
    assert (result.status, result.error) == ("error", "MemoryError")
    assert (await kernel.execute("print(len(hoard) < 60, kept); del hoard")).text == "True 1\n"


HOARDERS = """
import os, time
for _ in range(6):
    if os.fork() == 0:
        {before}
        hoard = bytearray(os.urandom(1)) * 100_000_000
        time.sleep(60)
        os._exit(0)
time.sleep(20)
"""
FIRST_THREAD_ENDS = """
import ctypes, threading
def hoard_and_wait():
    global hoard
    hoard = bytearray(os.urandom(1)) * 100_000_000
    time.sleep(60)
threading.Thread(target=hoard_and_wait).start()
ctypes.CDLL(None).syscall({"x86_64": 60, "aarch64": 93}[os.uname().machine], 0)
"""


@pytest.mark.parametrize(
    "before",
    ["pass", "import ctypes; ctypes.CDLL(None).prctl(4, 0)", f"exec({FIRST_THREAD_ENDS!r})"],
    ids=["openly", "undumpable", "first thread ends"],
)
async def test_memory_of_all_processes_is_bounded(jail_with: OpenKernel, before: str) -> None:
    kernel = await jail_with(memory_mb=200)
    result = await kernel.execute(HOARDERS.format(before=before))
    assert (result.status, result.error) == ("died", "memory")
    assert "out of memory (200 MB)" in result.text


async def test_memory_that_processes_share_counts_once(jail_with: OpenKernel) -> None:
    kernel = await jail_with(memory_mb=200)
    code = """
import os, subprocess, time
shared = bytearray(b"x") * 120_000_000
children = []
for _ in range(6):
    if (child := os.fork()) == 0: time.sleep(1); os._exit(0)
    children.append(child)
for _ in range(50): subprocess.run(["true"])
print([os.waitpid(child, 0)[1] for child in children])
"""
    assert (await kernel.execute(code)).text == "[0, 0, 0, 0, 0, 0]\n"


@pytest.mark.parametrize("folder", [".", "/dev/shm"])
async def test_number_of_files_is_bounded(jail_with: OpenKernel, folder: str) -> None:
    kernel = await jail_with(files=2_000)
    code = f"import time\nfor n in range(10**6): open(f'{folder}/{{n}}', 'w').close()"
    result = await kernel.execute(code)
    assert (result.status, result.error) in {("died", "files"), ("error", "OSError")}
    assert (await kernel.execute("1")).text.endswith("1\n")


async def test_guardian_that_is_flooded_with_signals_watches_on(jail_with: OpenKernel) -> None:
    kernel = await jail_with(memory_mb=200)
    flood = "import os, signal, threading\ndef flood():\n while True: os.kill(1, signal.SIGCHLD)\n"
    start = "threading.Thread(target=flood, daemon=True).start()"
    await kernel.execute(flood + start)
    result = await kernel.execute(HOARDERS.format(before="pass"))
    assert (result.status, result.error) == ("died", "memory")
