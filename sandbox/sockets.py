"""The five sockets of a kernel, bound on the host, so that nothing of the host need be writable from inside."""

import secrets
import shutil
import socket
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

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
