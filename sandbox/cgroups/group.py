"""One cgroup: its limits, who joins it, what became of it."""

import asyncio
import contextlib
import errno
import os
import time
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from toolablate.sandbox import clearance

_PERIOD_MICROSECONDS = 100_000
_LEAST_QUOTA_MICROSECONDS = 1_000  # the kernel refuses less
_TCP_SHARE = 8
_NEARLY_BYTES = 1 << 20
_MOST_BYTES, _MOST_PROCESSES, _MOST_CPUS = 1 << 60, 1 << 22, 1 << 13


@dataclass(frozen=True, slots=True)
class Bounds:
    """What all processes of a cgroup together may use; `cpus` (1.5: one and a half) None for no limit."""

    memory_bytes: int
    processes: int
    cpus: float | None = None

    def __post_init__(self) -> None:
        """Linux wraps numbers that are too large around, instead of refusing them."""
        if not 0 < self.memory_bytes <= _MOST_BYTES:
            raise ValueError(f"not a limit on memory: {self.memory_bytes} bytes")
        if not 0 < self.processes <= _MOST_PROCESSES:
            raise ValueError(f"not a limit on processes: {self.processes}")
        if self.cpus is not None and not 0 < self.cpus <= _MOST_CPUS:
            raise ValueError(f"not a limit on processors: {self.cpus}")

    @property
    def quota(self) -> int:
        """Microseconds of CPU time in each period."""
        return max(_LEAST_QUOTA_MICROSECONDS, int((self.cpus or 0) * _PERIOD_MICROSECONDS))


class Cgroup(ABC):
    """The cgroup of one kernel; in version 1 one folder for each hierarchy. `folders` is by controller."""

    def __init__(self, folders: Mapping[str, Path]) -> None:
        self.folders = dict(folders)
        self._killed_for_memory = False

    @property
    def name(self) -> str:
        return self._memory.name

    @property
    def _memory(self) -> Path:
        return self.folders["memory"]

    @property
    def places(self) -> tuple[Path, ...]:
        """Its folders, each once; the one of memory last, since it stands for all of them while it is there."""
        others = (folder for folder in self.folders.values() if folder != self._memory)
        return (*dict.fromkeys(others), self._memory)

    @abstractmethod
    def limit(self, bounds: Bounds) -> None:
        """Raises OSError where the kernel refuses."""

    @abstractmethod
    def open_procs(self) -> list[int]:
        """Descriptors (close-on-exec) of files that a process joins the cgroup by, writing `0` to each of them.

        It works from inside of any namespaces and as any user: Linux asks for the permission of the one who opened the
        file (since 5.16 and the fixes of CVE-2021-4197; before, for that of the writer, who then must be root, or be
        the one whose group it is). The writer must have one thread only. Whoever holds one can put into the cgroup what
        processes it can see: close them before any foreign code runs.
        """

    @abstractmethod
    def open_kills(self) -> int:
        """A descriptor of the file whose line `oom_kill N` counts the processes that were killed for memory."""

    @abstractmethod
    def oom_killed(self) -> bool:
        """Whether a process was killed since the cgroup's own limit on memory was reached; not where one was killed
        because the machine, or a cgroup around us, ran out of memory. Still known after `remove`."""

    @abstractmethod
    def memory_peak(self) -> int | None:
        """The most bytes ever charged, or None where the kernel does not tell."""

    def add(self, pid: int) -> None:
        """Moves a process here, with its threads, without its children; raises OSError (ProcessLookupError too)."""
        for folder in self.places:
            (folder / "cgroup.procs").write_bytes(b"%d" % pid)

    def members(self) -> list[int]:
        """Process ids, in our namespace; 0 for those it does not show."""
        return clearance.members(self.places[0])

    def kill(self) -> None:
        """SIGKILL to all in it. Does not wait; whoever joins later is not killed."""
        for folder in self.places:
            clearance.kill(folder)

    async def remove(self, patience: float = 10.0) -> None:
        """Kills what is left, waits until it is empty and removes it. Safe to call twice.

        Raises TimeoutError where a process does not end within `patience` seconds (it hangs in a device or file
        system); the cgroup then stays.
        """
        self._killed_for_memory = self.oom_killed()
        pause, deadline = 0.0005, time.monotonic() + patience
        while not self._gone():
            if time.monotonic() > deadline:
                raise TimeoutError(f"the cgroup {self._memory} does not become empty: processes {self.members()}")
            self.kill()
            await asyncio.sleep(pause)
            pause = min(pause * 2, 0.05)

    def _gone(self) -> bool:
        left = [folder for folder in self.places if not clearance.remove_empty(folder)]
        return not left

    def discard(self) -> None:
        """Removes it where there is nobody in it and no cgroup below it."""
        for folder in self.places:
            with contextlib.suppress(OSError):
                folder.rmdir()


class VersionOne(Cgroup):
    """Counts: anonymous memory, page cache (files that these processes read first), tmpfs, kernel memory (stacks, page
    tables, pipes, unix socket buffers), and apart from these TCP buffers, up to an eighth of the limit. Swap counts
    together with memory where it is accounted, else is not used. Out of memory, Linux kills the largest process."""

    def limit(self, bounds: Bounds) -> None:
        _write(self._memory / "memory.limit_in_bytes", bounds.memory_bytes)
        _write_if_there(self._memory / "memory.kmem.tcp.limit_in_bytes", bounds.memory_bytes // _TCP_SHARE)
        if not _write_if_there(self._memory / "memory.memsw.limit_in_bytes", bounds.memory_bytes):
            _write(self._memory / "memory.swappiness", 0)
        if pids := self.folders.get("pids"):
            _write(pids / "pids.max", bounds.processes)
        if bounds.cpus is not None and (cpu := self.folders.get("cpu")):
            _write(cpu / "cpu.cfs_period_us", _PERIOD_MICROSECONDS)
            try:
                _write(cpu / "cpu.cfs_quota_us", bounds.quota)
            except OSError as error:
                if error.errno != errno.EINVAL:  # more than a cgroup around us may use: then that limit holds anyway
                    raise

    def open_procs(self) -> list[int]:
        # A lone thread that moves itself spares the lock that is taken to move a process, 20 ms now and then.
        return _opened([folder / "tasks" for folder in self.places])

    def open_kills(self) -> int:
        return os.open(self._memory / "memory.oom_control", os.O_RDONLY | os.O_CLOEXEC)

    def oom_killed(self) -> bool:
        killed = _counter(self._memory / "memory.oom_control", "oom_kill")
        limit, peak = _number(self._memory / "memory.limit_in_bytes"), self.memory_peak()
        # By the peak, since Linux 6.18 no longer counts in `failcnt` how often the limit was reached.
        full = limit is not None and peak is not None and peak >= limit - _NEARLY_BYTES
        return self._killed_for_memory or (killed > 0 and full)

    def memory_peak(self) -> int | None:
        return _number(self._memory / "memory.memsw.max_usage_in_bytes") or _number(
            self._memory / "memory.max_usage_in_bytes"
        )


class VersionTwo(Cgroup):
    """Counts: anonymous memory, page cache (files that these processes read first), tmpfs, kernel memory and socket
    buffers, all in one; swap is not used. Out of memory, Linux kills all processes of the cgroup."""

    def limit(self, bounds: Bounds) -> None:
        _write(self._memory / "memory.max", bounds.memory_bytes)
        _write_if_there(self._memory / "memory.swap.max", 0)
        _write_if_there(self._memory / "memory.oom.group", 1)
        _write(self._memory / "pids.max", bounds.processes)
        if bounds.cpus is not None and "cpu" in self.folders:
            _write(self._memory / "cpu.max", f"{bounds.quota} {_PERIOD_MICROSECONDS}")

    def open_procs(self) -> list[int]:
        return _opened([self._memory / "cgroup.procs"])

    def open_kills(self) -> int:
        return os.open(self._memory / "memory.events", os.O_RDONLY | os.O_CLOEXEC)

    def oom_killed(self) -> bool:
        killed = _counter(self._memory / "memory.events", "oom_kill")
        return self._killed_for_memory or (killed > 0 and _counter(self._memory / "memory.events", "oom") > 0)

    def memory_peak(self) -> int | None:
        return _number(self._memory / "memory.peak")


def _opened(paths: list[Path]) -> list[int]:
    descriptors: list[int] = []
    try:
        for path in paths:
            descriptors.append(os.open(path, os.O_WRONLY | os.O_CLOEXEC))
    except OSError:
        for descriptor in descriptors:
            os.close(descriptor)
        raise
    return descriptors


def _write(path: Path, value: object) -> None:
    """Unbuffered, so that what the kernel says to it is said here."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CLOEXEC)
    try:
        os.write(descriptor, str(value).encode())
    finally:
        os.close(descriptor)


def _write_if_there(path: Path, value: object) -> bool:
    try:
        _write(path, value)
    except FileNotFoundError:
        return False
    return True


def _number(path: Path) -> int | None:
    try:
        return int(path.read_bytes())
    except OSError:
        return None


def _counter(path: Path, name: str) -> int:
    try:
        lines = path.read_text(encoding="ascii").splitlines()
    except OSError:
        return 0
    return next((int(line.split()[1]) for line in lines if line.split()[0] == name), 0)
