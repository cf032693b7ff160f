"""Cells that put out without end: what is kept is bounded, here and inside, and the kernel lives or is replaced."""

import asyncio
import resource
import time
from collections.abc import Awaitable, Callable

import pytest
from tests.sandbox.conftest import read_by_the_host, unhurried

from toolablate.sandbox import Kernel

pytestmark = [pytest.mark.deep, pytest.mark.asyncio(loop_scope="module")]

OpenKernel = Callable[..., Awaitable[Kernel]]

SENDING = "k = get_ipython().kernel\ndef send(kind, content): k.session.send(k.iopub_socket, kind, content, parent=k.get_parent())\n"
MOST_CHARS = 5_000 + 4_000 + 500
HOST_MB = 250
"""What a flood may add to the host's own memory: a queue of messages, and one that is being read."""


@read_by_the_host
@pytest.mark.parametrize(
    "code",
    [
        "while True: print('x' * 1000)",
        "import os\nwhile True: os.write(1, b'y' * 1000)",
        "import subprocess; subprocess.run(['yes'])",
        "from IPython.display import display\nwhile True: display('z')",
        "from IPython.display import display\nwhile True: display({'image/png': 'A' * 10**6}, raw=True)",
        "from IPython.display import clear_output\nwhile True: clear_output()",
        "import comm\nwhile True: comm.create_comm(target_name='x', data={'a': 'b' * 1000})",
        SENDING + "while True: k.session.send(k.iopub_socket, 'stream', {'text': 'x' * 10**5, 'name': 'stdout'}, parent={})",
        SENDING + "k.iopub_thread.schedule(lambda: [k.iopub_thread.socket.send_multipart([b'x'] * 10_000) for _ in range(10**6)])\nwhile True: pass",
        SENDING + "while True: k.session.send(k.shell_stream or k.shell_socket, 'execute_reply', {'status': 'ok', 'x': 'x' * 10**5}, parent={})",
    ],
    ids=["print", "raw descriptor", "child", "display", "pictures", "clear", "comm", "foreign parents", "many frames", "replies"],
)  # fmt: skip
async def test_endless_output_is_bounded(jail_with: OpenKernel, code: str) -> None:
    kernel = await jail_with(cell_seconds=0.7, grace_seconds=0.5, memory_mb=600)
    before = peak_mb()
    result = await kernel.execute(code)
    assert result.status in ("timeout", "died", "error"), result
    assert len(result.text) < MOST_CHARS
    assert sum(len(rich.data) for rich in result.rich) <= 4_000_000
    assert (await unhurried(kernel).execute("'alive'")).text.endswith("'alive'\n")
    assert peak_mb() - before < HOST_MB


def peak_mb() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1000


@pytest.mark.parametrize(
    "code",
    [
        "print('x' * 10**7)",
        "for i in range(10**5): print(i)",
        "'x' * 10**7",
        "from IPython.display import display\nfor i in range(2000): display(i)",
        "from IPython.display import display; display({'image/png': 'A' * 5_000_000}, raw=True)",
        "from IPython.display import display; display({'image/png': 'A' * 20_000_000}, raw=True)",
        "from IPython.display import display; display({f'text/x{n}': 'A' for n in range(10**5)}, raw=True)",
        "from IPython.display import display; display({'text/plain': 'A'}, metadata={'a': 'x' * 10**7}, raw=True)",
        SENDING + "send('error', {'ename': 'E' * 10**6, 'evalue': 'v' * 10**6, 'traceback': ['line'] * 10**5})",
        SENDING + "send('stream', {'name': 'n' * 10**6, 'text': '\\x1b[' * 10**6})",
        "class E(Exception): pass\nE.__name__ = 'N' * 10**6\nraise E('m' * 10**6)",
    ],
    ids=["one string", "many lines", "expression", "many displays", "large picture", "beyond any bound", "many types", "metadata",
         "giant error", "escape codes", "giant name"],
)  # fmt: skip
async def test_large_output_is_truncated(jail: Kernel, code: str) -> None:
    result = await jail.execute(code)
    assert result.status in ("ok", "error")
    assert len(result.text) <= MOST_CHARS
    assert len(result.error) <= 200
    assert sum(len(rich.data) for rich in result.rich) <= 4_000_000


async def test_message_beyond_any_bound_costs_no_more_than_itself(jail: Kernel) -> None:
    await jail.execute("kept = 'kept'")
    code = "k = get_ipython().kernel\nk.iopub_thread.schedule(lambda: k.iopub_thread.socket.send(bytes(10**8)))"
    result = await jail.execute(code)
    assert (result.status, result.truncated) == ("ok", True)
    assert (await jail.execute("kept")).text == "'kept'\n"


async def test_giant_message_is_the_kernels_own_burden(jail_with: OpenKernel) -> None:
    kernel = await jail_with(memory_mb=300)
    before = peak_mb()
    code = "from IPython.display import display\nfor n in range(50): display({'text/plain': 'x' * 10**8}, raw=True)"
    assert (await kernel.execute(code)).status in ("ok", "error", "died")
    assert (await kernel.execute("6 * 7")).text.endswith("42\n")
    assert peak_mb() - before < HOST_MB


async def test_error_shows_after_a_flood(jail: Kernel) -> None:
    result = await jail.execute("print('x' * 10**5)\nraise ValueError('the reason')")
    assert (result.status, result.error, result.truncated) == ("error", "ValueError", True)
    assert "ValueError: the reason" in result.text


RAW = """
import json, os, socket, struct, time
def frame(body, flags=0): return bytes([flags | 2]) + struct.pack(">Q", len(body)) + body
def wire(frames): return b"".join(frame(body, n < len(frames) - 1) for n, body in enumerate(frames))
def message(header, content):
    s = get_ipython().kernel.session
    parts = [header, json.dumps(get_ipython().kernel.get_parent()["header"], default=str).encode(), b"{}", content]
    return wire([b"x", b"<IDS|MSG>", s.sign(parts), *parts])
def flood(data, count=1):
    found = 0
    for n in map(int, os.listdir("/proc/self/fd")):
        try:
            s = socket.socket(fileno=os.dup(n))
            s.getpeername()
            if not str(s.getsockname()).endswith("-2"):
                continue
        except OSError:
            continue
        found += 1
        s.settimeout(3)
        try:
            for _ in range(count): s.sendall(data)
        except OSError:
            pass
    assert found, "no connection"
"""
"""Writes to the connection itself what no library would."""


@read_by_the_host
@pytest.mark.parametrize(
    "attack",
    [
        "flood(frame(b'x' * 4_000_000, 1), 400)",
        "flood(frame(b'x' * 100_000, 1), 16_000)",
        "flood(b'\\x01\\x00' * 3_000_000 + b'\\x00\\x00')",
        "flood(b'\\x00\\x00' * 3_000_000)",
        "flood(b'\\x02' + struct.pack('>Q', 2**62) + b'x' * 10**6, 1_000)",
        "flood(b'\\x04\\x07\\x04PING\\x00\\x00' * 100_000, 100)",
        "flood(message(b'{\"msg_type\": \"stream\", \"a\": [' + b'\"2020-01-01T00:00:00Z\",' * 330_000 + b'1]}', b'{}'), 64)",
        "flood(message(b'{\"msg_type\": \"stream\"}', b'{\"text\": [' + b'[],' * 2_500_000 + b'1]}'), 64)",
        "flood(message(b'{\"msg_type\": \"stream\"}', b'{\"text\": [' + b'1.5,' * 1_900_000 + b'1]}'), 64)",
        "flood(message(b'{\"msg_type\": \"stream\"}', b'{\"text\": ' + b'[' * 7_000_000 + b'}'), 64)",
    ],
    ids=["endless message", "endless small frames", "empty frames", "empty messages", "giant frame", "pings", "dates", "lists",
         "numbers", "deep"],
)  # fmt: skip
async def test_flood_of_a_connection_burdens_neither_memory_nor_other_kernels(
    jail_with: OpenKernel, attack: str
) -> None:
    limits = {"cell_seconds": 10.0, "memory_mb": 600}
    kernel, other = await jail_with(**limits), await jail_with(**limits)
    before = peak_mb()
    watch = asyncio.ensure_future(longest_stall())
    cell = asyncio.ensure_future(kernel.execute(RAW + attack))
    while not cell.done():
        assert (await other.execute("6 * 7")).text == "42\n"
        await asyncio.sleep(0.1)
    watch.cancel()
    result = await cell
    assert result.status in ("ok", "timeout", "died"), result
    assert (await kernel.execute("'alive'")).text.endswith("'alive'\n")
    assert peak_mb() - before < HOST_MB
    assert await watch < 2.0


async def longest_stall() -> float:
    """How many seconds of the processor, until it is cancelled, this loop once spent on nothing else: what others take
    of it is no stall."""
    longest = 0.0
    try:
        while True:
            before = time.thread_time()
            await asyncio.sleep(0.01)
            longest = max(longest, time.thread_time() - before)
    except asyncio.CancelledError:
        return longest
