"""What a forked kernel gets for its own: namespaces, and mounts in them."""

import os
from pathlib import Path

from . import system
from .system import BIND, NO_DEVICES, NO_PROGRAMS, NO_SETUID, READ_ONLY, RECURSIVE, REMOUNT

NAMESPACES = {
    "pid": system.NEW_PIDS,
    "mnt": system.NEW_MOUNTS,
    "net": system.NEW_NETWORK,
    "ipc": system.NEW_IPC,
    "uts": system.NEW_HOSTNAME,
    "cgroup": system.NEW_CGROUP,
}
_USER_ID = 1000
_SHARED_MEMORY_BYTES = 64_000_000
_READ_ONLY_IN_PROC = ("/proc/sys", "/proc/sysrq-trigger", "/proc/irq", "/proc/bus", "/proc/fs", "/proc/1")
"""Process 1 among them: its files belong to the root of the user namespace in which the nursery began, since it is not
dumpable. Where we are no root of the machine, that is the user of the kernel, who could write to them."""

_EMPTY_IN_PROC = ("/proc/pressure", "/proc/1/fd", "/proc/1/fdinfo", "/proc/1/task")
"""Pressure: anybody may write there, and have the machine's kernel watch."""

_HIDDEN_IN_PROC = ("/proc/kcore", "/proc/keys", "/proc/timer_list", "/proc/kmsg", "/proc/locks")


def isolate(limits: dict[str, int], shown: list[str]) -> None:
    """Called by process 1 of a new pid namespace, with the power to mount and to configure a network; afterwards there
    is nothing left that another kernel could see or write. `shown` are folders below its own that it shall see."""
    system.unshare(system.NEW_MOUNTS | system.NEW_NETWORK | system.NEW_IPC | system.NEW_HOSTNAME | system.NEW_CGROUP)
    system.mount("", "/", "", system.PRIVATE | RECURSIVE)
    kept = {path: os.open(path, os.O_PATH) for path in shown}
    _own_folder("/tmp", limits["file"], limits["files"])  # noqa: S108 - the sandbox's own
    _own_folder("/dev/shm", _SHARED_MEMORY_BYTES, limits["files"])  # noqa: S108
    for path, folder in kept.items():
        Path(path).mkdir(parents=True, exist_ok=True)
        system.mount(f"/proc/self/fd/{folder}", path, "", BIND | RECURSIVE)
        os.close(folder)
    _own_processes()
    system.mount("devpts", "/dev/pts", "devpts", NO_SETUID | NO_PROGRAMS, "newinstance,ptmxmode=0666,mode=620,max=64")
    system.bring_up_loopback()
    os.chdir("/tmp")  # noqa: S108


def open_namespaces() -> list[int]:
    """Descriptors of our own, in the order of `NAMESPACES`."""
    return [os.open(f"/proc/self/ns/{name}", os.O_RDONLY) for name in NAMESPACES]


def enter_namespaces(opened: list[int]) -> None:
    """All but that of the processes, which only a fork enters."""
    for descriptor, kind in list(zip(opened, NAMESPACES.values(), strict=True))[1:]:
        system.enter(descriptor, kind)
    for descriptor in opened:
        os.close(descriptor)


def _own_folder(path: str, size: int, files: int) -> None:
    system.mount("tmpfs", path, "tmpfs", NO_SETUID | NO_DEVICES, f"size={size},nr_inodes={files},mode=1777")


def _own_processes() -> None:
    system.mount("proc", "/proc", "proc", NO_SETUID | NO_DEVICES | NO_PROGRAMS)
    for path in _READ_ONLY_IN_PROC:
        if Path(path).exists():
            system.mount(path, path, "", BIND)
            system.mount("", path, "", BIND | REMOUNT | READ_ONLY | NO_SETUID | NO_DEVICES | NO_PROGRAMS)
    for path in _HIDDEN_IN_PROC:
        if os.access(path, os.R_OK):
            system.mount("/dev/null", path, "", BIND)
    for path in _EMPTY_IN_PROC:
        if Path(path).exists():
            system.mount("tmpfs", path, "tmpfs", READ_ONLY | NO_SETUID | NO_DEVICES | NO_PROGRAMS)


def own_user() -> None:
    """A user namespace that owns none of the other namespaces: what it grants, it grants over nothing."""
    user, group = os.getuid(), os.getgid()
    system.unshare(system.NEW_USER)
    for name, content in (
        ("setgroups", "deny"),
        ("uid_map", f"{_USER_ID} {user} 1"),
        ("gid_map", f"{_USER_ID} {group} 1"),
    ):
        Path("/proc/self", name).write_text(content, encoding="ascii")
