"""One cgroup per kernel: where one can be made, what all its processes together may use, and their certain end."""

import asyncio
import atexit
import contextlib
import errno
import fcntl
import os
import re
import secrets
import time
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path, PurePosixPath

from toolablate.sandbox import cleanup

_PERIOD_MICROSECONDS = 100_000
_LEAST_QUOTA_MICROSECONDS = 1_000  # the kernel refuses less
_TCP_SHARE = 8
_NEARLY_BYTES = 1 << 20
_MOST_BYTES, _MOST_PROCESSES, _MOST_CPUS = 1 << 60, 1 << 22, 1 << 13


@dataclass(frozen=True, slots=True)
class CgroupLimits:
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
    def limit(self, bounds: CgroupLimits) -> None:
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
        return cleanup.members(self.places[0])

    def kill(self) -> None:
        """SIGKILL to all in it. Does not wait; whoever joins later is not killed."""
        for folder in self.places:
            cleanup.kill(folder)

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
        left = [folder for folder in self.places if not cleanup.remove_empty(folder)]
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

    def limit(self, bounds: CgroupLimits) -> None:
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

    def limit(self, bounds: CgroupLimits) -> None:
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


# Where the cgroups that we live in are to be found: `/proc/self/cgroup` seen through `/proc/self/mountinfo`.


CONTROLLERS = ("memory", "pids", "cpu")


@dataclass(frozen=True, slots=True)
class Places:
    """The folders of the cgroups that a process lives in: of version 1 by controller, of version 2 the one."""

    one: dict[str, Path]
    two: Path | None


@dataclass(frozen=True, slots=True)
class _Mount:
    root: PurePosixPath
    point: Path
    kind: str
    options: frozenset[str]


def parse_places(cgroup: str, mountinfo: str) -> Places:
    """From the text of the two files of `/proc/self`. What is not mounted, or lies outside of what is, is left out."""
    mounts = [mount for line in mountinfo.splitlines() if (mount := _parse_mount(line))]
    one: dict[str, Path] = {}
    two: Path | None = None
    for line in cgroup.splitlines():
        _, names, path = line.split(":", 2)
        if not names:
            two = _seen([mount for mount in mounts if mount.kind == "cgroup2"], path)
        for name in set(names.split(",")).intersection(CONTROLLERS):
            if folder := _seen([mount for mount in mounts if mount.kind == "cgroup" and name in mount.options], path):
                one[name] = folder
    return Places(one={name: one[name] for name in CONTROLLERS if name in one}, two=two)


def _parse_mount(line: str) -> _Mount | None:
    left, _, right = line.partition(" - ")
    _, _, _, root, point, *_ = left.split(" ")
    kind, _, options = right.split(" ")
    if kind not in ("cgroup", "cgroup2"):
        return None
    return _Mount(PurePosixPath(_unescaped(root)), Path(_unescaped(point)), kind, frozenset(options.split(",")))


def _unescaped(field: str) -> str:
    return re.sub(r"\\([0-7]{3})", lambda match: chr(int(match[1], 8)), field)


def _seen(mounts: list[_Mount], path: str) -> Path | None:
    """Of several mounts the last, which covers the others if they share a place."""
    for mount in reversed(mounts):
        relative = PurePosixPath(path)
        if ".." not in relative.parts and relative.is_relative_to(mount.root):
            return mount.point / relative.relative_to(mount.root)
    return None


# Which of the cgroups that we live in lets us make others below it.


LEAF = "toolablate-host"
_NEEDED = {"memory", "pids"}


class CgroupRefusal(Exception):
    """`reason` for a person, and the command that mends it."""

    def __init__(self, reason: str, remedy: str = "") -> None:
        super().__init__(reason)
        self.reason = reason
        self.remedy = remedy


def usable_one(places: Mapping[str, Path]) -> dict[str, Path]:
    """Raises `CgroupRefusal` where memory cannot be limited; the other controllers are taken as far as we may."""
    usable = {name: folder for name, folder in places.items() if os.access(folder, os.W_OK | os.X_OK)}
    if "memory" not in usable:
        group = ",".join(places)
        raise CgroupRefusal(
            f"{places['memory']} (cgroup version 1) cannot be written",
            f"sudo cgcreate -t $USER -a $USER -g {group}:toolablate && "
            f"sudo cgclassify -g {group}:toolablate $$  # from cgroup-tools; or run as root",
        )
    return usable


def usable_two(place: Path | None) -> dict[str, Path]:
    """The cgroup that we live in, with its controllers handed on; raises `CgroupRefusal`.

    Only a cgroup without processes can hand on controllers, the root apart: where we live there alone, we move into one
    below it.
    """
    if place is None:
        raise CgroupRefusal("no cgroups are mounted here")
    base = place.parent if place.name == LEAF else place
    available = _words(base / "cgroup.controllers")
    if not available >= _NEEDED:
        missing = " and ".join(sorted(_NEEDED - available))
        raise CgroupRefusal(f"the cgroup {base} has no controller for {missing}", _remedy())
    if not os.access(base, os.W_OK | os.X_OK) or not os.access(base / "cgroup.subtree_control", os.W_OK):
        raise CgroupRefusal(f"the cgroup {base} cannot be written", _remedy())
    names = [name for name in CONTROLLERS if name in available]
    if not _words(base / "cgroup.subtree_control").issuperset(names):
        _hand_on(base, names)
    return dict.fromkeys(names, base)


def _hand_on(base: Path, names: list[str]) -> None:
    is_root = not (base / "cgroup.type").exists()
    moved = not is_root and base.name != LEAF and bool(cleanup.members(base))
    if moved:
        _move_out(base)
    try:
        (base / "cgroup.subtree_control").write_text(" ".join(f"+{name}" for name in names), encoding="ascii")
    except OSError as error:
        if moved:
            with contextlib.suppress(OSError):
                (base / "cgroup.procs").write_bytes(b"0")
                (base / LEAF).rmdir()
        raise CgroupRefusal(
            f"the cgroup {base} does not delegate its controllers: {error.strerror}", _remedy()
        ) from error


def _move_out(base: Path) -> None:
    if cleanup.members(base) != [os.getpid()]:
        raise CgroupRefusal(f"there are other processes in the cgroup {base}", _remedy())
    try:
        (base / LEAF).mkdir(exist_ok=True)
        (base / LEAF / "cgroup.procs").write_bytes(b"0")
    except OSError as error:
        raise CgroupRefusal(
            f"the cgroup {base} cannot be left for one below it: {error.strerror}", _remedy()
        ) from error


def _words(path: Path) -> set[str]:
    try:
        return set(path.read_text(encoding="ascii").split())
    except OSError:
        return set()


def _remedy() -> str:
    user = "" if os.geteuid() == 0 else "--user "
    return f"systemd-run {user}--scope -p Delegate=yes toolablate ..."


# Where this process may make cgroups, and making them: below the one it lives in, so that its limits still hold.


_PREFIX = "toolablate-run-"
_LOCK_TRIES, _LOCK_SECONDS = 50, 0.002
_SWEEP_SECONDS = 0.1


@dataclass(frozen=True, slots=True)
class NoCgroups:
    """Why there are none, and the command that mends it."""

    reason: str
    remedy: str


class Cgroups:
    """The cgroups of this process's kernels, all below one of its own (in version 1: one in each hierarchy).

    `version` is 1 or 2; `bases` are the folders below which we may make cgroups, by controller (`memory`, and where
    there are such `pids` and `cpu`: what has no controller is not limited).
    """

    def __init__(self, version: int, bases: Mapping[str, Path]) -> None:
        """Raises OSError where we may not after all."""
        self.version = version
        self._bases = dict(bases)
        self._kind = VersionOne if version == 1 else VersionTwo
        name = f"{_PREFIX}{secrets.token_hex(6)}"
        self._own = self._kind({controller: base / name for controller, base in bases.items()})
        self._host = os.getpid()
        self._lock = -1
        self._make()

    @property
    def controllers(self) -> frozenset[str]:
        """What is limited: `memory`, `pids`, `cpu`."""
        return frozenset(self._bases)

    @property
    def folders(self) -> tuple[Path, ...]:
        """All that is to be cleared when this process ends (`Keeper.remember`)."""
        return self._own.places

    def create(self, name: str, memory_bytes: int, processes: int, cpus: float | None = None) -> Cgroup:
        """A new, empty cgroup with these limits; `processes` counts threads as well, `cpus` may be a fraction.

        Raises ValueError for a name that is no plain file name or a limit that is none, FileExistsError for a name that
        is taken, OSError where the system refuses (too many cgroups, no memory).
        """
        if not name or "/" in name or "\n" in name or name.startswith("."):
            raise ValueError(f"not a name for a cgroup: {name!r}")
        bounds = CgroupLimits(memory_bytes, processes, cpus)
        group = self._kind({controller: folder / name for controller, folder in self._own.folders.items()})
        try:
            _make_folders(group)
        except FileNotFoundError:  # our own was removed when the last sandbox was closed
            self._make()
            _make_folders(group)
        try:
            group.limit(bounds)
        except OSError:
            group.discard()
            raise
        return group

    def close(self) -> None:
        """Removes our own cgroup where no kernel's is left in it; the next `create` makes it again."""
        if os.getpid() != self._host:
            return
        self._unlock()
        self._own.discard()

    def _make(self) -> None:
        """With a lock for as long as we live, or a forked child of ours: what is not locked is swept away by others."""
        self._unlock()
        memory = self._own.folders["memory"]
        for _ in range(_LOCK_TRIES):
            memory.mkdir(exist_ok=True)
            self._lock = _lock(memory)
            if self._lock >= 0:
                break
            time.sleep(_LOCK_SECONDS)
        else:
            raise OSError(errno.EBUSY, "another process keeps it locked", str(memory))
        for folder in self._own.places[:-1]:
            folder.mkdir(exist_ok=True)
        if self.version == 2:
            enabled = " ".join(f"+{name}" for name in self._bases)
            (memory / "cgroup.subtree_control").write_text(enabled, encoding="ascii")

    def _unlock(self) -> None:
        if self._lock >= 0:
            os.close(self._lock)
            self._lock = -1


def look_for_cgroups() -> Cgroups | NoCgroups:
    """Tries, without the memory of `find_cgroups`, and sweeps away what dead hosts have left there."""
    try:
        places = parse_places(
            Path("/proc/self/cgroup").read_text(encoding="utf-8", errors="surrogateescape"),
            Path("/proc/self/mountinfo").read_text(encoding="utf-8", errors="surrogateescape"),
        )
    except (OSError, ValueError) as error:
        return NoCgroups(f"the system does not tell of any: {error}", "")
    return choose(places)


def choose(places: Places) -> Cgroups | NoCgroups:
    """The version that has the memory controller: it belongs to one of them at a time."""
    try:
        version, bases = (1, usable_one(places.one)) if "memory" in places.one else (2, usable_two(places.two))
    except CgroupRefusal as refused:
        return NoCgroups(refused.reason, refused.remedy)
    _sweep(bases)
    try:
        return Cgroups(version, bases)
    except OSError as error:
        return NoCgroups(f"no cgroup can be made in {bases['memory']}: {error.strerror}", "")


@cache
def find_cgroups() -> Cgroups | None:
    """The cgroups of this process, or None where it may not make any. Takes about a millisecond the first time.

    In version 2 it may move this process, if it is alone in its cgroup, into a new one below it, since only cgroups
    without processes can hand controllers on. Call it before starting any other process.
    """
    found = look_for_cgroups()
    if isinstance(found, NoCgroups):
        return None
    atexit.register(found.close)
    return found


os.register_at_fork(after_in_child=find_cgroups.cache_clear)


def _make_folders(group: Cgroup) -> None:
    made: list[Path] = []
    try:
        for folder in reversed(group.places):
            folder.mkdir()
            made.append(folder)
    except OSError:
        for folder in made:
            folder.rmdir()
        raise


def _lock(folder: Path) -> int:
    """A descriptor that holds the lock; -1 where somebody else does, or has removed the folder meanwhile."""
    descriptor = -1
    try:
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if os.fstat(descriptor).st_ino == folder.stat().st_ino:
            return descriptor
    except OSError:
        pass
    if descriptor >= 0:
        os.close(descriptor)
    return -1


def _sweep(bases: Mapping[str, Path]) -> None:
    """What is left of hosts that were killed together with their keepers."""
    for memory in bases["memory"].glob(f"{_PREFIX}*"):
        descriptor = _lock(memory)
        if descriptor < 0:
            continue
        try:
            others = dict.fromkeys(base / memory.name for base in bases.values() if base / memory.name != memory)
            with contextlib.suppress(OSError):
                cleanup.clear([*others, memory], _SWEEP_SECONDS)
        finally:
            os.close(descriptor)
