import asyncio
import json
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
import uvicorn
from tests.tools.mcp import library_server

from toolablate.tools.mcp import HttpAddress, McpServer, StdioAddress
from toolablate.tools.recorded import RecordedCalls
from toolablate.tools.tool import ToolResult
from toolablate.tools.toolset import Toolset
from toolablate.traces.records import ToolRequest

SERVER = Path(__file__).with_name("library_server.py")
COMMAND = (sys.executable, str(SERVER))

Caller = Callable[..., Awaitable[ToolResult]]


@pytest.fixture
async def http_address() -> AsyncIterator[HttpAddress]:
    config = uvicorn.Config(library_server.app(), port=0, log_level="error", timeout_graceful_shutdown=1)
    server = uvicorn.Server(config)
    task = asyncio.create_task(server.serve())
    while not server.started:  # noqa: ASYNC110 - uvicorn has no event for it
        await asyncio.sleep(0.01)
    port = server.servers[0].sockets[0].getsockname()[1]
    yield HttpAddress(f"http://127.0.0.1:{port}/mcp")
    server.should_exit = True
    await task


@pytest.fixture
def stdio_address() -> StdioAddress:
    return StdioAddress(COMMAND)


@pytest.fixture(params=["stdio", "http"])
def address(request: pytest.FixtureRequest) -> StdioAddress | HttpAddress:
    found: StdioAddress | HttpAddress = request.getfixturevalue(f"{request.param}_address")
    return found


async def listed(address: StdioAddress | HttpAddress, **options: Any) -> McpServer:
    server = McpServer("library", address, RecordedCalls(None, "live"), **options)
    await server.list()
    return server


async def call(tools: Toolset, name: str, **arguments: Any) -> ToolResult:
    return await tools.call(ToolRequest(id="1", name=name, arguments=json.dumps(arguments)))
