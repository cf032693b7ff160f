"""Starts one kernel: `python -P -m inside.start fd:N`, or `/path/of/socket` in place of `fd:N`."""

import functools
import json
import os
import socket
import sys
from typing import TYPE_CHECKING

from .control import CHANNELS, introduce, join, receive
from .guardian import guard
from .kernel import run_kernel

if TYPE_CHECKING:
    from .application import KernelApplication


def main(address: str) -> None:
    control = _connect(address)
    message, descriptors = receive(control)
    request, listeners = json.loads(message), descriptors[: len(CHANNELS)]
    introduce(control)
    join(descriptors[len(CHANNELS) :])
    guard(control, request, listeners, functools.partial(run_kernel, _application, request, listeners))


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
