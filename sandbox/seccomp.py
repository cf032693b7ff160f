"""A filter of system calls that no program of science needs, and that reach far into the machine's kernel.

Classic BPF over `struct seccomp_data` (Linux, Documentation/userspace-api/seccomp_filter.rst). A list of what is
denied, not of what is allowed: it closes the ways to new namespaces, mounts, tracing and keyrings, to memory that no
process is charged for, to the guardian (process 1), and to sockets that no network namespace holds back (AF_VSOCK).
"""

import errno
import platform
import struct

_LOAD, _JUMP_IF_EQUAL, _JUMP_IF_SET, _RETURN = 0x20, 0x15, 0x45, 0x06
_NUMBER, _ARCHITECTURE, _FIRST_ARGUMENT, _SECOND_ARGUMENT = 0, 4, 16, 24  # the low halves, on little-endian machines
_ALLOW, _FAIL = 0x7FFF_0000, 0x0005_0000
_CLONE_NEW_NAMESPACE = 0x7E02_0080
"""CLONE_NEWTIME, NEWNS, NEWCGROUP, NEWUTS, NEWIPC, NEWUSER, NEWPID and NEWNET."""

_X32 = 0x4000_0000
_AUDIT = {"x86_64": 0xC000_003E, "aarch64": 0xC000_00B7}
_CLONE = {"x86_64": 56, "aarch64": 220}
_CLONE3 = 435
_DENIED = {
    # ptrace, process_vm_readv/writev, unshare, setns, mount, umount2, pivot_root, chroot, add_key, request_key, keyctl,
    # bpf, perf_event_open, userfaultfd, kcmp, name_to_handle_at, open_by_handle_at, memfd_create, shmget
    "x86_64": (101, 310, 311, 272, 308, 165, 166, 155, 161, 248, 249, 250, 321, 298, 323, 312, 303, 304, 319, 29),
    "aarch64": (117, 270, 271, 97, 268, 40, 39, 41, 51, 217, 218, 219, 280, 241, 282, 272, 264, 265, 279, 194),
}
_DENIED_EVERYWHERE = (425, 426, 427, 428, 429, 430, 431, 432, 433, 438, 442, 447)
"""io_uring_*, open_tree, move_mount, fsopen, fsconfig, fsmount, fspick, pidfd_getfd, mount_setattr, memfd_secret."""

_SOCKETS = {"x86_64": (41, 53), "aarch64": (198, 199)}
"""socket, socketpair."""

_FAMILIES = (1, 2, 10, 16)
"""AF_UNIX, AF_INET, AF_INET6, AF_NETLINK."""

_ON_A_PROCESS = {"x86_64": (302, 203, 144, 142, 314), "aarch64": (261, 122, 119, 118, 274)}
"""prlimit64, sched_setaffinity, sched_setscheduler, sched_setparam, sched_setattr: the first argument is a process."""

_SET_PRIORITY = {"x86_64": 141, "aarch64": 140}
_GUARDIAN = 1


def syscall_filter(machine: str = "") -> bytes | None:
    """The filter for this machine, an array of `struct sock_filter`; None for one whose numbers are not known."""
    machine = machine or platform.machine()
    if machine not in _AUDIT:
        return None
    program = [
        _instruction(_LOAD, _ARCHITECTURE),
        _instruction(_JUMP_IF_EQUAL, _AUDIT[machine], yes=1),
        _fail(errno.ENOSYS),
        _instruction(_LOAD, _NUMBER),
        _instruction(_JUMP_IF_SET, _X32, no=1),
        _fail(errno.ENOSYS),
    ]
    for number in (*_DENIED[machine], *_DENIED_EVERYWHERE):
        program += [_instruction(_JUMP_IF_EQUAL, number, no=1), _fail(errno.EPERM)]
    program += [*_only_known_sockets(machine), *_hands_off_the_guardian(machine)]
    program += [
        # Its flags lie in memory, where no filter can look; the C library then falls back on clone.
        _instruction(_JUMP_IF_EQUAL, _CLONE3, no=1),
        _fail(errno.ENOSYS),
        _instruction(_JUMP_IF_EQUAL, _CLONE[machine], no=3),
        _instruction(_LOAD, _FIRST_ARGUMENT),
        _instruction(_JUMP_IF_SET, _CLONE_NEW_NAMESPACE, no=1),
        _fail(errno.EPERM),
        _instruction(_RETURN, _ALLOW),
    ]
    return b"".join(program)


def _only_known_sockets(machine: str) -> list[bytes]:
    create, create_pair = _SOCKETS[machine]
    families = [
        _instruction(_JUMP_IF_EQUAL, family, yes=len(_FAMILIES) - place) for place, family in enumerate(_FAMILIES)
    ]
    body = [
        _instruction(_LOAD, _FIRST_ARGUMENT),
        *families,
        _fail(errno.EAFNOSUPPORT),
        _instruction(_RETURN, _ALLOW),
    ]
    return [
        _instruction(_JUMP_IF_EQUAL, create, yes=1),
        _instruction(_JUMP_IF_EQUAL, create_pair, no=len(body)),
        *body,
    ]


def _hands_off_the_guardian(machine: str) -> list[bytes]:
    """It has the user of those it guards, who could else take its CPU time, files or turn from it."""
    program = []
    for number in _ON_A_PROCESS[machine]:
        program += [
            _instruction(_JUMP_IF_EQUAL, number, no=4),
            _instruction(_LOAD, _FIRST_ARGUMENT),
            _instruction(_JUMP_IF_EQUAL, _GUARDIAN, no=1),
            _fail(errno.EPERM),
            _instruction(_RETURN, _ALLOW),
        ]
    return [
        *program,
        # Of a process (0), not of a group or of a user, to which the guardian belongs.
        _instruction(_JUMP_IF_EQUAL, _SET_PRIORITY[machine], no=6),
        _instruction(_LOAD, _FIRST_ARGUMENT),
        _instruction(_JUMP_IF_EQUAL, 0, no=2),
        _instruction(_LOAD, _SECOND_ARGUMENT),
        _instruction(_JUMP_IF_EQUAL, _GUARDIAN, no=1),
        _fail(errno.EPERM),
        _instruction(_RETURN, _ALLOW),
    ]


def _instruction(code: int, operand: int, *, yes: int = 0, no: int = 0) -> bytes:
    return struct.pack("<HBBI", code, yes, no, operand)


def _fail(number: int) -> bytes:
    return _instruction(_RETURN, _FAIL | number)
