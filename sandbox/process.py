"""A kernel's process, seen from the host: start, interrupt, end. What holds it is the subclasses' business."""

import asyncio
import contextlib
import json
import socket
from abc import ABC, abstractmethod
from collections.abc import Coroutine
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from toolablate.sandbox.kernel import KernelUnavailable, Limits
from toolablate.sandbox.seccomp import syscall_filter
from toolablate.sandbox.sockets import Connection, KernelSockets

_MB = 1_000_000
_REPORT_BYTES = 65_536

ENVIRONMENT = {
    "HOME": "/tmp/work",  # noqa: S108 - a folder of the sandbox's own
    "IPYTHONDIR": "/tmp/.ipython",  # noqa: S108
    "LANG": "C.UTF-8",
    "MALLOC_ARENA_MAX": "2",
    "MPLBACKEND": "module://matplotlib_inline.backend_inline",
    "MPLCONFIGDIR": "/tmp/.matplotlib",  # noqa: S108
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "PYTHONHASHSEED": "0",
    "PYTHONDONTWRITEBYTECODE": "1",
    "TZ": "UTC",
    "USER": "kernel",
}
"""The whole environment of a kernel, PATH apart: fixed, so that replaying the same cells gives the same outputs."""

LAUNCHER = Path(__file__).resolve().with_name("launcher.py")


@dataclass(frozen=True, slots=True)
class Exit:
    """How a kernel ended. `code` is negative for a signal and None where it was ended from outside; `over` is the limit
    that all its processes together exceeded (`memory`, `files`); `error` is what went wrong before it stood; `lost`
    where nobody told how it ended."""

    code: int | None = None
    over: str = ""
    error: str = ""
    lost: bool = False

    @property
    def cause(self) -> str:
        """`memory`, `files`, `time`, `exit`, `signal 11`, `killed`."""
        if self.over:
            return self.over
        if self.code is None:
            return "killed"
        if self.code >= 0:
            return "exit"
        return "time" if -self.code == 24 else f"signal {-self.code}"  # 24: SIGXCPU, the limit on CPU time


class KernelProcess(ABC):
    """One kernel process and all that belongs to it.

    `start` returns when the kernel has been told to start (clients may connect at once); `close` when nothing of it is
    left: no process, socket or folder.
    """

    guarded = True
    """Whether code inside can do nothing to the guardian, so that an end without its report is not the code's doing."""

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self._sockets: KernelSockets | None = None
        self._control: socket.socket | None = None
        self._ended: asyncio.Future[Exit] | None = None

    @abstractmethod
    async def _launch(self) -> socket.socket:
        """Starts the launcher and gives our end of its control socket (non-blocking, SOCK_SEQPACKET)."""

    @abstractmethod
    async def _dispose(self) -> None:
        """Waits until what `_launch` started is gone, and sees to it. The control socket is closed already."""

    @abstractmethod
    def _start_error(self) -> str:
        """What the machinery around the kernel said before it failed, for a person."""

    def remedy(self, said: str) -> str:
        """The command that mends what was said at a failed start, if there is one."""
        return ""

    def _uid(self) -> int | None:
        """The host's user id that the kernel shall become, where we are root."""
        return None

    @property
    def work(self) -> str:
        """The kernel's working folder, as the kernel sees it."""
        return ENVIRONMENT["HOME"]

    @property
    def connection(self) -> Connection:
        assert self._sockets is not None
        return self._sockets.connection

    @property
    def folder(self) -> str:
        """The private folder that holds the sockets."""
        assert self._sockets is not None
        return str(self._sockets.folder)

    @property
    def ended(self) -> Exit | None:
        return self._ended.result() if self._ended and self._ended.done() else None

    async def start(self) -> None:
        self._ended = asyncio.get_running_loop().create_future()
        try:
            self._sockets = KernelSockets()
            self._control = await self._launch()
            asyncio.get_running_loop().add_reader(self._control, self._read_report)
            self._sockets.hand_over(self._control, self._request())
        except OSError as error:
            said = self._start_error()
            await self.close()
            raise KernelUnavailable(
                f"the kernel could not be started: {said or error}", hint=self.remedy(said), code="start_failed"
            ) from error
        except BaseException:
            await self.close()
            raise

    def _request(self) -> bytes:
        limits = self.limits
        return json.dumps(
            {
                "connection": self.connection.as_dict(),
                "uid": self._uid(),
                "work": self.work,
                "filter": (syscall_filter() or b"").hex() if self.guarded else "",
                "output_chars": limits.output_chars + 1,  # one more, so that the client sees that there was more
                "limits": {
                    "memory": limits.memory_mb * _MB,
                    "cpu": limits.cpu_seconds,
                    "file": limits.disk_mb * _MB,
                    "files": limits.files,
                    "open_files": limits.open_files,
                    "processes": self._process_limit(),
                },
            }
        ).encode()

    def _process_limit(self) -> int:
        return self.limits.processes

    def _read_report(self) -> None:
        assert self._control is not None
        assert self._ended is not None
        with contextlib.suppress(BlockingIOError):
            try:
                data = self._control.recv(_REPORT_BYTES)
            except OSError:
                data = b""
            asyncio.get_running_loop().remove_reader(self._control)
            if not self._ended.done():
                self._ended.set_result(_parse_report(data) if data else Exit(error=self._start_error(), lost=True))

    async def wait(self) -> Exit:
        assert self._ended is not None
        return await asyncio.shield(self._ended)

    def interrupt(self) -> None:
        """SIGINT to the kernel and the processes it started."""
        if self._control is not None:
            with contextlib.suppress(OSError):
                self._control.send(b"interrupt")

    async def close(self) -> None:
        """Ends everything. Safe to call twice, and goes through even if the caller is cancelled meanwhile."""
        if self._control is not None:
            asyncio.get_running_loop().remove_reader(self._control)
            self._control.close()
            self._control = None
        if self._ended is not None and not self._ended.done():
            self._ended.set_result(Exit())
        try:
            await _unhindered(self._dispose())
        finally:
            if self._sockets is not None:
                self._sockets.close()


def _parse_report(data: bytes) -> Exit:
    report = json.loads(data)
    return Exit(code=report["code"], over=report["over"], error=report["error"])


async def _unhindered(work: Coroutine[Any, Any, None]) -> None:
    """Awaits `work` to its end; a cancellation that comes meanwhile is passed on afterwards."""
    task = asyncio.ensure_future(work)
    cancelled = False
    while not task.done():
        try:
            await asyncio.shield(task)
        except asyncio.CancelledError:
            cancelled = True
    if cancelled:
        raise asyncio.CancelledError
    task.result()
