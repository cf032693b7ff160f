"""ipykernel as jupyter_client starts it: what one would use without this project.

`plain-tcp` and `plain-ipc` ask the kernel for its info at once and go on with its first answer. `plain-stock` waits
with `wait_for_ready`, as `start_new_async_kernel` does: about 200 ms more. The faster ones are the yardstick.

Over tcp jupyter_client picks ports that are free and hopes that they still are when the kernel binds them. With several
at once they sometimes are not; the kernel then ends, and is started again, which the time includes. `repeated` counts.
"""

import asyncio
import contextlib
import os
import subprocess
import tempfile
from collections.abc import Callable
from pathlib import Path
from queue import Empty
from typing import Any

from bench.kernels.ways import POOLED, LiveKernel, Reply

from toolablate.sandbox import KernelUnavailable

_START_SECONDS = 60.0
_ASK_AGAIN_SECONDS = 1.0
_REFILL_SECONDS = 0.2
_ATTEMPTS = 5
_SUBSCRIBED_SECONDS = 0.1


class PlainWay:
    """Kernels of our own user, unprotected; `ahead` keeps one ready, its client connected, before it is asked for.

    History and connection files go to a temporary folder, so that the benchmark does not fill the user's own.
    """

    def __init__(self, kind: str, *, ahead: bool = False) -> None:
        self.name = kind + (POOLED if ahead else "")
        self.repeated = 0
        self._kind = kind
        self._ahead = ahead
        self._folder = tempfile.TemporaryDirectory(prefix="plain-")
        self._next: asyncio.Task[_PlainKernel] | None = None
        self._live: set[_PlainKernel] = set()

    async def start(self) -> LiveKernel:
        if not self._ahead:
            return await self._begin_anew()
        ready = self._next or asyncio.ensure_future(self._begin_anew())
        # Not at once: the next one's start would slow down the first cell of this one.
        self._next = asyncio.ensure_future(self._begin_anew(after=_REFILL_SECONDS))
        return await ready

    async def close(self) -> None:
        if self._next is not None:
            await asyncio.wait({self._next})
            self._next = None
        await asyncio.gather(*(kernel.stop() for kernel in tuple(self._live)))
        self._folder.cleanup()

    async def _begin_anew(self, after: float = 0.0) -> "_PlainKernel":
        await asyncio.sleep(after)
        for _ in range(_ATTEMPTS - 1):
            with contextlib.suppress(KernelUnavailable):
                return await self._begin()
            self.repeated += 1
        return await self._begin()

    async def _begin(self) -> "_PlainKernel":
        from jupyter_client.manager import AsyncKernelManager

        folder = Path(self._folder.name)
        transport = "ipc" if self._kind == "plain-ipc" else "tcp"
        file = Path(tempfile.mkdtemp(dir=folder)) / "connection.json"
        manager = AsyncKernelManager(kernel_name="python3", transport=transport, connection_file=str(file))
        env = os.environ | {"IPYTHONDIR": str(folder / "ipython")}
        kernel = _PlainKernel(manager, on_stop=self._live.discard)
        self._live.add(kernel)
        try:
            with (file.parent / "stderr").open("wb") as said:
                await manager.start_kernel(cwd=str(folder), env=env, stdout=subprocess.DEVNULL, stderr=said)
            async with asyncio.timeout(_START_SECONDS):
                await kernel.connect(stock=self._kind == "plain-stock")
        except BaseException as error:
            await kernel.stop()
            if isinstance(error, RuntimeError | OSError | TimeoutError):
                raise KernelUnavailable(f"the plain kernel did not start: {error}: {_last_line(file)}") from error
            raise
        return kernel


def _last_line(connection_file: Path) -> str:
    lines = (connection_file.parent / "stderr").read_text(encoding="utf-8", errors="replace").splitlines()
    return lines[-1] if lines else "it said nothing"


class _PlainKernel:
    def __init__(self, manager: Any, on_stop: "Callable[[_PlainKernel], None]") -> None:
        self._manager = manager
        self._on_stop = on_stop
        self._client: Any = None

    async def connect(self, *, stock: bool) -> None:
        self._client = self._manager.client()
        self._client.start_channels(hb=stock)
        if stock:
            await self._client.wait_for_ready(timeout=_START_SECONDS)
            return
        self._client.kernel_info()
        while not await _arrived(self._client.get_shell_msg):
            if not await self._manager.is_alive():
                raise RuntimeError("it ended")
        # The kernel may have said `idle` before our subscription stood: then the next question brings another one.
        while not await _arrived(self._client.get_iopub_msg, _SUBSCRIBED_SECONDS):
            self._client.kernel_info()

    async def run(self, code: str) -> Reply:
        request = self._client.execute(code, allow_stdin=False)
        texts: list[str] = []
        reply, _ = await asyncio.gather(self._read_reply(request), self._read_output(request, texts))
        return Reply("".join(texts), "" if reply["status"] == "ok" else str(reply.get("ename", reply["status"])))

    async def stop(self) -> None:
        if self._client is not None:
            self._client.stop_channels()
        if self._manager.has_kernel:
            await self._manager.shutdown_kernel(now=True)
        self._on_stop(self)

    async def _read_reply(self, request: str) -> dict[str, Any]:
        while True:
            message = await self._client.get_shell_msg()
            if message["parent_header"].get("msg_id") == request:
                content: dict[str, Any] = message["content"]
                return content

    async def _read_output(self, request: str, texts: list[str]) -> None:
        while True:
            message = await self._client.get_iopub_msg()
            if message["parent_header"].get("msg_id") != request:
                continue
            kind, content = message["msg_type"], message["content"]
            if kind == "status" and content["execution_state"] == "idle":
                return
            texts.append(content.get("text") or content.get("data", {}).get("text/plain", ""))


async def _arrived(receive: Any, seconds: float = _ASK_AGAIN_SECONDS) -> bool:
    try:
        await receive(timeout=seconds)
    except Empty:
        return False
    return True
