"""The messages between the host and the guardian, over a SOCK_SEQPACKET socket.

The host says: first the request (JSON) with the descriptors of `Given`; then
`signal NUMBER`, `file NAME` or (read-only) `document NAME` with a descriptor to copy from, `cell` before a cell and
`rest` some time after it, or `lost NUMBER`. The guardian says (JSON): `{"hello": true}` with a descriptor (pidfd) of
itself, `{"placed": NAME, "error": TEXT}` after each file, `{"lost": SECONDS, "of": NUMBER}` when it is asked for how
long the cell's processes were kept from running, and one report at the end, `{"code": EXIT_CODE, "over": LIMIT,
"error": TEXT}`.
"""

import contextlib
import json
import os
import socket
from typing import Any, NamedTuple

CHANNELS = ("shell", "iopub", "stdin", "hb", "control")
_MESSAGE_BYTES = 65_536
_MOST_DESCRIPTORS = 32


def receive(control: socket.socket) -> tuple[bytes, list[int]]:
    """A message with its descriptors; an empty one when the host is gone."""
    data, descriptors, _, _ = socket.recv_fds(control, _MESSAGE_BYTES, _MOST_DESCRIPTORS)
    return data, descriptors


def send(control: socket.socket, message: dict[str, Any], descriptors: tuple[int, ...] = ()) -> None:
    """A host that is gone is noticed elsewhere."""
    with contextlib.suppress(OSError):
        socket.send_fds(control, [json.dumps(message).encode()], descriptors)


class Given(NamedTuple):
    """The request, as it came and as read, with its descriptors: the five listening sockets, the doors to the control
    groups, and a file that tells whether one of ours was killed for memory."""

    message: bytes
    request: dict[str, Any]
    listeners: list[int]
    groups: list[int]
    kills: int | None


def receive_request(control: socket.socket) -> Given:
    message, descriptors = receive(control)
    listeners, groups = descriptors[: len(CHANNELS)], descriptors[len(CHANNELS) :]
    return Given(message, json.loads(message), listeners, groups[:-1], groups[-1] if groups else None)


def join(groups: list[int]) -> None:
    """Joins the control groups whose open files these are; they stay open, and no kernel may get them."""
    for group in groups:
        os.write(group, b"0")


def introduce(control: socket.socket) -> None:
    """Sends a descriptor of ourselves, by which the host sees our end and, as we are process 1, that of all."""
    ourselves = os.pidfd_open(os.getpid())
    send(control, {"hello": True}, (ourselves,))
    os.close(ourselves)
