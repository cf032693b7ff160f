"""Starts one kernel: `python -P -m inside.start fd:N`, or `/path/of/socket` in place of `fd:N`."""

import os
import socket
import sys
from typing import TYPE_CHECKING

from .control import introduce, join, receive_request
from .guardian import guard
from .kernel import run_kernel

if TYPE_CHECKING:
    from .application import KernelApplication


def main(address: str) -> None:
    control = _connect(address)
    given = receive_request(control)
    introduce(control)
    join(given.groups)
    for group in given.groups:
        os.close(group)

    def fork(error_reader: int, error_writer: int) -> tuple[int, None]:
        pid = os.fork()
        if pid == 0:
            control.close()
            for descriptor in (error_reader, *([] if given.kills is None else [given.kills])):
                os.close(descriptor)
            run_kernel(_application, given.request, given.listeners, error_writer)
        return pid, None

    guard(control, given, fork)


def _connect(address: str) -> socket.socket:
    if address.startswith("fd:"):
        return socket.socket(fileno=int(address.removeprefix("fd:")))
    control = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    control.connect(address)
    return control


def _application() -> "KernelApplication":
    sys.path.remove(os.environ.pop("PYTHONPATH"))
    from .application import prepared

    return prepared()


if __name__ == "__main__":
    main(sys.argv[1])
