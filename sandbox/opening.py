"""Opening a sandbox by the name of its backend."""

import ast
import asyncio
import contextlib
import json
from collections import deque
from collections.abc import Coroutine, Sequence
from typing import TYPE_CHECKING

from toolablate.sandbox.kernel import Availability, Kernel, KernelUnavailable, Limits, Sandbox, WorkFile

if TYPE_CHECKING:
    from toolablate.sandbox.jupyter import JupyterKernel
    from toolablate.sandbox.process import Backend, KernelProcess

BACKENDS = ("forkserver", "bubblewrap", "docker", "none")
"""In order of preference. `none` protects from nothing and is only ever used where it is asked for by this name."""


def open_sandbox(backend: str, limits: Limits | None = None, *, python: str | None = None, pool: int = 0) -> Sandbox:
    """A sandbox whose kernels run on `python`: a path, by default the interpreter that runs us (docker brings its own).

    From the first `start` on, `pool` kernels are kept ready for the next ones.
    Nothing is started or tried yet. Raises `KernelUnavailable` for a name that is none of `BACKENDS`.
    """
    if backend not in BACKENDS:
        raise KernelUnavailable(
            f"there is no sandbox backend {backend!r}", hint=f"choose one of: {', '.join(BACKENDS)}", code="no_backend"
        )
    return _JupyterSandbox(backend, limits or Limits(), python, pool)


class _JupyterSandbox:
    def __init__(self, backend: str, limits: Limits, python: str | None, pool: int) -> None:
        self.name = backend
        self.limits = limits
        self._python = python
        self._pool = pool
        self._backend: Backend | None = None
        self._kernels: set[JupyterKernel] = set()
        self._ready: deque[JupyterKernel] = deque()
        self._work: set[asyncio.Task[None]] = set()
        self._filling = 0
        self._closing = False

    async def check(self) -> Availability:
        """Starts a kernel, lets it reckon, asks what it has, and closes it."""
        try:
            kernel = await self.start()
            try:
                result = await kernel.execute("6 * 7")
                packages = await kernel.execute(LIST_PACKAGES)
            finally:
                await kernel.close()
        except KernelUnavailable as unavailable:
            return Availability(works=False, detail=unavailable.message, remedy=unavailable.hint)
        if result.status != "ok" or result.text.strip() != "42":
            return Availability(works=False, detail=f"a kernel started, and 6 * 7 gave {result.text[:200]!r}")
        return Availability(works=True, detail=_DETAILS[self.name], versions=_versions(packages.text))

    async def start(self, files: Sequence[WorkFile] = ()) -> Kernel:
        if self._closing:
            raise _closed()
        kernel = self._take_ready() or await self._new_kernel()
        self._refill()
        if files:
            try:
                await kernel.give(files)
            except BaseException:
                await kernel.close()
                raise
        return kernel

    def release(self, kernel: Kernel) -> None:
        """Closes a kernel without waiting for its end."""
        self._do(kernel.close())

    def _take_ready(self) -> "JupyterKernel | None":
        while self._ready:
            if (kernel := self._ready.popleft()).alive:
                return kernel
            self.release(kernel)
        return None

    def _refill(self) -> None:
        while not self._closing and len(self._ready) + self._filling < self._pool:
            self._filling += 1
            self._do(self._add_ready())

    async def _add_ready(self) -> None:
        try:
            # Whoever needs a kernel and finds none ready starts one, and is told then what is wrong.
            with contextlib.suppress(KernelUnavailable):
                self._ready.append(await self._new_kernel())
        finally:
            self._filling -= 1

    def _do(self, work: "Coroutine[object, object, None]") -> None:
        task = asyncio.ensure_future(work)
        self._work.add(task)
        task.add_done_callback(self._work.discard)

    async def _new_kernel(self) -> "JupyterKernel":
        from toolablate.sandbox.jupyter import JupyterKernel

        kernel = JupyterKernel(self._launch, self.limits, on_close=self._kernels.discard)
        self._kernels.add(kernel)
        try:
            await kernel.open()
        except BaseException as error:
            self._kernels.discard(kernel)
            task = asyncio.current_task()
            if self._closing and not (task and task.cancelling()):
                raise _closed() from error
            raise
        return kernel

    async def close(self) -> None:
        """Closes all its kernels."""
        self._closing = True
        try:
            await self._close()
        finally:
            self._closing = False

    async def _close(self) -> None:
        for task in self._work:
            task.cancel()
        await asyncio.gather(*self._work, return_exceptions=True)
        self._ready.clear()
        await asyncio.gather(*(kernel.close() for kernel in tuple(self._kernels)))
        if self._backend is not None:
            await self._backend.close()
            self._backend = None

    async def _launch(self) -> "KernelProcess":
        if self._backend is None:
            from toolablate.sandbox.process import system_hint

            try:
                self._backend = open_backend(self.name, self.limits, self._python)
            except OSError as error:
                raise KernelUnavailable(
                    f"no kernel can be started: {error}", hint=system_hint(error), code="start_failed"
                ) from error
        process = self._backend.new_process()
        await process.start()
        return process


def _closed() -> KernelUnavailable:
    return KernelUnavailable("the sandbox was closed", code="closed")


# A package that brings benchmarks or tools to toolablate is nothing that a model's code computes with.
LIST_PACKAGES = """
import importlib.metadata, json, platform
packages = {
    package.name: package.version
    for package in importlib.metadata.distributions()
    if package.name == "toolablate" or not any(point.group.startswith("toolablate.") for point in package.entry_points)
}
json.dumps({"python": platform.python_version(), **packages})
"""


def _versions(shown: str) -> dict[str, str]:
    """Of what a kernel lists; what is no list of versions is none."""
    with contextlib.suppress(ValueError, SyntaxError):
        versions = json.loads(ast.literal_eval(shown.strip()))
        return {str(name): str(version) for name, version in sorted(versions.items())}
    return {}


_DETAILS = {
    "forkserver": "kernels forked from a prepared process in bubblewrap: own namespaces, read-only system, no network",
    "bubblewrap": "one bubblewrap per kernel: own namespaces, read-only system, no network",
    "docker": "one container per kernel: own namespaces, read-only system, no network",
    "none": "NO PROTECTION: model-written code can do whatever you can",
}


def open_backend(name: str, limits: Limits, python: str | None) -> "Backend":
    """A backend, with nothing started yet; raises `KernelUnavailable`."""
    if name == "docker":
        from toolablate.sandbox.backends.docker import Docker

        return Docker(limits)
    from toolablate.sandbox.python import find_python, without_homes

    if name == "none":
        from toolablate.sandbox.backends.plain import Plain

        return Plain(limits, find_python(python))
    shown = without_homes(find_python(python))
    if name == "bubblewrap":
        from toolablate.sandbox.backends.bubblewrap import Bubblewrap

        return Bubblewrap(limits, shown)
    from toolablate.sandbox.backends.forkserver import ForkServer

    return ForkServer(limits, shown)
