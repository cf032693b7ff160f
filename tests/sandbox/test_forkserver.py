"""What only a fork server can do: start once, die under its kernels, and start again."""

import asyncio
import os
import signal
import tempfile
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
from tests.sandbox.environments import environment_in

from toolablate.sandbox import Kernel, KernelUnavailable, Sandbox, WorkFile, open_sandbox
from toolablate.sandbox.backends import forkserver
from toolablate.sandbox.kernel import Limits

pytestmark = pytest.mark.deep

in_one_loop = pytest.mark.asyncio(loop_scope="module")


@pytest_asyncio.fixture(loop_scope="module")
async def sandbox() -> AsyncIterator[Sandbox]:
    opened = open_sandbox("forkserver", Limits(disk_mb=20, cell_seconds=20))
    yield opened
    await opened.close()


def processes_of(kernel: Kernel) -> dict[str, int]:
    """The bubblewrap of its server and, below it, the nursery and the zygote."""
    server: Any = kernel._process._server  # type: ignore[attr-defined]
    bwrap = server._child._process.pid
    (nursery,) = Path(f"/proc/{bwrap}/task/{bwrap}/children").read_text().split()
    zygote = Path(f"/proc/{nursery}/task/{nursery}/children").read_text().split()[0]
    return {"bwrap": bwrap, "nursery": int(nursery), "zygote": int(zygote)}


@in_one_loop
async def test_a_package_that_likes_threads_is_ready_and_works_in_a_fork(sandbox: Sandbox) -> None:
    pytest.importorskip("pyarrow")
    kernel = await sandbox.start()
    code = (
        "import sys; ready = 'pyarrow' in sys.modules\n"
        "import pandas as pd\n"
        "pd.DataFrame({'a': ['x', 'y'], 'b': [1, 2]}).to_parquet('t.parquet')\n"
        "print(ready, pd.read_parquet('t.parquet').b.sum())"
    )
    result = await kernel.execute(code)
    assert (result.status, result.text) == ("ok", "True 3\n"), result.text
    await kernel.close()


@in_one_loop
@pytest.mark.parametrize("victim", ["bwrap", "nursery", "zygote"])
async def test_end_of_the_server_is_no_result_of_a_cell(sandbox: Sandbox, victim: str) -> None:
    busy, idle = await sandbox.start(), await sandbox.start()
    killed = processes_of(busy)[victim]
    asyncio.get_running_loop().call_later(0.3, os.kill, killed, signal.SIGKILL)
    with pytest.raises(KernelUnavailable) as lost:
        await busy.execute("import time; time.sleep(15)")
    assert lost.value.code == "kernel_lost"
    with pytest.raises(KernelUnavailable) as lost:
        await idle.execute("1")
    assert lost.value.code == "kernel_lost"
    assert (await idle.execute("6 * 7")).text.endswith("42\n")
    assert (await (await sandbox.start()).execute("6 * 7")).text == "42\n"


@in_one_loop
async def test_failed_start_is_not_remembered(monkeypatch: pytest.MonkeyPatch, sandbox: Sandbox) -> None:
    monkeypatch.setattr(forkserver, "_READY_SECONDS", 0.05)
    with pytest.raises(KernelUnavailable, match="did not respond") as slow:
        await sandbox.start()
    assert slow.value.retryable
    monkeypatch.undo()
    assert (await (await sandbox.start()).execute("6 * 7")).text == "42\n"


@in_one_loop
@pytest.mark.parametrize("size", [19_000_000, 20_400_000])
async def test_file_is_placed_whole_or_not_at_all(sandbox: Sandbox, size: int) -> None:
    file = WorkFile("data.bin", bytes(size))
    if size > 20_000_000:
        with pytest.raises(KernelUnavailable, match="No space left"):
            await sandbox.start([file])
    else:
        kernel = await sandbox.start([file])
        assert (await kernel.execute("import os; os.path.getsize('data.bin')")).text == f"{size}\n"


@in_one_loop
async def test_kernel_works_though_its_folder_is_full(sandbox: Sandbox) -> None:
    kernel = await sandbox.start([WorkFile("data.bin", bytes(19_990_000))])
    assert (await kernel.execute("6 * 7")).text == "42\n"


@in_one_loop
async def test_environment_below_tmp_is_seen() -> None:
    with tempfile.TemporaryDirectory(dir="/tmp") as folder:
        sandbox = open_sandbox("forkserver", python=await asyncio.to_thread(environment_in, Path(folder, "env")))
        try:
            kernel = await sandbox.start()
            assert (await kernel.execute("import late; late.x")).text == "42\n"
        finally:
            await sandbox.close()


@in_one_loop
@pytest.mark.parametrize("seconds", [0.0, 0.2, 0.5])
async def test_closing_ends_starts(seconds: float) -> None:
    sandbox = open_sandbox("forkserver", pool=2)
    starting = asyncio.ensure_future(sandbox.start())
    await asyncio.sleep(seconds)
    await sandbox.close()
    with pytest.raises(KernelUnavailable) as closed:
        await starting
    assert closed.value.code == "closed"
