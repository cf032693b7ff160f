"""Hostile cells, on every backend that claims to hold them."""

import errno
import platform
import socket
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from toolablate.sandbox import Kernel, Sandbox

pytestmark = pytest.mark.asyncio(loop_scope="module")

NOTHING_TO_WRITE = """
import os
found = []
for folder in ("/", "/etc", "/usr", "/usr/bin", "/home", "/root", "/var", "/run", "/run/toolablate", "/dev", "/sys",
               "/proc/sys/kernel", "/opt", os.path.dirname(os.__file__), os.path.dirname(os.path.dirname(os.__file__))):
    try:
        with open(os.path.join(folder, "intruder"), "w"): found.append(folder)
    except OSError: pass
print(found)
"""

ESCALATION = """
import ctypes, os
libc = ctypes.CDLL(None, use_errno=True)
status = dict(line.split(":\\t") for line in open("/proc/self/status").read().splitlines() if ":\\t" in line)
print(os.getuid() != 0, status["CapEff"], status["CapPrm"], status["NoNewPrivs"])
def attempt(call):
    try: call()
    except OSError: return "refused"
    return "DONE"
print(attempt(lambda: os.setuid(0)), attempt(lambda: os.chroot("/tmp")), attempt(lambda: os.mknod("/tmp/d", 0o60666, 0x801)),
      attempt(lambda: open("/proc/1/mem", "rb")), attempt(lambda: open("/proc/1/environ", "rb")),
      attempt(lambda: open("/proc/sysrq-trigger", "w")))
"""


async def test_host_file_and_environment_stay_secret(shared_jail: Kernel, tmp_path: Path) -> None:
    secret = tmp_path / "secret.txt"
    secret.write_text("swordfish")
    result = await shared_jail.execute(f"open({str(secret)!r}).read()")
    assert result.error == "FileNotFoundError"
    environment = await shared_jail.execute("import os; sorted(os.environ.items())")
    leaked = {"TOOLABLATE_SECRET", "OPENAI_API_KEY", "PYTEST_CURRENT_TEST", "JPY_PARENT_PID"}
    assert not [name for name in leaked if name in environment.text]


async def test_secret_of_the_starting_environment_is_not_inherited(
    isolating: Sandbox, start: Callable[[Sandbox], Awaitable[Kernel]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TOOLABLATE_SECRET", "swordfish")
    kernel = await start(isolating)
    code = """
import glob, os
seen = str(os.environ)
for path in glob.glob("/proc/*/environ") + glob.glob("/proc/*/cmdline"):
    try: seen += open(path, errors="replace").read()
    except OSError: pass
print("swordfish" in seen)
"""
    assert (await kernel.execute(code)).text == "False\n"


@pytest.mark.parametrize(
    "path", ["/etc/shadow", "/proc/1/root/etc/passwd", "/var/lib/dpkg/lock", "/dev/kmsg", "/dev/mem"]
)
async def test_no_private_part_of_the_system_is_readable(shared_jail: Kernel, path: str) -> None:
    result = await shared_jail.execute(f"open({path!r}, 'rb').read(1)")
    assert result.error in ("FileNotFoundError", "PermissionError")


async def test_name_of_the_host_is_hidden(shared_jail: Kernel) -> None:
    assert (await shared_jail.execute("import socket; socket.gethostname()")).text == "'sandbox'\n"
    assert socket.gethostname() != "sandbox"


async def test_nothing_of_the_host_is_writable(shared_jail: Kernel) -> None:
    assert (await shared_jail.execute(NOTHING_TO_WRITE)).text == "[]\n"


async def test_no_privileges(shared_jail: Kernel) -> None:
    result = await shared_jail.execute(ESCALATION)
    assert result.text.splitlines() == [f"True {0:016x} {0:016x} 1", " ".join(["refused"] * 6)]


@pytest.mark.parametrize(
    "call",
    ["libc.unshare(0x10000000)", "libc.unshare(0x20000)", "libc.mount(b't', b'/tmp', b'tmpfs', 0, None)",
     "libc.ptrace(16, 1, 0, 0)", "libc.syscall(435, 0, 0)", "libc.setns(0, 0)", "libc.chroot(b'/tmp')"],
)  # fmt: skip
async def test_reach_into_the_machine_is_denied(shared_jail: Kernel, call: str) -> None:
    code = f"import ctypes\nlibc = ctypes.CDLL(None, use_errno=True)\nprint({call}, ctypes.get_errno())"
    result = await shared_jail.execute(code)
    assert result.text in (f"-1 {errno.EPERM}\n", f"-1 {errno.ENOSYS}\n")


async def test_no_network(shared_jail: Kernel) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        code = f"""
import socket
for address in (("127.0.0.1", {port}), ("169.254.169.254", 80), ("1.1.1.1", 53)):
    try: socket.create_connection(address, timeout=3); print("CONNECTED", address)
    except OSError as error: print("refused")
try: print("RESOLVED", socket.getaddrinfo("localhost.localdomain.example", 80))
except OSError: print("refused")
"""
        assert (await shared_jail.execute(code)).text == "refused\n" * 4
        server.settimeout(0)
        with pytest.raises(BlockingIOError):
            server.accept()


@pytest.mark.parametrize(
    "arguments",
    ["40, socket.SOCK_STREAM", "socket.AF_VSOCK, socket.SOCK_DGRAM", "socket.AF_PACKET, socket.SOCK_RAW",
     "socket.AF_ALG, socket.SOCK_SEQPACKET", "31, socket.SOCK_RAW", "socket.AF_INET, socket.SOCK_RAW, 1"],
)  # fmt: skip
async def test_sockets_that_reach_outside_are_refused(shared_jail: Kernel, arguments: str) -> None:
    code = f"import socket\ntry: socket.socket({arguments}); print('OPEN')\nexcept OSError as e: print(e.errno)"
    refused = {errno.EPERM} if "INET" in arguments else {errno.EAFNOSUPPORT}
    assert int((await shared_jail.execute(code)).text) in refused


@pytest.mark.skipif(platform.machine() != "x86_64", reason="these entry points are of x86-64")
async def test_no_other_entry_point_opens_sockets(shared_jail: Kernel) -> None:
    code = """
import ctypes, mmap
libc = ctypes.CDLL(None, use_errno=True)
print(libc.syscall(0x40000000 + 41, 40, 1, 0), libc.syscall(41, ctypes.c_ulong(0x1_0000_0028), 1, 0))
# mov eax, 359 (socket); mov ebx, 40; mov ecx, 1; xor edx, edx; int 0x80, between push and pop rbx
machine = bytes.fromhex("53 b867010000 bb28000000 b901000000 31d2 cd80 5b c3")
page = mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
page.write(machine)
print(ctypes.CFUNCTYPE(ctypes.c_int)(ctypes.addressof(ctypes.c_char.from_buffer(page)))())
"""
    first, second = (await shared_jail.execute(code)).text.splitlines()
    assert first == "-1 -1"
    assert int(second) in (-errno.ENOSYS, -errno.EAFNOSUPPORT)


async def test_sockets_within_the_sandbox_work(shared_jail: Kernel) -> None:
    code = """
import socket
for family, address in ((socket.AF_INET, ("127.0.0.1", 0)), (socket.AF_UNIX, "inner")):
    server = socket.socket(family); server.bind(address); server.listen()
    client = socket.socket(family); client.connect(server.getsockname())
    client.send(b"ok"); print(server.accept()[0].recv(9))
one, other = socket.socketpair()
one.send(b"ok"); print(other.recv(9))
"""
    assert (await shared_jail.execute(code)).text == "b'ok'\n" * 3


@pytest.mark.parametrize(
    "attempt",
    ["resource.prlimit(1, resource.RLIMIT_NOFILE, (0, 0))", "os.sched_setaffinity(1, {0})",
     "os.sched_setscheduler(1, os.SCHED_IDLE, os.sched_param(0))", "os.setpriority(os.PRIO_PROCESS, 1, 19)",
     "os.setpriority(os.PRIO_USER, os.getuid(), 19)"],
)  # fmt: skip
async def test_guardian_is_out_of_reach(shared_jail: Kernel, attempt: str) -> None:
    assert (await shared_jail.execute(f"import os, resource\n{attempt}")).error == "PermissionError"


async def test_sockets_of_the_kernel_are_out_of_reach(shared_jail: Kernel) -> None:
    folder = shared_jail._process.folder  # type: ignore[attr-defined]
    assert (await shared_jail.execute(f"import os; os.path.exists({folder!r})")).text == "False\n"


async def test_kernels_do_not_see_each_other(isolating: Sandbox, start: Callable[[Sandbox], Awaitable[Kernel]]) -> None:
    one, two = await start(isolating), await start(isolating)
    await one.execute("open('mine.txt', 'w').write('one'); open('/dev/shm/mine', 'w').write('one')")
    look = "import os\nprint(os.listdir('.'), os.listdir('/dev/shm'), len([p for p in os.listdir('/proc') if p.isdigit()]))"
    assert (await two.execute(look)).text == "[] [] 2\n"


async def test_kernel_holds_no_descriptor_of_the_host(shared_jail: Kernel) -> None:
    result = await shared_jail.execute(
        "import os\nprint(sorted({os.readlink(f'/proc/self/fd/{d}').split(':')[0] for d in os.listdir('/proc/self/fd')"
        " if os.path.islink(f'/proc/self/fd/{d}')}))"
    )
    assert set(eval(result.text)) <= {"/dev/null", "anon_inode", "pipe", "socket"}


# --- floods: text is bounded, the kernel survives ---------------------------------------------------------------------


@pytest.mark.parametrize(
    "code",
    [
        "while True: print('x' * 1000)",
        "import os\nwhile True: os.write(1, b'y' * 1000)",
        "while True: print('x' * 10**6)",
        "from IPython.display import display\nwhile True: display('z')",
    ],
    ids=["print", "raw descriptor", "big pieces", "display"],
)
async def test_endless_output_is_bounded(with_limits: Callable[..., Awaitable[Kernel]], code: str) -> None:
    kernel = await with_limits(cell_seconds=1.0, memory_mb=600)
    result = await kernel.execute(code)
    assert result.status in ("timeout", "died")
    assert result.truncated
    assert len(result.text) < 5_000 + 4_000 + 500
    assert (await kernel.execute("'alive'")).text.endswith("'alive'\n")


@pytest.mark.parametrize(
    "code",
    [
        "print('x' * 10**7)",
        "for i in range(10**5): print(i)",
        "'x' * 10**7",
        "from IPython.display import display\nfor i in range(2000): display(i)",
        "from IPython.display import display; display({'image/png': 'A' * 5_000_000}, raw=True)",
        "from IPython.display import display; display({'image/png': 'A' * 20_000_000}, raw=True)",
    ],
    ids=["one string", "many lines", "expression", "many displays", "large picture", "message beyond any bound"],
)
async def test_large_output_is_truncated(shared_kernel: Kernel, code: str) -> None:
    result = await shared_kernel.execute(code)
    assert result.status == "ok"
    assert len(result.text) <= 5_000 + 100
    assert result.truncated or "20_000_000" in code
    assert sum(len(rich.data) for rich in result.rich) <= 4_000_000
    assert (await shared_kernel.execute("'alive'")).text == "'alive'\n"


async def test_message_beyond_any_bound_costs_no_more_than_itself(shared_kernel: Kernel) -> None:
    await shared_kernel.execute("kept = 'kept'")
    code = "k = get_ipython().kernel\nk.iopub_thread.schedule(lambda: k.iopub_thread.socket.send(bytes(10**8)))"
    result = await shared_kernel.execute(code)
    assert (result.status, result.truncated) == ("ok", True)
    assert (await shared_kernel.execute("kept")).text == "'kept'\n"


async def test_error_shows_after_a_flood(shared_kernel: Kernel) -> None:
    result = await shared_kernel.execute("print('x' * 10**5)\nraise ValueError('the reason')")
    assert (result.status, result.error, result.truncated) == ("error", "ValueError", True)
    assert "ValueError: the reason" in result.text


@pytest.mark.parametrize(
    "send",
    [
        "k.iopub_thread.socket.send_multipart([b'x'])",
        "k.session.send(k.iopub_socket, 'stream', {'text': {'a': 1}, 'name': 7}, parent=k.get_parent())",
        "k.session.send(k.iopub_socket, 'display_data', {'data': 'none'}, parent=k.get_parent())",
        "k.session.send(k.iopub_socket, 'error', {'traceback': [1, None], 'ename': None}, parent=k.get_parent())",
        "deep = b'[' * 100_000 + b']' * 100_000; k.session.send(k.iopub_socket, "
        "{**k.session.msg('stream', {}, parent=k.get_parent()), 'content': deep})",
        "k.session.send(k.iopub_socket, {**k.session.msg('stream', {}, parent=k.get_parent()), 'content': b'\\xff\\xfe'})",
    ],
    ids=["no message", "text of another type", "data of another type", "error without text", "deep", "no text"],
)
async def test_forged_messages_do_no_harm(shared_kernel: Kernel, send: str) -> None:
    result = await shared_kernel.execute(f"k = get_ipython().kernel\n{send}\nprint('after')")
    assert "after" in result.text
    result.text.encode()
    assert (await shared_kernel.execute("1")).text == "1\n"
