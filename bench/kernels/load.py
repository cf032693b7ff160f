"""CPU time of this machine, split into ours and that of foreign processes.

Foreign is what is counted, process by process: user and system time of every process that is neither ours (this
process and all below it) nor a thread of the Linux kernel, with that of the children it has reaped. Ours is what
/proc/stat counts as busy, less that: so the work of the Linux kernel's own threads for us (tearing down namespaces) and
processes that were killed without anybody reaping them (the rest of a pid namespace) are ours too.

What process 1 has reaped is left out, since nobody can tell whose it was: short-lived foreign orphans thus count as
ours, as do the kernels of others (of a test run, say) that begin and are killed between two looks. While Docker is
measured its daemon, shims and containers are ours, all of them: nobody else may use it then.
All of it in clock ticks (10 ms), so a single figure of a few ms means little and a median of many something.
"""

import asyncio
import os
import time
from collections import deque
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass
from pathlib import Path

TICK = 1 / os.sysconf("SC_CLK_TCK")
_KERNEL_THREADS = 2
_DAEMONS = ("dockerd", "containerd", "containerd-shim", "runc", "docker-proxy", "docker-init")
_LOOK_SECONDS = 0.05
_LOOKS = 6
_IDLE_TICKS = 3
_LONGEST_REST = 10.0

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
    """CPU seconds up to one moment: of the machine, of foreign processes, and what looking at them has cost."""

    at: float
    busy: float
    foreign: float
    looking: float


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
    """Looks at all processes now and then, and adds up what foreign ones have done since the last look."""

    def __init__(self) -> None:
        self.hurried = 0
        self._looking = 0.0
        self._foreign_ticks = 0
        self._seen: Mapping[Key, Process] = {}
        self._family: set[Key] = set()
        self._ours: set[Key] = set()

    def read(self, *, docker: bool = False) -> Reading:
        self._look(docker=docker)
        return Reading(time.perf_counter(), _busy(), self._foreign_ticks * TICK, self._looking)

    async def rest(self, *, docker: bool = False) -> None:
        """Returns when none of our processes has begun, ended or done much for a quarter of a second: what is stopped
        has ended, a pool is full again. After `_LONGEST_REST` it goes on anyway, and counts that in `hurried`."""
        looks: deque[Mapping[Key, int]] = deque(maxlen=_LOOKS)
        deadline = time.monotonic() + _LONGEST_REST
        while not idle(looks):
            if time.monotonic() > deadline:
                self.hurried += 1
                return
            await asyncio.sleep(_LOOK_SECONDS)
            self._look(docker=docker)
            looks.append({key: self._seen[key].ticks for key in self._ours if key[0] != os.getpid()})

    def _look(self, *, docker: bool) -> None:
        started = time.thread_time()
        seen = processes()
        # A process of ours whose parent has gone is ours still.
        self._family = _tree(
            seen, {pid for pid, each in seen.items() if pid == os.getpid() or each.key in self._family}
        )
        daemons = {pid for pid, each in seen.items() if docker and each.name.startswith(_DAEMONS)}
        self._ours = self._family | _tree(seen, daemons)
        now = {each.key: each for each in seen.values()}
        if self._seen:
            foreign = now.keys() - self._ours - {key for key, each in now.items() if _is_kernel_thread(each)}
            self._foreign_ticks += foreign_ticks(self._seen, now, foreign)
        self._seen = now
        self._looking += time.thread_time() - started


def between(before: Reading, after: Reading) -> Load:
    """The CPU time used between two readings of one meter."""
    foreign = after.foreign - before.foreign
    ours = after.busy - before.busy - foreign - (after.looking - before.looking)
    return Load(after.at - before.at, max(0.0, ours), foreign)


def foreign_ticks(before: Mapping[Key, Process], after: Mapping[Key, Process], foreign: Set[Key]) -> int:
    """What the foreign ones have done between two looks, with what they reaped.

    What a process has reaped is new but for what was known of it before; and not even that need be there, for what is
    killed with its pid namespace nobody reaps.
    """
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
    for key in foreign:
        now, then = after[key], before.get(key)
        total += now.ticks - (then.ticks if then else 0)
        if now.pid != 1:
            total += max(0, now.reaped - (then.reaped if then else 0) - inherited.get(key, 0))
    return total


def idle(looks: Sequence[Mapping[Key, int]]) -> bool:
    """The same processes over all looks, and none of them has done much: idle kernels and their guardians wake up too,
    each now and then, and there may be many."""
    if len(looks) < _LOOKS or any(look.keys() != looks[0].keys() for look in looks):
        return False
    return all(ticks - looks[0][key] <= _IDLE_TICKS for key, ticks in looks[-1].items())


def _tree(seen: Mapping[int, Process], roots: set[int]) -> set[Key]:
    return {seen[pid].key for pid in descendants(seen, roots)}


def _is_kernel_thread(process: Process) -> bool:
    return _KERNEL_THREADS in (process.pid, process.parent)


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
