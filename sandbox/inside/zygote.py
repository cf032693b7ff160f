"""The process that has imported everything, and forks kernels into the namespaces of their guardians."""

import json
import os
import select
import signal
import socket
from functools import partial
from typing import TYPE_CHECKING, Any

from . import system
from .control import CHANNELS, Given, join, receive, send
from .isolation import NAMESPACES, enter_namespaces, own_user
from .kernel import run_kernel

if TYPE_CHECKING:
    from .application import KernelApplication
    from .guardian import ForkKernel


def breed(nursery: socket.socket) -> None:
    """Prepares, says so, and forks a kernel for each message from a guardian, until the nursery is gone."""
    from .application import prepared
    from .preload import preload, settle_for_forks

    application = prepared()
    preload(application.shell)
    settle_for_forks()
    send(nursery, {"ready": True})
    _Zygote(application, nursery).run()


class _Zygote:
    def __init__(self, application: "KernelApplication", nursery: socket.socket) -> None:
        self._application = application
        self._nursery = nursery
        self._own_pids = os.open("/proc/self/ns/pid", os.O_RDONLY)
        self._kernels: dict[int, socket.socket] = {}
        self._wake_reader, self._wake_writer = os.pipe()
        for descriptor in (self._wake_reader, self._wake_writer):
            os.set_blocking(descriptor, False)

    def run(self) -> None:
        signal.set_wakeup_fd(self._wake_writer, warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        poll = select.poll()
        poll.register(self._nursery, select.POLLIN)
        poll.register(self._wake_reader, select.POLLIN)
        while True:
            for source, _ in poll.poll():
                if source == self._wake_reader:
                    os.read(self._wake_reader, 4096)
                    self._report_ended()
                else:
                    message, descriptors = receive(self._nursery)
                    if not message:
                        os._exit(0)
                    self._fork(message, descriptors)

    def _fork(self, message: bytes, descriptors: list[int]) -> None:
        if len(descriptors) < 2 + len(CHANNELS) + len(NAMESPACES):  # there were none free for all of them
            for descriptor in descriptors:
                os.close(descriptor)
            return
        status, pids = socket.socket(fileno=descriptors.pop()), descriptors[-len(NAMESPACES)]
        try:
            system.enter(pids, system.NEW_PIDS)
            pid = os.fork()
            if pid == 0:
                self._become_kernel(message, descriptors, status)
            self._kernels[pid] = status
        except OSError as error:  # its guardian has ended, or there are too many processes
            send(status, {"error": str(error)})
            status.close()
        finally:
            for descriptor in descriptors:
                os.close(descriptor)
            system.enter(self._own_pids, system.NEW_PIDS)

    def _become_kernel(self, message: bytes, descriptors: list[int], status: socket.socket) -> None:
        # Above all the ones by which the ends of other kernels are told.
        for other in (self._nursery, *self._kernels.values()):
            other.close()
        for descriptor in (self._own_pids, self._wake_reader, self._wake_writer):
            os.close(descriptor)
        try:
            send(status, {"pid": os.getpid()})
            status.close()
            request, error_writer = json.loads(message), descriptors[0]
            listeners = descriptors[1 : 1 + len(CHANNELS)]
            groups = descriptors[1 + len(CHANNELS) : -len(NAMESPACES)]
            settle = partial(_settle_in, request["uid"], groups, descriptors[-len(NAMESPACES) :])
            run_kernel(lambda: self._application, request, listeners, error_writer, settle)
        finally:
            os._exit(1)

    def _report_ended(self) -> None:
        while self._kernels:
            pid, status = os.waitpid(-1, os.WNOHANG)
            if pid == 0:
                return
            with self._kernels.pop(pid) as told:
                send(told, {"code": os.waitstatus_to_exitcode(status)})


def _settle_in(uid: int | None, groups: list[int], namespaces: list[int]) -> None:
    join(groups)
    for group in groups:
        os.close(group)
    enter_namespaces(namespaces)
    if uid is None:
        own_user()
    system.become(uid)


def ask_for_kernel(zygote: socket.socket, given: Given, namespaces: list[int]) -> "ForkKernel":
    """How a guardian gets its kernel: gives the kernel's process id in our namespace, and the socket that tells its
    end."""

    def fork(_error_reader: int, error_writer: int) -> tuple[int, socket.socket]:
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs, zygote:
            descriptors = [error_writer, *given.listeners, *given.groups, *namespaces, theirs.fileno()]
            socket.send_fds(zygote, [given.message], descriptors)
        for descriptor in (*given.groups, *namespaces):
            os.close(descriptor)
        answer, _ = receive(ours)
        told: dict[str, Any] = json.loads(answer) if answer else {"error": "it has ended"}
        if "error" in told:
            raise RuntimeError(f"no kernel could be forked: {told['error']}")
        return told["pid"], ours

    return fork
