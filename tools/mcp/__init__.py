"""The tools of MCP servers, run by the official client, which is the extra `toolablate[mcp]`."""

from toolablate.tools.mcp.address import HttpAddress, StdioAddress
from toolablate.tools.mcp.server import Calls, McpServer

__all__ = ["Calls", "HttpAddress", "McpServer", "StdioAddress"]
