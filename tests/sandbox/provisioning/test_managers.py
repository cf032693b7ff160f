"""Isolated kernels under blocking and asynchronous managers: restarts, interrupts, signals, ends."""

import asyncio
import json
import os
import signal
from pathlib import Path

import pytest
from jupyter_client.ioloop import AsyncIOLoopKernelManager
from jupyter_client.manager import AsyncKernelManager
from jupyter_client.multikernelmanager import AsyncMultiKernelManager
from tests.sandbox.provisioning.clients import (
    ANSWER_SECONDS,
    any_isolating,
    connected,
    descendants,
    descriptors,
    existing,
    installed,
    left_behind,
    printed,
    skipping,
    started,
)
from traitlets.config import Config

from toolablate.sandbox.kernelspecs import name_of

pytestmark = pytest.mark.deep


@any_isolating
def test_blocking_manager(backend: str, home: Path) -> None:
    def use(*restarts: bool) -> None:
        manager = started(backend)
        client = connected(manager)
        assert manager.is_alive()
        assert printed(client, "x = 6; print(x * 7)") == "42"
        for now in restarts:
            manager.restart_kernel(now=now)
            client.wait_for_ready(timeout=ANSWER_SECONDS)
            assert printed(client, "x") == "NameError"
        client.stop_channels()
        manager.shutdown_kernel()
        assert not manager.is_alive()
        assert not manager.has_kernel

    use()  # what stays for good: the thread that kernels live on
    before = descriptors()
    use(False, True)
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
    # On a busy machine there are late answers to what the client asked until the kernel was ready.
    while (reply := await client.get_shell_msg(timeout=ANSWER_SECONDS))["msg_type"] != "execute_reply":
        pass
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
        other = existing(manager.connection_file)
        assert printed(other, "print('found')") == "found"
        other.stop_channels()
    finally:
        manager.shutdown_kernel(now=True)


@any_isolating
async def test_dead_kernel_is_restarted_under_its_clients(backend: str, caplog: pytest.LogCaptureFixture) -> None:
    often = Config({"KernelRestarter": {"time_to_dead": 0.1}})
    manager = AsyncIOLoopKernelManager(kernel_name=installed(backend), config=often)
    restarted = asyncio.Event()
    with skipping(backend):
        await manager.start_kernel()
    manager.add_restart_callback(restarted.set)
    client = manager.client()
    client.start_channels()
    await client.wait_for_ready(timeout=ANSWER_SECONDS)
    client.execute("import os; os.kill(os.getpid(), 11)")
    await restarted.wait()
    # It is told of when it begins; a client that asks before the fresh kernel is there takes it for dead.
    while not await manager.is_alive():  # noqa: ASYNC110 - nobody tells us
        await asyncio.sleep(0.02)
    await client.wait_for_ready(timeout=ANSWER_SECONDS)
    reply = await client.execute("1", reply=True, timeout=ANSWER_SECONDS)
    assert reply["content"]["status"] == "ok"
    assert "died: signal 11" in caplog.text
    client.stop_channels()
    await manager.shutdown_kernel(now=True)


async def test_restarts_need_no_second_fork_server(home: Path) -> None:
    manager = AsyncKernelManager(kernel_name=installed("forkserver"))
    await manager.start_kernel()
    servers = descendants(os.getpid())
    for _ in range(3):
        await manager.restart_kernel(now=True)
        servers &= descendants(os.getpid())
    assert len(servers) >= 3  # the keeper, and bubblewrap with the server in it
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
    for moment in (0.01, 0.04, 0.2):
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
