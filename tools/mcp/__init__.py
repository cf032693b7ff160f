"""The tools of MCP servers, run by the official client, which is the extra `toolablate[mcp]`."""

from toolablate.tools.mcp.server import Calls, Connection, McpServer
from toolablate.tools.mcp.session import HttpAddress, StdioAddress

__all__ = ["Calls", "Connection", "HttpAddress", "McpServer", "StdioAddress"]
