"""An endpoint as a user has one, for the questions of the README: any number of requests, and no failures."""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from tests.servers.chat_server import reply


def said(request: dict[str, Any]) -> dict[str, Any]:
    """Right from memory; with tools, wrong after two calls of the first."""
    results = [message for message in request["messages"] if message["role"] == "tool"]
    if not request.get("tools"):
        return reply("Answer: A" if "diverges" in str(request["messages"]) else "Answer: 25").value
    if len(results) < 2:
        tool = request["tools"][0]["function"]["name"]
        return reply(None, (tool, {"code": f"print({len(results)})"} if tool == "python" else {"celsius": 1})).value
    return reply("Answer: B" if "diverges" in str(request["messages"]) else "Answer: 24").value


class Endpoint(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        chat = self.path.endswith("/chat/completions")
        told = json.dumps(
            said(json.loads(body)) if chat else {"error": {"message": "there is no such address"}}
        ).encode()
        self.send_response(200 if chat else 404)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(told)))
        self.end_headers()
        self.wfile.write(told)

    def log_message(self, *_: object) -> None:
        pass


@contextmanager
def endpoint() -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), Endpoint) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}/v1"
        finally:
            server.shutdown()
            thread.join()
