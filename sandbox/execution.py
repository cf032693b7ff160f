"""One execute request, from sending to its end."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

from toolablate.sandbox.cell import CellOutput
from toolablate.sandbox.client import BadMessage, BoundedClient, Message
from toolablate.sandbox.kernel import Limits
from toolablate.sandbox.process import Exit, KernelProcess
from toolablate.sandbox.zmtp import ConnectionEnded

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

    async def _next(self, receive: Callable[[], Awaitable[Message | None]]) -> Message | None:
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
