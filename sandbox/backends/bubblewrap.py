"""Kernels in bubblewrap: own namespaces, a read-only system, nothing of the host that could be written."""

import os
import random
import shutil
import socket
import tempfile
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import BinaryIO

from toolablate.sandbox.cgroups import Cgroup
from toolablate.sandbox.host_resources import HostResources
from toolablate.sandbox.kernel import KernelUnavailable, Limits
from toolablate.sandbox.process import ENVIRONMENT, INSIDE, Child, KernelProcess
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
_INSIDE = "/run/toolablate"
_SHARED_MEMORY_MB = 64
USER_ID = 1000

# Between the ids of containers and the signed limit lies a range that nobody hands out (systemd, "Users, Groups, UIDs
# and GIDs"). A fresh id for each kernel makes the limit on processes, which counts by user, count this kernel alone.
FIRST_FREE_UID, FREE_UIDS = 0x7000_0000, 0x0FFF_0000


class Bubblewrap:
    """One bubblewrap per kernel."""

    def __init__(self, limits: Limits, python: Python) -> None:
        self._limits = limits
        self._premises = HostResources()
        self._python = python

    def new_process(self) -> KernelProcess:
        return BubblewrapProcess(self._limits, self._premises, self._python)

    async def close(self) -> None:
        await self._premises.close()


class BubblewrapProcess(KernelProcess):
    def __init__(self, limits: Limits, premises: HostResources, python: Python) -> None:
        super().__init__(limits, premises)
        self._python = python
        self._child: Child | None = None
        self._user = fresh_user() if os.geteuid() == 0 else None

    async def _launch(self) -> socket.socket:
        user = str(USER_ID)
        if self._user is None:
            options = ["--disable-userns", "--uid", user, "--gid", user, *capabilities(())]
        else:
            options = capabilities(("CAP_SETUID", "CAP_SETGID", "CAP_SETPCAP"))
        self._child = start_in_bubblewrap(
            self._python,
            "inside.start",
            users=[self._user or USER_ID],
            tmp_bytes=self.limits.disk_mb * _MB,
            options=[*options, *_proc()],
        )
        return self._child.control

    async def _dispose(self) -> None:
        if self._child is not None:
            await self._child.end()

    def _start_error(self) -> str:
        return self._child.error() if self._child else ""

    def remedy(self, said: str) -> str:
        return remedy(said)

    def _new_cgroup(self) -> Cgroup | None:
        return self.premises.new_cgroup(self.limits)

    def _uid(self) -> int | None:
        return self._user

    def _process_limit(self) -> int:
        return super()._process_limit() + (_own_tasks() if self._user is None and not _counts_by_namespace() else 0)


def _proc() -> list[str]:
    """Covers settings, which bubblewrap leaves writable where we are not root; pressure, where anybody may write and
    have the machine's kernel watch; and the locks of the whole machine."""
    options = ["--ro-bind", "/proc/sys", "/proc/sys"]
    if Path("/proc/pressure").exists():
        options += ["--tmpfs", "/proc/pressure", "--remount-ro", "/proc/pressure"]
    if Path("/proc/locks").exists():
        options += ["--ro-bind", "/dev/null", "/proc/locks"]
    return options


def fresh_user() -> int:
    return FIRST_FREE_UID + random.SystemRandom().randrange(FREE_UIDS)


def start_in_bubblewrap(
    python: Python, module: str, *, users: Sequence[int], tmp_bytes: int, options: Sequence[str]
) -> Child:
    """Starts a module of ours in namespaces of its own, with a read-only system, and with `fd:N` for its control
    socket as argument. Without root it runs in a user namespace. Raises `KernelUnavailable`, OSError."""
    bwrap = shutil.which("bwrap")
    if bwrap is None:
        raise KernelUnavailable("bubblewrap (bwrap) is not installed", hint=REMEDY_INSTALL, code="not_installed")
    home = ENVIRONMENT["HOME"]
    passwd = "".join(f"kernel:x:{user}:{user}::{home}:/bin/sh\n" for user in users)
    group = "".join(f"kernel:x:{user}:\n" for user in users)
    with (
        _data_file("root:x:0:0::/:/bin/false\n" + passwd) as passwd_file,
        _data_file("root:x:0:\n" + group) as group_file,
    ):
        command = [
            str(Path(bwrap).absolute()),  # PATH may name folders below ours, and it starts in another
            *_namespaces(),
            *_mounts(passwd_file.fileno(), group_file.fileno(), tmp_bytes, python),
            *options,
            *_environment(python),
            *("--", python.executable, "-P", "-m", module),
        ]
        return Child(
            lambda control: [*command, f"fd:{control}"],
            descriptors=(passwd_file.fileno(), group_file.fileno()),
            env={"PATH": "/usr/bin:/bin"},
        )


def capabilities(names: Sequence[str]) -> list[str]:
    """Options that leave these capabilities and no others."""
    return ["--cap-drop", "ALL", *(part for name in names for part in ("--cap-add", name))]


def _namespaces() -> list[str]:
    options = ["--unshare-ipc", "--unshare-pid", "--unshare-net", "--unshare-uts", "--unshare-cgroup-try"]
    options += ["--hostname", "sandbox", "--die-with-parent", "--new-session", "--as-pid-1"]
    if os.geteuid() != 0:
        # With root there is none: so a kernel can become a user of the host that owns nothing, and root is gone.
        options += ["--unshare-user"]
    return options


def _mounts(passwd: int, group: int, tmp_bytes: int, python: Python) -> list[str]:
    return [
        *_system_mounts(),
        *("--perms", "0644", "--ro-bind-data", str(passwd), "/etc/passwd"),
        *("--perms", "0644", "--ro-bind-data", str(group), "/etc/group"),
        *("--proc", "/proc", "--dev", "/dev"),
        *("--perms", "1777", "--size", str(_SHARED_MEMORY_MB * _MB), "--tmpfs", "/dev/shm"),  # noqa: S108
        *("--remount-ro", "/dev"),
        *("--perms", "1777", "--size", str(tmp_bytes), "--tmpfs", "/tmp"),  # noqa: S108
        *(option for folder in python.folders for option in _shown(folder, folder)),
        *(option for file in python.secrets for option in ("--ro-bind", "/dev/null", file)),
        *([*_parents(python.link), "--symlink", os.path.realpath(python.link), python.link] if python.link else []),
        *_shown(str(INSIDE), f"{_INSIDE}/{INSIDE.name}"),
        *("--remount-ro", "/", "--chdir", "/tmp"),  # noqa: S108
    ]


def _environment(python: Python) -> list[str]:
    path = f"{Path(python.executable).parent}:/usr/bin:/bin"
    variables = {**ENVIRONMENT, "PATH": path, "PYTHONPATH": _INSIDE}
    return ["--clearenv", *(part for name, value in variables.items() for part in ("--setenv", name, value))]


def remedy(said: str) -> str:
    """The command that mends what bubblewrap said."""
    for setting in ("kernel/unprivileged_userns_clone=1", "kernel/apparmor_restrict_unprivileged_userns=0"):
        name, wanted = setting.split("=")
        path = Path("/proc/sys") / name
        if os.geteuid() != 0 and path.exists() and path.read_text(encoding="ascii").strip() != wanted:
            return f"sysctl -w {name.replace('/', '.')}={wanted}"
    if "unprivileged_userns_clone" in said:
        return "sysctl -w kernel.unprivileged_userns_clone=1"
    if "uid map" in said:
        return "sysctl -w kernel.apparmor_restrict_unprivileged_userns=0 (where AppArmor restricts user namespaces)"
    if "execvp" in said:
        return (
            "/usr/bin/python3 -m venv .venv (kernels see /usr and the folders of their Python, and nothing else of it)"
        )
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
    return [*_parents(target), "--ro-bind", source, target]


def _parents(path: str) -> list[str]:
    """The folders above, which anybody may pass: bubblewrap makes them for their owner alone."""
    parents = [str(parent) for parent in reversed(Path(path).parents[:-1])]
    return [option for parent in parents for option in ("--perms", "0755", "--dir", parent)]


def _data_file(content: str) -> BinaryIO:
    file = tempfile.TemporaryFile()  # noqa: SIM115 - the caller closes it
    file.write(content.encode())
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
