"""The kernel's own process, from the fork to its first message."""

import contextlib
import os
import resource
import signal
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .guardian import ERROR_BYTES
from .system import PR_SET_DUMPABLE, PR_SET_PDEATHSIG, filter_system_calls, prctl, share_one_heap

_LOCKED_BYTES = 65_536
_QUEUED_SIGNALS = 1024

if TYPE_CHECKING:
    from .application import KernelApplication


def run_kernel(
    application: Callable[[], "KernelApplication"],
    request: dict[str, Any],
    listeners: list[int],
    error_writer: int,
    settle: Callable[[], None] = lambda: None,
) -> None:
    """Settles, connects the application to its sockets, takes on its limits, and serves until it is told to stop."""
    try:
        settle()
        _settle(request["work"])
        if program := bytes.fromhex(request["filter"]):
            filter_system_calls(program)
        app = application()
        app.connect(request, listeners)
        _limit(request["limits"])
    except BaseException:  # noqa: BLE001 - the guardian reports it
        os.write(error_writer, traceback.format_exc()[-ERROR_BYTES:].encode(errors="replace"))
        os._exit(1)
    os.close(error_writer)
    app.start()  # type: ignore[no-untyped-call]
    os._exit(0)


def _settle(work: str) -> None:
    """A session of its own, no inherited stdio, no handlers of the guardian, a work folder; what interrupts a cell is
    let through, also below those who start us with it blocked."""
    share_one_heap()
    signal.set_wakeup_fd(-1)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    # Only a cell may be interrupted, for which ipykernel lets it through; not our start, nor the wait for the next one.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
    os.setsid()
    null = os.open(os.devnull, os.O_RDWR)
    for descriptor in (0, 1, 2):
        os.dup2(null, descriptor)
    os.close(null)
    prctl(PR_SET_DUMPABLE, 1)
    if os.getppid() != 1:
        prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    with contextlib.suppress(OSError):
        Path("/proc/self/oom_score_adj").write_text("1000", encoding="ascii")
    Path(work).mkdir(mode=0o700, exist_ok=True)
    os.chdir(work)
    os.environ["PWD"] = work


def _limit(limits: dict[str, int]) -> None:
    """Set once the kernel stands: `memory` bounds what the code adds to the address space, not what ipykernel maps."""
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0])
    memory = pages * resource.getpagesize() + limits["memory"]
    used = resource.getrusage(resource.RUSAGE_SELF)
    cpu = limits["cpu"] + int(used.ru_utime + used.ru_stime)
    for kind, soft, hard in (
        (resource.RLIMIT_CORE, 0, 0),
        (resource.RLIMIT_AS, memory, memory),
        (resource.RLIMIT_CPU, cpu, cpu + 2),
        (resource.RLIMIT_FSIZE, limits["file"], limits["file"]),
        (resource.RLIMIT_NOFILE, limits["open_files"], limits["open_files"]),
        (resource.RLIMIT_NPROC, limits["processes"], limits["processes"]),
        # What Linux itself keeps for a process, in part counted by user.
        (resource.RLIMIT_MEMLOCK, _LOCKED_BYTES, _LOCKED_BYTES),
        (resource.RLIMIT_MSGQUEUE, 0, 0),
        (resource.RLIMIT_SIGPENDING, _QUEUED_SIGNALS, _QUEUED_SIGNALS),
        (resource.RLIMIT_NICE, 0, 0),
        (resource.RLIMIT_RTPRIO, 0, 0),
    ):
        ceiling = resource.getrlimit(kind)[1]
        if ceiling != resource.RLIM_INFINITY:
            soft, hard = min(soft, ceiling), min(hard, ceiling)
        resource.setrlimit(kind, (soft, hard))
