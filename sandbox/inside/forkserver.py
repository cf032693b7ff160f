"""Forks kernels from a process that has imported everything: `python -P -m inside.forkserver fd:N`.

Over the socket N the host sends one message per kernel, with the descriptor of that kernel's control socket. The forked
child reads the request itself: nothing that differs between kernels enters this process.
"""

import functools
import json
import os
import signal
import socket
import sys
import traceback

from . import system
from .application import KernelApplication, prepared
from .control import CHANNELS, introduce, join, receive, send
from .guardian import ERROR_BYTES, guard
from .isolation import isolate
from .kernel import run_kernel
from .preload import preload, settle_for_forks


def main(descriptor: int) -> None:
    server = socket.socket(fileno=descriptor)
    sys.path.remove(os.environ.pop("PYTHONPATH"))
    application = prepared()
    preload(application.shell)
    settle_for_forks()
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    own_pids = os.open("/proc/self/ns/pid", os.O_RDONLY)
    send(server, {"ready": True})
    while True:
        message, descriptors = receive(server)
        if not message:
            return
        system.unshare(system.NEW_PIDS)
        if os.fork() == 0:
            server.close()
            os.close(own_pids)
            _start(application, socket.socket(fileno=descriptors[0]))
        system.enter(own_pids, system.NEW_PIDS)
        os.close(descriptors[0])


def _start(application: KernelApplication, control: socket.socket) -> None:
    try:
        message, descriptors = receive(control)
        request = json.loads(message)
        listeners, groups = descriptors[: len(CHANNELS)], descriptors[len(CHANNELS) :]
        introduce(control)
        join(groups)
        isolate(request)
        guard(control, request, listeners, functools.partial(run_kernel, lambda: application, request, listeners))
    except BaseException:  # noqa: BLE001 - the host is told
        send(control, {"code": 1, "over": "", "error": traceback.format_exc()[-ERROR_BYTES:]})
    os._exit(1)


if __name__ == "__main__":
    main(int(sys.argv[1].removeprefix("fd:")))
