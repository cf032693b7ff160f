"""The filter of system calls that a kernel, and all that it starts, runs under.

Classic BPF over `struct seccomp_data` (Linux, Documentation/userspace-api/seccomp_filter.rst). What `system_calls` does
not list fails with ENOSYS, as on a machine that is too old for it, and so do foreign entry points (32 bit, x32); of
some that are listed the arguments are looked at as well.
"""

import errno
import platform
import struct
from collections.abc import Mapping

from toolablate.sandbox.system_calls import MACHINES, numbers

_LOAD, _AND, _JUMP_IF_EQUAL, _JUMP_IF_SET, _RETURN = 0x20, 0x54, 0x15, 0x45, 0x06
_NUMBER, _ARCHITECTURE, _ARGUMENTS = 0, 4, 16
_ALLOW, _FAIL = 0x7FFF_0000, 0x0005_0000
_AUDIT = {"x86_64": 0xC000_003E, "aarch64": 0xC000_00B7}

_CLONE_NEW_NAMESPACE = 0x7E02_0080
"""CLONE_NEWTIME, NEWNS, NEWCGROUP, NEWUTS, NEWIPC, NEWUSER, NEWPID and NEWNET."""

_UNIX, _INET, _INET6, _NETLINK = 1, 2, 10, 16
_TYPE_MASK, _STREAM, _DATAGRAM = 0xF, 1, 2
_ANY, _TCP, _UDP, _ROUTE = 0, 6, 17, 0

_BUFFER_SIZES = (7, 8, 32, 33)
"""SO_SNDBUF, SO_RCVBUF and their FORCE: what lies in sockets is charged to no process."""

_SOCKET_PROGRAMS = (26, 50, 51, 52, 60)
"""SO_ATTACH_FILTER, _BPF, _REUSEPORT_CBPF, _EBPF; and SO_ZEROCOPY, which keeps pages that were given back."""

_TCP_ULP = 31
_TERMINAL_INPUT = (0x5412, 0x541C, 0x5423)
"""TIOCSTI, TIOCLINUX, TIOCSETD."""

_COMMANDS = (*range(12), 15, 16, 1025, 1027, 1030, 1032, 1033, 1034)
"""Of fcntl. Left out are F_SETLEASE and F_NOTIFY, which act on those who write the file, on the host too; F_SETPIPE_SZ,
memory without an owner; and what is kept with a file that all sandboxes share: locks of an open file (F_OFD_SETLK) and
hints on its life (F_SET_RW_HINT), which another kernel can read."""

_PAGE_CACHE = (20, 21)
"""MADV_COLD and MADV_PAGEOUT: pages of files belong to everybody."""

_NO_WAIT = 8
"""RWF_NOWAIT tells what others have read."""

_HUGE_PAGES = 0x4_0000
_SHARED_ANONYMOUS = 0x21
"""MAP_ANONYMOUS, and the bit that MAP_SHARED and MAP_SHARED_VALIDATE have in common."""

_WRITING = 0o1 | 0o2 | 0o100 | 0o1000 | 0o2000
"""O_WRONLY, O_RDWR, O_CREAT, O_TRUNC, O_APPEND."""

_COMPUTING = """
read readv pread64 write close lseek fstat stat lstat newfstatat statx open openat access faccessat faccessat2 getcwd
readlink readlinkat getdents getdents64 brk mmap munmap mremap mprotect madvise membarrier exit exit_group getpid gettid
futex sched_yield sched_getaffinity getcpu rt_sigprocmask rt_sigreturn restart_syscall time gettimeofday clock_gettime
clock_getres uname sysinfo getrandom getrusage times
"""

_GUARDIAN = 1
_ON_A_PROCESS = ("prlimit64", "sched_setaffinity", "sched_setscheduler", "sched_setparam", "sched_setattr")
"""Their first argument is a process. The guardian has the user of those it guards, who could else take its CPU time,
files or turn from it."""


def syscall_filter(machine: str = "", *, shared_anonymous: bool = True) -> bytes | None:
    """The filter for this machine, an array of `struct sock_filter`; None for one whose numbers are not known.

    Without `shared_anonymous`, mapping memory that is shared and of no file fails with ENOMEM: once given back by
    madvise it still exists, and shows in no process, which only a cgroup can count. The same by way of /dev/zero
    remains, since no filter can tell which file is mapped.
    """
    machine = machine or platform.machine()
    if machine not in MACHINES:
        return None
    conditions_by_name = _conditions()
    if not shared_anonymous:
        conditions_by_name["mmap"] += _unless_all_set(3, _SHARED_ANONYMOUS, errno.ENOMEM)
    return _program(machine, numbers(machine), conditions_by_name)


def computing_filter(machine: str = "") -> bytes | None:
    """The filter for a process that reckons and reads files, and does nothing else: no sockets, no other processes, no
    signals, and no file opened for writing. None for a machine whose numbers are not known."""
    machine = machine or platform.machine()
    if machine not in MACHINES:
        return None
    calls = {name: number for name, number in numbers(machine).items() if name in _COMPUTING.split()}
    opened = {"open": _unless_set(1, _WRITING, errno.EPERM), "openat": _unless_set(2, _WRITING, errno.EPERM)}
    return _program(machine, calls, {name: conditions for name, conditions in opened.items() if name in calls})


def _program(machine: str, calls: dict[str, int], conditions_by_name: Mapping[str, list[bytes]]) -> bytes:
    program = [
        _instruction(_LOAD, _ARCHITECTURE),
        _instruction(_JUMP_IF_EQUAL, _AUDIT[machine], yes=1),
        _fail(errno.ENOSYS),
        _instruction(_LOAD, _NUMBER),
    ]
    for name, conditions in conditions_by_name.items():
        body = [*conditions, _allow()]
        program += [_instruction(_JUMP_IF_EQUAL, calls.pop(name), no=len(body)), *body]
    for number in sorted(calls.values()):
        program += [_instruction(_JUMP_IF_EQUAL, number, no=1), _allow()]
    # So does clone3, whose flags lie in memory where no filter can look: the C library then falls back on clone.
    return b"".join([*program, _fail(errno.ENOSYS)])


def _conditions() -> dict[str, list[bytes]]:
    """By the name of the call: what ends it early. What comes through is allowed."""
    return {
        "clone": _unless_set(0, _CLONE_NEW_NAMESPACE, errno.EPERM),
        "socket": _known_sockets(),
        "socketpair": _only(0, (_UNIX,), errno.EAFNOSUPPORT),
        "setsockopt": [
            *_where(1, 1, _never(2, (*_BUFFER_SIZES, *_SOCKET_PROGRAMS), errno.EPERM)),
            *_where(1, _TCP, _never(2, (_TCP_ULP,), errno.EPERM)),
        ],
        "ioctl": _never(1, _TERMINAL_INPUT, errno.EPERM),
        "fcntl": _only(1, _COMMANDS, errno.EINVAL),
        "madvise": _never(2, _PAGE_CACHE, errno.EINVAL),
        "preadv2": _unless_set(5, _NO_WAIT, errno.EOPNOTSUPP),
        # Advice is taken and not followed: it would empty, and fill, the page cache of the whole machine.
        **{name: [_fail(0)] for name in ("fadvise64", "readahead")},
        "mmap": _unless_set(3, _HUGE_PAGES, errno.ENOMEM),
        # Of a process (0), not of a group or of a user, to which the guardian belongs.
        "setpriority": [*_only(0, (0,), errno.EPERM), *_never(1, (_GUARDIAN,), errno.EPERM)],
        **{name: _never(0, (_GUARDIAN,), errno.EPERM) for name in _ON_A_PROCESS},
    }


def _known_sockets() -> list[bytes]:
    """Of families that a network namespace holds back, and no protocols whose modules the machine would load for us."""
    internet = [
        *_only(1, (_STREAM, _DATAGRAM), errno.EPERM, mask=_TYPE_MASK),
        *_only(2, (_ANY, _TCP, _UDP), errno.EPROTONOSUPPORT),
    ]
    return [
        *_only(0, (_UNIX, _INET, _INET6, _NETLINK), errno.EAFNOSUPPORT),
        *_where(0, _INET, internet),
        *_where(0, _INET6, internet),
        *_where(0, _NETLINK, _only(2, (_ROUTE,), errno.EPROTONOSUPPORT)),
    ]


def _only(argument: int, values: tuple[int, ...], error: int, *, mask: int = 0) -> list[bytes]:
    past = [_instruction(_JUMP_IF_EQUAL, value, yes=len(values) - place) for place, value in enumerate(values)]
    return [*_load(argument), *([_instruction(_AND, mask)] if mask else []), *past, _fail(error)]


def _never(argument: int, values: tuple[int, ...], error: int) -> list[bytes]:
    refused = [part for value in values for part in (_instruction(_JUMP_IF_EQUAL, value, no=1), _fail(error))]
    return [*_load(argument), *refused]


def _unless_set(argument: int, bits: int, error: int) -> list[bytes]:
    return [*_load(argument), _instruction(_JUMP_IF_SET, bits, no=1), _fail(error)]


def _unless_all_set(argument: int, bits: int, error: int) -> list[bytes]:
    return [*_load(argument), _instruction(_AND, bits), _instruction(_JUMP_IF_EQUAL, bits, no=1), _fail(error)]


def _where(argument: int, value: int, conditions: list[bytes]) -> list[bytes]:
    return [*_load(argument), _instruction(_JUMP_IF_EQUAL, value, no=len(conditions)), *conditions]


def _load(argument: int) -> list[bytes]:
    """The low half, on little-endian machines; the arguments looked at have no other, or it is not looked at."""
    return [_instruction(_LOAD, _ARGUMENTS + 8 * argument)]


def _allow() -> bytes:
    return _instruction(_RETURN, _ALLOW)


def _fail(number: int) -> bytes:
    return _instruction(_RETURN, _FAIL | number)


def _instruction(code: int, operand: int, *, yes: int = 0, no: int = 0) -> bytes:
    return struct.pack("<HBBI", code, yes, no, operand)
