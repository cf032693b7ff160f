"""What may be fetched, and how much of it."""

import asyncio
import re
import socket
from dataclasses import dataclass
from typing import TYPE_CHECKING

from toolablate.tools.browser.addresses import is_public
from toolablate.tools.browser.page import PageUnreadableError
from toolablate.tools.plain import one_line

if TYPE_CHECKING:
    from httpx2 import URL

MAX_URL_CHARS = 2_000

_HOST = re.compile(r"[a-z0-9._-]+|[0-9a-f:.]+", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class FetchPolicy:
    """Limits of one fetch: bytes as sent and as decoded, seconds in all (redirects and reading included), redirects.

    `allow` lists `host:port` pairs that may be fetched although they are private or on another port, for tests and
    intranets. Everything else must be on one of `ports` and resolve to public addresses only.
    """

    wire_bytes: int = 3_000_000
    decoded_bytes: int = 4_000_000
    seconds: float = 30.0
    redirects: int = 5
    ports: tuple[int, ...] = (80, 443, 8080, 8443)
    allow: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Destination:
    """A URL that passed, with the addresses that were checked: a connection goes to one of them and nowhere else."""

    url: "URL"
    addresses: tuple[str, ...]


def parse_url(text: str) -> "URL":
    """Raises PageUnreadableError for what is no http or https URL, or carries a user name or password."""
    from httpx2 import URL, InvalidURL

    if len(text) > MAX_URL_CHARS:
        raise PageUnreadableError(f"the URL is longer than {MAX_URL_CHARS} characters", code="bad_url")
    shown = one_line(text, 300)
    try:
        url = URL(text.strip())
    except (InvalidURL, ValueError) as error:
        raise PageUnreadableError(f"{shown} is no valid URL: {one_line(str(error), 200)}", code="bad_url") from None
    if url.scheme not in ("http", "https"):
        raise PageUnreadableError(f"{shown}: only http and https URLs can be opened", code="bad_url")
    if url.userinfo:
        raise PageUnreadableError(f"{shown}: a URL with a user name or password is not opened", code="blocked")
    if not _HOST.fullmatch(url.raw_host.decode("ascii")):
        raise PageUnreadableError(f"{shown} names no valid host", code="bad_url")
    return url


async def check(url: "URL", policy: FetchPolicy) -> Destination:
    """Resolves the host once and checks every address. Raises PageUnreadableError."""
    port = url.port if url.port is not None else (443 if url.scheme == "https" else 80)
    allowed = f"{url.host}:{port}" in policy.allow
    if not allowed and port not in policy.ports:
        raise PageUnreadableError(f"{url}: port {port} may not be opened", code="blocked")
    addresses = await _resolve(url, port)
    if not allowed and not all(map(is_public, addresses)):
        raise PageUnreadableError(f"{url}: {url.host} is not on the public internet", code="blocked")
    return Destination(url, addresses)


async def _resolve(url: "URL", port: int) -> tuple[str, ...]:
    host = url.raw_host.decode("ascii")
    try:
        answers = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as error:
        raise PageUnreadableError(f"{url}: the host {url.host} cannot be found ({error})", code="no_host") from None
    return tuple(dict.fromkeys(str(answer[4][0]) for answer in answers))
