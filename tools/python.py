"""The `python` tool: one stateful kernel per trial, started at the first call."""

import asyncio

from pydantic import Field

from toolablate.sandbox.kernel import CellResult, Kernel, Sandbox
from toolablate.tools.tool import ToolResult
from toolablate.tools.typed import Arguments, TypedTool
from toolablate.traces.errors import InternalError
from toolablate.traces.records import Artifact, clean_text

_DESCRIPTION = """\
Runs Python code in a Jupyter kernel and returns what it prints, the value of its last expression, and errors.
Variables, imports and functions are kept between calls. There is no network and no input(). A call may run for \
{seconds:g} seconds. The standard library, numpy and scipy can be imported, and usually sympy, pandas and matplotlib."""


class PythonArguments(Arguments):
    code: str = Field(description="Python source code")


def python_tool(sandbox: Sandbox) -> TypedTool[PythonArguments]:
    """The tool for one trial. Its calls raise KernelUnavailable where no kernel can be had."""
    session = _Session(sandbox)
    description = _DESCRIPTION.format(seconds=sandbox.limits.cell_seconds)
    return TypedTool("python", description, PythonArguments, session.run, close=session.close)


class _Session:
    def __init__(self, sandbox: Sandbox) -> None:
        self._sandbox = sandbox
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
        self._kernel = kernel = await self._sandbox.start()
        if self._closed:
            await self.close()
            raise InternalError("a kernel was started while its trial ended")
        return kernel

    async def close(self) -> None:
        self._closed = True
        kernel, self._kernel = self._kernel, None
        if kernel is not None:
            await kernel.close()


def _shown(cell: CellResult) -> ToolResult:
    # What became of a stopped cell or a dead kernel is in its text: the sandbox says it, as the model is to read it.
    return ToolResult(
        output=clean_text(cell.text).rstrip("\n") or "(no output)",
        status="ok" if cell.status == "ok" else "error",
        error=_error(cell),
        truncated=cell.truncated,
        artifacts=tuple(Artifact(mime=rich.mime, data=clean_text(rich.data)) for rich in cell.rich),
    )


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
