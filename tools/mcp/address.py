"""Where an MCP server is, and how a connection to it is opened."""

import os
from collections.abc import AsyncGenerator, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit, urlunsplit

from toolablate.traces.errors import InputError
from toolablate.traces.records import digest_json

if TYPE_CHECKING:
    from toolablate.tools.mcp.stderr import StderrTail


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
