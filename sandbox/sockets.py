"""The five sockets of a kernel, bound on the host, so that nothing of the host need be writable from inside."""

import contextlib
import fcntl
import os
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
_PREFIX = "toolablate-kernel-"


@dataclass(frozen=True, slots=True)
class Connection:
    """Where a kernel listens: unix sockets `{address}-1` to `{address}-5`, messages signed with `key`."""

    address: str
    key: str

    def as_dict(self) -> dict[str, Any]:
        """The content of a Jupyter connection file."""
        ports = {f"{name}_port": number for number, name in enumerate(CHANNELS, start=1)}
        return {"transport": "ipc", "ip": self.address, "key": self.key, "signature_scheme": "hmac-sha256", **ports}


class PrivateFolder:
    """A new folder (mode 0700), locked for as long as we live, so that `sweep` can tell whose host is gone."""

    def __init__(self) -> None:
        self.path = Path(tempfile.mkdtemp(prefix=_PREFIX))
        self._lock = _locked(self.path)

    def close(self) -> None:
        shutil.rmtree(self.path, ignore_errors=True)
        if self._lock >= 0:
            os.close(self._lock)
            self._lock = -1


class KernelSockets:
    """A private folder with five listening unix sockets. `key` signs the messages, a fresh one by default.

    Clients may connect before the kernel exists: the kernel is handed the listening descriptors themselves.
    """

    def __init__(self, key: str = "") -> None:
        self._private = PrivateFolder()
        self.folder = self._private.path
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
        self._private.close()


def sweep() -> None:
    """Removes the folders of hosts that were killed: those that nobody holds the lock of."""
    for lock in Path(tempfile.gettempdir()).glob(f"{_PREFIX}*/lock"):
        with contextlib.suppress(OSError), lock.open("rb") as file:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            shutil.rmtree(lock.parent, ignore_errors=True)


def _locked(folder: Path) -> int:
    """The lock gets its name when it is held, so that no sweep can come between."""
    descriptor = os.open(folder / "new", os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
    fcntl.flock(descriptor, fcntl.LOCK_EX)
    (folder / "new").rename(folder / "lock")
    return descriptor
