"""One request to a service's API: bounded in time and size, and never sent on to where it redirects."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Literal
from urllib.parse import urlsplit

from pydantic import JsonValue

from toolablate import __version__
from toolablate.tools.plain import one_line
from toolablate.traces.records import SearchStatus

if TYPE_CHECKING:
    import ssl

    from httpx2 import AsyncClient, Response

CLIENT_VERSION = f"toolablate {__version__}"

_HEADERS = {
    "User-Agent": f"toolablate/{__version__} (search for research)",
    "Accept": "application/json",
    # SearXNG writes its reasons in the language that it is asked for.
    "Accept-Language": "en",
    "Accept-Encoding": "identity",
}


@dataclass(frozen=True, slots=True)
class Limits:
    """`seconds` for the whole exchange; `reply_bytes` of its body."""

    seconds: float = 20.0
    reply_bytes: int = 4_000_000


@dataclass(frozen=True, slots=True)
class ApiRequest:
    """`parameters` go into the address of a GET and are the JSON body of a POST. No key is in them."""

    url: str
    parameters: Mapping[str, JsonValue]
    method: Literal["GET", "POST"] = "GET"


@dataclass(frozen=True, slots=True)
class ApiReply:
    """`headers` have names in lower case."""

    code: int
    headers: Mapping[str, str]
    body: bytes


class NoReplyError(Exception):
    """There was no reply that could be read; `status` is what that makes of the search."""

    def __init__(self, message: str, status: SearchStatus = "error") -> None:
        super().__init__(message)
        self.message = message
        self.status = status


async def send(request: ApiRequest, key_headers: Mapping[str, str], limits: Limits) -> ApiReply:
    """Raises NoReplyError."""
    from httpx2 import AsyncClient, ConnectError, HTTPError, InvalidURL, TimeoutException

    try:
        async with (
            asyncio.timeout(limits.seconds),
            # Nothing of the environment: a proxy would read the key where it is sent in the clear, and a .netrc would
            # put other credentials in its place.
            AsyncClient(trust_env=False, follow_redirects=False, verify=_tls(), timeout=limits.seconds) as client,
        ):
            return await _exchange(client, request, key_headers, limits)
    except (TimeoutError, TimeoutException):
        raise NoReplyError(f"no reply within {limits.seconds:g} seconds", "timeout") from None
    except ConnectError as error:
        raise NoReplyError(f"{_origin(request.url)} cannot be reached: {one_line(str(error), 200)}") from None
    except (HTTPError, InvalidURL) as error:
        reason = one_line(str(error), 200)
        raise NoReplyError(f"{type(error).__name__}: {reason}" if reason else type(error).__name__) from None


def _origin(url: str) -> str:
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.hostname}{f':{parts.port}' if parts.port else ''}"


async def _exchange(
    client: "AsyncClient", request: ApiRequest, key_headers: Mapping[str, str], limits: Limits
) -> ApiReply:
    headers = {**_HEADERS, **key_headers}
    content = {"json": dict(request.parameters)} if request.method == "POST" else {"params": dict(request.parameters)}
    async with client.stream(request.method, request.url, headers=headers, **content) as response:  # type: ignore[arg-type]
        encoding = response.headers.get("content-encoding", "identity").strip().lower()
        if encoding not in ("", "identity"):
            raise NoReplyError(f"the reply is encoded ({one_line(encoding, 40)}), which was not asked for")
        body = b"".join([chunk async for chunk in _bounded(response, limits.reply_bytes)])
        return ApiReply(response.status_code, {name.lower(): value for name, value in response.headers.items()}, body)


async def _bounded(response: "Response", limit: int) -> AsyncIterator[bytes]:
    size = 0
    async for chunk in response.aiter_raw():
        size += len(chunk)
        if size > limit:
            raise NoReplyError(f"the reply is larger than {limit:,} bytes")
        yield chunk


@lru_cache(maxsize=1)
def _tls() -> "ssl.SSLContext":
    from httpx2 import create_ssl_context

    return create_ssl_context()
