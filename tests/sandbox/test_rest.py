"""What a cell leaves behind stands still until the next one, and what others' load takes from a cell is not its own
fault."""

import asyncio
import contextlib
import math
import os
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from toolablate.sandbox import Kernel, KernelUnavailable
from toolablate.sandbox import jupyter as execution
from toolablate.sandbox.inside import processes, watch

pytestmark = [pytest.mark.deep, pytest.mark.asyncio(loop_scope="module")]

OpenKernel = Callable[..., Awaitable[Kernel]]


async def rested(kernel: Kernel) -> tuple[float, float]:
    """Lets it rest for a while; gives the times between which nothing can have run."""
    process: Any = kernel._process  # type: ignore[attr-defined]
    process.rest()
    await process.lost_seconds()  # commands are obeyed in their order
    begin = time.monotonic()
    await asyncio.sleep(0.3)
    return begin, time.monotonic()


TICKING = """
import subprocess, sys, threading, time
program = "import time\\nwhile True:\\n with open('ticks', 'a') as file: file.write(f'{time.monotonic()}\\\\n')\\n time.sleep(.01)"
child = subprocess.Popen([sys.executable, "-I", "-S", "-c", program], start_new_session=True)
times = []
def tick():
    while True: times.append(time.monotonic()); time.sleep(.01)
threading.Thread(target=tick, daemon=True).start()
def seen():
    try: return [float(line) for line in open("ticks") if line.endswith("\\n")]
    except FileNotFoundError: return []
while not times or not seen(): time.sleep(.01)
"""


async def test_what_a_cell_left_runs_with_cells_only(jail_with: OpenKernel) -> None:
    kernel = await jail_with()
    assert (await kernel.execute(TICKING)).status == "ok"
    begin, end = await rested(kernel)
    code = f"""
while times[-1] < {end} or seen()[-1] < {end}: time.sleep(.01)
print([t for t in times + seen() if {begin} < t < {end}])
"""
    assert (await kernel.execute(code)).text == "[]\n"


async def test_a_server_of_one_cell_answers_the_next(jail_with: OpenKernel) -> None:
    kernel = await jail_with()
    start = "import subprocess, sys\nopen('a.txt', 'w').write('kept')\nserver = subprocess.Popen([sys.executable, '-m', 'http.server', '8000', '--bind', '127.0.0.1'], stderr=subprocess.DEVNULL)"
    await kernel.execute(start)
    await rested(kernel)
    ask = """
import time, urllib.error, urllib.request
while True:
    try: print(urllib.request.urlopen('http://127.0.0.1:8000/a.txt').read().decode()); break
    except urllib.error.URLError: time.sleep(.05)
"""
    assert (await kernel.execute(ask)).text == "kept\n"


async def test_what_its_own_program_stopped_stays_stopped(jail_with: OpenKernel) -> None:
    kernel = await jail_with()
    stop = "import os, signal, subprocess\nchild = subprocess.Popen(['sleep', '1000']); child.send_signal(signal.SIGSTOP); os.waitpid(child.pid, os.WUNTRACED)\nstate = lambda: open(f'/proc/{child.pid}/stat').read().split()[2]\nprint(state())"
    assert (await kernel.execute(stop)).text == "T\n"
    await rested(kernel)
    assert (await kernel.execute("state()")).text == "'T'\n"
    await kernel.execute("child.send_signal(signal.SIGCONT); os.waitpid(child.pid, os.WCONTINUED)")
    await rested(kernel)
    # One that goes on runs for an instant before it sleeps again; one that stayed stopped is never seen to.
    asleep = "import time\nwhile state() == 'R': time.sleep(.01)\nstate()"
    assert (await kernel.execute(asleep)).text == "'S'\n"


GOES_ON = """
import ctypes, os, signal
class Event(ctypes.Structure): _fields_ = [("value", ctypes.c_void_p), ("signal", ctypes.c_int), ("how", ctypes.c_int), ("room", ctypes.c_char * 48)]
class Every(ctypes.Structure): _fields_ = [("seconds", ctypes.c_long), ("nanoseconds", ctypes.c_long), ("first", ctypes.c_long), ("first_ns", ctypes.c_long)]
create, settime = {"x86_64": (222, 223), "aarch64": (107, 110)}[os.uname().machine]
libc, timer = ctypes.CDLL(None), ctypes.c_int()
signal.signal(signal.SIGCONT, lambda *_: None)
made = libc.syscall(create, 1, ctypes.byref(Event(None, signal.SIGCONT, 0)), ctypes.byref(timer))
print(made, libc.syscall(settime, timer.value, 0, ctypes.byref(Every(0, 1_000_000, 0, 1_000_000)), None))
"""


async def test_who_would_not_rest_keeps_nobody_from_working(jail_with: OpenKernel) -> None:
    """Stopped for good, since a stop can cost the timer its signal, or ended: which of them is chance."""
    kernel = await jail_with()
    assert (await kernel.execute(GOES_ON)).text == "0 0\n"
    await rested(kernel)
    assert (await kernel.execute("6 * 7")).text.endswith("42\n")


async def test_one_that_is_ending_is_still(monkeypatch: pytest.MonkeyPatch) -> None:
    """A large process can take long to give back its memory: nothing of it goes on."""
    threads = {"7": b"7 (a) R 1 7 7 0 -1 4194308 0", "8": b"8 (b) R 1 7 7 0 -1 4194308 0"}
    monkeypatch.setattr(processes, "names", lambda _: list(threads))
    monkeypatch.setattr(processes, "read", lambda path: threads[path.split("/")[-2]])
    assert processes.still()
    threads["8"] = b"8 (b) R 1 7 7 0 -1 4194304 0"
    assert not processes.still()


@pytest.fixture
def watching(monkeypatch: pytest.MonkeyPatch) -> Callable[..., watch.Watch]:
    """A watch over processes that use so much memory, and count with pages that they share as often as they do."""

    def begin(used: int, counted_often: int, number: int) -> watch.Watch:
        limits = {"memory": 1_000_000_000, "files": 10_000}
        begun = watch.Watch(limits, ["files", "killed", "sockets", "terminals"], None)
        begun._alone = True
        begun.begin()
        monkeypatch.setattr(processes, "memory_roughly", lambda: (counted_often, number))
        monkeypatch.setattr(processes, "memory_exactly", lambda: used)
        begun._due = 0.0
        return begun

    for name, gives in (("memory_roughly", (0, 1)), ("stop", frozenset()), ("go_on", None)):
        monkeypatch.setattr(processes, name, lambda gives=gives, **_: gives)
    return begin


async def test_pages_that_are_shared_do_not_keep_processes_stopped(watching: Callable[..., watch.Watch]) -> None:
    watched = watching(used=300_000_000, counted_often=1_500_000_000, number=5)
    assert not watched.exceeded()
    assert watched._pause == watch._WATCH_SECONDS  # and not the least, as at the limit
    assert watching(used=1_500_000_000, counted_often=1_500_000_000, number=5).exceeded() == "memory"


async def test_nothing_is_left_to_watch(watching: Callable[..., watch.Watch]) -> None:
    """As long as nobody has told of the kernel's end."""
    assert not watching(used=0, counted_often=0, number=0).exceeded()


# --- time that others take -------------------------------------------------------------------------------------------

PIN = f"import os; os.sched_setaffinity(0, {{{min(os.sched_getaffinity(0))}}})\n"
"""To the processor that the others have, so that it is known how many share it."""


@contextlib.contextmanager
def load() -> Iterator[None]:
    """Twelve programs that take a processor, each with a share of its own."""
    others = [subprocess.Popen(["sh", "-c", "while :; do :; done"], start_new_session=True) for _ in range(12)]
    try:
        for other in others:
            os.sched_setaffinity(other.pid, {min(os.sched_getaffinity(0))})
        yield
    finally:
        for other in others:
            other.kill()
            other.wait()


@pytest.mark.parametrize(
    "code",
    [
        "while True: pass",
        "import subprocess; subprocess.run(['sh', '-c', 'while :; do :; done'])",
        "import threading\ndef work():\n while True: pass\nthread = threading.Thread(target=work); thread.start(); thread.join()",
    ],
    ids=["itself", "in a child", "in a thread"],
)
async def test_a_cell_that_others_keep_from_running_is_no_result(
    jail_with: OpenKernel, monkeypatch: pytest.MonkeyPatch, code: str
) -> None:
    monkeypatch.setattr(execution, "_MOST_TIMES", 3)
    kernel = await jail_with(cell_seconds=1.0, grace_seconds=20.0)
    with load(), pytest.raises(KernelUnavailable) as starved:
        await kernel.execute(PIN + code)
    assert (starved.value.code, starved.value.retryable) == ("starved", True), starved.value
    assert "lost through no fault of the code" in (await kernel.execute("6 * 7")).text


async def test_an_interrupt_of_no_cell_ends_neither_the_start_nor_what_follows(tmp_path: Path) -> None:
    """In a process of its own, as the start settles the one that it is in."""
    program = f"""
import os, signal
from toolablate.sandbox.inside import kernel
class Application:
    def connect(self, request, listeners):
        os.kill(os.getpid(), signal.SIGINT)
    def start(self):
        os.kill(os.getpid(), signal.SIGINT)
        os._exit(7)
kernel._limit = lambda limits: None
kernel.run_kernel(Application, {{"work": {str(tmp_path / "work")!r}, "filter": "", "limits": {{}}}}, [], os.pipe()[1])
"""
    started = await asyncio.create_subprocess_exec(sys.executable, "-c", program)
    assert await started.wait() == 7


async def test_an_interrupt_between_cells_does_not_end_the_kernel(jail_with: OpenKernel) -> None:
    """Jupyter interrupts a kernel before it asks it to end, and a user presses the button once more than needed."""
    kernel = await jail_with()
    assert (await kernel.execute("x = 7")).status == "ok"
    process: Any = kernel._process  # type: ignore[attr-defined]
    process.interrupt()
    await process.lost_seconds()  # which is answered after it
    assert (await kernel.execute("x")).text == "7\n"


async def test_a_guardian_that_says_nothing_is_asked_again(
    jail_with: OpenKernel, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And not believed for all the time that a cell may be given."""
    kernel = await jail_with(cell_seconds=0.2, grace_seconds=20.0)
    said = iter([math.inf, 0.0])

    async def lost_seconds() -> float:
        return next(said, 0.0)

    monkeypatch.setattr(kernel._process, "lost_seconds", lost_seconds)  # type: ignore[attr-defined]
    assert (await kernel.execute("while True: pass")).status == "timeout"


async def test_an_answer_that_comes_too_late_is_not_that_to_the_next_question(
    jail_with: OpenKernel, monkeypatch: pytest.MonkeyPatch
) -> None:
    kernel = await jail_with()
    process: Any = kernel._process  # type: ignore[attr-defined]
    monkeypatch.setattr(process, "limits", replace(process.limits, grace_seconds=0.0))
    assert await process.lost_seconds() == math.inf
    monkeypatch.setattr(process, "limits", replace(process.limits, grace_seconds=20.0))
    monkeypatch.setattr(process, "_tell", lambda _: None)
    told = asyncio.ensure_future(process.lost_seconds())
    await kernel.execute("6 * 7")  # till then the first answer has come
    assert not told.done()
    told.cancel()


async def test_sleep_is_not_waiting_for_a_processor(jail_with: OpenKernel, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(execution, "_MOST_TIMES", 3)
    kernel = await jail_with(cell_seconds=2.0, grace_seconds=60.0)
    with load():
        result = await kernel.execute("import time; time.sleep(1000)")
    assert (result.status, result.error) == ("timeout", "timeout")


async def test_what_a_cell_takes_from_itself_is_its_own_fault(jail_with: OpenKernel) -> None:
    """Else it would be given time without end."""
    kernel = await jail_with(cell_seconds=0.3, grace_seconds=0.5)
    crowd = "import os\nfor _ in range(20):\n if os.fork() == 0:\n  while True: pass\nwhile True: pass"
    assert (await kernel.execute(crowd)).status in ("timeout", "died")
