"""The filter of system calls that a kernel, and all that it starts, runs under."""

import errno
import platform
import struct
from collections.abc import Mapping

_TABLE = """
# files by descriptor
read 0 63, write 1 64, readv 19 65, writev 20 66, pread64 17 67, pwrite64 18 68, preadv 295 69, pwritev 296 70,
pwritev2 328 287, close 3 57, close_range 436 436, lseek 8 62, dup 32 23, dup2 33 -,
dup3 292 24, ioctl 16 29, fsync 74 82, fdatasync 75 83, sync_file_range 277 84, ftruncate 77 46,
fallocate 285 47, copy_file_range 326 285, sendfile 40 71, fstat 5 80,
fstatfs 138 44, fchmod 91 52, fchown 93 55, fchdir 81 50, getdents 78 -, getdents64 217 61,
# files by name
open 2 -, openat 257 56, openat2 437 437, creat 85 -, stat 4 -, lstat 6 -, newfstatat 262 79, statx 332 291,
statfs 137 43, access 21 -, faccessat 269 48, faccessat2 439 439, getcwd 79 17, chdir 80 49, mkdir 83 -,
mkdirat 258 34, rmdir 84 -, rename 82 -, renameat 264 38, renameat2 316 276, link 86 -, linkat 265 37,
unlink 87 -, unlinkat 263 35, symlink 88 -, symlinkat 266 36, readlink 89 -, readlinkat 267 78, mknod 133 -,
mknodat 259 33, chmod 90 -, fchmodat 268 53, fchmodat2 452 452, chown 92 -, lchown 94 -, fchownat 260 54,
truncate 76 45, utime 132 -, utimes 235 -, utimensat 280 88, futimesat 261 -, umask 95 166, getxattr 191 8,
lgetxattr 192 9, fgetxattr 193 10, listxattr 194 11, llistxattr 195 12, flistxattr 196 13, setxattr 188 5,
lsetxattr 189 6, fsetxattr 190 7, removexattr 197 14, lremovexattr 198 15, fremovexattr 199 16,
# waiting
poll 7 -, ppoll 271 73, select 23 -, pselect6 270 72, epoll_create 213 -, epoll_create1 291 20,
epoll_ctl 233 21, epoll_wait 232 -, epoll_pwait 281 22, epoll_pwait2 441 441, eventfd 284 -, eventfd2 290 19,
signalfd 282 -, signalfd4 289 74, timerfd_create 283 85, timerfd_settime 286 86, timerfd_gettime 287 87,
pipe 22 -, pipe2 293 59,
# sockets
bind 49 200, listen 50 201, accept 43 202, accept4 288 242, connect 42 203, shutdown 48 210,
getsockname 51 204, getpeername 52 205, getsockopt 55 209, sendto 44 206, sendmsg 46 211, sendmmsg 307 269,
recvfrom 45 207, recvmsg 47 212, recvmmsg 299 243,
# memory
brk 12 214, munmap 11 215, mremap 25 216, mprotect 10 226, msync 26 227, mlock 149 228,
mlock2 325 284, munlock 150 229, mlockall 151 230, munlockall 152 231, get_mempolicy 239 236,
membarrier 324 283, pkey_alloc 330 289, pkey_free 331 290, pkey_mprotect 329 288, mseal 462 462,
# processes
fork 57 -, vfork 58 -, execve 59 221, execveat 322 281, exit 60 93, exit_group 231 94, wait4 61 260,
waitid 247 95, getpid 39 172, getppid 110 173, gettid 186 178, getpgid 121 155, getpgrp 111 -, setpgid 109 154,
getsid 124 156, setsid 112 157, kill 62 129, tkill 200 130, tgkill 234 131, pidfd_open 434 434,
pidfd_send_signal 424 424, prctl 157 167, arch_prctl 158 -, set_tid_address 218 96, getrlimit 97 163,
setrlimit 160 164, getrusage 98 165, times 100 153, getpriority 140 141,
# users
getuid 102 174, geteuid 107 175, getgid 104 176, getegid 108 177, getresuid 118 148, getresgid 120 150,
getgroups 115 158, setuid 105 146, setgid 106 144, setreuid 113 145, setregid 114 143, setresuid 117 147,
setresgid 119 149, setgroups 116 159, setfsuid 122 151, setfsgid 123 152, capget 125 90, capset 126 91,
# threads
futex 202 98, futex_waitv 449 449, futex_wait 455 455, futex_wake 454 454, futex_requeue 456 456,
set_robust_list 273 99, get_robust_list 274 100, rseq 334 293, sched_yield 24 124, sched_getaffinity 204 123,
sched_getscheduler 145 120, sched_getparam 143 121, sched_getattr 315 275, sched_get_priority_max 146 125,
sched_get_priority_min 147 126, sched_rr_get_interval 148 127, getcpu 309 168,
# signals
rt_sigaction 13 134, rt_sigprocmask 14 135, rt_sigpending 127 136, rt_sigreturn 15 139, rt_sigsuspend 130 133,
rt_sigtimedwait 128 137, rt_sigqueueinfo 129 138, rt_tgsigqueueinfo 297 240, sigaltstack 131 132, pause 34 -,
restart_syscall 219 128,
# time
time 201 -, gettimeofday 96 169, clock_gettime 228 113, clock_getres 229 114, clock_nanosleep 230 115,
nanosleep 35 101, alarm 37 -, getitimer 36 102, setitimer 38 103, timer_create 222 107, timer_settime 223 110,
timer_gettime 224 108, timer_getoverrun 225 109, timer_delete 226 111,
# the machine
uname 63 160, sysinfo 99 179, getrandom 318 278,
# looked at
socket 41 198, socketpair 53 199, setsockopt 54 208, clone 56 220, mmap 9 222, prlimit64 302 261,
sched_setaffinity 203 122, sched_setscheduler 144 119, sched_setparam 142 118, sched_setattr 314 274,
setpriority 141 140, fcntl 72 25, madvise 28 233, preadv2 327 286, fadvise64 221 223, readahead 187 213,
"""
"""Name, number on x86_64, number on aarch64 (`-`: does not exist there), by topic. Source: Linux, unistd_64.h and
asm-generic/unistd.h; since 5.x both count on together, which makes the newest ones the same."""

MACHINES = ("x86_64", "aarch64")


def numbers(machine: str) -> dict[str, int]:
    """The numbers of the allowed calls by name, for one of `MACHINES`."""
    column = 1 + MACHINES.index(machine)
    lines = (line for line in _TABLE.splitlines() if not line.startswith("#"))
    rows = [row.split() for line in lines for row in line.split(",") if row.strip()]
    return {row[0]: int(row[column]) for row in rows if row[column] != "-"}


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
