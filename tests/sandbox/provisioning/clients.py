"""What the tests of provisioned kernels do with managers and clients, and what they look for afterwards."""

import contextlib
import gc
import json
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from jupyter_client.blocking.client import BlockingKernelClient
from jupyter_client.manager import KernelManager
from tests.sandbox.conftest import backend_params, require

from toolablate.sandbox.kernelspecs import ISOLATING, install, name_of
from toolablate.sandbox.provisioning import ProvisioningError

ANSWER_SECONDS = 30

any_isolating = pytest.mark.parametrize("backend", backend_params(ISOLATING))


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


def existing(connection_file: str) -> BlockingKernelClient:
    """Connected to a kernel that somebody else started."""
    client = BlockingKernelClient(connection_file=connection_file)
    client.load_connection_file()
    client.start_channels(hb=False)  # which takes a machine that is busy for a second for a dead kernel
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
