"""What Linux offers and Python does not: prctl, filters of system calls, namespaces, mounts."""

import contextlib
import ctypes
import errno
import fcntl
import os
import socket
import struct

PR_SET_PDEATHSIG, PR_SET_DUMPABLE, PR_CAPBSET_DROP, PR_SET_CHILD_SUBREAPER, PR_SET_NO_NEW_PRIVS = 1, 4, 24, 36, 38
_PR_SET_SECCOMP, _SECCOMP_MODE_FILTER = 22, 2
_LAST_CAPABILITY = 63
_TURN_NANOSECONDS = 100_000
_CAPABILITY_VERSION_3 = 0x2008_0522

NEW_MOUNTS, NEW_CGROUP, NEW_HOSTNAME, NEW_IPC = 0x0002_0000, 0x0200_0000, 0x0400_0000, 0x0800_0000
NEW_USER, NEW_PIDS, NEW_NETWORK = 0x1000_0000, 0x2000_0000, 0x4000_0000

READ_ONLY, NO_SETUID, NO_DEVICES, NO_PROGRAMS = 1, 2, 4, 8
REMOUNT, BIND, RECURSIVE, PRIVATE = 32, 4096, 16_384, 1 << 18

_SIOCSIFFLAGS, _IFF_UP, _IFF_RUNNING = 0x8914, 0x1, 0x40

_libc = ctypes.CDLL(None, use_errno=True)
_M_ARENA_MAX = -8


def prctl(option: int, value: int) -> None:
    """Sets what may fail without harm (a capability that this kernel does not know)."""
    _libc.prctl(option, value, 0, 0, 0)


def share_one_heap() -> None:
    """Threads allocate from one heap. Glibc reserves 64 MB of address space for each thread's own, as many as happened
    to allocate at one moment; a program that has reached its limit would fill those as well."""
    with contextlib.suppress(AttributeError):  # another C library
        _libc.mallopt(_M_ARENA_MAX, 1)


def become(uid: int | None) -> None:
    """Gives up every privilege for good, and root where we are root: `uid` is None where we never were on the host."""
    for capability in range(_LAST_CAPABILITY + 1):
        prctl(PR_CAPBSET_DROP, capability)
    if uid is not None:
        os.setgroups([])
        os.setresgid(uid, uid, uid)
        os.setresuid(uid, uid, uid)
    header = struct.pack("Ii", _CAPABILITY_VERSION_3, 0)
    _check(_libc.capset(header, bytes(24)), "giving up capabilities")
    prctl(PR_SET_NO_NEW_PRIVS, 1)


def ask_for_short_turns() -> None:
    """Of the processor: who wants less of it at a time gets it sooner (Linux 6.12, sched_setattr(2)). Before, and on
    machines whose number is not known here, nothing changes."""
    number = {"x86_64": 314, "aarch64": 274}.get(os.uname().machine)
    if number is not None:
        size, policy, flags, nice, priority = 48, 0, 0, 0, 0
        attributes = struct.pack("IIQiIQQQ", size, policy, flags, nice, priority, _TURN_NANOSECONDS, 0, 0)
        _libc.syscall(number, 0, attributes, 0)


def filter_system_calls(program: bytes) -> None:
    """Installs a classic BPF program (an array of `struct sock_filter`) for good; raises OSError."""

    class FilterProgram(ctypes.Structure):  # struct sock_fprog
        _fields_ = (("length", ctypes.c_ushort), ("instructions", ctypes.c_char_p))

    given = FilterProgram(len(program) // 8, program)
    _check(_libc.prctl(_PR_SET_SECCOMP, _SECCOMP_MODE_FILTER, ctypes.byref(given), 0, 0), "the filter of system calls")


def unshare(namespaces: int) -> None:
    _check(_libc.unshare(namespaces), "new namespaces")


def enter(namespace: int, kind: int) -> None:
    """Enters the namespace that the descriptor stands for."""
    _check(_libc.setns(namespace, kind), "entering a namespace")


def mount(source: str, target: str, kind: str, flags: int, options: str = "") -> None:
    """mount(2); raises OSError that names the target."""
    arguments = [part.encode() or None for part in (source, target, kind)]
    _check(_libc.mount(*arguments, ctypes.c_ulong(flags), options.encode() or None), f"mounting {target}")


def bring_up_loopback() -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as handle:
        fcntl.ioctl(handle, _SIOCSIFFLAGS, struct.pack("16sh14x", b"lo", _IFF_UP | _IFF_RUNNING))


def _check(result: int, what: str) -> None:
    if result:
        number = ctypes.get_errno()
        raise OSError(number, f"{what}: {os.strerror(number)} ({errno.errorcode.get(number, number)})")
