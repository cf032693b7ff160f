"""Reading documents in processes that can be killed."""

import asyncio
import os
import signal
import struct
import sys
from functools import cache
from importlib.metadata import version

from pydantic import TypeAdapter

from toolablate.sandbox.process import is_running, kill
from toolablate.tools.extraction.kinds import ExtractionOptions, Unreadable
from toolablate.traces.errors import ToolError
from toolablate.traces.records import PageText

LENGTHS = struct.Struct("!IQ")
"""Of what is said of the document, and of the document, which follow."""
LENGTH = struct.Struct("!Q")
"""Of what was read, which follows. The first one, when the process is ready, is 0."""
_OPTIONS = TypeAdapter(ExtractionOptions)


def unpack_options(said: bytes) -> ExtractionOptions:
    return _OPTIONS.validate_json(said)


RULES = 1
"""Grows whenever this package would read the same bytes differently."""
SECONDS = 2.0
MEMORY_BYTES = 1 << 30

_LIBRARIES = ("trafilatura", "resiliparse", "pypdfium2", "lxml", "justext")
_START_SECONDS = 60.0
_CLOCK = 30.0
"""By the clock a document may take so many times longer than of its process's own time, on a machine that is busy."""
_DOCUMENTS = 1_000
"""How many documents one process reads, so that what libraries leak stays little."""
_INHERITED = ("PATH", "PYTHONPATH", "LD_LIBRARY_PATH", "TMPDIR", "LANG")


@cache
def extractor_identity() -> str:
    """All that decides which text given bytes and options have."""
    return " ".join((f"toolablate-{RULES}", *(f"{name}-{version(name)}" for name in _LIBRARIES)))


class DocumentWorker:
    """Reads documents by `read(body, said)` of `module`, in at most `processes` processes, started when they are first
    needed.

    A document that takes more than `seconds` of processor time, or more than `memory` bytes, costs its process; the
    next one has another. For one event loop; many tasks may use it at once, and wait for their turn.
    """

    def __init__(self, module: str, *, processes: int, seconds: float, memory: int) -> None:
        self._module = module
        self._turns = asyncio.Semaphore(processes)
        self._seconds = seconds
        self._memory = memory
        self._idle: list[_Reader] = []
        self._readers: set[_Reader] = set()

    async def read(self, body: bytes, said: bytes) -> bytes:
        """Raises Unreadable (`timeout`, `crashed`), and ToolError where no process starts."""
        request = LENGTHS.pack(len(said), len(body)) + said + body
        async with self._turns:
            reader = await self._reader()
            try:
                found = await reader.read(request)
                if reader.documents < _DOCUMENTS:
                    self._idle.append(reader)
                return found
            finally:
                if reader not in self._idle:
                    await self._end(reader)

    async def close(self) -> None:
        """Ends the processes, those at work too. Safe to call twice."""
        idle, self._idle = self._idle, []
        for reader in idle:
            await self._end(reader)
        for reader in tuple(self._readers):
            await reader.kill()

    async def _reader(self) -> "_Reader":
        while self._idle:
            reader = self._idle.pop()
            if reader.alive:
                return reader
            await self._end(reader)
        reader = _Reader(self._seconds)
        self._readers.add(reader)
        try:
            await reader.start(self._module, self._memory)
        except BaseException:
            await self._end(reader)
            raise
        return reader

    async def _end(self, reader: "_Reader") -> None:
        await asyncio.shield(asyncio.ensure_future(reader.end()))
        self._readers.discard(reader)


class ExtractionWorker(DocumentWorker):
    """Extracts text from pages."""

    def __init__(self, *, processes: int = 2, seconds: float = SECONDS, memory: int = MEMORY_BYTES) -> None:
        super().__init__("toolablate.tools.extraction.extract", processes=processes, seconds=seconds, memory=memory)

    @property
    def identity(self) -> str:
        return extractor_identity()

    async def extract(self, body: bytes, options: ExtractionOptions = ExtractionOptions()) -> PageText:  # noqa: B008
        """As `extract` does, and with the codes `timeout` and `crashed`. Raises ToolError where no process starts."""
        try:
            return PageText.from_json(await self.read(body, _OPTIONS.dump_json(options)))
        except Unreadable as why:
            return PageText(code=why.code, reason=why.reason)


class _Reader:
    """One process. After an exception of `read` it is of no use any more."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._process: asyncio.subprocess.Process | None = None
        self.documents = 0

        self._ended = asyncio.Event()

    @property
    def alive(self) -> bool:
        return self._process is not None and is_running(self._process)

    async def start(self, module: str, memory: int) -> None:
        """Raises ToolError."""
        command = (sys.executable, "-m", "toolablate.tools.extraction.child", str(self._seconds), str(memory), module)
        environment = {name: os.environ[name] for name in _INHERITED if name in os.environ}
        try:
            self._process = await asyncio.create_subprocess_exec(
                *command,
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.PIPE,
                # The order of a set's elements must not decide what a page says.
                env={**environment, "PYTHONHASHSEED": "0", "PYTHONIOENCODING": "utf-8"},
                cwd="/",
                # Ctrl-C in a terminal reaches its whole group: what is being read would count as a crash.
                start_new_session=True,
            )
            async with asyncio.timeout(_START_SECONDS):
                await self._receive()
        except (OSError, TimeoutError, asyncio.IncompleteReadError) as error:
            raise ToolError(
                f"the process that reads documents does not start: {await self._last_words(error)}",
                code="extraction_unavailable",
            ) from error

    async def read(self, request: bytes) -> bytes:
        """Raises Unreadable."""
        assert self._process is not None
        assert self._process.stdin is not None
        self.documents += 1
        try:
            async with asyncio.timeout(_CLOCK * self._seconds):
                self._process.stdin.write(request)
                await self._process.stdin.drain()
                return await self._receive()
        except TimeoutError:
            self.documents = _DOCUMENTS
            raise self._too_slow() from None
        except (asyncio.IncompleteReadError, ConnectionError):
            self.documents = _DOCUMENTS
            code = await self._process.wait()
            if code == -signal.SIGPROF:
                raise self._too_slow() from None
            raise Unreadable("crashed", "the process that read it crashed") from None

    def _too_slow(self) -> Unreadable:
        return Unreadable("timeout", f"its text could not be extracted in {self._seconds:g} s")

    async def kill(self) -> None:
        """For others than the one that reads, who notices, and ends it."""
        if self._process is not None:
            kill(self._process)
            await self._ended.wait()

    async def end(self) -> None:
        try:
            if self._process is not None:
                kill(self._process)
                await self._process.communicate()
        finally:
            self._ended.set()

    async def _receive(self) -> bytes:
        assert self._process is not None
        assert self._process.stdout is not None
        (size,) = LENGTH.unpack(await self._process.stdout.readexactly(LENGTH.size))
        return await self._process.stdout.readexactly(size)

    async def _last_words(self, error: Exception) -> str:
        """The last line of what it wrote to stderr."""
        if self._process is None or self._process.stderr is None or not isinstance(error, asyncio.IncompleteReadError):
            return str(error) or type(error).__name__
        said = (await self._process.stderr.read()).decode(errors="replace").strip()
        return said.rpartition("\n")[2] or "it ended at once"
