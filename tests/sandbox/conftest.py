import dataclasses
import os
import shutil
import socket
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import cast

import pytest
import pytest_asyncio

from toolablate.sandbox import (
    BACKENDS,
    Kernel,
    KernelUnavailable,
    Limits,
    Sandbox,
    jupyter,
    open_sandbox,
)
from toolablate.sandbox import (
    jupyter as execution,
)
from toolablate.sandbox.backends.forkserver import ForkServer
from toolablate.sandbox.jupyter import JupyterKernel
from toolablate.sandbox.python import find_python, without_homes

OpenKernel = Callable[..., Awaitable[Kernel]]

ISOLATING = tuple(name for name in BACKENDS if name != "none")
QUICK = Limits(
    memory_mb=500,
    cell_seconds=20,
    grace_seconds=2,
    start_seconds=100,
    disk_mb=32,
    output_chars=5_000,
    output_messages=50,
)


def backend_params(names: tuple[str, ...]) -> list[object]:
    """Each with its marks: all but one are deep."""
    marks = {"docker": pytest.mark.docker, "forkserver": ()}
    return [pytest.param(name, marks=marks.get(name, pytest.mark.deep)) for name in names]


def require(backend: str, unavailable: KernelUnavailable) -> None:
    """Skips where the machine has no Docker; anything else that is missing is a failure."""
    optional = backend == "docker" and os.environ.get("TOOLABLATE_REQUIRE_DOCKER") != "1"
    if optional and unavailable.code in ("no_daemon", "no_image"):
        pytest.skip(f"{unavailable.message} ({unavailable.hint})")
    raise unavailable


async def started(sandbox: Sandbox) -> Kernel:
    try:
        return await sandbox.start()
    except KernelUnavailable as unavailable:
        require(sandbox.name, unavailable)
        raise


@asynccontextmanager
async def _opened(backend: str) -> AsyncIterator[Sandbox]:
    if backend == "bubblewrap" and shutil.which("bwrap") is None:
        pytest.fail("bubblewrap is not installed: apt-get install bubblewrap")
    sandbox = open_sandbox(backend, QUICK)
    try:
        yield sandbox
    finally:
        await sandbox.close()


@pytest.fixture(params=backend_params(BACKENDS))
def any_backend(request: pytest.FixtureRequest) -> str:
    return str(request.param)


read_by_the_host = pytest.mark.parametrize("isolating_backend", ["forkserver"], indirect=True)
"""For tests of what the host reads of a kernel: the same code does so whatever holds the kernel, so one is enough."""


@pytest.fixture(params=backend_params(ISOLATING))
def isolating_backend(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest_asyncio.fixture(loop_scope="module")
async def sandbox(any_backend: str) -> AsyncIterator[Sandbox]:
    async with _opened(any_backend) as opened:
        yield opened


@pytest_asyncio.fixture(loop_scope="module")
async def isolating(isolating_backend: str) -> AsyncIterator[Sandbox]:
    async with _opened(isolating_backend) as opened:
        yield opened


@pytest.fixture
def start() -> Callable[[Sandbox], Awaitable[Kernel]]:
    return started


@pytest_asyncio.fixture(scope="module", loop_scope="module", params=backend_params(BACKENDS))
async def shared_kernel(request: pytest.FixtureRequest) -> AsyncIterator[Kernel]:
    """One for all tests of a module, where these do not care what was there before."""
    async with _opened(str(request.param)) as opened:
        yield await started(opened)


@pytest_asyncio.fixture(scope="module", loop_scope="module", params=backend_params(ISOLATING))
async def shared_jail(request: pytest.FixtureRequest, sandboxes: "Sandboxes") -> Kernel:
    return await started(sandboxes.get(str(request.param)))


@pytest.fixture(autouse=True)
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Cells that a busy machine keeps from running get their own time, however long that takes."""
    monkeypatch.setattr(execution, "_MOST_TIMES", 1_000)


@pytest.fixture
def restless(monkeypatch: pytest.MonkeyPatch) -> None:
    """Kernels go on between cells, where a test wants to see what they do there."""
    monkeypatch.setattr(jupyter, "_REST_SECONDS", 3600.0)


def unhurried(kernel: Kernel, cell_seconds: float = 60.0) -> Kernel:
    """From now on its cells have all the time of the test: what they show is looked at, not how soon."""
    own = cast(JupyterKernel, kernel)
    own._limits = dataclasses.replace(own._limits, cell_seconds=cell_seconds)
    return kernel


class SameServer(ForkServer):
    """The fork server of another, whose kernels have limits of their own: it takes seconds to start."""

    def __init__(self, of: ForkServer, limits: Limits) -> None:
        self.__dict__ = {**of.__dict__, "_limits": limits, "_of": of}

    async def fork(self) -> socket.socket:
        return await self._of.fork()

    def error(self) -> str:
        return self._of.error()

    async def close(self) -> None:
        """By the other one."""


class Sandboxes:
    """One for each backend and set of limits, for all tests of a module, which has one fork server."""

    def __init__(self) -> None:
        self._opened: dict[tuple[str, Limits], Sandbox] = {}
        self._server: ForkServer | None = None

    def get(self, backend: str, **changes: float) -> Sandbox:
        limits = dataclasses.replace(QUICK, **changes)  # type: ignore[arg-type]
        if (backend, limits) not in self._opened:
            self._opened[backend, limits] = opened = open_sandbox(backend, limits)
            if backend == "forkserver":
                self._server = self._server or ForkServer(QUICK, without_homes(find_python(None)))
                opened._backend = SameServer(self._server, limits)  # type: ignore[attr-defined]
        return self._opened[backend, limits]

    async def close(self) -> None:
        for sandbox in self._opened.values():
            await sandbox.close()
        if self._server is not None:
            await self._server.close()


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def sandboxes() -> AsyncIterator[Sandboxes]:
    opened = Sandboxes()
    yield opened
    await opened.close()


@pytest_asyncio.fixture(loop_scope="module")
async def with_limits(any_backend: str, sandboxes: Sandboxes) -> AsyncIterator[OpenKernel]:
    """Starts kernels whose limits differ from the quick ones in the named ways; they are closed after the test."""
    async for open_kernel in _opener(any_backend, sandboxes):
        yield open_kernel


@pytest_asyncio.fixture(loop_scope="module")
async def jail_with(isolating_backend: str, sandboxes: Sandboxes) -> AsyncIterator[OpenKernel]:
    async for open_kernel in _opener(isolating_backend, sandboxes):
        yield open_kernel


async def _opener(backend: str, sandboxes: Sandboxes) -> AsyncIterator[OpenKernel]:
    kernels: list[Kernel] = []

    async def open_kernel(**changes: float) -> Kernel:
        kernels.append(await started(sandboxes.get(backend, **changes)))
        return kernels[-1]

    yield open_kernel
    for kernel in kernels:
        await kernel.close()
