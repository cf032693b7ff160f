"""Runs inside the sandbox: becomes the kernel's guardian and forks the kernel.

Started as `python -P launcher.py fd:N` or `python -P launcher.py /path/of/socket`; it needs nothing but the standard
library and, in the forked child, ipykernel. The host sends one request (JSON) with the five listening sockets
(SCM_RIGHTS) over the control socket, later `interrupt`; the guardian sends one report (JSON) when the kernel has ended.
When the host is gone the control socket ends, and so does everything here.
"""

import array
import contextlib
import ctypes
import json
import os
import resource
import select
import signal
import socket
import sys
import time
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Any

CHANNELS = ("shell", "iopub", "stdin", "hb", "control")
REQUEST_BYTES = 65_536
ERROR_BYTES = 8_000
MESSAGE_BYTES = 6_000_000
PR_SET_PDEATHSIG, PR_SET_DUMPABLE, PR_CAPBSET_DROP, PR_SET_CHILD_SUBREAPER, PR_SET_NO_NEW_PRIVS = 1, 4, 24, 36, 38
PR_SET_SECCOMP, SECCOMP_MODE_FILTER = 22, 2
LAST_CAPABILITY = 63
WATCH_SECONDS = 0.15
CONFIRMATIONS, CONFIRM_SECONDS = 5, 0.01
IDLE_BYTES = 256_000_000
"""The most that an idle kernel itself is taken to use."""

SLACK_BYTES = 64_000_000
"""What a single kernel can fill without adding to its address space: stacks and arenas that are reserved already. It
shall get its MemoryError before the watch takes it for too large."""

WRITABLE = ("/tmp", "/dev/shm")  # noqa: S108 - the sandbox's own
_libc = ctypes.CDLL(None, use_errno=True)


def main(address: str) -> None:
    control = _connect(address)
    request, listeners = _receive_request(control)
    # Before the fork, so that the kernel never has a moment in which it could read or trace its guardian.
    _become(request["uid"])
    _libc.prctl(PR_SET_DUMPABLE, 0)
    _libc.prctl(PR_SET_CHILD_SUBREAPER, 1)
    error_reader, error_writer = os.pipe()
    wake_reader, wake_writer = os.pipe()
    _catch_child_exits(wake_writer)
    kernel = os.fork()
    if kernel == 0:
        for descriptor in (error_reader, wake_reader, wake_writer):
            os.close(descriptor)
        control.close()
        _run_kernel(request, listeners, error_writer)
    for descriptor in (*listeners, error_writer):
        os.close(descriptor)
    _guard(kernel, control, wake_reader, error_reader, _Watch(request["limits"]))


# --- the guardian -----------------------------------------------------------------------------------------------------


def _connect(address: str) -> socket.socket:
    if address.startswith("fd:"):
        return socket.socket(fileno=int(address.removeprefix("fd:")))
    control = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    control.connect(address)
    return control


def _receive_request(control: socket.socket) -> tuple[dict[str, Any], list[int]]:
    data, ancillary, _, _ = control.recvmsg(REQUEST_BYTES, socket.CMSG_LEN(len(CHANNELS) * array.array("i").itemsize))
    descriptors = array.array("i")
    for level, kind, payload in ancillary:
        if level == socket.SOL_SOCKET and kind == socket.SCM_RIGHTS:
            descriptors.frombytes(payload)
    return json.loads(data), list(descriptors)


def _become(uid: int | None) -> None:
    """Gives up root for good. `uid` is None where we never were root on the host."""
    if uid is not None:
        for capability in range(LAST_CAPABILITY + 1):
            _libc.prctl(PR_CAPBSET_DROP, capability, 0, 0, 0)
        os.setgroups([])
        os.setresgid(uid, uid, uid)
        os.setresuid(uid, uid, uid)
    _libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)


def _catch_child_exits(wake_writer: int) -> None:
    os.set_blocking(wake_writer, False)
    signal.set_wakeup_fd(wake_writer, warn_on_full_buffer=False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    # With Python's handlers gone, what the kernel sends to a guardian that is process 1 has no effect at all.
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def _guard(kernel: int, control: socket.socket, wake_reader: int, error_reader: int, watch: "_Watch") -> None:
    poll = select.poll()
    for descriptor in (control, wake_reader, error_reader):
        poll.register(descriptor, select.POLLIN)
    while True:
        # By the clock and not by silence: who floods us with signals is watched all the same.
        if over := watch.exceeded():
            _report(control, None, over, "")
            _end(kernel)
        for descriptor, event in poll.poll(watch.pause_ms):
            if descriptor == wake_reader:
                os.read(wake_reader, 4096)
                if (status := _reap(kernel)) is not None:
                    over = "memory" if _out_of_memory() else ""
                    _report(control, os.waitstatus_to_exitcode(status), over, _read_error(error_reader))
                    _end(kernel)
            elif descriptor == error_reader:
                poll.unregister(error_reader)
                if not event & select.POLLIN:  # closed without a word: the kernel stands, and has run no code yet
                    watch.begin()
            else:
                with contextlib.suppress(OSError):
                    if control.recv(64) == b"interrupt":
                        os.killpg(kernel, signal.SIGINT)
                        continue
                _end(kernel)


def _reap(kernel: int) -> int | None:
    """Collects all children that ended; the kernel's wait status, if it was among them."""
    found = None
    while True:
        try:
            pid, status = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return found
        if pid == 0:
            return found
        if pid == kernel:
            found = status


def _read_error(error_reader: int) -> str:
    os.set_blocking(error_reader, False)
    with contextlib.suppress(BlockingIOError):
        return os.read(error_reader, ERROR_BYTES).decode(errors="replace")
    return ""


def _report(control: socket.socket, code: int | None, over: str, error: str) -> None:
    with contextlib.suppress(OSError):
        control.send(json.dumps({"code": code, "over": over, "error": error}).encode())


def _out_of_memory() -> bool:
    """Whether the kernel of the machine killed something of ours for memory, as our cgroup (v2 or v1) tells."""
    for path in ("/sys/fs/cgroup/memory.events", "/sys/fs/cgroup/memory/memory.oom_control"):
        with contextlib.suppress(OSError, ValueError, KeyError):
            counts = dict(line.split() for line in Path(path).read_text(encoding="ascii").splitlines())
            return int(counts["oom_kill"]) > 0
    return False


def _end(kernel: int) -> None:
    """Ends all that is ours. Where we are process 1 of a namespace, our own end is enough."""
    if os.getpid() != 1:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(kernel, signal.SIGKILL)
        while children := Path(f"/proc/self/task/{os.getpid()}/children").read_text(encoding="ascii").split():
            for child in children:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(int(child), signal.SIGKILL)
            with contextlib.suppress(ChildProcessError):
                os.waitpid(-1, 0)
    os._exit(0)


class _Watch:
    """Adds up what all processes of the sandbox use: the system's own limits hold for each of them alone.

    Only where we are process 1 of a namespace: there is no leaving it.
    """

    def __init__(self, limits: dict[str, int]) -> None:
        self._memory = limits["memory"] + SLACK_BYTES
        self._files = limits["files"]
        self._due: float | None = None

    def begin(self) -> None:
        if os.getpid() == 1:
            self._memory += min(_memory_used(), IDLE_BYTES)
            self._files += _files_used()
            self._due = time.monotonic() + WATCH_SECONDS

    @property
    def pause_ms(self) -> int | None:
        return None if self._due is None else max(0, int((self._due - time.monotonic()) * 1000) + 1)

    def exceeded(self) -> str:
        """Which limit is exceeded: `memory`, `files` or none."""
        if self._due is None or time.monotonic() < self._due:
            return ""
        self._due = time.monotonic() + WATCH_SECONDS
        if _files_used() > self._files:
            return "files"
        return "memory" if _memory_used() > self._memory and self._confirmed() else ""

    def _confirmed(self) -> bool:
        """Not by pages that forked processes share, nor by a child that is just about to become another program."""
        for _ in range(CONFIRMATIONS):
            if _memory_used(exactly=True) <= self._memory:
                return False
            time.sleep(CONFIRM_SECONDS)
        return True


def _files_used() -> int:
    used = 0
    for folder in WRITABLE:
        with contextlib.suppress(OSError):
            status = os.statvfs(folder)
            used += status.f_files - status.f_ffree
    return used


def _memory_used(*, exactly: bool = False) -> int:
    """Of all processes but ourselves, bytes, without what lies in files of the system; shared pages count in part if
    `exactly`, which takes longer, and once for each process otherwise."""
    processes = [f"/proc/{name}" for name in _names("/proc") if name.isdigit() and name != "1"]
    return sum((exactly and _proportional(process)) or _resident(process) for process in processes)


def _proportional(process: str) -> int:
    return _sum_of(f"{process}/smaps_rollup", (b"Pss_Anon:", b"Pss_Shmem:", b"SwapPss:"))


def _resident(process: str) -> int:
    fields = (b"RssAnon:", b"RssShmem:", b"VmSwap:")
    if used := _sum_of(f"{process}/status", fields):
        return used
    # A process whose first thread has ended shows no memory there, and its other threads do.
    return max((_sum_of(f"{process}/task/{task}/status", fields) for task in _names(f"{process}/task")), default=0)


def _names(folder: str) -> list[str]:
    with contextlib.suppress(OSError):
        return os.listdir(folder)  # noqa: PTH208 - several times a second
    return []


def _sum_of(path: str, fields: tuple[bytes, ...]) -> int:
    """In bytes; 0 for what has ended, or does not let us look."""
    with contextlib.suppress(OSError), open(path, "rb") as file:  # noqa: PTH123 - several times a second
        return sum(int(line.split()[1]) * 1024 for line in file if line.startswith(fields))
    return 0


# --- the kernel -------------------------------------------------------------------------------------------------------


def _run_kernel(request: dict[str, Any], listeners: list[int], error_writer: int) -> None:
    import traceback  # now: whatever fails below, also importing, is to be told

    try:
        _settle(request)
        _filter_system_calls(bytes.fromhex(request["filter"]))
        app = _kernel_application(request, dict(zip(CHANNELS, listeners, strict=True)))
        app.initialize(["--HistoryManager.enabled=False", "--InteractiveShell.colors=nocolor"])
        app.shell.history_manager.outputs = _Forgetful()
        _limit(request["limits"])
    except BaseException:  # noqa: BLE001 - the guardian reports it
        os.write(error_writer, traceback.format_exc()[-ERROR_BYTES:].encode(errors="replace"))
        os._exit(1)
    os.close(error_writer)
    app.start()
    os._exit(0)


def _settle(request: dict[str, Any]) -> None:
    """A session of its own, no inherited stdio, no handlers of the guardian, a work folder."""
    signal.set_wakeup_fd(-1)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    os.setsid()
    null = os.open(os.devnull, os.O_RDWR)
    for descriptor in (0, 1, 2):
        os.dup2(null, descriptor)
    os.close(null)
    _libc.prctl(PR_SET_DUMPABLE, 1)
    if os.getppid() != 1:
        _libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    with contextlib.suppress(OSError):
        Path("/proc/self/oom_score_adj").write_text("1000", encoding="ascii")
    Path(request["work"]).mkdir(mode=0o700, exist_ok=True)
    os.chdir(request["work"])
    os.environ["PWD"] = request["work"]


def _filter_system_calls(program: bytes) -> None:
    if not program:
        return

    class Program(ctypes.Structure):  # struct sock_fprog
        _fields_ = (("length", ctypes.c_ushort), ("instructions", ctypes.c_char_p))

    if _libc.prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, ctypes.byref(Program(len(program) // 8, program)), 0, 0):
        raise OSError(ctypes.get_errno(), "the filter of system calls was refused")


def _limit(limits: dict[str, int]) -> None:
    """Set once the kernel stands: `memory` bounds what the code adds to the address space, not what ipykernel maps."""
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0])
    memory = pages * resource.getpagesize() + limits["memory"]
    for kind, soft, hard in (
        (resource.RLIMIT_CORE, 0, 0),
        (resource.RLIMIT_AS, memory, memory),
        (resource.RLIMIT_CPU, limits["cpu"], limits["cpu"] + 2),
        (resource.RLIMIT_FSIZE, limits["file"], limits["file"]),
        (resource.RLIMIT_NOFILE, limits["open_files"], limits["open_files"]),
        (resource.RLIMIT_NPROC, limits["processes"], limits["processes"]),
    ):
        ceiling = resource.getrlimit(kind)[1]
        if ceiling != resource.RLIM_INFINITY:
            soft, hard = min(soft, ceiling), min(hard, ceiling)
        resource.setrlimit(kind, (soft, hard))


def _kernel_application(request: dict[str, Any], listeners: dict[str, int]) -> Any:
    # The debugger is of no use to a program and costs a fifth of the start.
    sys.modules["debugpy"] = None  # type: ignore[assignment]
    import zmq
    from ipykernel.heartbeat import Heartbeat
    from ipykernel.kernelapp import IPKernelApp

    del sys.modules["debugpy"]
    connection = request["connection"]
    by_port = {connection[f"{name}_port"]: descriptor for name, descriptor in listeners.items()}

    class GivenHeartbeat(Heartbeat):
        def _try_bind_socket(self) -> None:
            self.socket.setsockopt(zmq.USE_FD, by_port[self.port])
            self.socket.bind(f"ipc://{self.ip}-{self.port}")

    class GivenSocketsApp(IPKernelApp):
        """A kernel on sockets that somebody else bound: it needs no folder and no network of its own."""

        def init_connection_file(self) -> None:
            self.session.key = connection["key"].encode()
            self.session.signature_scheme = connection["signature_scheme"]
            self.session.pack = _pack

        def write_connection_file(self, **_: Any) -> None: ...

        def log_connection_info(self) -> None:
            self._ports = {name: connection[f"{name}_port"] for name in CHANNELS}

        def _try_bind_socket(self, s: Any, port: int) -> int:
            s.setsockopt(zmq.USE_FD, by_port[port])
            s.bind(f"ipc://{self.ip}-{port}")
            return port

        def init_heartbeat(self) -> None:
            address = (self.transport, self.ip, self.hb_port)
            self.heartbeat = GivenHeartbeat(zmq.Context(), address)  # type: ignore[no-untyped-call]
            self.heartbeat.start()

        def init_io(self) -> None:
            _bound_streams(request["output_chars"])
            super().init_io()  # type: ignore[no-untyped-call]

    ports = {f"{name}_port": connection[f"{name}_port"] for name in CHANNELS}
    return GivenSocketsApp.instance(transport=connection["transport"], ip=connection["ip"], **ports)


def _bound_streams(chars: int) -> None:
    """Caps what one cell may print, where it is printed: an endless loop would fill this process before it is sent.

    For the client's sake only; code can undo it, and the client keeps its own count.
    """
    from ipykernel import iostream

    write: Callable[[Any, str], int | None] = iostream.OutStream.write
    current, written = "", 0

    def bounded_write(stream: Any, string: str) -> int | None:
        nonlocal current, written
        cell = stream.parent_header.get("msg_id", "")
        if cell != current:
            current, written = cell, 0
        if isinstance(string, str):
            room = max(chars - written, 0)
            written += len(string)
            if len(string) > room:
                if room:
                    write(stream, string[:room])
                return len(string)
        return write(stream, string)

    iostream.OutStream.write = bounded_write  # type: ignore[method-assign, assignment]


class _Forgetful(defaultdict[int, list[Any]]):
    """IPython keeps all output ever shown, to write it into a notebook one day; here it would only fill the memory."""

    def __missing__(self, _: int) -> list[Any]:
        return []


def _pack(value: object) -> bytes:
    """JSON in ASCII: the stock packer fails on a lone surrogate and takes other output of that moment with it.

    What is beyond the size that the client takes is cut here: there it would cost the connection.
    """
    packed = _to_json(value)
    return packed if len(packed) <= MESSAGE_BYTES else _to_json(_cut(value, MESSAGE_BYTES // 8))


def _to_json(value: object) -> bytes:
    from jupyter_client.jsonutil import json_default
    from jupyter_client.session import json_packer

    try:
        return json.dumps(value, default=json_default, allow_nan=False).encode()
    except ValueError:
        cleaned: bytes = json_packer(value)
        return cleaned


def _cut(value: object, chars: int) -> object:
    """Keeps the beginning of long texts and drops other large data (a part of a picture is none)."""
    if isinstance(value, str):
        return value[:chars]
    if isinstance(value, dict):
        cut = {key: _cut(part, chars) for key, part in value.items() if "/" not in key or len(_to_json(part)) < chars}
        return {**cut, **{key: _cut(part, chars) for key, part in value.items() if key.startswith("text/")}}
    if isinstance(value, list):
        return [_cut(part, chars // 4) for part in value[:100]]
    return value


if __name__ == "__main__":
    main(sys.argv[1])
