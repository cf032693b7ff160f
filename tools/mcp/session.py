"""One connection to an MCP server: its address, its process's error output, the task that holds it open."""

import asyncio
import os
import threading
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TextIO
from urllib.parse import urlsplit, urlunsplit

from pydantic import JsonValue

from toolablate.tools.text import one_line
from toolablate.traces.errors import InputError, ToolablateError, ToolError
from toolablate.traces.installing import to_install
from toolablate.traces.records import digest_json

if TYPE_CHECKING:
    from mcp import Client
    from mcp.types import CallToolResult, Tool

_KEPT_BYTES = 4_000


class StderrTail:
    """A file for a child to write to, drained by a thread, of which only the end is kept."""

    def __init__(self) -> None:
        self._reading, writing = os.pipe()
        self.file: TextIO = os.fdopen(writing, "w")
        self._tail = b""
        self._thread = threading.Thread(target=self._drain, name="stderr of an MCP server", daemon=True)
        self._thread.start()

    def last_line(self) -> str:
        lines = [line for line in self._tail.decode("utf-8", "replace").splitlines() if line.strip()]
        return one_line(lines[-1], 300) if lines else ""

    def close(self) -> None:
        """Ends the drain where no process holds the other end any more."""
        self.file.close()

    def _drain(self) -> None:
        try:
            while piece := os.read(self._reading, 65_536):
                self._tail = (self._tail + piece)[-_KEPT_BYTES:]
        finally:
            os.close(self._reading)


# Where an MCP server is, and how a connection to it is opened.


@dataclass(frozen=True, slots=True)
class StdioAddress:
    """A program that is started for each session. Of the environment it gets a few harmless variables (PATH, HOME ...)
    and those that `env` names; `cwd` is where it is started."""

    command: tuple[str, ...]
    env: tuple[str, ...] = ()
    cwd: str = ""

    @property
    def identity(self) -> str:
        return digest_json(["stdio", list(self.command)])

    @property
    def place(self) -> str:
        return ""

    @property
    def remedy(self) -> str:
        return "start it by hand and look at what it writes"

    def transport(self, seconds: float, stderr: "StderrTail") -> AbstractAsyncContextManager[Any]:
        from mcp import StdioServerParameters, stdio_client

        program, *arguments = self.command
        parameters = StdioServerParameters(
            command=program,
            args=arguments,
            env=_variables(self.env),
            cwd=self.cwd or None,
            # One byte that is no UTF-8 would otherwise end the session.
            encoding_error_handler="replace",
        )
        return stdio_client(parameters, errlog=stderr.file)


@dataclass(frozen=True, slots=True)
class HttpAddress:
    """A server that speaks streamable HTTP. `headers` maps names of headers to the variables that hold their values."""

    url: str
    headers: tuple[tuple[str, str], ...] = ()

    @property
    def identity(self) -> str:
        return digest_json(["http", self.url])

    @property
    def place(self) -> str:
        """The URL without what could be secret in it: user name, query and fragment."""
        try:
            parts = urlsplit(self.url)
        except ValueError:
            return ""
        return urlunsplit((parts.scheme, parts.netloc.rpartition("@")[2], parts.path, "", ""))

    @property
    def remedy(self) -> str:
        return "see that the server runs and listens there, and that the plan has its URL and headers"

    @asynccontextmanager
    async def transport(self, seconds: float, stderr: "StderrTail") -> AsyncGenerator[Any]:
        from httpx2 import AsyncClient, Timeout
        from mcp.client.streamable_http import streamable_http_client

        values = _variables([variable for _, variable in self.headers])
        headers = {name: values[variable] for name, variable in self.headers}
        timeout = Timeout(min(seconds, 30.0), read=seconds)
        async with (
            # A proxy of the environment must not see what the headers hold.
            AsyncClient(headers=headers, timeout=timeout, trust_env=False) as client,
            streamable_http_client(self.url, http_client=client) as streams,
        ):
            yield streams


def _variables(names: Sequence[str]) -> dict[str, str]:
    absent = [name for name in names if name not in os.environ]
    if absent:
        raise InputError(
            f"mcp: the variable {absent[0]} is not set",
            hint=f"export {absent[0]}=..., or take it out of the server's table in the plan",
            code="no_variable",
        )
    return {name: os.environ[name] for name in names}


MAX_PAGES = 50
END_SECONDS = 8.0
"""Longer than the client takes to end a program that does not end by itself."""


class RefusedCallError(Exception):
    """The server says that the call itself is wrong; the message is for the model."""


class Session:
    """Opened and closed by one task, as the client's cancel scopes want it; called from any. A call may take `seconds`,
    the way to an open connection (the start of the program) `start_seconds`.

    Every failure of the server or of the way to it is a ToolError that names it.
    """

    def __init__(self, name: str, address: StdioAddress | HttpAddress, seconds: float, start_seconds: float) -> None:
        self._name = name
        self._address = address
        self._seconds = seconds
        self._start_seconds = start_seconds
        self._stderr = StderrTail()
        self._leave = asyncio.Event()
        self._client: asyncio.Future[Client] = asyncio.get_running_loop().create_future()
        self._task = asyncio.create_task(self._hold(), name=f"MCP session with {name}")

    async def call(self, tool: str, arguments: Mapping[str, JsonValue]) -> "CallToolResult":
        """Raises RefusedCallError, ToolError."""
        from mcp import MCPError
        from mcp.types import INVALID_PARAMS, METHOD_NOT_FOUND

        client = await self._opened()
        try:
            async with asyncio.timeout(self._seconds):
                return await client.call_tool(tool, dict(arguments))
        except TimeoutError:
            raise self._failed(f"no reply within {self._seconds:g} s", "timeout") from None
        except MCPError as error:
            if error.code in (INVALID_PARAMS, METHOD_NOT_FOUND):
                raise RefusedCallError(error.message) from None
            raise self._failed(error.message, "failed") from error
        except Exception as error:
            raise self._failed(f"{type(error).__name__}: {error}", "failed") from error

    async def tools(self) -> "list[Tool]":
        """All pages of the listing. Raises ToolError."""
        client = await self._opened()
        found: list[Tool] = []
        cursor: str | None = None
        try:
            async with asyncio.timeout(self._seconds):
                for _ in range(MAX_PAGES):
                    page = await client.list_tools(cursor=cursor)
                    found += page.tools
                    cursor = page.next_cursor
                    if not cursor:
                        return found
        except TimeoutError:
            raise self._failed(f"its tools were not listed within {self._seconds:g} s", "timeout") from None
        except Exception as error:
            raise self._failed(f"its tools cannot be listed: {type(error).__name__}: {error}", "failed") from error
        raise self._failed(f"the list of its tools has more than {MAX_PAGES} pages", "failed")

    async def close(self) -> None:
        """Ends the connection, or the way to it, and with it the program that was started for it."""
        self._leave.set()
        try:
            while not self._task.done():
                if not self._client.done():
                    self._task.cancel()
                # Again where the handshake has swallowed it; not so soon that it could cut short the client's own end.
                await asyncio.wait([self._task], timeout=END_SECONDS)
        finally:
            self._stderr.close()

    async def _opened(self) -> "Client":
        if self._task.done() and self._client.done() and self._client.exception() is None:
            raise self._failed("the connection has ended", "closed")
        return await asyncio.shield(self._client)

    async def _hold(self) -> None:
        try:
            await self._hold_open()
        except asyncio.CancelledError:
            self._client.cancel()
            raise
        except ToolablateError as error:
            self._settle(error)
        except Exception as error:  # noqa: BLE001 - whatever keeps it from opening is told to those who call
            self._settle(self._failed(_reason(error), "unreachable"))

    async def _hold_open(self) -> None:
        from mcp import Client

        client = Client(
            self._address.transport(self._seconds, self._stderr), cache=None, read_timeout_seconds=self._seconds
        )
        entering = asyncio.timeout(self._start_seconds)
        try:
            async with entering:
                await client.__aenter__()
        except TimeoutError:
            raise self._failed(f"no connection within {self._start_seconds:g} s", "timeout") from None
        try:
            # The client would list the tools again to check results by the server's own schemas, on the event loop,
            # where a pattern of theirs can take for ever.
            client.session.validate_tool_result = _unchecked  # type: ignore[method-assign, assignment]
            self._client.set_result(client)
            await self._leave.wait()
        finally:
            await client.__aexit__(None, None, None)

    def _settle(self, error: ToolablateError) -> None:
        """Tells those who wait for the connection; one that ended after it was open is told by the calls in it."""
        if not self._client.done():
            self._client.set_exception(error)
            # A session that nobody calls any more must not complain about it.
            self._client.exception()

    def _failed(self, reason: str, code: str) -> ToolError:
        said = self._stderr.last_line()
        hint = f"it last wrote: {said}" if said else self._address.remedy
        place = one_line(self._address.place, 200)
        who = f"mcp {self._name} ({place})" if place else f"mcp {self._name}"
        return ToolError(f"{who}: {one_line(reason, 300)}", hint=hint, code=f"mcp_{code}", retryable=True)


async def _unchecked(_name: str, _result: "CallToolResult") -> None:
    return None


def require_client() -> None:
    """Raises InputError where the extra is not installed."""
    try:
        import mcp  # noqa: F401
    except ImportError:
        raise InputError(
            "mcp: the client of the Model Context Protocol is not installed",
            hint=to_install("mcp"),
            code="no_mcp",
        ) from None


def _reason(error: BaseException) -> str:
    """The innermost of nested groups: they say only that something failed."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    text: Any = str(error)
    return f"{type(error).__name__}: {text}" if text else type(error).__name__
