"""What cells must not see: the host's files and names, other kernels, and what others keep in memory."""

import json
import os
import socket
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from toolablate.sandbox import Kernel, Sandbox
from toolablate.sandbox.process import ENVIRONMENT

pytestmark = [pytest.mark.deep, pytest.mark.asyncio(loop_scope="module")]

Start = Callable[[Sandbox], Awaitable[Kernel]]


@pytest.mark.parametrize(
    "way",
    [
        "{path}",
        "/proc/1/root{path}",
        "/proc/self/root{path}",
        "/proc/1/cwd/..{path}",
        "/proc/self/cwd/../../../..{path}",
        "/proc/thread-self/root{path}",
        "/dev/fd/../../root{path}",
    ],
)
async def test_file_of_the_host_is_out_of_reach(jail: Kernel, tmp_path: Path, way: str) -> None:
    secret = tmp_path / "secret.txt"
    secret.write_text("swordfish")
    os.chmod(tmp_path, 0o755)  # noqa: PTH101
    path = way.format(path=secret)
    for attempt in (f"open({path!r}).read()", f"os.symlink({path!r}, 'link'); open('link').read()"):
        result = await jail.execute(f"import os\nif os.path.lexists('link'): os.unlink('link')\n{attempt}")
        assert result.error in ("FileNotFoundError", "PermissionError", "NotADirectoryError")


async def test_no_descriptor_leads_out(jail: Kernel, tmp_path: Path) -> None:
    (tmp_path / "secret.txt").write_text("swordfish")
    code = f"""
import os
target, found = {str(tmp_path / "secret.txt")!r}, []
for process in ("self", "1"):
    try: numbers = os.listdir(f"/proc/{{process}}/fd")
    except OSError: continue
    for number in numbers:
        way = f"/proc/{{process}}/fd/{{number}}"
        try: descriptor = os.open(way, os.O_RDONLY | os.O_NONBLOCK)
        except OSError: continue
        for climb in (target[1:], "../" * 12 + target[1:]):
            try: found.append((way, os.readlink(way), os.open(climb, os.O_RDONLY, dir_fd=descriptor)))
            except OSError: pass
        os.close(descriptor)
print(found)
"""
    assert (await jail.execute(code)).text == "[]\n"


async def test_secret_of_the_environment_is_nowhere(
    isolating: Sandbox, start: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither in the environment of any process inside, nor in the memory that the kernel may read."""
    monkeypatch.setenv("TOOLABLATE_SECRET", "swordfish")
    kernel = await start(isolating)
    code = """
import glob, os, re
seen = []
def told(data): return re.search(rb"[s]wordfis[h]", data)  # which does not find itself
for path in glob.glob("/proc/*/environ") + glob.glob("/proc/*/cmdline") + ["/proc/cmdline"]:
    try:
        if told(open(path, "rb").read()): seen.append(path)
    except OSError: pass
with open("/proc/self/maps") as maps, open("/proc/self/mem", "rb", 0) as memory:
    for line in maps:
        start, end, mode = re.match("(\\\\w+)-(\\\\w+) (....)", line).groups()
        if "rw" not in mode or "[v" in line: continue
        start, end = int(start, 16), int(end, 16)
        for place in range(start, end, 1 << 24):
            memory.seek(place)
            try: part = memory.read(min(end - place, (1 << 24) + 16))
            except OSError: continue
            if told(part): seen.append(line)
print(seen)
"""
    assert (await kernel.execute(code)).text == "[]\n"


async def test_proxies_of_a_docker_configuration_are_not_passed_on(
    isolating: Sandbox, start: Start, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    proxies = {"default": {"httpProxy": "http://user:swordfish@proxy.invalid:3128"}}
    (tmp_path / "config.json").write_text(json.dumps({"proxies": proxies}))
    monkeypatch.setenv("DOCKER_CONFIG", str(tmp_path))
    kernel = await start(isolating)
    assert "swordfish" not in (await kernel.execute("import os; print(os.environ)")).text


async def test_environment_holds_what_we_gave_it_and_no_more(jail: Kernel) -> None:
    result = await jail.execute("import os; print(sorted(os.environ))")
    of_ipython = ["CLICOLOR", "CLICOLOR_FORCE", "FORCE_COLOR", "GIT_PAGER", "PAGER", "PYDEVD_USE_FRAME_EVAL", "TERM"]
    assert {name for name in eval(result.text) if name not in ENVIRONMENT} <= {
        *of_ipython,
        "PATH",
        "PWD",
        "HOSTNAME",
        "LC_CTYPE",
    }


@pytest.mark.parametrize(
    "path",
    ["/etc/shadow", "/etc/ssh", "/etc/machine-id", "/var/lib/dpkg/lock", str(Path("~root/.bashrc").expanduser()), str(Path("~/.bashrc").expanduser()), "/var/log/journal",
     "/dev/kmsg", "/dev/mem", "/dev/sda", "/dev/vda", "/dev/kvm", "/dev/fuse", "/dev/net/tun", "/dev/vsock", "/dev/loop0",
     "/proc/kcore", "/proc/kmsg", "/proc/1/mem", "/proc/1/environ", "/proc/1/maps", "/proc/1/fd/0", "/proc/1/task/1/environ",
     "/proc/1/io", "/proc/1/stack", "/proc/1/auxv", "/proc/vmallocinfo", "/sys/kernel/debug", "/sys/kernel/security",
     "/var/run/docker.sock", "/run/docker.sock", "/run/systemd"],
)  # fmt: skip
async def test_private_part_of_the_system_is_unreadable(jail: Kernel, path: str) -> None:
    code = f"import os\npath = {path!r}\nprint(os.listdir(path) if os.path.isdir(path) else open(path, 'rb').read(9).hex())"
    result = await jail.execute(code)
    assert result.error in ("FileNotFoundError", "PermissionError", "OSError") or result.text in ("[]\n", "\n")


@pytest.mark.parametrize("home", ["/home", "/root", str(Path.home())])
async def test_home_holds_nothing_but_the_way_to_the_python_environment(jail: Kernel, home: str) -> None:
    code = f"""
import os, sys
found, shown = [], {{sys.prefix, sys.base_prefix, os.path.realpath(sys.prefix), os.path.realpath(sys.base_prefix)}}
for top, folders, files in os.walk({home!r}):
    folders[:] = [name for name in folders if os.path.join(top, name) not in shown]
    found += [os.path.join(top, name) for name in files]
print(found)
"""
    assert (await jail.execute(code)).text == "[]\n"


async def test_name_of_the_host_is_hidden(jail: Kernel) -> None:
    assert (
        await jail.execute("import socket, os; print(socket.gethostname(), os.uname().nodename)")
    ).text == "sandbox sandbox\n"
    assert socket.gethostname() != "sandbox"


async def test_processes_of_the_host_are_out_of_sight(jail: Kernel) -> None:
    code = "import os\nprint([p for p in os.listdir('/proc') if p.isdigit() and int(p) not in (1, os.getpid())])\n"
    ours = f"try: os.kill({os.getpid()}, 0); print('SEEN')\nexcept ProcessLookupError: print('unknown')"
    assert (await jail.execute(code + ours)).text == "[]\nunknown\n"


# --- other kernels ----------------------------------------------------------------------------------------------------

LEAVE = """
import mmap, os, pty, socket, subprocess, sys
for folder in (".", "/tmp", "/dev/shm"): open(folder + "/mine", "w").write("one")
listener = socket.create_server(("127.0.0.1", 45_123))
abstract = socket.socket(socket.AF_UNIX); abstract.bind("\\0mine"); abstract.listen()
terminal, _ = pty.openpty()
os.chmod(os.ttyname(_), 0o666)
os.write(_, b"mine")
child = subprocess.Popen(["sleep", "100"])
print(child.pid, os.ttyname(_))
"""
LOOK = """
import os, socket
found = []
for folder in (".", "/tmp", "/dev/shm"): found += [name for name in os.listdir(folder) if name == "mine"]
for family, address in ((socket.AF_INET, ("127.0.0.1", 45_123)), (socket.AF_UNIX, "\\0mine")):
    try: socket.socket(family).connect(address); found.append(address)
    except OSError: pass
found += [name for name in os.listdir("/dev/pts") if name.isdigit()]
found += [p for p in os.listdir("/proc") if p.isdigit() and int(p) not in (1, os.getpid())]
print(found)
"""


async def test_kernels_do_not_see_each_other(isolating: Sandbox, start: Start) -> None:
    one, two = await start(isolating), await start(isolating)
    assert (await one.execute(LEAVE)).status == "ok"
    assert (await two.execute(LOOK)).text == "[]\n"


LOCKED = "struct.pack('hhqqi4x', fcntl.F_RDLCK, 0, 0, 1, 0)"


@pytest.mark.parametrize(
    "way",
    ["fcntl.flock(f, fcntl.LOCK_EX)", "fcntl.flock(f, fcntl.LOCK_SH)", "fcntl.lockf(f, fcntl.LOCK_EX)", "fcntl.fcntl(f, 1024, fcntl.F_RDLCK)",
     "fcntl.fcntl(f, 1026, 1)", f"fcntl.fcntl(f, 36, {LOCKED})", f"fcntl.fcntl(f, 37, {LOCKED})", f"fcntl.fcntl(f, 38, {LOCKED})",
     "fcntl.fcntl(f, 1035, bytes(8))", "fcntl.fcntl(f, 1036, struct.pack('Q', 2))", "fcntl.fcntl(f, 1037, bytes(8))", "fcntl.fcntl(f, 1038, struct.pack('Q', 2))",
     "os.preadv(f.fileno(), [bytearray(9)], 0, os.RWF_NOWAIT)", "mmap.mmap(f.fileno(), 0, prot=mmap.PROT_READ).madvise(20)",
     "mmap.mmap(f.fileno(), 0, prot=mmap.PROT_READ).madvise(21)", "os.utime(f.fileno())", "os.setxattr(f.fileno(), 'user.note', b'x')",
     "open('/proc/locks').read(9)[0]"],
    ids=["flock", "shared flock", "write lock", "lease", "notify", "get lock of open file", "lock of open file", "waiting lock of open file",
         "get hint", "hint", "get hint of file", "hint of file", "what others read", "cold", "page out", "times", "attribute", "locks of the machine"],
)  # fmt: skip
async def test_file_that_kernels_share_holds_nothing_of_them(jail: Kernel, way: str) -> None:
    """Neither for other kernels nor for the host, which may wait for a lock."""
    result = await jail.execute(f"import fcntl, mmap, os, struct\nwith open(os.__file__, 'rb') as f: {way}")
    assert result.error in ("OSError", "PermissionError", "IndexError"), result


async def test_locks_of_sqlite_work(jail: Kernel) -> None:
    code = """
import sqlite3, subprocess, sys
insert = "import sqlite3, sys; c = sqlite3.connect(sys.argv[1], timeout=0); c.execute('insert into t values (2)'); c.commit()"
def other(path): return subprocess.run([sys.executable, "-c", insert, path], capture_output=True, text=True).stderr.splitlines()[-1:]
for mode in ("wal", "delete"):
    path = f"{mode}.db"
    one = sqlite3.connect(path, isolation_level=None)
    one.execute(f"pragma journal_mode={mode}")
    one.execute("create table t (x)")
    one.execute("begin immediate"); one.execute("insert into t values (1)")
    print(mode, other(path)); one.execute("commit")
    print(other(path), one.execute("select sum(x) from t").fetchone())
    one.close()
"""
    locked = "['sqlite3.OperationalError: database is locked']"
    assert (await jail.execute(code)).text == "".join(f"{mode} {locked}\n[] (3,)\n" for mode in ("wal", "delete"))


async def test_kernels_are_different_users(isolating: Sandbox, start: Start) -> None:
    """The limits that count by user must not let one kernel starve another."""
    if os.geteuid() != 0:
        pytest.skip("an ordinary user has one id to give")
    one, two = await start(isolating), await start(isolating)
    users = {(await kernel.execute("import os; os.getuid()")).text for kernel in (one, two)}
    assert len(users) == 2
    assert "0\n" not in users


async def test_sockets_of_a_kernel_are_out_of_reach(jail: Kernel) -> None:
    folder = jail._process.folder  # type: ignore[attr-defined]
    code = f"""
import os, socket, stat
found = [{folder!r}] if os.path.exists({folder!r}) else []
for top, folders, files in os.walk("/"):
    if top == "/": folders[:] = [name for name in folders if name not in ("proc", "sys", "usr", "opt")]
    for name in files:
        path = os.path.join(top, name)
        try:
            if not stat.S_ISSOCK(os.lstat(path).st_mode): continue
            socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET).connect(path)
        except OSError: continue
        found.append(path)
print(found)
"""
    assert (await jail.execute(code)).text == "[]\n"


async def test_kernel_holds_no_descriptor_of_the_host(jail: Kernel) -> None:
    result = await jail.execute(
        "import os\nprint(sorted({os.readlink(f'/proc/self/fd/{d}').split(':')[0] for d in os.listdir('/proc/self/fd')"
        " if os.path.islink(f'/proc/self/fd/{d}')}))"
    )
    assert set(eval(result.text)) <= {"/dev/null", "anon_inode", "pipe", "socket"}
