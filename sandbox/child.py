"""A process of ours that holds a kernel: started with its own control socket and without any other descriptor."""

import asyncio
import contextlib
import os
import signal
import socket
import subprocess
import tempfile
from collections.abc import Callable, Mapping, Sequence

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
