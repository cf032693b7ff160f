"""Kernels in Docker: one container each, without network or capabilities; nothing of the host could be written."""

import asyncio
import contextlib
import itertools
import json
import os
import random
import shutil
import socket
import time
import weakref
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from toolablate.sandbox.docker import BUILD_COMMAND, IMAGE, PYTHON
from toolablate.sandbox.host_resources import HostResources, memory_bytes
from toolablate.sandbox.kernel import KernelUnavailable, Limits
from toolablate.sandbox.process import ENVIRONMENT, INSIDE, Exit, KernelProcess

if TYPE_CHECKING:
    from docker import DockerClient
    from docker.models.containers import Container

_MB = 1_000_000
# Users of services that come and go (systemd, "Users, Groups, UIDs and GIDs"): there also where a daemon without root
# has no more than 65,536 to give. Kernels that shared one would share what Linux counts by user.
_FIRST_USER, _LAST_USER = 61_184, 65_519
_MASKED = (
    *("acpi", "asound", "kcore", "keys", "kmsg", "latency_stats", "sched_debug", "scsi", "timer_list", "timer_stats"),
    *("pressure", "locks"),
)
"""Docker's own list, what anybody may write to, and the locks of the whole machine."""

_SHARE = "/run/toolablate"
_SHARED_MEMORY_MB = 64
_API_SECONDS = 60
_LOOK_SECONDS = 1.0
_REMOVED_SECONDS = 15.0
_RECENT_SECONDS = 10
_EVENTS_SECONDS = 5
LABEL = "toolablate.kernel"

_T = TypeVar("_T")


class Docker:
    """One container per kernel."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._premises = HostResources()
        first = random.SystemRandom().randrange(_FIRST_USER, _LAST_USER)
        self._users = itertools.cycle([*range(first, _LAST_USER + 1), *range(_FIRST_USER, first)])

    def new_process(self) -> KernelProcess:
        return DockerProcess(self._limits, self._premises, next(self._users))

    async def close(self) -> None:
        await self._premises.close()


_ours: "weakref.WeakSet[socket.socket]" = weakref.WeakSet()
"""What keeps containers alive. A child that we fork must not hold it: they would outlive us with that child."""


def _let_go() -> None:
    for held in tuple(_ours):
        held.close()


os.register_at_fork(after_in_child=_let_go)


class DockerProcess(KernelProcess):
    """The guardian, as process 1 of the container, fetches the listening sockets over one unix socket in a folder that
    is mounted read-only. When we are gone that socket ends, and with it the container.

    The guardian lies in the memory limit of what it guards: where Linux kills it for what the code did, only Docker can
    tell.
    """

    def __init__(self, limits: Limits, premises: HostResources, user: int) -> None:
        super().__init__(limits, premises)
        self._user = user
        self._client: DockerClient | None = None
        self._container: Container | None = None
        self._asking: asyncio.Task[None] | None = None
        self._guardian_oom_killed = False

    @property
    def counts_shared_memory(self) -> bool:
        return True  # the container's own cgroup

    async def _launch(self) -> socket.socket:
        share = Path(self.folder) / "share"
        share.mkdir(mode=0o755)
        shutil.copytree(INSIDE, share / INSIDE.name)
        people = f"root:x:0:0::/:/bin/false\nkernel:x:{self._user}:{self._user}::{self.work}:/bin/sh\n"
        (share / "passwd").write_text(people, encoding="ascii")
        with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as listener:
            _ours.add(listener)
            listener.setblocking(False)
            listener.bind(str(share / "start"))
            (share / "start").chmod(0o666)
            share.chmod(0o755)
            listener.listen(1)
            await _in_thread(lambda: self._run_container(share))
            control = await self._accept(listener)
        (share / "start").unlink()
        return control

    def _run_container(self, share: Path) -> None:
        import docker
        from docker.errors import APIError, DockerException, ImageNotFound

        _knock()
        try:
            self._client = docker.from_env(timeout=_API_SECONDS)
            # Not `containers.create`: it takes neither paths to hide, nor a no to the proxies of our configuration.
            created = self._client.api.create_container(**self._options(share), host_config=self._isolation(share))
            self._container = self._client.containers.get(created["Id"])
            self._container.start()
        except ImageNotFound:
            raise KernelUnavailable(f"the image {IMAGE} is not there", hint=BUILD_COMMAND, code="no_image") from None
        except APIError as error:
            said = error.explanation or error
            raise KernelUnavailable(f"Docker refused the container: {said}", code="docker") from error
        except (DockerException, OSError) as error:
            raise _no_daemon(error) from error

    def _options(self, share: Path) -> dict[str, Any]:
        path = f"{Path(PYTHON).parent}:/usr/local/bin:/usr/bin:/bin"
        return {
            "image": IMAGE,
            "command": [PYTHON, "-P", "-m", "inside.start", f"{_SHARE}/start"],
            "user": f"{self._user}:{self._user}",
            "environment": {**ENVIRONMENT, "PATH": path, "PYTHONPATH": _SHARE},
            "hostname": "sandbox",
            "labels": {LABEL: str(os.getpid())},
            "use_config_proxy": False,
        }

    def _isolation(self, share: Path) -> dict[str, Any]:
        from docker.types import HostConfig, LogConfig, Mount, Ulimit

        assert self._client is not None
        limits = self.limits
        memory = memory_bytes(limits)
        folders = {_SHARE: share, "/etc/passwd": share / "passwd"}
        config = HostConfig(
            version=self._client.api.api_version,
            network_mode="none",
            ipc_mode="private",
            cgroupns="private",
            read_only=True,
            cap_drop=["ALL"],
            security_opt=["no-new-privileges"],
            mounts=[Mount(target, str(source), type="bind", read_only=True) for target, source in folders.items()],
            tmpfs={"/tmp": f"rw,exec,nosuid,nodev,mode=1777,size={limits.disk_mb * _MB},nr_inodes={limits.files}"},  # noqa: S108
            shm_size=_SHARED_MEMORY_MB * _MB,
            mem_limit=memory,
            memswap_limit=memory,
            pids_limit=limits.processes,
            ulimits=[Ulimit(name="core", soft=0, hard=0)],
            log_config=LogConfig(type="none"),
            auto_remove=True,
        )
        return {**config, "MaskedPaths": [*(f"/proc/{name}" for name in _MASKED), "/sys/firmware"]}

    async def _accept(self, listener: socket.socket) -> socket.socket:
        loop = asyncio.get_running_loop()
        deadline = time.monotonic() + self.limits.start_seconds
        while time.monotonic() < deadline:
            with contextlib.suppress(TimeoutError):
                control, _ = await asyncio.wait_for(loop.sock_accept(listener), _LOOK_SECONDS)
                _ours.add(control)
                control.setblocking(False)
                return control
            if not await _in_thread(self._container_lives):
                raise KernelUnavailable(
                    f"the container ended before it started a kernel: is {IMAGE} broken?",
                    hint=BUILD_COMMAND,
                    code="start_failed",
                )
        raise KernelUnavailable("the container did not start in time", code="start_timeout", retryable=True)

    def _container_lives(self) -> bool:
        from docker.errors import NotFound

        assert self._container is not None
        try:
            self._container.reload()
        except NotFound:
            return False
        return bool(self._container.status in ("created", "running"))

    def _read_control(self) -> None:
        assert self._control is not None
        if self._asking is None and self._guardian_is_silent():
            asyncio.get_running_loop().remove_reader(self._control)
            self._asking = asyncio.get_running_loop().create_task(self._ask_for_cause())
        else:
            super()._read_control()

    def _exit(self, report: dict[str, Any]) -> Exit:
        told = super()._exit(report)
        return Exit(over="memory") if told.lost and self._guardian_oom_killed else told

    async def _dispose(self) -> None:
        if self._asking is not None:
            await asyncio.wait({self._asking})
        await _in_thread(self._remove)

    def _remove(self) -> None:
        if self._client is None:
            return
        from docker.errors import APIError, NotFound

        try:
            deadline = time.monotonic() + _REMOVED_SECONDS
            while self._container is not None and time.monotonic() < deadline:
                # Removing what removes itself already is refused (409), until it is not found any more.
                try:
                    self._container.remove(force=True)
                except NotFound:
                    break
                except APIError:
                    time.sleep(0.02)
        finally:
            self._client.close()
            self._client = self._container = None

    def _guardian_is_silent(self) -> bool:
        """Whether it is gone without a report."""
        assert self._control is not None
        try:
            return not self._control.recv(1, socket.MSG_PEEK)
        except BlockingIOError:
            return False
        except ConnectionResetError:  # told once, where it left a word of ours unread; a report may be behind it
            return self._guardian_is_silent()
        except OSError:
            return True

    async def _ask_for_cause(self) -> None:
        self._guardian_oom_killed = await _in_thread(self._ran_out_of_memory)
        if self._control is not None:
            asyncio.get_running_loop().add_reader(self._control, self._read_control)

    def _ran_out_of_memory(self) -> bool:
        """Asked of Docker's events: the container removes itself, and its state goes with it."""
        from requests import RequestException

        if self._client is None or self._container is None:
            return False
        api, now = self._client.api, int(time.time())
        wanted: dict[str, str | int] = {
            "filters": json.dumps({"container": [self._container.id], "event": ["oom"]}),
            "since": now - _RECENT_SECONDS,
            "until": now + 1,  # it may be told a moment after the end
        }
        try:
            # Not by `api.events`, which would wait for ever for a daemon that hangs.
            said = api.get(f"{api.base_url}/v{api.api_version}/events", params=wanted, timeout=_EVENTS_SECONDS)
        except RequestException:
            return False
        return said.ok and bool(said.content.strip())

    def _start_error(self) -> str:
        return ""

    def _process_limit(self) -> int:
        return 1 << 20  # the container's own limit counts this kernel alone, the one by user counts all containers


def _knock() -> None:
    """Whether a daemon of this machine answers: kernels are handed open sockets, which go to no other machine."""
    address = os.environ.get("DOCKER_HOST") or "unix:///var/run/docker.sock"
    if not address.startswith("unix://"):
        raise KernelUnavailable(
            f"the Docker daemon at {address} is not reached over a unix socket",
            hint="unset DOCKER_HOST, and run a daemon on this machine",
            code="remote_daemon",
        )
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as door:
        try:
            door.connect(address.removeprefix("unix://"))
        except OSError as error:
            raise _no_daemon(error) from None


def _no_daemon(error: Exception) -> KernelUnavailable:
    said = str(error)
    hint = "apt-get install docker.io, then: systemctl start docker"
    if "Permission denied" in said or "PermissionError" in said:
        hint = "usermod -aG docker $USER, then log in again"
    return KernelUnavailable("no Docker daemon answers", hint=hint, code="no_daemon")


async def _in_thread(work: Callable[[], _T]) -> _T:
    """Runs blocking work in a thread and waits for its end even when cancelled: a container that is just being made
    would otherwise be made behind our back."""
    task = asyncio.ensure_future(asyncio.to_thread(work))
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        await asyncio.wait({task})
        raise
