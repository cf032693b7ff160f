"""All processes of a sandbox, as its process 1 sees them: stopped and let go on, what memory they use, and how long
they waited for a processor that others had."""

import contextlib
import os
import resource
import signal
import time
from typing import NamedTuple

_STILL = frozenset(b"TtZXxD")
"""States in which a process does nothing: stopped, ended, or waiting for a child of its that is stopped (vfork)."""

_STOPPED, _WAITING, _ENDED = b"TDZ"
_ENDING = 4
"""PF_EXITING, of the flags of a process in Linux."""

_STOP_TRIES, _STOP_SECONDS = 50, 0.001
_TICKS = os.sysconf("SC_CLK_TCK")


def numbers() -> list[str]:
    """Of all processes but ourselves."""
    return [name for name in names("/proc") if name.isdigit() and name != "1"]


def stop() -> frozenset[int]:
    """Stops all at once: none can fork, or wake another, between. Gives those that were stopped before."""
    before = frozenset(int(number) for number in numbers() if _state(number) == _STOPPED)
    for _ in range(_STOP_TRIES):
        with contextlib.suppress(OSError):  # there is none
            os.kill(-1, signal.SIGSTOP)
        if still():
            break
        time.sleep(_STOP_SECONDS)
    return before


def still() -> bool:
    return all(_is_still(number) for number in numbers())


def _is_still(number: str) -> bool:
    """Where the first thread has ended, the others may run."""
    state = _state(number)
    tasks = names(f"/proc/{number}/task") if state == _ENDED else []
    return state in _STILL and all(_state(f"{number}/task/{task}") in _STILL for task in tasks)


def go_on(but: frozenset[int]) -> None:
    """Lets all go on but those that their own program had stopped."""
    for process in [int(number) for number in numbers()] if but else [-1]:
        if process not in but:
            with contextlib.suppress(OSError):
                os.kill(process, signal.SIGCONT)


def memory_roughly() -> tuple[int, int]:
    """Bytes, without what lies in files of the system; pages that processes share count once for each of them. And how
    many processes there are."""
    processes = numbers()
    return sum(map(_resident, processes)), len(processes)


def memory_exactly() -> int:
    """As `memory_roughly`, shared pages in part for each who shares them. While all are stopped: a child that is about
    to become another program (vfork) still has the memory of its parent, which is the same to the byte and waits."""
    used = 0
    seen: dict[int, bytes] = {}
    borrowers: dict[int, int] = {}
    for number in sorted(numbers(), key=int):
        account = read(f"/proc/{number}/smaps_rollup")
        seen[int(number)] = account
        parent = _parent(number)
        if account and seen.get(parent) == account:
            waiting = borrowers.setdefault(parent, _waiting(parent))
            if waiting:
                borrowers[parent] -= 1
                continue
        used += _sum(account, (b"Pss_Anon:", b"Pss_Shmem:", b"SwapPss:")) or _resident(number)
    return used


def _waiting(process: int) -> int:
    """How many of its threads wait for a child of vfork."""
    return sum(_state(f"{process}/task/{task}") == _WAITING for task in names(f"/proc/{process}/task"))


def _resident(number: str) -> int:
    fields = (b"RssAnon:", b"RssShmem:", b"VmSwap:")
    if used := _sum(read(f"/proc/{number}/status"), fields):
        return used
    # A process whose first thread has ended shows no memory there, and its other threads do.
    tasks = (f"/proc/{number}/task/{task}/status" for task in names(f"/proc/{number}/task"))
    return max((_sum(read(task), fields) for task in tasks), default=0)


class _Look(NamedTuple):
    at: float
    ran: float
    delays: dict[str, int]


class Waiting:
    """How long the processes of a cell could have run and did not, since others had the processors.

    Between two looks that is as long as the one that waited longest was kept waiting (`run_delay` of Linux,
    sched-stats.rst; 0 where it is not counted), at most as long as none of all of them can have run. So neither is
    sleep counted, nor what they wait for each other: who has got a processor in full was not kept from it.
    """

    def __init__(self) -> None:
        self._last = _look()
        self._lost = 0.0

    @property
    def age(self) -> float:
        return time.monotonic() - self._last.at

    def look(self) -> float:
        """Seconds lost up to now."""
        last, self._last = self._last, _look()
        idle = self._last.at - last.at - (self._last.ran - last.ran)
        waited = max((delay - last.delays.get(task, 0) for task, delay in self._last.delays.items()), default=0)
        self._lost += max(min(waited / 1e9, idle), 0.0)
        return self._lost


def _look() -> _Look:
    """The CPU seconds of all, those apart that have ended unnoticed, and of each thread the ns that it waited."""
    reaped = resource.getrusage(resource.RUSAGE_CHILDREN)
    ran, delays = reaped.ru_utime + reaped.ru_stime, {}
    for number in numbers():
        fields = _fields(number)
        ran += sum(int(field) for field in fields[11:15]) / _TICKS  # utime, stime, cutime, cstime
        for task in names(f"/proc/{number}/task"):
            delays[task] = int((read(f"/proc/{number}/task/{task}/schedstat").split() or [b"0", b"0"])[1])
    return _Look(time.monotonic(), ran, delays)


def _fields(process: str) -> list[bytes]:
    """Of /proc/N/stat, from the state on; the name before it may hold anything."""
    return read(f"/proc/{process}/stat").rpartition(b")")[2].split()


def _state(process: str) -> int:
    """One that is ending does not stop any more: giving back its memory can take a while, and it runs nothing else."""
    fields = _fields(process)
    if not fields or int(fields[6]) & _ENDING:
        return _ENDED
    return fields[0][0]


def _parent(process: str) -> int:
    return int((_fields(process) or [b"X", b"0"])[1])


def _sum(text: bytes, fields: tuple[bytes, ...]) -> int:
    """In bytes, of a file that counts in KiB."""
    return sum(int(line.split()[1]) * 1024 for line in text.splitlines() if line.startswith(fields))


def names(folder: str) -> list[str]:
    with contextlib.suppress(OSError):
        return os.listdir(folder)  # noqa: PTH208 - several times a second
    return []


def read(path: str) -> bytes:
    """Nothing of what has ended, or does not let us look."""
    with contextlib.suppress(OSError), open(path, "rb") as file:  # noqa: PTH123 - several times a second
        return file.read()
    return b""
