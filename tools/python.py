"""The `python` tool: one stateful kernel per trial, started at the first call."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence

from pydantic import Field

from toolablate.sandbox.kernel import CellResult, Kernel, Sandbox, WorkFile
from toolablate.tools.tool import NO_OUTPUT, Arguments, PrintedOutput, ResultTemplate, ToolResult, TypedTool
from toolablate.traces.errors import InternalError
from toolablate.traces.records import Artifact, clean_text

UNPROTECTED = "none"
TRUNCATED = "[output truncated]"

FileSource = Callable[[], Awaitable[Sequence[WorkFile]]]
"""Reads the files that a kernel is to find in its working folder; called when the kernel is started."""

_DESCRIPTION = """\
Runs Python code in a Jupyter kernel and returns what it prints, the value of its last expression, and errors.
Variables, imports and functions are kept between calls. Files that come with the question are in the working folder. \
{network} no input(). A call may run for {seconds:g} seconds. The standard library, numpy and scipy can be imported, \
and usually sympy, pandas and matplotlib. Magics and shell commands (!ls) work."""
_NO_NETWORK = "There is no network, so nothing can be downloaded or installed (%pip, !pip), and"


_TEMPLATE = ResultTemplate(nothing=lambda _: NO_OUTPUT, finding=lambda _, text: text, form="code")


async def no_files() -> Sequence[WorkFile]:
    return ()


class PythonArguments(Arguments):
    code: str = Field(description="Python source code")


def python_tool(sandbox: Sandbox, files: FileSource = no_files) -> TypedTool[PythonArguments]:
    """The tool for one trial. Its calls raise KernelUnavailable where no kernel can be had, and what `files` raises."""
    session = _Session(sandbox, files)
    network = "There is" if sandbox.name == UNPROTECTED else _NO_NETWORK
    description = _DESCRIPTION.format(network=network, seconds=sandbox.limits.cell_seconds)
    return TypedTool("python", description, PythonArguments, session.run, template=_TEMPLATE, close=session.close)


class _Session:
    def __init__(self, sandbox: Sandbox, files: FileSource) -> None:
        self._sandbox = sandbox
        self._files = files
        self._kernel: Kernel | None = None
        self._closed = False
        # First come, first served: calls of one turn run in the order in which the model wrote them.
        self._turn = asyncio.Lock()

    async def run(self, arguments: PythonArguments) -> ToolResult:
        async with self._turn:
            if self._closed:
                raise InternalError("code was sent to a kernel that is closed")
            kernel = self._kernel or await self._start()
            cell = await kernel.execute(arguments.code)
        return _shown(cell)

    async def _start(self) -> Kernel:
        self._kernel = kernel = await self._sandbox.start(await self._files())
        if self._closed:
            await self.close()
            raise InternalError("a kernel was started while its trial ended")
        return kernel

    async def close(self) -> None:
        self._closed = True
        kernel, self._kernel = self._kernel, None
        if kernel is not None:
            self._sandbox.release(kernel)


def _shown(cell: CellResult) -> ToolResult:
    # What became of a stopped cell or a dead kernel is in its text: the sandbox says it, as the model is to read it.
    # Shell commands write to a terminal, whose lines end in two characters.
    text = clean_text(cell.text).replace("\r\n", "\n")
    return ToolResult(
        output=text.rstrip("\n") or NO_OUTPUT,
        status="ok" if cell.status == "ok" else "error",
        error=_error(cell),
        truncated=cell.truncated,
        artifacts=tuple(Artifact(mime=rich.mime, data=clean_text(rich.data)) for rich in cell.rich),
        parsed=_printed(cell, text.rstrip("\n")),
    )


def _printed(cell: CellResult, text: str) -> PrintedOutput:
    """The sandbox says what it has to say in the last lines, behind all that a program can print."""
    lines = text.split("\n")
    own = {"timeout": 1, "died": 2}.get(cell.status, 0)
    if cell.truncated and len(lines) > own and lines[-1 - own] == TRUNCATED:
        own += 1
    place = max(len(lines) - own, 0)
    return PrintedOutput("\n".join(lines[:place]), "\n".join(lines[place:]))


def _error(cell: CellResult) -> str:
    match cell.status:
        case "ok":
            return ""
        case "error":
            return clean_text(cell.error) or "error"
        case "timeout":
            return "timeout"
        case "died":
            return f"died: {clean_text(cell.error)}" if cell.error else "died"
