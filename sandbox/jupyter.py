"""A kernel that runs cells, on whatever process holds it."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace

from toolablate.sandbox.client import BoundedClient, connect, reconnect, wait_until_ready
from toolablate.sandbox.execution import Execution
from toolablate.sandbox.kernel import CellResult, KernelUnavailable, Limits, WorkFile
from toolablate.sandbox.process import Exit, KernelProcess

NO_NETWORK = "[there is no network here]"
_NO_NAMES = "Temporary failure in name resolution"
NO_INPUT = "[input() cannot be answered here: write the value into the code]"
REPLACED = "[the kernel was lost through no fault of the code; this cell runs in a fresh one]\n"
FRESH_KERNEL = "[the next cell starts in a fresh kernel: variables, imports and files of earlier cells are gone]"


_REST_SECONDS = 0.1
"""How long after a cell a kernel goes on: cells that follow at once find it awake."""


class JupyterKernel:
    """One kernel, replaced by a fresh one when it has died, and stopped between cells: what it started goes on with the
    next one. `launch` gives a process that is starting."""

    def __init__(
        self,
        launch: Callable[[], Awaitable[KernelProcess]],
        limits: Limits,
        *,
        on_close: Callable[["JupyterKernel"], None] = lambda _: None,
    ) -> None:
        self._launch = launch
        self._limits = limits
        self._on_close = on_close
        self._process: KernelProcess | None = None
        self._client: BoundedClient | None = None
        self._one_at_a_time = asyncio.Lock()
        self._closed = False
        self._news = ""
        self._resting: asyncio.TimerHandle | None = None
        self._has_state = False
        self._files: tuple[WorkFile, ...] = ()

    async def open(self) -> None:
        """Starts the kernel and waits until it answers; leaves nothing behind if it does not or if it is cancelled."""
        try:
            self._has_state = False
            self._process = await self._launch()
            self._client = connect(self._process.connection)
            await wait_until_ready(self._client, self._process, self._limits)
            await self._place_files()
            self._rest_soon()
        except BaseException:
            await self._discard()
            raise

    def _rest_soon(self) -> None:
        if self._process is not None:
            self._resting = asyncio.get_running_loop().call_later(_REST_SECONDS, self._process.rest)

    def _wake(self) -> None:
        if self._resting is not None:
            self._resting.cancel()
            self._resting = None
        if self._process is not None:
            self._process.begin_cell()

    async def give(self, files: Sequence[WorkFile]) -> None:
        """Puts files into the work folder, and into that of every fresh kernel; raises `KernelUnavailable`."""
        self._files = tuple(files)
        await self._place_files()

    @property
    def alive(self) -> bool:
        return self._process is not None and self._process.ended is None

    async def _place_files(self) -> None:
        assert self._process is not None
        for file in self._files:
            await self._process.place(file)

    async def execute(self, code: str) -> CellResult:
        """Runs one cell; raises `KernelUnavailable` where a fresh kernel is needed and cannot be had, and `kernel_lost`
        where the kernel was ended from outside: retryable as long as it held nothing of earlier cells.

        So it does, with `starved`, where others kept the cell from the processors for longer than can be waited.
        A cancelled cell takes its kernel with it: what it would have done is unknown.
        """
        async with self._one_at_a_time:
            if self._closed:
                raise RuntimeError("the kernel is closed")
            await self._revive()
            assert self._client is not None
            assert self._process is not None
            self._wake()
            execution = Execution(self._client, self._process, self._limits)
            guarded = self._process.guarded
            try:
                await execution.run(code.encode("utf-8", "replace").decode())
                if execution.starved:
                    raise self._starved()
                if execution.ended is not None:
                    self._refuse_unstarted()
                    self._refuse_lost()
                    await self._discard()
                elif execution.deaf:
                    execution.output.truncated = True
                    if not await self._listen_again():
                        execution.ended = Exit()
            except BaseException:
                await self._discard()
                raise
            self._has_state = execution.ended is None and self._client is not None
            self._rest_soon()
            news, self._news = self._news, ""
            return _result(execution, self._limits, news, guarded=guarded)

    async def close(self) -> None:
        """Ends the kernel; when it returns, no process, socket or folder of it is left."""
        self._closed = True
        await self._discard()
        self._on_close(self)

    async def _revive(self) -> None:
        if self._process is not None and (ended := self._process.ended) is not None:
            try:
                self._refuse_lost()
            except KernelUnavailable:
                await self._discard()
                raise
            self._news = f"[the kernel died before this cell ({ended.cause}); the cell ran in a fresh one]\n"
            await self._discard()
        if self._client is not None and self._client.ended and not await self._listen_again():
            self._news = "[the kernel no longer answered; the cell ran in a fresh one]\n"
        if self._client is None:
            await self.open()

    async def _listen_again(self) -> bool:
        """False where the kernel no longer answers and is gone now."""
        assert self._client is not None
        assert self._process is not None
        self._wake()
        reconnect(self._client)
        try:
            patience = replace(self._limits, start_seconds=self._limits.grace_seconds)
            await wait_until_ready(self._client, self._process, patience)
        except KernelUnavailable:
            self._refuse_lost()
            lost = await self._process.lost_seconds()
            await self._discard()
            if lost > self._limits.grace_seconds / 2:
                raise self._starved() from None
            return False
        return True

    def _refuse_unstarted(self) -> None:
        if self._process is None:
            raise KernelUnavailable("the kernel was closed while a cell ran", code="closed")
        if self._process.ended is not None and self._process.ended.error and not self._process.ended.lost:
            raise self._process.start_failure()

    def _refuse_lost(self) -> None:
        """Raises where the process ended and nobody inside can have ended it: that says nothing about the code."""
        process = self._process
        if process is None or not process.guarded or process.ended is None or not process.ended.lost:
            return
        raise self._lost(
            "the kernel was ended from outside",
            hint="something on this machine killed it: look for a shortage of memory (dmesg) or a restarted daemon",
            code="kernel_lost",
        )

    def _starved(self) -> KernelUnavailable:
        return self._lost(
            "other programs kept the cell from the processors",
            hint="lower the concurrency, or see that each kernel gets its share (toolablate doctor, cgroups)",
            code="starved",
        )

    def _lost(self, what: str, *, hint: str, code: str) -> KernelUnavailable:
        """Through no fault of the code; tried again where no state went with it."""
        self._news = REPLACED
        gone = ", and what earlier cells made in it is gone" if self._has_state else ""
        return KernelUnavailable(what + gone, hint=hint, code=code, retryable=not self._has_state)

    async def _discard(self) -> None:
        if self._resting is not None:
            self._resting.cancel()
            self._resting = None
        if self._client is not None:
            self._client.stop_channels()
            self._client = None
        if self._process is not None:
            process, self._process = self._process, None
            await process.close()


def _result(execution: Execution, limits: Limits, news: str, *, guarded: bool) -> CellResult:
    output = execution.output
    error = output.error or execution.failed
    note = ""
    if execution.ended is not None:
        error = "time" if execution.overtime else execution.ended.cause
        note = f"[the kernel died: {_obituary(error, limits, overtime=execution.overtime)}]\n{FRESH_KERNEL}"
    elif execution.overtime:
        error = "timeout"
        note = f"[interrupted after {limits.cell_seconds:g} s; the kernel and its variables live on]"
    elif error == "StdinNotImplementedError":
        note = NO_INPUT
    elif error == "MemoryError":
        note = f"[the code may use {limits.memory_mb} MB of memory]"
    elif guarded and _NO_NAMES in output.text():
        note = NO_NETWORK
    return CellResult(
        status="died" if execution.ended else "timeout" if execution.overtime else "error" if error else "ok",
        text=news + output.text(note),
        error=error,
        truncated=output.truncated,
        rich=tuple(output.rich),
    )


def _obituary(cause: str, limits: Limits, *, overtime: bool) -> str:
    if overtime:
        return f"the cell did not stop when it was interrupted after {limits.cell_seconds:g} s"
    return {
        "memory": f"out of memory ({limits.memory_mb} MB)",
        "files": f"too many files ({limits.files})",
        "time": f"its CPU time is used up ({limits.cpu_seconds} s)",
        "exit": "the code ended the process",
        "killed": "it was killed",
    }.get(cause, cause)
