"""Isolated kernels under the clients of Jupyter: blocking and asynchronous managers, restarts, interrupts, programs."""

import asyncio
import contextlib
import gc
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from jupyter_client.blocking.client import BlockingKernelClient
from jupyter_client.ioloop import AsyncIOLoopKernelManager
from jupyter_client.manager import AsyncKernelManager, KernelManager
from jupyter_client.multikernelmanager import AsyncMultiKernelManager
from jupyter_client.provisioning import KernelProvisionerFactory
from tests.sandbox.conftest import backend_params, require

from toolablate.sandbox.kernelspecs import ISOLATING, install, name_of
from toolablate.sandbox.provisioning import ProvisioningError

ANSWER_SECONDS = 30
BIN = Path(sys.executable).parent

any_isolating = pytest.mark.parametrize("backend", backend_params(ISOLATING))


@pytest.fixture
def home() -> Iterator[Path]:
    """All that Jupyter and the sandbox write. With a short name: unix sockets allow 107 characters."""
    with tempfile.TemporaryDirectory(prefix="t-") as name:
        yield Path(name)


@pytest.fixture(autouse=True)
def _own_jupyter(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("JUPYTER_DATA_DIR", "JUPYTER_RUNTIME_DIR", "JUPYTER_CONFIG_DIR", "IPYTHONDIR"):
        monkeypatch.setenv(name, str(home / name.lower()))
    (home / "tmp").mkdir()
    monkeypatch.setenv("TMPDIR", str(home / "tmp"))
    monkeypatch.setattr(tempfile, "tempdir", str(home / "tmp"))


def installed(backend: str, **config: object) -> str:
    install(backend, user=True, config=config)
    return name_of(backend)


@contextlib.contextmanager
def skipping(backend: str) -> Iterator[None]:
    try:
        yield
    except ProvisioningError as unavailable:
        require(backend, unavailable)


def started(backend: str, **config: object) -> KernelManager:
    manager = KernelManager(kernel_name=installed(backend, **config))
    with skipping(backend):
        manager.start_kernel()
    return manager


def connected(manager: KernelManager) -> BlockingKernelClient:
    client = manager.client()
    client.start_channels()
    client.wait_for_ready(timeout=ANSWER_SECONDS)
    return client


def printed(client: BlockingKernelClient, code: str) -> str:
    """What a cell prints, or the name of its error."""
    shown: list[str] = []

    def show(message: dict[str, Any]) -> None:
        shown.append(message["content"].get("text", ""))

    reply = client.execute_interactive(code, timeout=ANSWER_SECONDS, output_hook=show, allow_stdin=False)
    return reply["content"].get("ename") or "".join(shown).strip()


def descendants(pid: int) -> set[int]:
    found: set[int] = set()
    for task in Path(f"/proc/{pid}/task").glob("*"):
        with contextlib.suppress(OSError):
            for child in map(int, (task / "children").read_text().split()):
                found |= {child} | descendants(child)
    return found


def descriptors() -> list[str]:
    gc.collect()
    found = []
    for descriptor in Path("/proc/self/fd").iterdir():
        with contextlib.suppress(FileNotFoundError):
            found.append(str(descriptor.readlink()).split(":")[0])
    return sorted(found)


def containers(home: Path) -> list[str]:
    import docker

    client = docker.from_env()
    try:
        ours = client.containers.list(all=True, filters={"label": "toolablate.kernel"}, ignore_removed=True)
        return [str(one.id) for one in ours if str(home) in json.dumps(one.attrs["Mounts"])]
    finally:
        client.close()


def left_behind(backend: str, home: Path) -> list[str]:
    files = [str(path) for path in (home / "tmp").iterdir()]
    runtime = home / "jupyter_runtime_dir"
    files += [str(path) for path in runtime.iterdir()] if runtime.exists() else []
    return files + (containers(home) if backend == "docker" else [])


def until(true: Callable[[], object]) -> None:
    """Polls; the time limit of the tests ends what never comes."""
    while not true():
        time.sleep(0.02)


@any_isolating
@pytest.mark.parametrize("now", [False, True], ids=["gracefully", "now"])
def test_blocking_manager(backend: str, now: bool, home: Path) -> None:
    def use() -> None:
        manager = started(backend)
        client = connected(manager)
        assert manager.is_alive()
        assert printed(client, "x = 6; print(x * 7)") == "42"
        for _ in range(2):
            manager.restart_kernel(now=now)
            client.wait_for_ready(timeout=ANSWER_SECONDS)
            assert printed(client, "x") == "NameError"
        client.stop_channels()
        manager.shutdown_kernel(now=now)
        assert not manager.is_alive()
        assert not manager.has_kernel

    use()  # the thread that kernels live on, and what else stays for good
    before = descriptors()
    use()
    assert descendants(os.getpid()) == set()
    assert descriptors() == before
    assert left_behind(backend, home) == []


@any_isolating
async def test_asynchronous_manager(backend: str, home: Path) -> None:
    manager = AsyncKernelManager(kernel_name=installed(backend))
    with skipping(backend):
        await manager.start_kernel()
    client = manager.client()
    client.start_channels()
    await client.wait_for_ready(timeout=ANSWER_SECONDS)
    client.execute("print('busy')\nwhile True: pass")
    while (await client.get_iopub_msg(timeout=ANSWER_SECONDS))["msg_type"] != "stream":
        pass
    await manager.interrupt_kernel()
    reply = await client.get_shell_msg(timeout=ANSWER_SECONDS)
    assert reply["content"]["ename"] == "KeyboardInterrupt"
    await manager.restart_kernel()
    await client.wait_for_ready(timeout=ANSWER_SECONDS)
    assert await manager.is_alive()
    client.stop_channels()
    await manager.shutdown_kernel()
    assert not await manager.is_alive()
    assert descendants(os.getpid()) == set()
    assert left_behind(backend, home) == []


@any_isolating
def test_another_client_finds_the_kernel_by_its_connection_file(backend: str, home: Path) -> None:
    manager = started(backend)
    try:
        manager.restart_kernel(now=True)
        content = json.loads(Path(manager.connection_file).read_text())
        assert content["transport"] == "ipc"
        assert content["key"] == manager.session.key.decode()
        assert content["kernel_name"] == name_of(backend)
        assert Path(manager.connection_file).stat().st_mode & 0o077 == 0
        other = BlockingKernelClient(connection_file=manager.connection_file)
        other.load_connection_file()
        other.start_channels()
        other.wait_for_ready(timeout=ANSWER_SECONDS)
        assert printed(other, "print('found')") == "found"
        other.stop_channels()
    finally:
        manager.shutdown_kernel(now=True)


@any_isolating
async def test_dead_kernel_is_restarted_under_its_clients(backend: str, caplog: pytest.LogCaptureFixture) -> None:
    manager = AsyncIOLoopKernelManager(kernel_name=installed(backend))
    manager.restarter_class.time_to_dead.default_value = 0.1
    restarted = asyncio.Event()
    with skipping(backend):
        await manager.start_kernel()
    manager.add_restart_callback(restarted.set)
    client = manager.client()
    client.start_channels()
    await client.wait_for_ready(timeout=ANSWER_SECONDS)
    client.execute("import os; os.kill(os.getpid(), 11)")
    await restarted.wait()
    await client.wait_for_ready(timeout=ANSWER_SECONDS)
    reply = await client.execute("1", reply=True, timeout=ANSWER_SECONDS)
    assert reply["content"]["status"] == "ok"
    assert "died: signal 11" in caplog.text
    client.stop_channels()
    await manager.shutdown_kernel(now=True)


async def test_a_hundred_restarts_of_one_kernel_need_no_second_fork_server(home: Path) -> None:
    manager = AsyncKernelManager(kernel_name=installed("forkserver"))
    await manager.start_kernel()
    servers = descendants(os.getpid())
    for _ in range(20):
        await manager.restart_kernel(now=True)
        assert servers & descendants(os.getpid())
    await manager.shutdown_kernel(now=True)
    assert descendants(os.getpid()) == set()


@any_isolating
async def test_many_kernels_at_once(backend: str, home: Path) -> None:
    """Of different limits, started, restarted and ended together, from one loop."""
    names = [installed(backend, memory_mb=600)] * 3
    kernels = AsyncMultiKernelManager()
    with skipping(backend):
        ids = await asyncio.gather(*(kernels.start_kernel(kernel_name=name) for name in names))
    installed(backend, memory_mb=700)
    ids.append(await kernels.start_kernel(kernel_name=names[0]))
    addresses = {kernels.get_kernel(one).ip for one in ids}
    assert len(addresses) == 4
    await asyncio.gather(*(kernels.restart_kernel(one) for one in ids[:2]))
    assert {kernels.get_kernel(one).ip for one in ids} == addresses
    assert all([await kernels.is_alive(one) for one in ids])
    await kernels.shutdown_all(now=True)
    assert descendants(os.getpid()) == set()
    assert left_behind(backend, home) == []


@any_isolating
def test_limits_of_the_kernelspec_hold(backend: str, caplog: pytest.LogCaptureFixture) -> None:
    manager = started(backend, memory_mb=100, files=50, output_chars=1_000)
    try:
        client = connected(manager)
        assert printed(client, "x = bytearray(300_000_000)") == "MemoryError"
        assert len(printed(client, "print('x' * 5_000)")) in (1_000, 1_001)
        client.execute("for i in range(200): open(f'file{i}', 'w').close()\nimport time; time.sleep(10)")
        # What the file system itself counts is an error of the code, what the guardian counts is the end of the kernel.
        if backend == "bubblewrap":
            until(lambda: not manager.is_alive())
            assert "beyond its limit files = 50" in caplog.text
        else:
            assert client.get_shell_msg(timeout=ANSWER_SECONDS)["content"]["ename"] == "OSError"
        client.stop_channels()
    finally:
        manager.shutdown_kernel(now=True)


@any_isolating
def test_question_of_a_cell_is_answered_by_a_client_that_can(backend: str) -> None:
    manager = started(backend)
    try:
        client = connected(manager)
        client.execute("print(input('name? ')[::-1])")
        assert client.get_stdin_msg(timeout=ANSWER_SECONDS)["content"]["prompt"] == "name? "
        client.input("abc")
        assert client.get_shell_msg(timeout=ANSWER_SECONDS)["content"]["status"] == "ok"
        client.stop_channels()
    finally:
        manager.shutdown_kernel(now=True)


@any_isolating
def test_signals_reach_the_kernel(backend: str) -> None:
    manager = started(backend)
    try:
        client = connected(manager)
        printed(client, "import signal; seen = []; signal.signal(signal.SIGUSR1, lambda *_: seen.append(1))")
        manager.signal_kernel(signal.SIGUSR1)
        assert printed(client, "while not seen: pass\nprint(seen)") == "[1]"
        printed(client, "signal.signal(signal.SIGTERM, signal.SIG_IGN)")
        manager.signal_kernel(signal.SIGTERM)
        manager.signal_kernel(0)
        assert printed(client, "print('still here')") == "still here"
        client.stop_channels()
        manager.signal_kernel(signal.SIGKILL)
        assert not manager.is_alive()
    finally:
        manager.shutdown_kernel(now=True)


@any_isolating
def test_kernel_that_ignores_every_request_to_end_is_ended(backend: str, home: Path) -> None:
    manager = started(backend)
    manager.shutdown_wait_time = 1.0
    client = connected(manager)
    client.execute("import signal\nfor s in (2, 15): signal.signal(s, signal.SIG_IGN)\nprint('deaf')\nwhile True: pass")
    while client.get_iopub_msg(timeout=ANSWER_SECONDS)["msg_type"] != "stream":
        pass
    # The thread that hears shutdown requests cannot end a program that is busy and has no ear for signals.
    client.stop_channels()
    manager.shutdown_kernel()
    assert descendants(os.getpid()) == set()
    assert left_behind(backend, home) == []


@any_isolating
async def test_cancelled_start_leaves_nothing(backend: str, home: Path) -> None:
    with skipping(backend):
        manager = AsyncKernelManager(kernel_name=installed(backend))
        await manager.start_kernel()
        await manager.shutdown_kernel(now=True)
    for moment in (0.0, 0.001, 0.01, 0.03, 0.05, 0.2):
        manager = AsyncKernelManager(kernel_name=name_of(backend))
        starting = asyncio.ensure_future(manager.start_kernel())
        await asyncio.sleep(moment)
        if starting.cancel():
            with pytest.raises(asyncio.CancelledError):
                await starting
        if manager.has_kernel:  # it stood already
            await manager.shutdown_kernel(now=True)
    assert descendants(os.getpid()) == set()
    assert left_behind(backend, home) == []


def test_session_key_that_a_user_chose_holds() -> None:
    manager = KernelManager(kernel_name=installed("bubblewrap"))
    manager.session.key = b"open sesame"
    manager.start_kernel()
    try:
        client = connected(manager)
        assert printed(client, "print(get_ipython().kernel.session.key.decode())") == "open sesame"
        client.stop_channels()
    finally:
        manager.shutdown_kernel(now=True)


def test_no_session_key_gets_one() -> None:
    manager = KernelManager(kernel_name=installed("bubblewrap"))
    manager.session.key = b""
    manager.start_kernel()
    try:
        assert len(manager.session.key) == 64
        connected(manager).stop_channels()
    finally:
        manager.shutdown_kernel(now=True)


def _require_encryption(manager: KernelManager) -> None:
    manager.kernel_spec.metadata["supported_encryption"] = "curve"
    manager.transport_encryption = "required"


def _give_curve_keys(manager: KernelManager) -> None:
    import zmq

    manager.curve_publickey, manager.curve_secretkey = zmq.curve_keypair()


def _give_key_of_bytes(manager: KernelManager) -> None:
    manager.session.key = b"\xff\xfe"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (_require_encryption, "no encrypted transport"),
        (_give_curve_keys, "no encrypted transport"),
        (_give_key_of_bytes, "must be text"),
    ],
)
def test_refused_before_anything_is_started(change: Callable[[KernelManager], None], message: str, home: Path) -> None:
    manager = KernelManager(kernel_name=installed("bubblewrap"))
    change(manager)
    with pytest.raises(ProvisioningError, match=message):
        manager.start_kernel()
    assert not manager.has_kernel
    assert descendants(os.getpid()) == set()
    assert left_behind("bubblewrap", home) == []


def test_what_does_not_reach_the_kernel_is_told(caplog: pytest.LogCaptureFixture, monkeypatch: Any) -> None:
    monkeypatch.setenv("SECRET", "s3cret")
    manager = KernelManager(kernel_name=installed("bubblewrap", cell_seconds=5.0))
    manager.kernel_spec.env = {"MODE": "fast"}
    manager.start_kernel(extra_arguments=["--pylab=inline"], cwd="/root", env={"PATH": "/bin", "TOKEN": "t0ken"})
    try:
        client = connected(manager)
        seen = printed(client, "import os; print(os.getcwd(), sorted(os.environ))")
        assert not any(name in seen for name in ("MODE", "TOKEN", "SECRET", "/root"))
        client.stop_channels()
    finally:
        manager.shutdown_kernel(now=True)
    for told in (
        "options ['--pylab=inline'] do not reach",
        "variables MODE do not reach",
        "cell_seconds is of no effect",
    ):
        assert told in caplog.text


def test_missing_bubblewrap_is_named_with_its_remedy(monkeypatch: pytest.MonkeyPatch, home: Path) -> None:
    manager = KernelManager(kernel_name=installed("bubblewrap"))
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(ProvisioningError, match=r"not installed\n  apt-get install bubblewrap"):
        manager.start_kernel()
    assert left_behind("bubblewrap", home) == []


@pytest.mark.parametrize("backend", ["bubblewrap", "forkserver"])
def test_python_without_ipykernel(backend: str, home: Path, caplog: pytest.LogCaptureFixture) -> None:
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(home / "venv")], check=True)
    manager = KernelManager(kernel_name=installed(backend, python=str(home / "venv" / "bin" / "python")))
    said = ""
    try:
        manager.start_kernel()
        until(lambda: not manager.is_alive())
        manager.shutdown_kernel(now=True)
    except ProvisioningError as error:  # where it is noticed before the kernel is forked
        said = str(error)
    assert "No module named" in said + caplog.text
    assert descendants(os.getpid()) == set()
    assert left_behind(backend, home) == []


def test_python_that_is_none() -> None:
    with pytest.raises(ProvisioningError, match="/bin/false"):
        KernelManager(kernel_name=installed("bubblewrap", python="/bin/false")).start_kernel()


HOST = """
import sys, time
from jupyter_client.manager import KernelManager
manager = KernelManager(kernel_name=sys.argv[1])
manager.start_kernel()
client = manager.client()
client.start_channels()
client.wait_for_ready(timeout=30)
print("ready", flush=True)
time.sleep(float(sys.argv[2]))
client.stop_channels()
"""


@any_isolating
def test_program_that_never_shuts_its_kernel_down(backend: str, home: Path) -> None:
    program = subprocess.run(
        [sys.executable, "-c", HOST, installed(backend), "0"], capture_output=True, text=True, check=False
    )
    if backend == "docker" and "Docker" in program.stderr:
        require(backend, ProvisioningError(program.stderr, code="no_daemon"))
    assert (program.stdout, program.stderr) == ("ready\n", "")
    assert [name for name in left_behind(backend, home) if "toolablate" in name or "/" not in name] == []


@any_isolating
def test_kernels_end_with_a_killed_program(backend: str, home: Path) -> None:
    manager = started(backend)
    manager.shutdown_kernel(now=True)
    command = [sys.executable, "-c", HOST, name_of(backend), "1000"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as program:
        assert program.stdout is not None
        assert program.stdout.readline() == "ready\n"
        kernels = descendants(program.pid)
        program.kill()
    until(lambda: not any(Path(f"/proc/{pid}").exists() for pid in kernels))
    if backend == "docker":
        until(lambda: not containers(home))
    manager = started(backend)  # sweeps
    manager.shutdown_kernel(now=True)
    assert [name for name in left_behind(backend, home) if "toolablate" in name] == []


@any_isolating
def test_programs_of_jupyter(backend: str, home: Path) -> None:
    """`jupyter run` ends its kernel in an `atexit` handler, `jupyter kernel` at a signal."""
    name = installed(backend)
    run = subprocess.run(
        [BIN / "jupyter", "run", "--kernel", name], input="print(6 * 7)", capture_output=True, text=True, check=False
    )
    if backend == "docker" and "Docker" in run.stderr:
        require(backend, ProvisioningError(run.stderr, code="no_daemon"))
    assert (run.returncode, run.stdout, run.stderr) == (0, "42\n", "")
    with subprocess.Popen([BIN / "jupyter", "kernel", "--kernel", name], stderr=subprocess.PIPE, text=True) as program:
        assert program.stderr is not None
        said = ""
        while "Connection file: " not in said:
            said = program.stderr.readline()
        client = BlockingKernelClient(connection_file=said.split("Connection file: ")[1].strip())
        client.load_connection_file()
        client.start_channels()
        client.wait_for_ready(timeout=ANSWER_SECONDS)
        assert printed(client, "print('found')") == "found"
        client.stop_channels()
        program.send_signal(signal.SIGTERM)
        assert "Traceback" not in program.stderr.read()
    assert program.returncode == 0
    assert left_behind(backend, home) == []


@any_isolating
def test_notebook(backend: str, home: Path) -> None:
    import nbformat
    from nbclient import NotebookClient
    from nbclient.exceptions import CellExecutionError

    cells = ["x = 6", "print(x * 7)", "x", "import matplotlib.pyplot as plt; plt.plot([1, 2]); plt.show()"]
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(source) for source in cells])
    with skipping(backend):
        NotebookClient(notebook, kernel_name=installed(backend), timeout=60).execute()
    outputs = [cell.outputs for cell in notebook.cells]
    assert outputs[0] == []
    assert outputs[1][0].text == "42\n"
    assert outputs[2][0].data["text/plain"] == "6"
    assert "image/png" in outputs[3][-1].data
    failing = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell("1 / 0")])
    with pytest.raises(CellExecutionError, match="ZeroDivisionError"):
        NotebookClient(failing, kernel_name=name_of(backend)).execute()
    assert descendants(os.getpid()) == set()
    assert left_behind(backend, home) == []


def test_manager_in_a_thread_that_ends(home: Path) -> None:
    """The kernel lives on, although bubblewrap ends with the thread that started it."""
    manager = KernelManager(kernel_name=installed("bubblewrap"))

    async def start_in_thread() -> None:
        await asyncio.to_thread(manager.start_kernel)

    asyncio.run(start_in_thread())
    client = connected(manager)
    assert printed(client, "print('alive')") == "alive"
    client.stop_channels()
    manager.shutdown_kernel()


def test_forked_program_starts_kernels_of_its_own(home: Path) -> None:
    program = f"""
import os
from jupyter_client.manager import KernelManager
def use(manager):
    client = manager.client()
    client.start_channels()
    client.wait_for_ready(timeout=30)
    client.stop_channels()
ours = KernelManager(kernel_name={installed("bubblewrap")!r})
ours.start_kernel()
if (child := os.fork()) == 0:
    theirs = KernelManager(kernel_name={name_of("bubblewrap")!r})
    theirs.start_kernel()
    use(theirs)
    theirs.shutdown_kernel()
    raise SystemExit(7)
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
use(ours)
ours.shutdown_kernel()
"""
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert (result.returncode, result.stderr) == (0, "")
    assert left_behind("bubblewrap", home) == []


def test_entry_points() -> None:
    entries = KernelProvisionerFactory.instance().get_provisioner_entries()
    assert {name for name in entries if name.startswith("toolablate")} == set(map(name_of, ISOLATING))


async def test_provisioner_tells_of_itself() -> None:
    manager = AsyncKernelManager(kernel_name=installed("bubblewrap"))
    await manager.start_kernel()
    try:
        assert manager.provisioner is not None
        told = await manager.provisioner.get_provisioner_info()
        assert told["backend"] == "bubblewrap"
        assert told["connection_info"]["ip"] == manager.ip
        with socket.socket(socket.AF_UNIX) as shell:
            shell.connect(f"{manager.ip}-{manager.shell_port}")
        assert manager.resolve_path("/etc/passwd") is None
    finally:
        await manager.shutdown_kernel(now=True)
