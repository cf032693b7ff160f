"""A web server on this machine that sends exactly the bytes it is told to, right or wrong."""

import asyncio
import gzip
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Drip:
    """Pieces sent one by one with a wait between them; the connection then stays open."""

    pieces: tuple[bytes, ...]
    seconds: float


def reply(
    body: bytes | str = b"", kind: str = "text/html; charset=utf-8", status: str = "200 OK", **headers: str
) -> bytes:
    """A whole HTTP reply. Header names are written with underscores."""
    content = body.encode() if isinstance(body, str) else body
    named = {"Content-Type": kind, "Content-Length": str(len(content))}
    named |= {name.replace("_", "-"): value for name, value in headers.items()}
    head = "".join(f"{name}: {value}\r\n" for name, value in named.items() if value)
    return f"HTTP/1.1 {status}\r\n{head}\r\n".encode("latin-1") + content


def redirect(location: str, status: str = "302 Found") -> bytes:
    return reply(status=status, Location=location)


def zipped(body: bytes | str, **headers: str) -> bytes:
    content = body.encode() if isinstance(body, str) else body
    return reply(gzip.compress(content), Content_Encoding="gzip", **headers)


def article(title: str, *paragraphs: str) -> str:
    inner = "".join(f"<p>{paragraph}</p>" for paragraph in paragraphs)
    head = f"<head><title>{title}</title></head>"
    return f"<!doctype html><html>{head}<body><article><h1>{title}</h1>{inner}</article></body></html>"


@dataclass
class WebServer:
    """`pages` maps a path to a reply; what is asked for is kept in `requests`, as path and headers."""

    port: int = 0
    address: str = "127.0.0.1"
    pages: dict[str, bytes | Drip] = field(default_factory=dict)
    requests: list[tuple[str, dict[str, str]]] = field(default_factory=list)

    @property
    def host(self) -> str:
        return f"[{self.address}]:{self.port}" if ":" in self.address else f"{self.address}:{self.port}"

    def url(self, path: str) -> str:
        return f"http://{self.host}{path}"

    @asynccontextmanager
    async def running(self, tls: ssl.SSLContext | None = None) -> AsyncIterator["WebServer"]:
        server = await asyncio.start_server(self._answer, self.address, self.port, ssl=tls)
        self.port = server.sockets[0].getsockname()[1]
        try:
            yield self
        finally:
            server.close()

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
            first, *lines = head.strip().split("\r\n")
            path = first.split(" ")[1]
            headers = {name.lower(): value for name, value in (line.split(": ", 1) for line in lines)}
            # Closing on an unread body would reset the connection before the reply is read.
            await reader.readexactly(int(headers.get("content-length", 0)))
            self.requests.append((path, headers))
            page = self.pages.get(path.partition("?")[0], reply("no such page", status="404 Not Found"))
            await self._send(page, writer)
        except (ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
            pass
        finally:
            writer.close()

    async def _send(self, page: bytes | Drip, writer: asyncio.StreamWriter) -> None:
        if isinstance(page, bytes):
            writer.write(page)
            await writer.drain()
            return
        for piece in page.pieces:
            writer.write(piece)
            await writer.drain()
            await asyncio.sleep(page.seconds)
