"""Kernels in bubblewrap: own namespaces, a read-only system, nothing of the host that could be written."""

import os
import random
import shutil
import socket
import tempfile
from collections.abc import Sequence
from contextlib import ExitStack
from functools import cache
from pathlib import Path
from typing import BinaryIO

from toolablate.sandbox.child import Child
from toolablate.sandbox.kernel import KernelUnavailable, Limits
from toolablate.sandbox.process import ENVIRONMENT, LAUNCHER, KernelProcess
from toolablate.sandbox.python import Python

_MB = 1_000_000
_SYSTEM = ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32")
_ETC = (
    "/etc/ld.so.cache",
    "/etc/ld.so.conf",
    "/etc/ld.so.conf.d",
    "/etc/alternatives",
    "/etc/fonts",
    "/etc/mime.types",
)
REMEDY_INSTALL = "apt-get install bubblewrap"
_LAUNCHER = "/run/toolablate/launcher.py"
_SHARED_MEMORY_MB = 64
_USER_ID = 1000

# Between the ids of containers and the signed limit lies a range that nobody hands out (systemd, "Users, Groups, UIDs
# and GIDs"). A fresh id for each kernel makes the limit on processes, which counts by user, count this kernel alone.
_FIRST_FREE_UID, _FREE_UIDS = 0x7000_0000, 0x0FFF_0000


class BubblewrapProcess(KernelProcess):
    def __init__(self, limits: Limits, python: Python) -> None:
        super().__init__(limits)
        self._python = python
        self._child: Child | None = None
        self._user = _FIRST_FREE_UID + random.SystemRandom().randrange(_FREE_UIDS) if os.geteuid() == 0 else None

    async def _launch(self) -> socket.socket:
        bwrap = shutil.which("bwrap")
        if bwrap is None:
            raise KernelUnavailable("bubblewrap (bwrap) is not installed", hint=REMEDY_INSTALL, code="not_installed")
        with ExitStack() as files:
            passwd, group = (
                files.enter_context(_data_file(content.encode())).fileno()
                for content in (self._passwd(), self._group())
            )
            options = self._options(passwd, group)
            start = [self._python.executable, "-P", _LAUNCHER]
            self._child = Child(
                lambda control: [bwrap, *options, "--", *start, f"fd:{control}"],
                descriptors=(passwd, group),
                env={"PATH": "/usr/bin:/bin"},
            )
        return self._child.control

    async def _dispose(self) -> None:
        if self._child is not None:
            await self._child.end()

    def _start_error(self) -> str:
        return self._child.error() if self._child else ""

    def remedy(self, said: str) -> str:
        return _remedy(said)

    def _uid(self) -> int | None:
        return self._user

    def _process_limit(self) -> int:
        return super()._process_limit() + (_own_tasks() if self._user is None and not _counts_by_namespace() else 0)

    def _passwd(self) -> str:
        user = self._user or _USER_ID
        return f"root:x:0:0::/:/bin/false\nkernel:x:{user}:{user}::{self.work}:/bin/sh\n"

    def _group(self) -> str:
        return f"root:x:0:\nkernel:x:{self._user or _USER_ID}:\n"

    def _options(self, passwd: int, group: int) -> list[str]:
        return [
            *self._namespaces(),
            *_system_mounts(),
            *("--perms", "0644", "--ro-bind-data", str(passwd), "/etc/passwd"),
            *("--perms", "0644", "--ro-bind-data", str(group), "/etc/group"),
            *("--proc", "/proc", "--dev", "/dev"),
            *("--perms", "1777", "--size", str(_SHARED_MEMORY_MB * _MB), "--tmpfs", "/dev/shm"),  # noqa: S108
            *("--remount-ro", "/dev"),
            *("--perms", "1777", "--size", str(self.limits.disk_mb * _MB), "--tmpfs", "/tmp"),  # noqa: S108
            *(option for folder in self._python.folders for option in _shown(folder, folder)),
            *_shown(str(LAUNCHER), _LAUNCHER),
            *("--remount-ro", "/", "--chdir", "/tmp"),  # noqa: S108
            *self._environment(),
        ]

    def _namespaces(self) -> Sequence[str]:
        both = ["--unshare-ipc", "--unshare-pid", "--unshare-net", "--unshare-uts", "--unshare-cgroup-try"]
        both += ["--hostname", "sandbox", "--die-with-parent", "--new-session", "--as-pid-1"]
        if self._user is None:
            user = str(_USER_ID)
            return [*both, "--unshare-user", "--disable-userns", "--uid", user, "--gid", user, "--cap-drop", "ALL"]
        # Without a user namespace, the launcher can become a user of the host that owns nothing, and then root is gone.
        capabilities = ("CAP_SETUID", "CAP_SETGID", "CAP_SETPCAP")
        return [*both, "--cap-drop", "ALL", *(part for name in capabilities for part in ("--cap-add", name))]

    def _environment(self) -> list[str]:
        path = f"{Path(self._python.executable).parent}:/usr/bin:/bin"
        variables = {**ENVIRONMENT, "PATH": path}
        return ["--clearenv", *(part for name, value in variables.items() for part in ("--setenv", name, value))]


def _remedy(said: str) -> str:
    """The command that mends what bubblewrap said."""
    for setting in ("kernel/unprivileged_userns_clone=1", "kernel/apparmor_restrict_unprivileged_userns=0"):
        name, wanted = setting.split("=")
        path = Path("/proc/sys") / name
        if os.geteuid() != 0 and path.exists() and path.read_text(encoding="ascii").strip() != wanted:
            return f"sysctl -w {name.replace('/', '.')}={wanted}"
    if "Unknown option" in said:
        return f"bubblewrap >= 0.8 is needed: {REMEDY_INSTALL}"
    if "namespace" in said or "Operation not permitted" in said:
        return "sysctl -w user.max_user_namespaces=10000 (inside a container: allow it user namespaces, or use docker)"
    return ""


@cache
def _system_mounts() -> tuple[str, ...]:
    options: list[str] = []
    for folder in _SYSTEM:
        path = Path(folder)
        if path.is_symlink():
            options += ["--symlink", str(path.readlink()), folder]
        elif path.is_dir():
            options += ["--ro-bind", folder, folder]
    options += ["--perms", "0755", "--dir", "/etc"]
    for name in _ETC:
        options += ["--ro-bind-try", name, name]
    return tuple(options)


def _shown(source: str, target: str) -> list[str]:
    """A read-only bind mount whose parents anybody may pass: bubblewrap makes them for their owner alone."""
    parents = [str(parent) for parent in reversed(Path(target).parents[:-1])]
    made = [option for parent in parents for option in ("--perms", "0755", "--dir", parent)]
    return [*made, "--ro-bind", source, target]


def _data_file(content: bytes) -> BinaryIO:
    file = tempfile.TemporaryFile()  # noqa: SIM115 - the caller closes it
    file.write(content)
    file.flush()
    file.seek(0)
    return file


@cache
def _counts_by_namespace() -> bool:
    """Since Linux 5.14 the limit on processes counts within the user namespace, before that all of the user's."""
    major, minor = os.uname().release.split(".")[:2]
    return (int(major), int("".join(c for c in minor if c.isdigit()))) >= (5, 14)


def _own_tasks() -> int:
    tasks = 0
    for process in Path("/proc").glob("[0-9]*"):
        try:
            if process.stat().st_uid == os.getuid():
                tasks += sum(1 for _ in (process / "task").iterdir())
        except OSError:
            continue
    return tasks
