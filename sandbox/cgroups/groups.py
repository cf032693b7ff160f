"""Where this process may make cgroups, and making them: below the one it lives in, so that its limits still hold."""

import atexit
import contextlib
import errno
import fcntl
import os
import secrets
import time
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from toolablate.sandbox import clearance
from toolablate.sandbox.cgroups.delegation import Refused, usable_one, usable_two
from toolablate.sandbox.cgroups.group import Bounds, Cgroup, VersionOne, VersionTwo
from toolablate.sandbox.cgroups.places import Places, parse_places

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
        bounds = Bounds(memory_bytes, processes, cpus)
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
    except Refused as refused:
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
                clearance.clear([*others, memory], _SWEEP_SECONDS)
        finally:
            os.close(descriptor)
