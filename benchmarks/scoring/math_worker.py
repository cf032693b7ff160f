"""Compares formulas in a process that can be killed, by the library math-verify."""

import asyncio
import json
import os
import sys
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from toolablate.sandbox.process import kill
from toolablate.traces.errors import ScoringError
from toolablate.traces.installing import to_install

SECONDS = 10.0
"""CPU time of one comparison."""
MEMORY_BYTES = 1 << 30

_START_SECONDS = 120.0
_CLOCK = 30.0
"""By the clock a comparison may take so many times longer than of CPU time, on a machine that is busy."""
_INHERITED = ("PATH", "PYTHONPATH", "LD_LIBRARY_PATH", "TMPDIR")
_LIBRARIES = ("math-verify", "sympy")
"""All that decides what is equal: the first demands one version of the parser, latex2sympy2_extended."""


def installed_versions() -> tuple[int, ...]:
    """Major, minor and patch of math-verify, then of sympy. Raises ScoringError where one is missing."""
    try:
        found = [version(name) for name in _LIBRARIES]
    except PackageNotFoundError as error:
        raise ScoringError(
            "the scorer 'math' needs the package math-verify", hint=to_install("math"), code="no_math_verify"
        ) from error
    return tuple(int(part) if part.isdigit() else 0 for text in found for part in (text.split(".") + ["0"] * 3)[:3])


class MathWorker:
    """One process, started at the first comparison, which forks another for each: see `math_child`. For one event loop;
    many tasks may use it at once and wait for their turn."""

    def __init__(self, *, seconds: float = SECONDS, memory: int = MEMORY_BYTES) -> None:
        self._seconds = seconds
        self._memory = memory
        self._turn = asyncio.Lock()
        self._process: asyncio.subprocess.Process | None = None

    async def compare(self, gold: str, given: list[str]) -> str:
        """`right`, `wrong` or `unread`; `timeout`, `memory` or `crashed` where the comparison is beyond its limits.

        Raises ScoringError, which is no fault of what is compared, where the process does not start, is ended from
        outside or gets no CPU time.
        """
        async with self._turn:
            try:
                process = await self._started()
                return await self._asked(process, json.dumps({"gold": gold, "given": given}))
            except BaseException:
                await self._end()
                raise

    async def open(self) -> None:
        """Starts the process. Raises ScoringError."""
        await self.compare("1", ["1"])

    async def close(self) -> None:
        """Ends the process. Safe to call twice."""
        async with self._turn:
            await self._end()

    async def _asked(self, process: asyncio.subprocess.Process, request: str) -> str:
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            async with asyncio.timeout(_CLOCK * self._seconds):
                process.stdin.write(request.encode() + b"\n")
                await process.stdin.drain()
                line = await process.stdout.readline()
        except TimeoutError:
            raise _lost("it got too little CPU time") from None
        except ConnectionError:
            line = b""
        if not line:
            raise _lost("it was ended")
        verdict = str(json.loads(line))
        if verdict == "killed":
            raise _lost("a comparison was killed")
        return verdict

    async def _started(self) -> asyncio.subprocess.Process:
        if self._process is not None:
            return self._process
        installed_versions()
        from toolablate.sandbox.seccomp import computing_filter

        # Without -P the folder of this file would be searched for modules first.
        command = (sys.executable, "-P", str(Path(__file__).with_name("math_child.py")))
        environment = {name: os.environ[name] for name in _INHERITED if name in os.environ}
        try:
            self._process = process = await asyncio.create_subprocess_exec(
                *command,
                str(self._seconds),
                str(self._memory),
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.PIPE,
                # The order of a set's elements must not decide what is equal.
                env={**environment, "PYTHONHASHSEED": "0", "LC_ALL": "C.UTF-8"},
                cwd="/",
                # Ctrl-C in a terminal reaches its whole group: a comparison would be lost.
                start_new_session=True,
            )
            assert process.stdin is not None
            assert process.stdout is not None
            process.stdin.write((computing_filter() or b"").hex().encode() + b"\n")
            async with asyncio.timeout(_START_SECONDS):
                if await process.stdout.readline() != b"ready\n":
                    said = (await process.stderr.read()).decode(errors="replace").strip() if process.stderr else ""
                    raise ConnectionError(said.rpartition("\n")[2] or "it ended at once")
        except (OSError, TimeoutError) as error:
            raise ScoringError(
                f"the process that compares formulas does not start: {error or type(error).__name__}",
                hint="try it: python -c 'import math_verify'",
                code="no_worker",
                retryable=True,
            ) from error
        return process

    async def _end(self) -> None:
        process, self._process = self._process, None
        if process is not None:
            kill(process)
            await process.communicate()


def _lost(why: str) -> ScoringError:
    return ScoringError(
        f"the process that compares formulas was lost: {why}",
        hint="the same command tries again",
        code="worker_lost",
        retryable=True,
    )
