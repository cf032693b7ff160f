"""One request and its reply as they went over the wire, and who can make one."""

from dataclasses import dataclass
from datetime import datetime
from typing import Protocol


class FetchError(Exception):
    """A request that got no reply that could be used, which a model may be told; `code` is a stable word (`timeout`).

    `transient` tells that trying again later may help. `policy` tells that nothing was sent, because it may not be.
    """

    def __init__(self, message: str, *, code: str, transient: bool = False, policy: bool = False) -> None:
        super().__init__(message)
        self.message = message
        self.code = code
        self.transient = transient
        self.policy = policy


@dataclass(frozen=True, slots=True)
class Exchange:
    """One hop; a redirect is one of its own.

    `url` is in normal form (`tools.web.urls`), without a fragment. `headers` are the reply's, in order, names as sent;
    `body` is the reply's as sent, with transfer encoding undone and content encoding not. `address` is the IP address
    that the connection went to.
    """

    url: str
    status: int
    reason: str
    headers: tuple[tuple[str, str], ...]
    body: bytes
    fetched_at: datetime
    request_headers: tuple[tuple[str, str], ...] = ()
    address: str = ""
    method: str = "GET"

    def header(self, name: str) -> str:
        """The first header of that name, whatever its case; empty where there is none."""
        return next((value for key, value in self.headers if key.lower() == name), "")


class Hops(Protocol):
    """Gets one URL, without following redirects: from the live web, or from an archive."""

    async def get(self, url: str) -> Exchange:
        """`url` is in normal form. Raises FetchError."""
        ...
