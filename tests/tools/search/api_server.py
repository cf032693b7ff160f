"""A search service on this machine that answers every request with the same bytes, right or wrong, or misbehaves."""

import asyncio
import json
import socket
import struct
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from tests.tools.web_server import Drip, reply


@dataclass(frozen=True)
class Reset:
    """These bytes, and then the connection is cut off."""

    head: bytes = b""


@dataclass(frozen=True)
class Flood:
    """A body that does not end; only a client that stops reading gets away."""

    head: bytes


Answer = bytes | Drip | Reset | Flood


@dataclass(frozen=True)
class Asked:
    method: str
    path: str
    headers: dict[str, str]
    parameters: dict[str, Any]


def json_reply(content: object, status: str = "200 OK", **headers: str) -> bytes:
    return reply(json.dumps(content), kind="application/json", status=status, **headers)


@dataclass
class ApiServer:
    answer: Answer = b""
    port: int = 0
    asked: list[Asked] = field(default_factory=list)

    @property
    def endpoint(self) -> str:
        return f"http://127.0.0.1:{self.port}/search"

    @asynccontextmanager
    async def running(self) -> AsyncIterator["ApiServer"]:
        server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        self.port = server.sockets[0].getsockname()[1]
        try:
            yield self
        finally:
            server.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            self.asked.append(await _read(reader))
            await _send(self.answer, writer)
        except (ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
            pass
        finally:
            writer.close()


async def _read(reader: asyncio.StreamReader) -> Asked:
    first, *lines = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").strip().split("\r\n")
    method, target, _ = first.split(" ")
    headers = {name.lower(): value for name, value in (line.split(": ", 1) for line in lines)}
    body = await reader.readexactly(int(headers.get("content-length", 0)))
    parts = urlsplit(target)
    return Asked(method, parts.path, headers, json.loads(body) if body else dict(parse_qsl(parts.query)))


async def _send(answer: Answer, writer: asyncio.StreamWriter) -> None:
    if isinstance(answer, Reset):
        writer.write(answer.head)
        await writer.drain()
        # Closing with a linger of nothing sends RST in place of FIN.
        connection: socket.socket = writer.get_extra_info("socket")
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        return
    if isinstance(answer, Flood):
        writer.write(answer.head)
        while True:
            writer.write(b'{"results": ' + b" " * 65_536)
            await writer.drain()
    for piece in answer.pieces if isinstance(answer, Drip) else (answer,):
        writer.write(piece)
        await writer.drain()
        await asyncio.sleep(answer.seconds if isinstance(answer, Drip) else 0)
