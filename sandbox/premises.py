"""What a host process has for its kernels: a place for their sockets, cgroups, and a keeper that clears both away."""

import contextlib
import fcntl
import itertools
import shutil
import tempfile
from pathlib import Path

from toolablate.sandbox.cgroups import Cgroup, find_cgroups
from toolablate.sandbox.keeper import PREFIX, Keeper
from toolablate.sandbox.kernel import Limits

_MB = 1_000_000
_KERNEL_MB = 256
"""What Python, ipykernel, the guardian and the shared memory take, on top of what the limits grant to the code."""

_numbers = itertools.count(1)


def memory_bytes(limits: Limits) -> int:
    """The most that all processes and files of a kernel may take together, whoever counts it."""
    return (limits.memory_mb + limits.disk_mb + _KERNEL_MB) * _MB


class Premises:
    """Of one open backend. Nothing that is in them outlives the host process."""

    def __init__(self) -> None:
        _sweep()
        self._cgroups = find_cgroups()
        self._keeper = Keeper.shared(self._cgroups.folders if self._cgroups else ())

    @property
    def folder(self) -> Path:
        """A private folder (mode 0700)."""
        return self._keeper.folder

    def new_cgroup(self, limits: Limits) -> Cgroup | None:
        """For one kernel; None where this machine lets us make none."""
        if self._cgroups is None:
            return None
        return self._cgroups.create(f"kernel-{next(_numbers)}", memory_bytes(limits), limits.processes)

    async def close(self) -> None:
        await self._keeper.close()


def _sweep() -> None:
    """Removes the folders of hosts that were killed together with their keepers: nobody holds the lock of those."""
    for lock in Path(tempfile.gettempdir()).glob(f"{PREFIX}*/lock"):
        with contextlib.suppress(OSError), lock.open("rb") as file:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            shutil.rmtree(lock.parent, ignore_errors=True)
