"""CPU time of this machine, split into ours and that of foreign processes.

Foreign is what is counted, process by process: user and system time of every process that is neither ours (this
process and all below it) nor a thread of the Linux kernel, with that of the children it has reaped. Ours is what
/proc/stat counts as busy, less that: so the work of the Linux kernel's own threads for us (tearing down namespaces) and
processes that were killed without anybody reaping them (the rest of a pid namespace) are ours too.

What process 1 has reaped is left out, since nobody can tell whose it was: short-lived foreign orphans thus count as
ours, as do the kernels of others (of a test run, say) that begin and are killed between two readings. While Docker is
measured its daemon, shims and containers are ours, all of them: nobody else may use it then.
All of it in clock ticks (10 ms), so a single figure of a few ms means little and a median of many something.
"""

import asyncio
import os
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

TICK = 1 / os.sysconf("SC_CLK_TCK")
_KERNEL_THREADS = 2
_DAEMONS = ("dockerd", "containerd", "containerd-shim", "runc", "docker-proxy", "docker-init")
_LOOK_SECONDS = 0.05
_LOOKS = 5
_LONGEST_REST = 20.0

Key = tuple[int, int]
"""A process for ever: its number and the tick at which it started."""


@dataclass(frozen=True, slots=True)
class Process:
    """`ticks` are its own, `reaped` those of the children it has reaped."""

    pid: int
    parent: int
    name: str
    started: int
    ticks: int
    reaped: int

    @property
    def key(self) -> Key:
        return self.pid, self.started


@dataclass(frozen=True, slots=True)
class Reading:
    """The machine at one moment; times in seconds."""

    at: float
    busy: float
    looking: float
    foreign: Mapping[Key, Process]


@dataclass(frozen=True, slots=True)
class Load:
    """CPU seconds between two readings. `foreign_cores` is the foreign ones per second."""

    seconds: float
    ours: float
    foreign: float

    @property
    def foreign_cores(self) -> float:
        return self.foreign / self.seconds if self.seconds else 0.0


class Meter:
    """Reads the load. What the reading itself costs is known and taken off again."""

    def __init__(self) -> None:
        self._looking = 0.0
        self._known_as_ours: set[Key] = set()

    def read(self, *, docker: bool = False) -> Reading:
        started = time.thread_time()
        seen = processes()
        ours = self._ours(seen, docker=docker)
        foreign = {
            each.key: each
            for each in seen.values()
            if each.key not in ours and _KERNEL_THREADS not in (each.pid, each.parent)
        }
        busy = _busy()
        self._looking += time.thread_time() - started
        return Reading(time.perf_counter(), busy, self._looking, foreign)

    async def rest(self, *, docker: bool = False) -> None:
        """Returns when none of our processes has done or begun anything for a quarter of a second (what is stopped has
        ended, a pool is full again), at the latest after `_LONGEST_REST`."""
        before, quiet = None, 0
        deadline = time.monotonic() + _LONGEST_REST
        while quiet < _LOOKS and time.monotonic() < deadline:
            await asyncio.sleep(_LOOK_SECONDS)
            started = time.thread_time()
            seen = processes()
            ours = self._ours(seen, docker=docker)
            now = {each.key: each.ticks for each in seen.values() if each.key in ours and each.pid != os.getpid()}
            quiet = quiet + 1 if now == before else 0
            before = now
            self._looking += time.thread_time() - started

    def _ours(self, seen: Mapping[int, Process], *, docker: bool) -> set[Key]:
        roots = {each.pid for each in seen.values() if each.pid == os.getpid() or each.key in self._known_as_ours}
        below = descendants(seen, roots)
        keys = {seen[pid].key for pid in below}
        # A process of ours whose parent has gone is ours still.
        self._known_as_ours = keys
        if docker:
            daemons = {each.pid for each in seen.values() if each.name.startswith(_DAEMONS)}
            keys = keys | {seen[pid].key for pid in descendants(seen, daemons)}
        return keys


def between(before: Reading, after: Reading) -> Load:
    """The CPU time used between two readings."""
    foreign = _foreign_ticks(before.foreign, after.foreign) * TICK
    ours = after.busy - before.busy - foreign - (after.looking - before.looking)
    return Load(after.at - before.at, max(0.0, ours), foreign)


def _foreign_ticks(before: Mapping[Key, Process], after: Mapping[Key, Process]) -> int:
    """What a process has reaped is new but for what was known of it before; and not even that need be there, for what
    is killed with its pid namespace nobody reaps."""
    inherited: dict[Key, int] = {}
    keys = {each.pid: key for key, each in before.items()}
    for key, each in before.items():
        if key in after:
            continue
        heir = keys.get(each.parent)
        while heir is not None and heir not in after:
            heir = keys.get(before[heir].parent)
        if heir is not None:
            inherited[heir] = inherited.get(heir, 0) + each.ticks + each.reaped
    total = 0
    for key, each in after.items():
        then = before.get(key)
        total += each.ticks - (then.ticks if then else 0)
        if each.pid != 1:
            total += max(0, each.reaped - (then.reaped if then else 0) - inherited.get(key, 0))
    return total


def processes() -> dict[int, Process]:
    """All processes of this machine that can be seen."""
    found = {}
    for entry in os.scandir("/proc"):
        if entry.name.isdigit():
            try:
                found[int(entry.name)] = _parse(Path(entry.path, "stat").read_bytes())
            except (FileNotFoundError, ProcessLookupError):
                continue
    return found


def descendants(seen: Mapping[int, Process], roots: set[int]) -> set[int]:
    """The roots and all below them."""
    children: dict[int, list[int]] = {}
    for each in seen.values():
        children.setdefault(each.parent, []).append(each.pid)
    found, waiting = set(), [root for root in roots if root in seen]
    while waiting:
        pid = waiting.pop()
        if pid not in found:
            found.add(pid)
            waiting += children.get(pid, [])
    return found


def _parse(stat: bytes) -> Process:
    """A name may hold spaces and brackets; proc(5) for the fields after it."""
    number, rest = stat.split(b" (", 1)
    name, fields = rest.rsplit(b") ", 1)
    values = fields.split()
    own, reaped = (sum(int(value) for value in values[first : first + 2]) for first in (11, 13))
    return Process(int(number), int(values[1]), name.decode(errors="replace"), int(values[19]), own, reaped)


def _busy() -> float:
    """Seconds in which a core did anything: user, nice, system, irq and softirq; not idle, iowait and steal."""
    with Path("/proc/stat").open(encoding="ascii") as lines:
        fields = [int(value) for value in lines.readline().split()[1:]]
    return sum(fields[index] for index in (0, 1, 2, 5, 6)) * TICK
