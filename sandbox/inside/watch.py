"""Adds up what all processes of a sandbox use: the system's own limits hold for each of them alone."""

import contextlib
import os
import signal
import time

from . import processes
from .processes import names

_WATCH_SECONDS = 0.15
_LEAST_SECONDS = 0.01
_FILL_BYTES = 1_000_000_000
"""What one processor can fill with data in a second, or little less."""

_CPU_SECONDS = 0.3
"""How often it is looked who waits for a processor."""

_RESISTED = 10
"""So often one is found going on before it is taken to resist: on a loaded machine a process needs its turn to stop."""

_REST_SECONDS = 10.0

_IDLE_BYTES = 256_000_000
"""The most that an idle kernel itself is taken to use."""

_SLACK_BYTES = 64_000_000
"""What a single kernel can fill without adding to its address space: stacks and arenas that are reserved already. It
shall get its MemoryError before the watch takes it for too large."""

_UNIX_SOCKET_BYTES = 212_992
"""net.core.wmem_default of Linux; the filter of system calls refuses to raise it for a socket."""

_UNIX_DATAGRAMS = 11
"""One more than net.unix.max_dgram_qlen: so many wait in a receiver, each from a sender of its own that is gone."""

_FEW_SOCKETS = 32
"""No more are not looked at one by one, for which Linux goes through tables of the whole machine."""

_WRITABLE = ("/tmp", "/dev/shm")  # noqa: S108 - the sandbox's own

_TERMINALS = 64
"""All sandboxes of a machine together have 3,072 (kernel.pty.max without the host's reserve)."""


class Watch:
    """Only where we are process 1 of a namespace: there is no leaving it. `counted` names what the system counts for
    all processes together already (`memory`, `sockets`, `files`, `terminals`), and is not looked at. Where Linux bounds
    the memory of all, it kills some of them, and what is left is ended: `kills` is the open file that counts it."""

    def __init__(self, limits: dict[str, int], counted: list[str], kills: int | None) -> None:
        self._kills = kills
        self._killed_before = _count_of(kills)
        self._alone = os.getpid() == 1
        looks = {
            "files": self._too_many_files,
            "killed": self.killed_for_memory,
            "memory": self._too_much_memory,
            "sockets": self._too_much_in_sockets,
            "terminals": _too_many_terminals,
        }
        self._looks = {name: look for name, look in looks.items() if name not in counted}
        self._memory = limits["memory"] + _SLACK_BYTES
        self._in_sockets = limits["memory"]
        self._files = limits["files"]
        self._due: float | None = None
        self._waiting: processes.Waiting | None = None
        self._stopped: frozenset[int] | None = None
        self._pause = _WATCH_SECONDS
        self._resisted = 0

    def begin(self) -> None:
        """What is used up to now is the kernel's own."""
        if not self._alone:
            return
        self._memory += min(processes.memory_roughly()[0], _IDLE_BYTES)
        self._files += _files_used()
        self._due = time.monotonic() + _WATCH_SECONDS

    def cell(self) -> None:
        """A cell begins: what was stopped goes on."""
        if not self._alone:
            return
        if self._stopped is not None:
            processes.go_on(but=self._stopped)
            self._stopped = None
            self._due = time.monotonic() + _WATCH_SECONDS
        self._waiting = processes.Waiting()

    def rest(self) -> None:
        """Between cells nothing runs, so that no trial takes time from others while its model thinks."""
        if not self._alone or self._stopped is not None:
            return
        self._stopped = processes.stop()
        self._waiting = None
        self._resisted, self._pause = 0, _WATCH_SECONDS
        self._due = time.monotonic() + self._pause

    def lost(self) -> float:
        """For how many seconds of the cell others kept its processes from running."""
        return self._waiting.look() if self._waiting else 0.0

    @property
    def pause_ms(self) -> int | None:
        return None if self._due is None else max(0, int((self._due - time.monotonic()) * 1000) + 1)

    def exceeded(self) -> str:
        """Which limit is exceeded: `memory`, `files` or none."""
        if self._due is None or time.monotonic() < self._due:
            return ""
        self._pause = _WATCH_SECONDS if self._stopped is None else min(2 * self._pause, _REST_SECONDS)
        if self._stopped is not None:
            self._keep_still()
        elif self._waiting and self._waiting.age >= _CPU_SECONDS:
            self._waiting.look()
        over = next((name for name, too_much in self._looks.items() if too_much()), "")
        self._due = time.monotonic() + self._pause
        return {"killed": "memory", "sockets": "memory", "terminals": "files"}.get(over, over)

    def _keep_still(self) -> None:
        """A timer can send SIGCONT. Who goes on again and again although nobody let him is ended."""
        if not processes.still():
            self._resisted += 1
            self._pause = _WATCH_SECONDS
            with contextlib.suppress(OSError):
                os.kill(-1, signal.SIGKILL if self._resisted >= _RESISTED else signal.SIGSTOP)

    def killed_for_memory(self) -> bool:
        """Whether the kernel of the machine killed something of ours for it, as far as that can be seen."""
        return _count_of(self._kills) > self._killed_before

    def _too_much_in_sockets(self) -> bool:
        """Control groups of version 1 do not count all of it either."""
        return _sockets_used() > self._in_sockets

    def _too_many_files(self) -> bool:
        return _files_used() > self._files

    def _too_much_memory(self) -> bool:
        """Not by pages that forked processes share. Nobody takes more, nor time from us, while we count them."""
        used, number = processes.memory_roughly()
        if used > self._memory:
            used = self._memory_exactly()
        # None is left where the kernel has just ended, and we have not been told.
        room, filling = self._memory - used, max(1, min(number, os.cpu_count() or 1)) * _FILL_BYTES
        self._pause = min(self._pause, max(room / filling, _LEAST_SECONDS))
        return room < 0

    def _memory_exactly(self) -> int:
        if self._stopped is not None:
            return processes.memory_exactly()
        stopped = processes.stop()
        try:
            return processes.memory_exactly()
        finally:
            processes.go_on(but=stopped)


def _count_of(kills: int | None) -> int:
    lines = () if kills is None else os.pread(kills, 4096, 0).splitlines()
    return sum(int(line.split()[1]) for line in lines if line.startswith(b"oom_kill "))


def _too_many_terminals() -> bool:
    """By their names: one whose master is closed while its other end is kept open has none, and is not seen."""
    return len(names("/dev/pts")) > _TERMINALS + 1  # ptmx lies there, too


def _files_used() -> int:
    used = 0
    for folder in _WRITABLE:
        with contextlib.suppress(OSError):
            status = os.statvfs(folder)
            used += status.f_files - status.f_ffree
    return used


def _sockets_used() -> int:
    """What was sent and not yet read lies in no process, bytes: of TCP and UDP twice what is queued, for they round up;
    of unix sockets the most that they can hold, since nothing tells how much it is."""
    if _sockets_open() <= _FEW_SOCKETS:
        return 0
    types = [line.split(maxsplit=5)[4] for line in _lines("/proc/net/unix")[1:]]
    used = _UNIX_SOCKET_BYTES * (len(types) + (_UNIX_DATAGRAMS - 1) * types.count(b"0002"))
    for protocol in ("tcp", "tcp6", "udp", "udp6"):
        for line in _lines(f"/proc/net/{protocol}")[1:]:
            sent, _, received = line.split()[4].partition(b":")
            used += 2 * (int(sent, 16) + int(received, 16))
    return used


def _sockets_open() -> int:
    return max((int(line.split()[2]) for line in _lines("/proc/net/sockstat")[:1]), default=0)


def _lines(path: str) -> list[bytes]:
    return processes.read(path).splitlines()
