"""Kernels forked from a process in bubblewrap that has imported the scientific stack, each into own namespaces."""

import asyncio
import contextlib
import itertools
import os
import random
import signal
import socket
from collections.abc import Iterator, Sequence

from toolablate.sandbox.backends.bubblewrap import (
    FIRST_FREE_UID,
    FREE_UIDS,
    USER_ID,
    capabilities,
    remedy,
    start_in_bubblewrap,
)
from toolablate.sandbox.cgroups import Cgroup
from toolablate.sandbox.host_resources import HostResources
from toolablate.sandbox.kernel import KernelUnavailable, Limits
from toolablate.sandbox.process import Child, KernelProcess, readable, start_hint
from toolablate.sandbox.python import Python

_CAPABILITIES = ("CAP_SYS_ADMIN", "CAP_SYS_CHROOT", "CAP_NET_ADMIN", "CAP_SETUID", "CAP_SETGID", "CAP_SETPCAP")
_WITHOUT_ROOT = (*_CAPABILITIES, "CAP_SETFCAP")
"""Without it Linux lets no child of the user namespace map its root."""

_ROOT_OF_NAMESPACE = ("--uid", "0", "--gid", "0")
"""For any other id bubblewrap makes a second user namespace, which has no power over the other namespaces."""

_SERVER_TMP_BYTES = 64_000_000
_USERS = 1024
"""How many ids of users the kernels of a server take in turn: each must be in its /etc/passwd."""

_READY_SECONDS = 60.0
_END_SECONDS = 5.0
_FULL_SECONDS = 0.002


class ForkServer:
    """The parent of kernels: started with the first of them, and ended by `close`."""

    def __init__(self, limits: Limits, python: Python) -> None:
        self._limits = limits
        self._premises = HostResources()
        self._python = python
        self._users = _users()
        self._child: Child | None = None
        self._ready: asyncio.Task[None] | None = None

    def new_process(self) -> KernelProcess:
        return ForkedProcess(self._limits, self._premises, self, next(self._users) if os.geteuid() == 0 else None)

    async def fork(self) -> socket.socket:
        """Forks a guardian, which waits for its request; gives our end of its control socket."""
        await self._started()
        asked = self._child
        try:
            return await self._ask()
        except OSError:  # it has just ended; somebody else may have started another one meanwhile
            if self._child is asked:
                self._ready = None
                await self._end()
        await self._started()
        return await self._ask()

    async def _ask(self) -> socket.socket:
        assert self._child is not None
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            while True:
                try:
                    socket.send_fds(self._child.control, [b"kernel"], [theirs.fileno()])
                except BlockingIOError:
                    await asyncio.sleep(_FULL_SECONDS)
                except OSError:
                    ours.close()
                    raise
                else:
                    break
        ours.setblocking(False)
        return ours

    @property
    def below_own_folders(self) -> list[str]:
        """Folders of the Python environment that lie where each kernel gets a folder of its own."""
        return [folder for folder in self._python.folders if folder.startswith(("/tmp/", "/dev/shm/"))]  # noqa: S108

    def error(self) -> str:
        return self._child.error() if self._child else ""

    async def close(self) -> None:
        if self._ready is not None:
            self._ready.cancel()
            await asyncio.wait({self._ready})
            self._ready = None
        await self._end()
        await self._premises.close()

    async def _started(self) -> None:
        if self._child is not None and self._child.exited:
            await self._end()
            self._ready = None
        if self._ready is None or (self._ready.done() and (self._ready.cancelled() or self._ready.exception())):
            self._ready = asyncio.create_task(self._start())
        await asyncio.shield(self._ready)

    async def _start(self) -> None:
        root = os.geteuid() == 0
        self._child = start_in_bubblewrap(
            self._python,
            "inside.fork_server",
            users=[next(self._users) for _ in range(_USERS)] if root else [USER_ID],
            tmp_bytes=_SERVER_TMP_BYTES,
            options=capabilities(_CAPABILITIES) if root else [*capabilities(_WITHOUT_ROOT), *_ROOT_OF_NAMESPACE],
        )
        if not await readable(self._child.control, _READY_SECONDS) or not _says_ready(self._child.control):
            said = self._child.error()
            await self._end()
            if said:
                last = said.splitlines()[-1]
                raise KernelUnavailable(
                    f"the fork server did not start: {last}", hint=start_hint(said, remedy(last)), code="start_failed"
                )
            raise KernelUnavailable(
                f"the fork server did not respond within {_READY_SECONDS:g} s",
                hint="the machine may be overloaded: lower the concurrency",
                code="start_timeout",
                retryable=True,
            )

    async def _end(self) -> None:
        child, self._child = self._child, None
        if child is not None:
            child.control.close()
            await child.end(patience=0.0)  # whoever forked a kernel has closed it: there is nothing to wait for


def _users() -> Iterator[int]:
    first = FIRST_FREE_UID + random.SystemRandom().randrange(FREE_UIDS - _USERS)
    return itertools.cycle(range(first, first + _USERS))


def _says_ready(control: socket.socket) -> bool:
    with contextlib.suppress(OSError):
        return bool(control.recv(64))
    return False


class ForkedProcess(KernelProcess):
    def __init__(self, limits: Limits, premises: HostResources, server: ForkServer, user: int | None) -> None:
        super().__init__(limits, premises)
        self._server = server
        self._user = user

    async def _launch(self) -> socket.socket:
        return await self._server.fork()

    async def _dispose(self) -> None:
        if self._guardian >= 0 and not await readable(self._guardian, _END_SECONDS):
            signal.pidfd_send_signal(self._guardian, signal.SIGKILL)
            await readable(self._guardian, _END_SECONDS)

    def _start_error(self) -> str:
        return self._server.error()

    def remedy(self, said: str) -> str:
        return remedy(said)

    def _new_cgroup(self) -> Cgroup | None:
        return self.premises.new_cgroup(self.limits)

    @property
    def counted(self) -> Sequence[str]:
        return ("files", *super().counted)

    def _shown_below_own_folders(self) -> list[str]:
        return self._server.below_own_folders

    def _uid(self) -> int | None:
        return self._user
