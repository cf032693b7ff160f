"""HTTP by hand: what no browser would send."""

import http.client
import socket
import socketserver
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass

from tests.browser.serving import Site


@dataclass(frozen=True)
class Reply:
    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def text(self) -> str:
        return self.body.decode()


def get(site: Site, path: str, *, method: str = "GET", let_in: bool = True, **headers: str) -> Reply:
    """As a browser that was let in, or one that was not. Status 0 where the server hung up."""
    connection = http.client.HTTPConnection("127.0.0.1", site.port, timeout=30)
    try:
        connection.request(method, path, headers=({"Cookie": site.cookie} if let_in else {}) | headers)
        answer = connection.getresponse()
        found = {name.lower(): value for name, value in answer.getheaders()}
        return Reply(answer.status, found, answer.read())
    except ConnectionError:
        return Reply(0, {}, b"")
    finally:
        connection.close()


def raw(site: Site, request: bytes) -> Reply:
    """The answer to these very bytes. Status 0 where the server hung up."""
    with socket.create_connection(("127.0.0.1", site.port), timeout=30) as connection:
        connection.sendall(request)
        answer = http.client.HTTPResponse(connection)
        try:
            answer.begin()
        except http.client.BadStatusLine:
            return Reply(0, {}, b"")
        found = {name.lower(): value for name, value in answer.getheaders()}
        return Reply(answer.status, found, answer.read())


@contextmanager
def forwarding(port: int) -> Iterator[int]:
    """A port of this machine that leads to another, as `ssh -L` makes one: bytes as they come."""

    class Forward(socketserver.BaseRequestHandler):
        def handle(self) -> None:
            with socket.create_connection(("127.0.0.1", port)) as beyond:
                back = threading.Thread(target=_carry, args=(beyond, self.request))
                back.start()
                _carry(self.request, beyond)
                back.join()

    class Forwarding(socketserver.ThreadingTCPServer):
        daemon_threads = True
        block_on_close = False

    with Forwarding(("127.0.0.1", 0), Forward) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        try:
            yield server.server_address[1]
        finally:
            server.shutdown()
            thread.join()


def _carry(source: socket.socket, target: socket.socket) -> None:
    try:
        while data := source.recv(65_536):
            target.sendall(data)
        target.shutdown(socket.SHUT_WR)
    except OSError:
        # The other side hung up.
        pass
