"""The filter of system calls, as data; `attacks` shows it at work."""

from pathlib import Path

import pytest

from toolablate.sandbox.seccomp import MACHINES, numbers, syscall_filter


@pytest.mark.parametrize(
    "name",
    ["ptrace", "process_vm_readv", "process_vm_writev", "unshare", "setns", "mount", "umount2", "pivot_root", "chroot", "add_key",
     "request_key", "keyctl", "bpf", "perf_event_open", "userfaultfd", "kcmp", "io_uring_setup", "io_setup", "memfd_create",
     "memfd_secret", "shmget", "msgget", "semget", "mq_open", "vmsplice", "tee", "splice", "clone3", "pidfd_getfd", "process_madvise",
     "open_by_handle_at", "name_to_handle_at", "fanotify_init", "inotify_init1", "personality", "modify_ldt", "iopl", "ioperm",
     "swapon", "reboot", "sethostname", "setdomainname", "settimeofday", "clock_settime", "adjtimex", "syslog", "quotactl", "acct",
     "init_module", "finit_module", "delete_module", "kexec_load", "kexec_file_load", "open_tree", "move_mount", "fsopen", "fsconfig",
     "fsmount", "fspick", "mount_setattr", "move_pages", "migrate_pages", "mbind", "set_mempolicy", "flock", "sync", "syncfs", "mincore",
     "ioprio_set", "process_mrelease", "landlock_create_ruleset", "seccomp", "lookup_dcookie", "vhangup", "nfsservctl", "uselib"],
)  # fmt: skip
def test_reaching_system_call_is_not_listed(name: str) -> None:
    assert not [machine for machine in MACHINES if name in numbers(machine)]


def test_numbers_are_those_of_linux() -> None:
    header = Path("/usr/include/asm-generic/unistd.h")
    if not header.exists():
        pytest.skip("no headers of Linux here: apt-get install linux-libc-dev")
    defined = {
        words[1].removeprefix("__NR_"): int(words[2])
        for line in header.read_text().splitlines()
        if len(words := line.split()) >= 3 and words[0] == "#define" and words[2].isdigit() and "__NR_" in words[1]
    }
    ours = numbers("aarch64")
    assert {name: number for name, number in ours.items() if defined.get(name, number) != number} == {}
    assert len(defined.keys() & ours.keys()) > 150


def test_filter_is_built_for_known_machines_only() -> None:
    assert all(len(syscall_filter(machine) or b"") % 8 == 0 for machine in MACHINES)
    assert syscall_filter("aarch64") != syscall_filter("x86_64")
    assert syscall_filter("riscv64") is None
