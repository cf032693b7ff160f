"""HTTP by hand: what no browser would send."""

import http.client
import socket
from collections.abc import Mapping
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
