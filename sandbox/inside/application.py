"""ipykernel in two halves: what needs no thread, socket or secret can be prepared once and forked many times."""

# ruff: noqa: E402

import os
import sys
import tempfile
import threading
import uuid
from pathlib import Path
from typing import Any

# The debugger is of no use to a program and costs a fifth of the start.
sys.modules["debugpy"] = None  # type: ignore[assignment]

import ipykernel.debugger  # noqa: F401 - finds that there is none
import zmq
from ipykernel.control import ControlThread
from ipykernel.heartbeat import Heartbeat
from ipykernel.ipkernel import IPythonKernel
from ipykernel.kernelapp import IPKernelApp
from IPython.core.application import BaseIPythonApplication
from zmq.eventloop.zmqstream import ZMQStream

del sys.modules["debugpy"]

from .control import CHANNELS
from .messages import Forgetful, bound_streams, pack
from .seeds import fix_seeds
from .shell import Shell
from .streams import Stream

_OPTIONS = (
    "--HistoryManager.hist_file=:memory:",
    "--InteractiveShell.colors=nocolor",
    "--Application.log_level=50",
)


class GivenHeartbeat(Heartbeat):
    """Answers on a socket that somebody else bound."""

    def __init__(self, context: "zmq.Context[Any]", address: tuple[str, str, int], listener: int) -> None:
        self._listener = listener
        super().__init__(context, address)

    def _try_bind_socket(self) -> None:
        self.socket.setsockopt(zmq.USE_FD, self._listener)
        self.socket.bind(f"ipc://{self.ip}-{self.port}")


class _NoSubshells:
    """Stands where ipykernel looks for the thread that serves subshells: it asks that one which thread is the main one,
    for every cell that awaits something."""

    parent_thread = threading.main_thread()

    def __bool__(self) -> bool:
        return False


class InsideKernel(IPythonKernel):
    @property
    def _supports_kernel_subshells(self) -> bool:
        return False


class KernelApplication(IPKernelApp):
    """A kernel on sockets that somebody else bound: it needs no folder and no network of its own.

    It has no subshells, so that a request takes one thread less on its way.
    """

    _listeners: dict[int, int]

    def prepare(self) -> None:
        """All that does not differ between kernels. Starts no thread and opens no descriptor that a fork must not
        share."""
        # Found by trying otherwise, in the first cell, which a full folder would make fail.
        tempfile.tempdir = os.environ.get("TMPDIR", "/tmp")  # noqa: S108
        BaseIPythonApplication.initialize(self, list(_OPTIONS))
        self.init_pdb()
        self.kernel = InsideKernel.instance(
            parent=self,
            session=self.session,
            log=self.log,
            profile_dir=self.profile_dir,
            user_ns=self.user_ns,
            shell_class=Shell,
            shell_channel_thread=_NoSubshells(),
        )
        self.init_shell()
        assert self.shell is not None
        self.shell.history_manager.outputs = Forgetful()
        _import_from_the_work_folder()
        self.init_gui_pylab()
        self.init_extensions()
        self.init_code()

    def connect(self, request: dict[str, Any], listeners: list[int]) -> None:
        """What makes it this kernel and no other: key, sockets, threads, event loops."""
        connection = request["connection"]
        ports = {name: connection[f"{name}_port"] for name in CHANNELS}
        self._listeners = dict(zip(ports.values(), listeners, strict=True))
        self.transport, self.ip = connection["transport"], connection["ip"]
        for name, port in ports.items():
            setattr(self, f"{name}_port", port)
        self._begin_session(connection)
        assert self.profile_dir is not None
        Path(self.profile_dir.location).mkdir(parents=True, exist_ok=True)
        self.init_sockets()
        context: zmq.Context[Any] = zmq.Context()
        self.heartbeat = GivenHeartbeat(context, (self.transport, self.ip, self.hb_port), self._listeners[self.hb_port])
        self.heartbeat.start()
        bound_streams(request["output_chars"])
        self.init_io()
        self.init_signal()
        self._connect_kernel(ports)
        fix_seeds()  # last, since finding a port draws numbers as well
        sys.stdout.flush()
        sys.stderr.flush()

    def init_io(self) -> None:
        self.outstream_class = f"{Stream.__module__}.{Stream.__qualname__}"
        super().init_io()

    def _begin_session(self, connection: dict[str, Any]) -> None:
        session = self.session
        session.pid = os.getpid()
        session.session = uuid.uuid4().hex
        session.key = connection["key"].encode()
        session.signature_scheme = connection["signature_scheme"]
        session.pack = pack

    def _try_bind_socket(self, s: Any, port: int) -> int:
        s.setsockopt(zmq.USE_FD, self._listeners[port])
        s.bind(f"ipc://{self.ip}-{port}")
        return port

    def init_control(self, context: "zmq.Context[Any]") -> None:
        """Without the sockets of the debugger and the thread of subshells."""
        self.control_socket = context.socket(zmq.ROUTER)
        self.control_socket.linger = 1000
        self.control_port = self._bind_socket(self.control_socket, self.control_port)
        self.control_socket.router_handover = 1
        self.control_thread = ControlThread(daemon=True)

    def _connect_kernel(self, ports: dict[str, int]) -> None:
        kernel = self.kernel
        kernel._stdout, kernel._stderr = sys.stdout, sys.stderr
        kernel.shell_stream = ZMQStream(self.shell_socket)
        kernel.control_stream = ZMQStream(self.control_socket, self.control_thread.io_loop)
        kernel.control_thread = self.control_thread
        kernel.iopub_thread, kernel.iopub_socket = self.iopub_thread, self.iopub_socket
        kernel.stdin_socket = self.stdin_socket
        kernel.record_ports({f"{name}_port": port for name, port in ports.items()})
        shell = kernel.shell
        shell.displayhook.pub_socket = shell.display_pub.pub_socket = self.iopub_socket
        self.displayhook.get_execution_count = lambda: kernel.execution_count
        self.control_thread.start()


def prepared() -> KernelApplication:
    application = KernelApplication.instance()
    application.prepare()
    return application


def _import_from_the_work_folder() -> None:
    """Modules that cells wrote can be imported, and never hide those of the system."""
    places = (place for place, path in enumerate(sys.path) if Path(path).name in ("site-packages", "dist-packages"))
    sys.path.insert(next(places, len(sys.path)), "")
