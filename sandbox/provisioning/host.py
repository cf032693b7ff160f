"""One thread with one event loop for all provisioned kernels of this process, and addresses that outlast restarts."""

import asyncio
import atexit
import contextlib
import os
import shutil
import tempfile
import threading
from collections.abc import Callable, Coroutine
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from queue import SimpleQueue
from typing import Any, ParamSpec, TypeVar

from toolablate.sandbox.host_resources import HostResources
from toolablate.sandbox.kernel import KernelUnavailable, Limits
from toolablate.sandbox.opening import open_backend
from toolablate.sandbox.process import CHANNELS, Backend, KernelProcess


class StableAddress:
    """Links `{address}-1` to `{address}-5` in a new folder in `place`, to the sockets of whichever kernel lives now.

    A client that is connected when its kernel ends tries the same path again until it leads to the next kernel.
    """

    def __init__(self, place: Path) -> None:
        self._folder = Path(tempfile.mkdtemp(prefix="", dir=place))
        self.address = str(self._folder / "k")

    def lead_to(self, address: str) -> None:
        for number, _ in enumerate(CHANNELS, start=1):
            link = Path(f"{self.address}-{number}")
            link.unlink(missing_ok=True)
            link.symlink_to(f"{address}-{number}")

    def close(self) -> None:
        shutil.rmtree(self._folder, ignore_errors=True)


# Threads for blocking work that are still there when a program ends.


_P = ParamSpec("_P")
_T = TypeVar("_T")


class LastingWorkers(ThreadPoolExecutor):
    """The threads of an ordinary executor take no work any more when the handlers of `atexit` run, which is where many
    Jupyter programs end their kernels, and no new ones can be started then. (An event loop takes only a subclass.)"""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self._tasks: SimpleQueue[tuple[Future[Any], Callable[[], Any]]] = SimpleQueue()
        for _ in range(number):
            threading.Thread(target=self._work, name="toolablate kernels", daemon=True).start()

    def submit(self, fn: Callable[_P, _T], /, *args: _P.args, **kwargs: _P.kwargs) -> Future[_T]:
        future: Future[_T] = Future()
        self._tasks.put((future, lambda: fn(*args, **kwargs)))
        return future

    def _work(self) -> None:
        while True:
            future, task = self._tasks.get()
            if future.set_running_or_notify_cancel():
                try:
                    future.set_result(task())
                except BaseException as error:  # noqa: BLE001 - it belongs to whoever awaits the future
                    future.set_exception(error)


_AT_EXIT_SECONDS = 20.0
_WORKERS = 8


@dataclass(frozen=True, slots=True)
class HostSettings:
    """What decides which backend holds a kernel; kernels with the same settings share it."""

    backend: str
    limits: Limits
    python: str | None = None


class KernelHost:
    """Its coroutines run on its own loop: call them through `run`, from any other."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._loop.set_default_executor(LastingWorkers(_WORKERS))
        self._opening = asyncio.Lock()
        self._backends: dict[HostSettings, Backend] = {}
        self._users: dict[HostSettings, int] = {}
        self._processes: set[KernelProcess] = set()
        self._addresses: set[StableAddress] = set()
        self._premises: HostResources | None = None
        threading.Thread(target=self._loop.run_forever, name="toolablate kernels", daemon=True).start()
        atexit.register(self._close_at_exit)

    async def run(self, work: Coroutine[Any, Any, _T]) -> _T:
        """Awaits `work`; a caller that is cancelled meanwhile waits until `work` has put things in order."""
        tasks: list[asyncio.Task[_T] | None] = []

        async def tracked() -> _T:
            tasks.append(asyncio.current_task())
            return await work

        result = asyncio.wrap_future(self._submit(tracked()))
        return await _to_its_end(result, lambda: self._loop.call_soon_threadsafe(_cancel, tasks))

    async def finish(self, work: Coroutine[Any, Any, _T]) -> _T:
        """Awaits `work`, which is not cancelled together with its caller: half an end is none."""
        return await _to_its_end(asyncio.wrap_future(self._submit(work)))

    def _submit(self, work: Coroutine[Any, Any, _T]) -> Future[_T]:
        return asyncio.run_coroutine_threadsafe(work, self._loop)

    async def take(self, settings: HostSettings) -> None:
        """Opens the backend for one user more; raises `KernelUnavailable`."""
        async with self._opening:
            if settings not in self._backends:
                self._backends[settings] = await self._open(settings)
            self._users[settings] = self._users.get(settings, 0) + 1

    async def _open(self, settings: HostSettings) -> Backend:
        opening = asyncio.ensure_future(
            asyncio.to_thread(open_backend, settings.backend, settings.limits, settings.python)
        )
        try:
            return await asyncio.shield(opening)
        except asyncio.CancelledError:
            with contextlib.suppress(KernelUnavailable):
                await (await opening).close()
            raise

    async def give_back(self, settings: HostSettings) -> None:
        """Closes the backend after its last user, whose kernel must have ended before."""
        async with self._opening:
            self._users[settings] -= 1
            if not self._users[settings]:
                del self._users[settings]
                await self._backends.pop(settings).close()

    async def start(self, settings: HostSettings, key: str) -> KernelProcess:
        """A kernel on a backend that was taken, in a sandbox that stands; raises `KernelUnavailable`."""
        process = self._backends[settings].new_process()
        await process.start(key)
        self._processes.add(process)
        try:
            await asyncio.wait_for(process.greeted(), settings.limits.start_seconds)
        except TimeoutError:
            await self.end(process)
            raise KernelUnavailable(
                f"the sandbox was not ready after {settings.limits.start_seconds:g} s",
                hint="raise start_seconds, or wait until this machine is less busy",
                code="start_timeout",
                retryable=True,
            ) from None
        except BaseException:
            await self.end(process)
            raise
        return process

    async def send_signal(self, process: KernelProcess, number: int) -> None:
        process.send_signal(number)

    async def wait(self, process: KernelProcess) -> None:
        await process.wait()

    async def end(self, process: KernelProcess) -> None:
        """Returns when nothing of it is left. Safe to call twice."""
        if process in self._processes:
            self._processes.discard(process)
            await process.close()

    def new_address(self) -> StableAddress:
        if self._premises is None:
            self._premises = HostResources()
        address = StableAddress(self._premises.folder)
        self._addresses.add(address)
        return address

    async def close_address(self, address: StableAddress) -> None:
        self._addresses.discard(address)
        address.close()
        if not self._addresses and self._premises is not None:
            premises, self._premises = self._premises, None
            await premises.close()

    def _close_at_exit(self) -> None:
        with contextlib.suppress(Exception):  # the kernels end with us in any case, and the keeper clears up
            self._submit(self._close_all()).result(_AT_EXIT_SECONDS)

    async def _close_all(self) -> None:
        await asyncio.gather(*(self.end(process) for process in tuple(self._processes)), return_exceptions=True)
        await asyncio.gather(*(backend.close() for backend in self._backends.values()), return_exceptions=True)
        await asyncio.gather(*(self.close_address(address) for address in tuple(self._addresses)))


def _cancel(tasks: list[asyncio.Task[_T] | None]) -> None:
    for task in tasks:
        if task is not None:
            task.cancel()


async def _to_its_end(result: asyncio.Future[_T], cancel: Callable[[], object] | None = None) -> _T:
    try:
        return await asyncio.shield(result)
    except asyncio.CancelledError:
        if cancel is not None and not result.done():
            cancel()
        await asyncio.wait({result})
        with contextlib.suppress(BaseException):  # what became of it is nobody's business any more
            result.result()
        raise


_lock = threading.Lock()
_host: KernelHost | None = None


def kernel_host() -> KernelHost:
    """The one of this process, which lives as long as the process does."""
    global _host
    with _lock:
        if _host is None:
            _host = KernelHost()
        return _host


def _forget() -> None:
    """A forked child has neither the thread nor any claim to the kernels of its parent."""
    global _host, _lock
    if _host is not None:
        atexit.unregister(_host._close_at_exit)
    _host, _lock = None, threading.Lock()


os.register_at_fork(after_in_child=_forget)
