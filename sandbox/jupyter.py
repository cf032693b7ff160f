"""A kernel that runs cells on whatever process holds it: one execute request at a time, its output within limits."""

import asyncio
import json
import re
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from toolablate.sandbox.client import (
    BadMessage,
    BoundedClient,
    ConnectionEnded,
    KernelMessage,
    connect,
    reconnect,
    wait_until_ready,
)
from toolablate.sandbox.kernel import CellResult, KernelUnavailable, Limits, RichOutput, WorkFile
from toolablate.sandbox.process import Exit, KernelProcess

RICH_TYPES = ("image/png", "image/jpeg", "image/svg+xml", "text/html", "text/latex", "application/json")
RICH_CHARS = 4_000_000
"""All rich outputs of a cell together, in characters (base64 for images)."""

ERROR_CHARS = 4_000
"""What of `output_chars` a traceback may always have, however much was printed before it."""

_ESCAPES = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[@-Z\\-_])")
_LONE_SURROGATE = re.compile("[\ud800-\udfff]")


def plain_text(value: object) -> str:
    """Text as a person reads it: no escape codes, no ends of lines of a terminal, no lone surrogates; "" for what is no
    text."""
    if not isinstance(value, str):
        return ""
    return _LONE_SURROGATE.sub("\ufffd", _ESCAPES.sub("", value)).replace("\r\n", "\n")


@dataclass
class CellOutput:
    """Collects the messages of one cell. `take` may be handed anything: the kernel is not trusted."""

    limits: Limits
    truncated: bool = False
    error: str = ""
    idle: bool = False
    messages: int = 0
    rich: list[RichOutput] = field(default_factory=list)
    _parts: list[str] = field(default_factory=list)
    _chars: int = 0
    _rich_chars: int = 0

    def take(self, kind: object, content: dict[str, Any]) -> None:
        if kind == "status":
            self.idle = self.idle or content.get("execution_state") == "idle"
            return
        if kind not in ("stream", "execute_result", "display_data", "error", "clear_output"):
            return
        self.messages += 1
        if self.messages > self.limits.output_messages and kind != "error":
            self.truncated = True
        elif kind == "stream":
            self.write(plain_text(content.get("text")))
        elif kind == "error":
            self._take_error(content)
        elif kind != "clear_output":
            self._take_data(content.get("data"))

    def write(self, text: str, room: int | None = None) -> None:
        """Adds text up to `output_chars`, or up to `room` characters more."""
        left = self.limits.output_chars - self._chars if room is None else room
        if len(text) > left:
            self.truncated = True
            text = text[: max(left, 0)]
        if text:
            self._parts.append(text)
            self._chars += len(text)

    def _take_error(self, content: dict[str, Any]) -> None:
        if self.error:
            return
        self.error = plain_text(content.get("ename"))[:200] or "Error"
        lines = content.get("traceback")
        text = plain_text("\n".join(line for line in lines if isinstance(line, str)) if isinstance(lines, list) else "")
        text = text or f"{self.error}: {plain_text(content.get('evalue'))}"
        reserve = min(ERROR_CHARS, self.limits.output_chars)
        room = max(self.limits.output_chars - self._chars, reserve)
        if len(text) > room:
            self.truncated = True
            text = text[-room:]  # the end of a traceback says what happened
        self._own_line(text, room=room)

    def _take_data(self, data: object) -> None:
        if not isinstance(data, dict):
            return
        for mime in RICH_TYPES:
            if mime in data:
                self._keep_rich(mime, data[mime])
        self._own_line(plain_text(data.get("text/plain")))

    def _keep_rich(self, mime: str, value: object) -> None:
        text = plain_text(value) if isinstance(value, str) else _as_json(value)
        if self._rich_chars + len(text) > RICH_CHARS:
            self.truncated = True
            return
        self._rich_chars += len(text)
        self.rich.append(RichOutput(mime=mime, data=text.strip() if mime.startswith("image/") else text))

    def _own_line(self, text: str, room: int | None = None) -> None:
        if not text:
            return
        if self._parts and not self._parts[-1].endswith("\n"):
            self.write("\n", room=1)
        self.write(text + "\n", room=None if room is None else room + 1)

    def text(self, note: str = "") -> str:
        """All of it in order, then what we have to say about it ourselves."""
        notes = ["[output truncated]"] if self.truncated else []
        notes += [note] if note else []
        shown = "".join(self._parts)
        if notes and shown and not shown.endswith("\n"):
            shown += "\n"
        return shown + "\n".join(notes)


def _as_json(value: object) -> str:
    try:
        return plain_text(json.dumps(value, ensure_ascii=False))
    except (TypeError, ValueError, RecursionError):
        return ""


# One execute request, from sending to its end.


_SILENCE_SECONDS = 1.0
"""How long, once the reply is there, no output may come before its end counts as lost: floods lose messages."""

_MOST_TIMES = 3
"""How often `cell_seconds` a cell may take that others keep from running, before it is given up."""

_WORTHWHILE = 0.02
_AFTERMATH_SECONDS = 10.0
_LAST_WORDS_SECONDS = 0.2
_LISTENING_TURNS = 10


class Execution:
    """Runs a cell once. Afterwards `ended` tells if and how the kernel went, `overtime` whether the cell was stopped
    for time, `starved` whether through others' load, `failed` what was raised; the output is in `output`."""

    def __init__(self, client: BoundedClient, process: KernelProcess, limits: Limits) -> None:
        self.output = CellOutput(limits)
        self.ended: Exit | None = None
        self.overtime = False
        self.starved = False
        self.failed = ""
        self._raised: dict[str, Any] = {}
        self._client = client
        self._process = process
        self._limits = limits
        self._request = ""
        self._leaving = False
        self._cut_off = False
        self._lost = 0.0
        self._idle = asyncio.Event()

    async def run(self, code: str) -> None:
        self._request = self._client.execute(code)
        reply = asyncio.ensure_future(self._read_reply())
        output = asyncio.ensure_future(self._read_output())
        end = asyncio.ensure_future(self._process.wait())
        try:
            await self._until_replied(reply, end)
            if self.starved:
                return
            if self.ended is None and self._leaving:
                await asyncio.wait({end}, timeout=self._limits.grace_seconds)
            if end.done():
                self.ended = end.result()
            await self._until_quiet(output)
            if self.ended is None and end.done() and not self.output.idle:
                self.ended, self.output.truncated = end.result(), True
            # The reply says it too, and is heard where a flood has cost the message; it may overtake what was printed.
            if self._raised:
                self.output.take("error", self._raised)
        finally:
            for task in (reply, output, end):
                task.cancel()
            await asyncio.gather(reply, output, end, return_exceptions=True)

    @property
    def deaf(self) -> bool:
        """A message beyond all bounds ends the connection, and nothing that comes after it is heard."""
        return self.ended is None and (self._cut_off or not self.output.idle)

    async def _until_replied(self, reply: "asyncio.Future[None]", end: "asyncio.Future[Exit]") -> None:
        """What others' load takes of a cell's time is given to it on top, as long as that is bearable; where nobody
        says how much that is, it is asked again."""
        clock, own = asyncio.get_running_loop().time, self._limits.cell_seconds
        begun, allowed = clock(), own
        while not await _any_of(reply, end, seconds=begun + allowed - clock()):
            waited = clock() - begun
            wanted = own + await self._process.lost_seconds()
            if wanted - waited < own * _WORTHWHILE:
                self.overtime = True
                break
            if waited >= own * _MOST_TIMES:
                self.starved = True
                return
            allowed = min(wanted, waited + own, own * _MOST_TIMES)
        if self.overtime and not (reply.done() or end.done()):
            self._process.interrupt()
            if not await _any_of(reply, end, seconds=self._limits.grace_seconds):
                self.ended = Exit()  # whoever reads this closes the process

    async def _until_quiet(self, output: "asyncio.Future[None]") -> None:
        silence = _LAST_WORDS_SECONDS if self.ended else _SILENCE_SECONDS
        loop = asyncio.get_running_loop()
        deadline = loop.time() + _AFTERMATH_SECONDS
        while loop.time() < deadline and (await self._more_came(output, silence) or await self._was_kept(output)):
            pass

    async def _was_kept(self, output: "asyncio.Future[None]") -> bool:
        """Whether others' load is why nothing came."""
        if self.ended is not None or output.done():
            return False
        before, self._lost = self._lost, await self._process.lost_seconds()
        return self._lost - before > _SILENCE_SECONDS / 2

    async def _more_came(self, output: "asyncio.Future[None]", seconds: float) -> bool:
        """Within `seconds` of listening, in turns: a pause of this process costs one of them, and is no silence."""
        before = self.output.messages
        for _ in range(_LISTENING_TURNS):
            await asyncio.wait({output}, timeout=seconds / _LISTENING_TURNS)
            if output.done() or self.output.messages != before:
                return not output.done()
        return False

    async def _read_reply(self) -> None:
        try:
            while not await self._take_reply():
                pass
        except ConnectionEnded:
            self._cut_off = True
            await self._idle.wait()  # the kernel says on the other channel as well when it is through

    async def _take_reply(self) -> bool:
        message = await self._next(self._client.next_reply)
        if message is None or message.kind != "execute_reply":
            return False
        self._take_payloads(message.content.get("payload"))
        if message.content.get("status") != "ok":
            self.failed = str(message.content.get("ename") or "Error")[:200]
            self._raised = message.content
        return True

    async def _read_output(self) -> None:
        try:
            while not self.output.idle:
                if message := await self._next(self._client.next_output):
                    self.output.take(message.kind, message.content)
        except ConnectionEnded:
            self._cut_off = True
        else:
            self._idle.set()

    async def _next(self, receive: Callable[[], Awaitable[KernelMessage | None]]) -> KernelMessage | None:
        # A flood is always ready to be read: without this nothing else would ever run.
        await asyncio.sleep(0)
        try:
            message = await receive()
        except BadMessage:
            self.output.truncated = True
            return None
        return message if message and message.request_id == self._request else None

    def _take_payloads(self, payloads: object) -> None:
        """`obj?` shows its text, and `exit()` announces itself, in the reply."""
        for payload in payloads if isinstance(payloads, list) else []:
            if isinstance(payload, dict):
                self._leaving = self._leaving or payload.get("source") == "ask_exit"
                if payload.get("source") == "page":
                    self.output.take("display_data", payload)


async def _any_of(*tasks: "asyncio.Future[Any]", seconds: float) -> bool:
    done, _ = await asyncio.wait(tasks, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
    return bool(done)


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
                    execution.ended = await self._listen_again()
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
        if self._client is not None and self._client.ended and await self._listen_again():
            self._news = "[the kernel no longer answered; the cell ran in a fresh one]\n"
        if self._client is None:
            await self.open()

    async def _listen_again(self) -> Exit | None:
        """None where the kernel answers. Where it does not it is gone afterwards: by itself, or since we ended it."""
        assert self._client is not None
        assert self._process is not None
        self._wake()
        reconnect(self._client)
        try:
            patience = replace(self._limits, start_seconds=self._limits.grace_seconds)
            await wait_until_ready(self._client, self._process, patience)
        except KernelUnavailable:
            self._refuse_lost()
            ended, lost = self._process.ended, await self._process.lost_seconds()
            await self._discard()
            if ended is None and lost > self._limits.grace_seconds / 2:
                raise self._starved() from None
            return ended or Exit()
        return None

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
