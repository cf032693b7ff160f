"""Cells that take all they can get: processes, threads, descriptors, memory of every kind."""

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from toolablate.sandbox import Kernel

pytestmark = [pytest.mark.deep, pytest.mark.asyncio(loop_scope="module")]

OpenKernel = Callable[..., Awaitable[Kernel]]


@pytest.mark.parametrize(
    "code",
    [
        "import os, time\nn = 0\ntry:\n while n < 5000:\n  if os.fork() == 0: time.sleep(30); os._exit(0)\n  n += 1\n"
        "except OSError: pass\nprint(n < 100)",
        "import threading, time\nn = 0\ntry:\n while n < 5000: threading.Thread(target=time.sleep, args=[30],"
        " daemon=True).start(); n += 1\nexcept RuntimeError: pass\nprint(n < 100)",
        "import ctypes, os, time\nlibc = ctypes.CDLL(None)\nclone = {'x86_64': 56, 'aarch64': 220}[os.uname().machine]\nn = 0\n"
        "while n < 5000:\n child = libc.syscall(clone, 17, 0, 0, 0, 0)\n if child == 0: time.sleep(30); os._exit(0)\n"
        " if child < 0: break\n n += 1\nprint(n < 100)",
        "import os\nn = 0\ntry:\n while n < 5000: os.open('/dev/null', 0); n += 1\nexcept OSError: pass\nprint(n < 300)\n"
        "for d in range(n): os.close(d + 100)\n",
    ],
    ids=["processes", "threads", "clones", "descriptors"],
)
async def test_number_is_bounded(jail_with: OpenKernel, code: str) -> None:
    kernel = await jail_with()
    assert (await kernel.execute(code)).text.startswith("True\n")
    assert (await kernel.execute("6 * 7")).text == "42\n"


async def test_terminals_are_bounded(jail_with: OpenKernel) -> None:
    kernel, other = await jail_with(), await jail_with()
    take = "import os, time\nn = 0\ntry:\n while n < 200: os.open('/dev/ptmx', os.O_RDWR | os.O_NOCTTY); n += 1\n"
    result = await kernel.execute(f"{take}except OSError: pass\ntime.sleep(15 if n > 64 else 0)\nprint(n)")
    assert (result.status, result.error) == ("died", "files") or int(result.text) <= 64
    assert (await other.execute("!echo 42")).text.split() == ["42"]


async def test_fork_bomb_is_bounded(jail_with: OpenKernel) -> None:
    kernel = await jail_with()
    bomb = "bomb() { bomb | bomb & }; bomb"
    code = f"import os, subprocess\nsubprocess.Popen(['sh', '-c', {bomb!r}], stderr=subprocess.DEVNULL)\n"
    await kernel.execute(code + "import time; time.sleep(1)")
    count = "print(len([name for name in os.listdir('/proc') if name.isdigit()]) <= 66)"
    assert (await kernel.execute(count)).text == "True\n"


# --- memory -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "hoard",
    [
        "hoard = []\nwhile True: hoard.append(bytearray(10**7))",
        "hoard = []\nwhile True: hoard.append('x' * 10**6)",
        "hoard = bytearray(10**12)",
        "import numpy; hoard = [numpy.ones(10**6) for _ in range(10**4)]",
        "import mmap; hoard = mmap.mmap(-1, 10**10)",
    ],
    ids=["bytes", "texts", "at once", "arrays", "shared mapping"],
)
async def test_memory_bomb_is_an_ordinary_error(jail: Kernel, hoard: str) -> None:
    await jail.execute("kept = 1")
    result = await jail.execute(hoard)
    assert (result.status, result.error) in {("error", "MemoryError"), ("error", "OSError")}
    assert (await jail.execute("hoard = None; kept")).text == "1\n"


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
    ["pass", "import ctypes; ctypes.CDLL(None).prctl(4, 0)", f"exec({FIRST_THREAD_ENDS!r})", "os.setsid()"],
    ids=["openly", "undumpable", "first thread ends", "in another session"],
)
async def test_memory_of_all_processes_is_bounded(jail_with: OpenKernel, before: str) -> None:
    kernel = await jail_with(memory_mb=200)
    result = await kernel.execute(HOARDERS.format(before=before))
    assert (result.status, result.error) == ("died", "memory")
    assert "out of memory (200 MB)" in result.text
    assert (await kernel.execute("6 * 7")).text == "42\n"


SPINNING = """
import os, time
for _ in range({number}):
    if os.fork() == 0:
        {before}
        while True: pass
time.sleep(1000)
"""


async def test_memory_is_bounded_though_all_processors_are_taken(jail_with: OpenKernel) -> None:
    kernel, other = await jail_with(memory_mb=200), await jail_with()
    spinning = asyncio.ensure_future(other.execute(SPINNING.format(number=30, before="os.setsid()")))
    hoard = "hoard = bytearray(os.urandom(1)) * 150_000_000"
    result = await kernel.execute(SPINNING.format(number=22, before=hoard))
    assert (result.status, result.error) == ("died", "memory")
    spinning.cancel()
    await asyncio.wait({spinning})


async def test_files_leave_to_memory_what_is_its(jail_with: OpenKernel) -> None:
    kernel = await jail_with(memory_mb=100, disk_mb=300)
    files = "for n in range(29): open(f'/tmp/{n}', 'wb').write(bytes(10_000_000))\n"
    result = await kernel.execute(files + "kept = b'x' * 80_000_000\nprint('fits')")
    assert (result.status, result.text) == ("ok", "fits\n")


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


async def test_guardian_that_is_flooded_with_signals_watches_on(jail_with: OpenKernel) -> None:
    kernel = await jail_with(memory_mb=200)
    flood = "import os, signal, threading\ndef flood():\n while True: os.kill(1, signal.SIGCHLD)\n"
    start = "threading.Thread(target=flood, daemon=True).start()"
    await kernel.execute(flood + start)
    result = await kernel.execute(HOARDERS.format(before="pass"))
    assert (result.status, result.error) == ("died", "memory")


# --- memory that belongs to no process: each of these fills it from 60 processes, and tells in MB how far it came ------

HIDDEN = """
import ctypes, mmap, os, resource, signal, socket, time
libc = ctypes.CDLL(None, use_errno=True)
with open("/dev/shm/counter", "w+b") as file:
    file.write(bytes(8 * 64)); file.flush()
    counter = mmap.mmap(file.fileno(), 8 * 64)
def add(n, place):
    counter[8 * place:8 * place + 8] = (int.from_bytes(counter[8 * place:8 * place + 8], "little") + n).to_bytes(8, "little")
def total(): return sum(int.from_bytes(counter[8 * i:8 * i + 8], "little") for i in range(64)) // 10**6
{hoard}
children = []
for place in range(24):
    if (child := os.fork()) == 0:
        try: hoard(place)
        except OSError as error: pass
        time.sleep(60)
        os._exit(0)
    children.append(child)
before = -1
while total() != before and total() < 700:
    before = total()
    time.sleep(0.5)
for child in children: os.kill(child, signal.SIGSTOP)
time.sleep(0.5 if total() <= 300 else 5)  # 24 busy processes can keep the one that watches from its turn
for child in children: os.kill(child, signal.SIGKILL)
print(total())
"""
PIPES = """
def hoard(place):
    while True:
        r, w = os.pipe()
        os.set_blocking(w, False)
        try:
            while True: add(os.write(w, bytes(4096)), place)
        except BlockingIOError: pass
"""
UNIX_SOCKETS = """
def hoard(place):
    while True:
        one, other = socket.socketpair()
        for end in (one, other):
            try: end.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 10**7)
            except OSError: pass
            end.setblocking(False)
            os.dup(end.fileno())
            try:
                while True: add(end.send(bytes(60_000)), place)
            except BlockingIOError: pass
            end.detach()
"""
DATAGRAMS_OF_THE_DEAD = """
def hoard(place):
    for n in range(100):
        receiver = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        receiver.bind(f"\\0{place}-{n}")
        receiver.detach()
        for _ in range(20):
            with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as sender:
                sender.setblocking(False)
                try: add(sender.sendto(bytes(200_000), f"\\0{place}-{n}"), place)
                except BlockingIOError: break
"""
TCP_SOCKETS = """
def hoard(place):
    server = socket.create_server(("127.0.0.1", 0), backlog=200)
    while True:
        one = socket.create_connection(server.getsockname())
        other = server.accept()[0]
        one.setblocking(False)
        try:
            for _ in range(3):
                try:
                    while True: add(one.send(bytes(60_000)), place)
                except BlockingIOError: time.sleep(0.002)
        finally:
            one.detach(); other.detach()
"""
DATAGRAMS = """
def hoard(place):
    while True:
        one = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        one.bind(("127.0.0.1", 0))
        for _ in range(8): one.sendto(bytes(50_000), one.getsockname())
        held = one.getsockopt(socket.SOL_SOCKET, 55, 36)  # SO_MEMINFO: most of what was sent is dropped
        add(int.from_bytes(held[:4], "little"), place)
        one.detach()
"""
GIFTED_PAGES = """
def hoard(place):
    class Part(ctypes.Structure): _fields_ = [("base", ctypes.c_void_p), ("length", ctypes.c_size_t)]
    while True:
        r, w = os.pipe()
        for _ in range(8):
            area = mmap.mmap(-1, 1 << 22, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
            area.madvise(14)
            start = ctypes.addressof(ctypes.c_char.from_buffer(area))
            huge = -(-start // (1 << 21)) * (1 << 21)
            ctypes.memset(huge, 1, 1 << 21)
            part = Part(huge, 1)
            number = {"x86_64": 278, "aarch64": 75}[os.uname().machine]
            if libc.syscall(number, w, ctypes.byref(part), 1, 0) < 0: raise OSError(ctypes.get_errno(), "vmsplice")
            add(1 << 21, place)
            libc.munmap(ctypes.c_void_p(start), 1 << 22)
"""
QUEUES = """
def hoard(place):
    class Message(ctypes.Structure): _fields_ = [("kind", ctypes.c_long), ("text", ctypes.c_char * 8000)]
    for _ in range(1000):
        queue = libc.msgget(0, 0o600)
        if queue < 0: raise OSError(ctypes.get_errno(), "msgget")
        while libc.msgsnd(queue, ctypes.byref(Message(1)), 8000, 0o4000) == 0: add(8000, place)
"""
SHARED_SEGMENTS = """
def hoard(place):
    libc.shmat.restype = ctypes.c_void_p
    for _ in range(100):
        segment = libc.shmget(0, 10**7, 0o600)
        if segment < 0: raise OSError(ctypes.get_errno(), "shmget")
        address = libc.shmat(segment, None, 0)
        ctypes.memset(address, 1, 10**7)
        libc.shmdt(ctypes.c_void_p(address))
        add(10**7, place)
"""
UNLINKED_FILES = """
def hoard(place):
    for folder in ("/tmp", "/dev/shm"):
        for n in range(100):
            descriptor = os.open(f"{folder}/{place}-{n}", os.O_RDWR | os.O_CREAT)
            os.unlink(f"{folder}/{place}-{n}")
            try:
                for _ in range(50): add(os.write(descriptor, bytes(10**6)), place)
            except OSError: break
"""
NAMELESS_FILES = """
def hoard(place):
    descriptor = os.memfd_create("hoard")
    while True: add(os.write(descriptor, bytes(10**6)), place)
"""
SHARED_MAPPINGS = """
def hoard(place):
    area = mmap.mmap(-1, 90_000_000)
    ctypes.memset(ctypes.addressof(ctypes.c_char.from_buffer(area)), 1, 90_000_000)
    add(90_000_000, place)
    time.sleep(60)
"""


@pytest.mark.parametrize(
    "hoard",
    [
        pytest.param(code, id=name)
        for name, code in {
            "pipes": PIPES,
            "unix sockets": UNIX_SOCKETS,
            "datagrams of the dead": DATAGRAMS_OF_THE_DEAD,
            "tcp sockets": TCP_SOCKETS,
            "datagrams": DATAGRAMS,
            "gifted pages": GIFTED_PAGES,
            "queues": QUEUES,
            "shared segments": SHARED_SEGMENTS,
            "unlinked files": UNLINKED_FILES,
            "nameless files": NAMELESS_FILES,
            "shared mappings": SHARED_MAPPINGS,
        }.items()
    ],
)
async def test_memory_without_an_owner_is_bounded(jail_with: OpenKernel, hoard: str) -> None:
    kernel = await jail_with(memory_mb=200)
    result = await kernel.execute(HIDDEN.format(hoard=hoard))
    # Which of its processes the system ends for it, and so what the death is called, is chance.
    assert result.status == "died" or int(result.text) <= 200 + 100, result
    assert (await kernel.execute("6 * 7")).text == "42\n"
