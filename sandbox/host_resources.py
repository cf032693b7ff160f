"""What a host process has for its kernels: sockets' folder, cgroups, a keeper that clears up however it ends."""

import asyncio
import contextlib
import fcntl
import itertools
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterable
from pathlib import Path

from toolablate.sandbox import cleanup
from toolablate.sandbox.cgroups import Cgroup, find_cgroups
from toolablate.sandbox.kernel import Limits

PREFIX = "toolablate-kernel-"
_PROGRAM = Path(cleanup.__file__).resolve()
_CLOSE_SECONDS = 10.0
_HEARING_SECONDS = 2.0


class ProcessKeeper:
    """Watches over the process that started it, from a session of its own, without any of its descriptors.

    At the host's end, or at `close`, it kills what is left in the cgroups that it was told to remember, removes these
    and the folders, and exits. A child that the host forked is not watched: it must start a keeper of its own, and what
    it does to the host's has no effect. Not for use by several threads at once, `shared` apart.
    """

    def __init__(self, paths: Iterable[Path] = ()) -> None:
        """Starts it, which takes about a millisecond; raises OSError where no process can be started."""
        self._host = os.getpid()
        self.folder = Path(tempfile.mkdtemp(prefix=PREFIX))
        """Private (mode 0700), removed with all that is in it."""
        self._lock = _locked(self.folder)
        self._paths: dict[Path, None] = dict.fromkeys((self.folder, *paths))
        self._users = 1
        try:
            self._process, self._control = _start(self._paths)
        except OSError:
            shutil.rmtree(self.folder, ignore_errors=True)
            os.close(self._lock)
            raise

    @property
    def pid(self) -> int:
        return self._process.pid

    @classmethod
    def shared(cls, paths: Iterable[Path] = ()) -> "ProcessKeeper":
        """The one of this process, started where there is none; it ends when all who asked for it have closed it."""
        global _shared
        with _sharing:
            if _shared is None or _shared._host != os.getpid() or _shared._users == 0:
                if _shared is not None:
                    _shared._wait_for_end()
                _shared = cls(paths)
            else:
                _shared._users += 1
                for path in paths:
                    _shared.remember(path)
            return _shared

    def _wait_for_end(self) -> None:
        """Of one that is closing: it clears the very cgroup that the next one is to watch over."""
        if self._host == os.getpid():
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(_CLOSE_SECONDS)

    def remember(self, path: Path) -> None:
        """`path`, a folder or a cgroup, goes when the host goes; it need not exist yet. One that was killed is started
        anew: raises OSError where that fails."""
        if os.getpid() != self._host:
            return
        self._paths[path] = None
        self._tell(cleanup.REMEMBER, path)

    def forget(self, path: Path) -> None:
        """What happens to `path` is no longer the keeper's business."""
        if os.getpid() == self._host and path in self._paths:
            del self._paths[path]
            self._tell(cleanup.FORGET, path)

    def _tell(self, word: bytes, path: Path) -> None:
        try:
            self._control.send(word + os.fsencode(path))
        except OSError:  # it was killed, or is stopped and hears nothing any more
            _kill(self._process, self._control)
            self._process, self._control = _start(self._paths)

    async def close(self) -> None:
        """Lets it clear up and go, when the last who share it do so. Safe to call twice."""
        with _sharing:
            if os.getpid() != self._host or self._users == 0:
                return
            self._users -= 1
            if self._users:
                return
            with contextlib.suppress(OSError):
                self._control.shutdown(socket.SHUT_RDWR)  # a forked child may hold the socket open
            self._control.close()
        deadline = time.monotonic() + _CLOSE_SECONDS
        while self._process.poll() is None and time.monotonic() < deadline:  # noqa: ASYNC110 - nobody sets an event
            await asyncio.sleep(0.002)
        shutil.rmtree(self.folder, ignore_errors=True)  # where the keeper itself was killed
        os.close(self._lock)


_shared: ProcessKeeper | None = None
_sharing = threading.Lock()
os.register_at_fork(after_in_child=lambda: globals().update(_sharing=threading.Lock()))


def _start(paths: Iterable[Path]) -> tuple["subprocess.Popen[bytes]", socket.socket]:
    with contextlib.ExitStack() as stack:
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        stack.callback(theirs.close)
        given = [theirs.fileno()]
        with contextlib.suppress(OSError):  # before Linux 5.3 the end of the socket has to do
            given.append(os.pidfd_open(os.getpid()))
            stack.callback(os.close, given[-1])
        host = given[1] if len(given) == 2 else -1
        try:
            process = _spawn([str(given[0]), str(host)], given)
        except BaseException:
            ours.close()
            raise
    ours.settimeout(_HEARING_SECONDS)
    try:
        for path in paths:
            ours.send(cleanup.REMEMBER + os.fsencode(path))
    except OSError:
        _kill(process, ours)
        raise
    return process, ours


def _kill(process: "subprocess.Popen[bytes]", control: socket.socket) -> None:
    control.close()
    process.kill()
    process.wait()


def _spawn(arguments: list[str], descriptors: list[int]) -> "subprocess.Popen[bytes]":
    libraries = {name: os.environ[name] for name in ("LD_LIBRARY_PATH",) if name in os.environ}
    return subprocess.Popen(
        [sys.executable, "-I", "-S", str(_PROGRAM), *arguments],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        pass_fds=descriptors,
        start_new_session=True,
        cwd="/",
        env=libraries,
    )


def _locked(folder: Path) -> int:
    """Tells the sweep for what dead hosts have left (`_sweep`) that we live, until we do not."""
    descriptor = os.open(folder / "new", os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
    fcntl.flock(descriptor, fcntl.LOCK_EX)
    (folder / "new").rename(folder / "lock")
    return descriptor


_MB = 1_000_000
_KERNEL_MB = 256
"""What Python, ipykernel, the guardian and the shared memory take, on top of what the limits grant to the code."""

_numbers = itertools.count(1)


def memory_bytes(limits: Limits) -> int:
    """The most that all processes and files of a kernel may take together, whoever counts it."""
    return (limits.memory_mb + limits.disk_mb + _KERNEL_MB) * _MB


class HostResources:
    """Of one open backend. Nothing that is in them outlives the host process."""

    def __init__(self) -> None:
        _sweep()
        self._cgroups = find_cgroups()
        self._keeper = ProcessKeeper.shared(self._cgroups.folders if self._cgroups else ())

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
