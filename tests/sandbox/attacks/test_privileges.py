"""Cells that reach into the machine: privileges, mounts, namespaces, devices, keys, and system calls of every number."""

import errno
import re

import pytest

from toolablate.sandbox import Kernel
from toolablate.sandbox.seccomp import MACHINES, numbers

pytestmark = pytest.mark.asyncio(loop_scope="module")

CALLS = "import ctypes, errno, os, resource, signal, socket, struct\nlibc = ctypes.CDLL(None, use_errno=True)\n"


async def test_kernel_has_no_privileges(jail: Kernel) -> None:
    code = """
import os
status = dict(line.split(":\\t") for line in open("/proc/self/status").read().splitlines() if ":\\t" in line)
print(os.getuid() != 0, os.geteuid() != 0, os.getgid() != 0, set(os.getgroups()) <= {os.getgid()},
      {status[f"Cap{kind}"] for kind in ("Inh", "Prm", "Eff", "Bnd", "Amb")}, status["NoNewPrivs"], status["Seccomp"])
"""
    assert (await jail.execute(code)).text == f"True True True True {{'{0:016x}'}} 1 2\n"


async def test_only_listed_system_calls_are_there(jail: Kernel) -> None:
    """Every number, with arguments that no call would take."""
    code = CALLS
    code += f"allowed = {{machine: set(numbers) for machine, numbers in {{{', '.join(f'{m!r}: {sorted(numbers(m).values())}' for m in MACHINES)}}}.items()}}[os.uname().machine]\n"
    code += """
own_probes = (335, 336) if os.uname().machine == "x86_64" else ()  # uretprobe, uprobe: whoever calls them is ended
found = []
for number in [n for n in range(1024) if n not in allowed and n not in own_probes] + [2**31 - 1, 2**30 + 1, 2**30 + 101, 512, 520, 545]:
    ctypes.set_errno(0)
    if libc.syscall(ctypes.c_long(number), -1, -1, -1, -1, -1, -1) != -1 or ctypes.get_errno() != errno.ENOSYS:
        found.append((number, ctypes.get_errno()))
print(found)
"""
    assert (await jail.execute(code)).text == "[]\n"


@pytest.mark.parametrize("flag", [1 << bit for bit in (7, 17, 25, 26, 27, 28, 29, 30)], ids=hex)
async def test_no_new_namespace_by_clone(jail: Kernel, flag: int) -> None:
    code = CALLS + "clone = {'x86_64': 56, 'aarch64': 220}[os.uname().machine]\n"
    code += f"child = libc.syscall(clone, ctypes.c_ulong({flag} | 17), 0, 0, 0, 0)\n"
    code += "if child == 0: os._exit(0)\nprint(child, ctypes.get_errno())"
    assert (await jail.execute(code)).text == f"-1 {errno.EPERM}\n"


@pytest.mark.parametrize(
    "attempt",
    ["os.setuid(0)", "os.setgid(0)", "os.setgroups([0])", "os.setresuid(0, 0, 0)", "os.setreuid(-1, 12345)", "os.chroot('/tmp')",
     "os.mknod('device', 0o60666, 0x801)", "os.mknod('device', 0o20666, 0x101)", "os.chown('.', 0, 0)", "os.nice(-5)",
     "os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(50))", "os.sched_setscheduler(0, os.SCHED_RR, os.sched_param(1))",
     "resource.setrlimit(resource.RLIMIT_AS, (-1, -1))", "resource.setrlimit(resource.RLIMIT_NPROC, (10**6, 10**6))",
     "resource.setrlimit(resource.RLIMIT_NOFILE, (10**6, 10**6))", "resource.setrlimit(resource.RLIMIT_CPU, (10**6, 10**6))",
     "resource.setrlimit(resource.RLIMIT_FSIZE, (-1, -1))", "resource.setrlimit(resource.RLIMIT_CORE, (1, 1))",
     "resource.setrlimit(resource.RLIMIT_RTPRIO, (9, 9))", "resource.setrlimit(resource.RLIMIT_MEMLOCK, (10**9, 10**9))",
     "os.memfd_create('hoard')", "socket.sethostname('other')", "os.open('/dev/null', os.O_RDONLY | os.O_NOATIME) or os.pidfd_open(2**22)",
     "os.sched_setaffinity(1, {0})", "open('/proc/self/oom_score_adj', 'wb', 0).write(b'-1000')", "open('/proc/self/uid_map', 'wb', 0).write(b'0 0 1')"],
)  # fmt: skip
async def test_privilege_is_refused(jail: Kernel, attempt: str) -> None:
    assert (await jail.execute(CALLS + attempt)).error in (
        "PermissionError",
        "OSError",
        "ValueError",
        "FileNotFoundError",
    )


@pytest.mark.parametrize("path", ["/bin/su", "/usr/bin/passwd", "/bin/mount", "/usr/bin/newgrp", "/usr/bin/chsh"])
async def test_setuid_program_stays_an_ordinary_one(jail: Kernel, path: str) -> None:
    """A copy of the interpreter with the bit set, and the system's own: nobody becomes root by them."""
    code = f"""
import os, shutil, subprocess, time
path, seen = {path!r}, set()
if os.path.exists(path):
    child = subprocess.Popen([path], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    until = time.monotonic() + 0.3
    while child.poll() is None and time.monotonic() < until:
        try: seen |= set([line for line in open(f"/proc/{{child.pid}}/status") if line.startswith("Uid")][0].split()[1:])
        except (OSError, IndexError): break
    child.kill(); child.wait()
print(seen <= {{str(os.getuid())}})
"""
    assert (await jail.execute(code)).text == "True\n"


async def test_bit_of_a_setuid_copy_means_nothing(jail: Kernel) -> None:
    code = """
import os, subprocess, sys
with open("copy", "wb") as copy: copy.write(open("/bin/id" if os.path.exists("/bin/id") else "/usr/bin/id", "rb").read())
os.chmod("copy", 0o6755)
print(subprocess.run(["./copy", "-u"], capture_output=True, text=True).stdout.strip() == str(os.getuid()))
"""
    assert (await jail.execute(code)).text == "True\n"


@pytest.mark.deep
@pytest.mark.timeout(0)
async def test_nothing_of_the_system_is_writable(jail: Kernel) -> None:
    """Every folder and file outside of the work folders and of /proc, by its bits and by trying. A cell looks at two
    thousand of them, within the seconds of a cell, and the next goes on: how many files a system has decides nothing."""
    code = """
import itertools, os, stat
own = ("/tmp", "/dev/shm", "/proc", "/dev/mqueue")
seen, found = set(), []
def looked_at(start):
    for top, folders, files in os.walk(start):
        folders[:] = [name for name in folders if os.path.join(top, name) not in own]
        if top.startswith("/sys/") and top.count("/") > 4: folders[:] = []
        seen.add(top)
        if os.access(top, os.W_OK) and top not in own:
            try: open(os.path.join(top, "intruder"), "w"); found.append(top)
            except OSError: pass
        yield
        for name in files:
            path = os.path.join(top, name)
            if not os.path.islink(path) and os.access(path, os.W_OK):
                try:
                    kind = os.stat(path)
                    if stat.S_ISREG(kind.st_mode): os.close(os.open(path, os.O_WRONLY)); found.append(path)
                    elif not path.startswith("/dev/") and not stat.S_ISSOCK(kind.st_mode): found.append(path)
                except OSError: pass
            yield
walk = looked_at("/")
"""
    assert (await jail.execute(code)).status == "ok"
    while (
        told := (await jail.execute("print(sum(1 for _ in itertools.islice(walk, 2000)), found)")).text
    ) == "2000 []\n":
        pass
    assert re.fullmatch(r"\d+ \[\]\n", told), told
    assert (await jail.execute("print({'/', '/etc', '/usr', '/usr/lib', '/dev'} - seen)")).text == "set()\n"


async def test_settings_of_the_system_are_unwritable(jail: Kernel) -> None:
    """What is of one process may be opened by others of the same user, and refuses what they write."""
    code = """
import os, stat
found = []
for top, folders, files in os.walk("/proc"):
    if top == "/proc": folders[:] = [name for name in folders if name not in ("self", "thread-self", str(os.getpid()))]
    for name in files:
        path = os.path.join(top, name)
        try:
            descriptor = os.open(path, os.O_WRONLY | os.O_NONBLOCK)
            if stat.S_ISCHR(os.fstat(descriptor).st_mode): continue  # hidden behind /dev/null
            if path.startswith("/proc/1/"): os.write(descriptor, b"0")
            if path.startswith("/proc/sys/"): os.write(descriptor, open(path, "rb").read())
            found.append(path)
        except OSError: pass
print(found)
"""
    assert (await jail.execute(code)).text == "[]\n"


async def test_only_harmless_devices_are_there(jail: Kernel) -> None:
    code = """
import os, stat
found = []
for top, folders, files in os.walk("/dev"):
    for name in files:
        path = os.path.join(top, name)
        mode = os.lstat(path).st_mode
        if stat.S_ISCHR(mode) or stat.S_ISBLK(mode): found.append(path)
print(sorted(found))
"""
    allowed = {
        f"/dev/{name}" for name in ("null", "zero", "full", "random", "urandom", "tty", "ptmx", "pts/ptmx", "console")
    }
    assert set(eval((await jail.execute(code)).text)) <= allowed


@pytest.mark.parametrize("request_code", [0x5412, 0x541C, 0x5423], ids=["TIOCSTI", "TIOCLINUX", "TIOCSETD"])
async def test_terminal_takes_no_forged_input(jail: Kernel, request_code: int) -> None:
    code = "import fcntl, os, pty\nmain, side = pty.openpty()\n"
    code += f"try: fcntl.ioctl(side, {request_code}, b'\\1\\0\\0\\0')\nfinally: os.close(main); os.close(side)"
    assert (await jail.execute(code)).error == "PermissionError"


async def test_huge_pages_of_the_host_are_left_alone(jail: Kernel) -> None:
    assert (await jail.execute("import mmap; mmap.mmap(-1, 1 << 21, flags=0x40022)")).error == "OSError"


@pytest.mark.parametrize(
    "game",
    ["libc.prctl(1, 0, 0, 0, 0)", "libc.prctl(4, 1, 0, 0, 0)", "libc.prctl(36, 1, 0, 0, 0)", "libc.prctl(38, 0, 0, 0, 0)",
     "libc.prctl(8, 1, 0, 0, 0)", "libc.prctl(47, 2, 21, 0, 0)", "libc.prctl(35, 1, 4096, 0, 0)", "libc.prctl(22, 1, 0, 0, 0) if 0 else 0",
     "libc.prctl(24, 0, 0, 0, 0)", "libc.prctl(62, 1, 1, 1, 0)", "libc.prctl(59, 0, 0, 0, 0)"],
    ids=["PDEATHSIG", "DUMPABLE", "CHILD_SUBREAPER", "NO_NEW_PRIVS", "KEEPCAPS", "CAP_AMBIENT", "MM", "SECCOMP", "CAPBSET", "SCHED_CORE", "SYSCALL_USER_DISPATCH"],
)  # fmt: skip
async def test_prctl_games_change_nothing(jail: Kernel, game: str) -> None:
    code = CALLS + f"_ = {game}\nstatus = open('/proc/self/status').read()\n"
    code += "print([line.split()[1] for line in status.splitlines() if line.startswith(('NoNewPrivs', 'CapEff', 'Seccomp:'))])"
    assert (await jail.execute(code)).text == f"['{0:016x}', '1', '2']\n"
