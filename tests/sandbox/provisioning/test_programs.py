"""Isolated kernels in whole programs: those of Jupyter, and those that end in whatever way."""

import asyncio
import contextlib
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from jupyter_client.manager import KernelManager
from tests.sandbox.conftest import require
from tests.sandbox.provisioning.clients import (
    any_isolating,
    connected,
    containers,
    descendants,
    existing,
    installed,
    left_behind,
    printed,
    skipping,
    until,
)

from toolablate.sandbox.kernelspecs import name_of
from toolablate.sandbox.provisioning import ProvisioningError

pytestmark = pytest.mark.deep

BIN = Path(sys.executable).parent


@contextlib.contextmanager
def ending(program: "subprocess.Popen[str]") -> Iterator["subprocess.Popen[str]"]:
    """A test that fails leaves no program to the next one."""
    with program:
        try:
            yield program
        except BaseException:
            program.kill()
            raise


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
    command = [sys.executable, "-c", HOST, installed(backend), "1000"]
    with ending(subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)) as program:
        assert program.stdout is not None
        assert program.stderr is not None
        if program.stdout.readline() != "ready\n":
            require(backend, ProvisioningError(program.stderr.read(), code="no_daemon"))
        kernels = descendants(program.pid)
        program.kill()
    until(lambda: not any(Path(f"/proc/{pid}").exists() for pid in kernels))
    if backend == "docker":
        until(lambda: not containers(home))
    until(lambda: not [name for name in left_behind(backend, home) if "toolablate" in name])


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
    with ending(
        subprocess.Popen([BIN / "jupyter", "kernel", "--kernel", name], stderr=subprocess.PIPE, text=True)
    ) as program:
        assert program.stderr is not None
        said = next(line for line in program.stderr if "Connection file: " in line)
        client = existing(said.split("Connection file: ")[1].strip())
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
