"""A real MCP server with tools that behave in all ways. `python library_server.py` speaks stdio; `app()` is for HTTP."""

import asyncio
import os
import sys
from pathlib import Path

from mcp.server.mcpserver import Image, MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from pydantic import BaseModel, Field
from starlette.applications import Starlette

server = MCPServer("library")
_seen: list[str] = []


@server.tool()
def add(left: int, right: int) -> int:
    """Add two integers."""
    return left + right


@server.tool()
def remember(text: str) -> str:
    """Keep a text; say all that this server's process has kept."""
    _seen.append(text)
    return ", ".join(_seen)


@server.tool(name="odd.name/of a tool")
def odd() -> str:
    """A name that chat APIs refuse."""
    return "odd"


@server.tool()
def fails() -> str:
    """Raise an exception."""
    raise ToolError("the shelf is empty")


@server.tool()
def picture() -> Image:
    """Return an image."""
    return Image(data=b"\x89PNG not really", format="png")


@server.tool()
def album() -> list[Image]:
    """Return many large images."""
    return [Image(data=os.urandom(600_000), format="png") for _ in range(5)]


class Slow(BaseModel):
    """A pattern on which backtracking takes for ever."""

    word: str = Field(json_schema_extra={"pattern": "^(a+)+$"})


@server.tool()
def slow() -> Slow:
    """Return what takes long to check by its own schema."""
    return Slow(word="a" * 40 + "b")


@server.tool()
def long() -> str:
    """Return much text."""
    return "line\x1b[31m\n" * 10_000


@server.tool()
async def hangs() -> str:
    """Never return."""
    await asyncio.sleep(600)
    return ""


@server.tool()
def dies() -> str:
    """End the server."""
    sys.stderr.write("out of shelves\n")
    sys.stderr.flush()
    os._exit(3)


@server.tool()
def pid(path: str) -> str:
    """Write down the number of this server's process."""
    Path(path).write_text(str(os.getpid()))
    return "written"


@server.tool()
def secret() -> str:
    """Tell what it was given of the environment."""
    return f"{os.environ.get('LIBRARY_TOKEN')} {os.environ.get('OTHER_SECRET')}"


def app() -> Starlette:
    return server.streamable_http_app()


if __name__ == "__main__":
    if "--noisy" in sys.argv:
        sys.stdout.write("not a message\n")
        sys.stdout.flush()
        sys.stderr.write("x" * 5_000_000)
    server.run()
