"""A kernel's process and sockets, seen from the host: start, interrupt, end. Backends say what holds it.

What is left of it when it ends: its cgroup and processes (`cleanup`), and inside the sandbox what outgrows its limits
(`inside/guardian`); the fork server ends the kernels that it forked (`backends/forkserver`)."""

import asyncio
import contextlib
import errno
import json
import math
import os
import secrets
import shutil
import signal
import socket
import subprocess
import tempfile
from abc import ABC, abstractmethod
from collections.abc import Callable, Coroutine, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Protocol

from toolablate.sandbox.cgroups import Cgroup
from toolablate.sandbox.host_resources import HostResources
from toolablate.sandbox.kernel import KernelUnavailable, Limits, WorkFile
from toolablate.sandbox.seccomp import syscall_filter

CHANNELS = ("shell", "iopub", "stdin", "hb", "control")
_BACKLOG = 16


@dataclass(frozen=True, slots=True)
class Connection:
    """Where a kernel listens: unix sockets `{address}-1` to `{address}-5`, messages signed with `key`."""

    address: str
    key: str

    def as_dict(self) -> dict[str, Any]:
        """The content of a Jupyter connection file."""
        ports = {f"{name}_port": number for number, name in enumerate(CHANNELS, start=1)}
        return {"transport": "ipc", "ip": self.address, "key": self.key, "signature_scheme": "hmac-sha256", **ports}


class KernelSockets:
    """A new folder in `place` with five listening unix sockets. `key` signs the messages, a fresh one by default.

    Clients may connect before the kernel exists: the kernel is handed the listening descriptors themselves.
    """

    def __init__(self, place: Path, key: str = "") -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="", dir=place))
        self.connection = Connection(address=str(self.folder / "k"), key=key or secrets.token_hex(32))
        self._listeners: list[socket.socket] = []
        try:
            for number, _ in enumerate(CHANNELS, start=1):
                listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
                self._listeners.append(listener)
                listener.bind(f"{self.connection.address}-{number}")
                listener.listen(_BACKLOG)
                listener.setblocking(False)
        except OSError:
            self.close()
            raise

    def hand_over(self, control: socket.socket, request: bytes, others: Sequence[int] = ()) -> None:
        """Sends the request with the listening sockets, of which it keeps none, and with other descriptors."""
        socket.send_fds(control, [request], [*(listener.fileno() for listener in self._listeners), *others])
        self.release()

    def release(self) -> None:
        for listener in self._listeners:
            listener.close()
        self._listeners.clear()

    def close(self) -> None:
        self.release()
        shutil.rmtree(self.folder, ignore_errors=True)


_MB = 1_000_000
_REPORT_BYTES = 65_536

ENVIRONMENT = {
    "HOME": "/tmp/work",  # noqa: S108 - a folder of the sandbox's own
    "IPYTHONDIR": "/tmp/.ipython",  # noqa: S108
    # Else pyarrow, which pandas imports where it is there, starts a thread that no kernel of a fork server would have.
    "JE_ARROW_MALLOC_CONF": "background_thread:false",
    "LANG": "C.UTF-8",
    "MALLOC_ARENA_MAX": "2",
    "MPLBACKEND": "module://matplotlib_inline.backend_inline",
    "MPLCONFIGDIR": "/tmp/.matplotlib",  # noqa: S108
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "PIP_CONFIG_FILE": "/dev/null",
    "PIP_DISABLE_PIP_VERSION_CHECK": "1",
    "PIP_NO_COLOR": "1",
    "PIP_NO_INDEX": "1",
    "PIP_NO_INPUT": "1",
    "PIP_RETRIES": "0",
    "PYTHONHASHSEED": "0",
    "PYTHONDONTWRITEBYTECODE": "1",
    "TZ": "UTC",
    "USER": "kernel",
}
"""The whole environment of a kernel, PATH apart: fixed, so that replaying the same cells gives the same outputs."""

INSIDE = Path(__file__).resolve().with_name("inside")
"""The code that runs inside a sandbox; there it lies in a folder that is in the path of Python."""


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

    def __init__(self, limits: Limits, premises: HostResources) -> None:
        self.limits = limits
        self.premises = premises
        self._cgroup: Cgroup | None = None
        self._sockets: KernelSockets | None = None
        self._control: socket.socket | None = None
        self._ended: asyncio.Future[Exit] | None = None
        self._placed: asyncio.Queue[str] = asyncio.Queue()
        self._lost: asyncio.Future[float] | None = None
        self._asked = 0
        self._greeting = asyncio.Event()
        self._guardian = -1

    @abstractmethod
    async def _launch(self) -> socket.socket:
        """Starts the guardian and gives our end of its control socket (non-blocking, SOCK_SEQPACKET)."""

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

    async def start(self, key: str = "") -> None:
        """Starts it; messages are signed with `key`, by default with one of its own. Raises `KernelUnavailable`."""
        self._ended = asyncio.get_running_loop().create_future()
        try:
            self._sockets = KernelSockets(self.premises.folder, key)
            self._cgroup = self._new_cgroup()
            self._control = await self._launch()
            asyncio.get_running_loop().add_reader(self._control, self._read_control)
            with _open_doors(self._cgroup) as doors:
                self._sockets.hand_over(self._control, self._request(), doors)
        except (OSError, ValueError) as error:
            said = self._start_error()
            await self.close()
            raise KernelUnavailable(
                f"the kernel could not be started: {said or error}",
                hint=self.remedy(said) or system_hint(error),
                code="start_failed",
            ) from error
        except BaseException:
            await self.close()
            raise

    def _new_cgroup(self) -> Cgroup | None:
        """That the kernel shall join, where the backend has not put it into one already."""
        return None

    @property
    def counted(self) -> Sequence[str]:
        """The limits that the system keeps for all processes of the kernel together: `memory`, `files`. Never what lies
        in sockets: cgroups of version 1 do not count all of it."""
        return () if self._cgroup is None else ("memory",)

    @property
    def counts_shared_memory(self) -> bool:
        """Whether a cgroup counts what no process shows."""
        return self._cgroup is not None

    def _request(self) -> bytes:
        limits = self.limits
        return json.dumps(
            {
                "connection": self.connection.as_dict(),
                "uid": self._uid(),
                "work": self.work,
                "counted": list(self.counted),
                "shown": self._shown_below_own_folders(),
                "filter": (syscall_filter(shared_anonymous=self.counts_shared_memory) or b"").hex()
                if self.guarded
                else "",
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

    def _shown_below_own_folders(self) -> list[str]:
        """What the kernel must see in spite of folders of its own that would hide it."""
        return []

    def _process_limit(self) -> int:
        return self.limits.processes

    def _read_control(self) -> None:
        assert self._control is not None
        assert self._ended is not None
        try:
            data, descriptors, _, _ = socket.recv_fds(self._control, _REPORT_BYTES, 1)
        except (BlockingIOError, ConnectionResetError):
            return  # reset: a guardian that ended has left a word of ours unread, and its report is behind that
        except OSError:
            data, descriptors = b"", []
        message = json.loads(data) if data else {}
        if "hello" in message:
            self._guardian = descriptors[0] if descriptors else -1  # there was none free for it
            self._greeting.set()
        elif "placed" in message:
            self._placed.put_nowait(message["error"])
        elif "lost" in message:
            if message["of"] == str(self._asked):  # and not one that came too late
                self._tell_lost(message["lost"])
        else:
            asyncio.get_running_loop().remove_reader(self._control)
            if not self._ended.done():
                self._ended.set_result(self._exit(message))
            self._placed.put_nowait("the kernel has ended")
            self._tell_lost(0.0)

    def _exit(self, report: dict[str, Any]) -> Exit:
        told = Exit(report["code"], report["over"], report["error"]) if report else Exit(lost=True)
        if told.over or not (told.lost or told.code == -signal.SIGKILL):
            return told
        if self._cgroup is not None and self._cgroup.oom_killed():
            return Exit(code=told.code, over="memory")
        return replace(told, error=self._start_error()) if told.lost else told

    async def place(self, file: WorkFile) -> None:
        """Puts a file into the work folder; raises `KernelUnavailable` where it does not fit."""
        assert self._control is not None
        with tempfile.TemporaryFile() as source:
            source.write(file.content)
            source.seek(0)
            socket.send_fds(
                self._control, [f"{'document' if file.read_only else 'file'} {file.name}".encode()], [source.fileno()]
            )
        if problem := await self._placed.get():
            raise KernelUnavailable(
                f"the file {file.name!r} ({len(file.content)} bytes) could not be placed in the sandbox: {problem}",
                hint="raise disk_mb in the limits of the sandbox, or use a smaller file",
                code="file_not_placed",
            )

    async def wait(self) -> Exit:
        assert self._ended is not None
        return await asyncio.shield(self._ended)

    async def greeted(self) -> None:
        """Returns when the guardian stands; raises `KernelUnavailable` where the sandbox could not be made."""
        hello, end = asyncio.ensure_future(self._greeting.wait()), asyncio.ensure_future(self.wait())
        try:
            await asyncio.wait({hello, end}, return_when=asyncio.FIRST_COMPLETED)
            if not hello.done():
                raise self.start_failure()
        finally:
            hello.cancel()
            end.cancel()

    def start_failure(self) -> KernelUnavailable:
        """Why a process that has ended never became a kernel."""
        reason = self.ended.error.strip() if self.ended else ""
        last = reason.splitlines()[-1] if reason else f"it ended ({self.ended.cause if self.ended else 'killed'})"
        hint = start_hint(reason, self.remedy(last))
        return KernelUnavailable(f"the kernel did not start: {last}", hint=hint, code="start_failed")

    def interrupt(self) -> None:
        self.send_signal(signal.SIGINT)

    def send_signal(self, number: int) -> None:
        """To the kernel and the processes it started."""
        self._tell(f"signal {number}")

    def begin_cell(self) -> None:
        """Lets what `rest` has stopped go on."""
        self._tell("cell")

    def rest(self) -> None:
        """Stops the kernel and all that it has started until the next cell begins."""
        self._tell("rest")

    async def lost_seconds(self) -> float:
        """For how long, since its cell began, others had the processors on which the kernel could have run; for ever
        where the guardian itself does not come to say it."""
        if self._control is None or self.ended is not None:
            return 0.0
        self._asked += 1
        self._lost = asyncio.get_running_loop().create_future()
        self._tell(f"lost {self._asked}")
        try:
            return await asyncio.wait_for(self._lost, self.limits.grace_seconds)
        except TimeoutError:
            return math.inf if self.guarded else 0.0

    def _tell_lost(self, seconds: float) -> None:
        if self._lost is not None and not self._lost.done():
            self._lost.set_result(seconds)

    def _tell(self, command: str) -> None:
        if self._control is not None:
            with contextlib.suppress(OSError):
                self._control.send(command.encode())

    async def close(self) -> None:
        """Ends everything. Safe to call twice, and goes through even if the caller is cancelled meanwhile."""
        if self._control is not None:
            asyncio.get_running_loop().remove_reader(self._control)
            self._control.close()
            self._control = None
        self._placed.put_nowait("the kernel was closed")
        self._tell_lost(0.0)
        if self._ended is not None and not self._ended.done():
            self._ended.set_result(Exit())
        try:
            await _unhindered(self._dispose())
        finally:
            if self._guardian >= 0:
                os.close(self._guardian)
                self._guardian = -1
            await _unhindered(self._remove_cgroup())
            if self._sockets is not None:
                self._sockets.close()

    async def _remove_cgroup(self) -> None:
        cgroup, self._cgroup = self._cgroup, None
        if cgroup is not None:
            with contextlib.suppress(TimeoutError):  # what hangs in a device is left to the keeper
                await cgroup.remove()


class Backend(Protocol):
    """Makes kernel processes of one kind, and holds what they share."""

    def new_process(self) -> KernelProcess:
        """A process that is not started yet."""
        ...

    async def close(self) -> None:
        """Ends what the processes shared; they must have been closed before."""
        ...


def start_hint(said: str, remedy: str) -> str:
    """What to do about what was said at a failed start: the remedy, if one is known, or all of it."""
    if "No module named 'ipykernel'" in said:
        return "pip install ipykernel in the Python environment that kernels run on"
    return remedy or (said if "\n" in said else "")


def system_hint(error: Exception) -> str:
    """What to do where this machine refuses what a host process needs for its kernels."""
    if isinstance(error, OSError) and error.errno in (errno.EMFILE, errno.ENFILE):
        return "too many files are open: raise the limit (ulimit -n 4096), or lower the concurrency"
    if "path too long" in str(error):
        return f"{tempfile.gettempdir()} is too long for a socket in it: set TMPDIR to a shorter path"
    if isinstance(error, OSError):
        return f"sockets of kernels lie in {tempfile.gettempdir()}: make room there, or set TMPDIR to another folder"
    return ""


@contextlib.contextmanager
def _open_doors(cgroup: Cgroup | None) -> Iterator[list[int]]:
    """Descriptors through which the kernel joins its cgroup, and the file that counts who was killed for memory."""
    doors = [*cgroup.open_procs(), cgroup.open_kills()] if cgroup else []
    try:
        yield doors
    finally:
        for door in doors:
            os.close(door)


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


# A process of ours that holds a kernel: started with its own control socket and without any other descriptor.


_END_SECONDS = 5.0
_ERROR_BYTES = 4_000


class Child:
    """A child process with a control socket. Its stderr is kept to explain a failed start."""

    def __init__(
        self,
        argv: Callable[[int], Sequence[str]],
        *,
        descriptors: Sequence[int] = (),
        env: Mapping[str, str],
        cwd: str = "/",
    ) -> None:
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        ours.setblocking(False)
        self.control = ours
        self._stderr = tempfile.TemporaryFile()  # noqa: SIM115 - lives as long as the child
        try:
            # In the loop's own thread: the child asks to be killed when the thread that started it ends.
            self._process = subprocess.Popen(
                argv(theirs.fileno()),
                pass_fds=(theirs.fileno(), *descriptors),
                env=dict(env),
                cwd=cwd,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=self._stderr,
                start_new_session=True,
            )
        except OSError:
            ours.close()
            self._stderr.close()
            raise
        finally:
            theirs.close()

    def error(self) -> str:
        """The end of what it wrote to stderr."""
        if self._stderr.closed:
            return ""
        size = os.fstat(self._stderr.fileno()).st_size
        said = os.pread(self._stderr.fileno(), _ERROR_BYTES, max(0, size - _ERROR_BYTES))
        return said.decode(errors="replace").strip()

    @property
    def exited(self) -> bool:
        return self._process.poll() is not None

    async def end(self, patience: float = _END_SECONDS) -> None:
        """Waits until it is gone; it ends by itself when the control socket is closed, and is killed if it does not
        within `patience` seconds. Safe to call twice."""
        if self.exited:
            self._stderr.close()
            return
        descriptor = os.pidfd_open(self._process.pid)  # ours to reap, so its number is still its own
        try:
            if not await readable(descriptor, patience):
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(self._process.pid, signal.SIGKILL)
                await readable(descriptor, _END_SECONDS)
            self._process.wait(_END_SECONDS)
        finally:
            os.close(descriptor)
            self._stderr.close()


def is_running(process: asyncio.subprocess.Process) -> bool:
    """Asks the system, which knows before the event loop does."""
    if process.returncode is not None:
        return False
    try:
        return os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is None
    except ChildProcessError:
        return False


def kill(process: asyncio.subprocess.Process) -> None:
    """Kills it, if it still runs.

    `process.kill()` reaps a process that has just died. The event loop's own wait for it then finds no child, warns on
    stderr and reports the exit code 255.
    """
    if is_running(process):
        with contextlib.suppress(ProcessLookupError):
            os.kill(process.pid, signal.SIGKILL)


async def readable(source: int | socket.socket, seconds: float) -> bool:
    """Whether there is something to read within `seconds`; of a pidfd, whether its process has ended."""
    loop = asyncio.get_running_loop()
    ready = asyncio.Event()
    loop.add_reader(source, ready.set)
    try:
        await asyncio.wait_for(ready.wait(), seconds)
    except TimeoutError:
        return False
    finally:
        loop.remove_reader(source)
    return True
