"""Fetches a URL within limits, from checked addresses only."""

import asyncio
import zlib
from collections.abc import AsyncIterator
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

from toolablate import __version__
from toolablate.tools.browser.page import PageUnreadableError
from toolablate.tools.browser.policy import Destination, FetchPolicy, check, parse_url
from toolablate.tools.plain import one_line

if TYPE_CHECKING:
    import ssl

    from httpx2 import URL, Request, Response

_REDIRECTS = frozenset({301, 302, 303, 307, 308})
_HEADERS = {
    "User-Agent": f"toolablate/{__version__} (text browser for research)",
    "Accept": "text/html, application/xhtml+xml, text/plain;q=0.9, */*;q=0.5",
    "Accept-Language": "en, *;q=0.5",
    "Accept-Encoding": "gzip",
    "Connection": "close",
}


@dataclass(frozen=True, slots=True)
class Fetched:
    """A body as sent, after redirects and content decoding."""

    url: str
    content_type: str
    body: bytes


async def fetch(text: str, policy: FetchPolicy) -> Fetched:
    """Fetches a URL. Raises PageUnreadableError with the reason for whatever keeps it from being read."""
    try:
        async with asyncio.timeout(policy.seconds):
            return await _follow(text, policy)
    except TimeoutError:
        shown = one_line(text, 300)
        raise PageUnreadableError(f"{shown} took longer than {policy.seconds:g} seconds", code="timeout") from None


async def _follow(text: str, policy: FetchPolicy) -> Fetched:
    url = parse_url(text)
    for _ in range(policy.redirects + 1):
        reply = await _request(await check(url, policy), policy)
        if isinstance(reply, Fetched):
            return reply
        url = _joined(url, reply)
    raise PageUnreadableError(
        f"{one_line(text, 300)} redirects more than {policy.redirects} times", code="too_many_redirects"
    )


def _joined(url: "URL", location: str) -> "URL":
    from httpx2 import InvalidURL

    try:
        return parse_url(str(url.join(location)))
    except (InvalidURL, ValueError):
        where = one_line(location, 300)
        raise PageUnreadableError(f"{url} redirects to {where}, which is no valid URL", code="bad_url") from None


async def _request(destination: Destination, policy: FetchPolicy) -> Fetched | str:
    """The page, or where it redirects to."""
    from httpx2 import AsyncClient, ConnectError, HTTPError

    # A client of its own: no cookies, no proxies of the environment, no connection that an earlier page left open.
    async with AsyncClient(trust_env=False, follow_redirects=False, verify=_tls(), timeout=policy.seconds) as client:
        for address in destination.addresses:
            try:
                response = await client.send(_addressed(destination, address), stream=True)
            except ConnectError as error:
                reason = error
                continue
            except HTTPError as error:
                raise _unreachable(destination, error) from None
            try:
                return await _read(response, destination, policy)
            except HTTPError as error:
                raise _unreachable(destination, error) from None
            finally:
                await response.aclose()
    raise _unreachable(destination, reason)


def _addressed(destination: Destination, address: str) -> "Request":
    """A request that goes to the address and asks, in Host and in TLS, for the name."""
    from httpx2 import Request

    url = destination.url
    return Request(
        "GET",
        url.copy_with(host=address, fragment=None),
        headers={"Host": url.netloc.decode("ascii"), **_HEADERS},
        extensions={"sni_hostname": url.raw_host.decode("ascii")},
    )


@lru_cache(maxsize=1)
def _tls() -> "ssl.SSLContext":
    from httpx2 import create_ssl_context

    return create_ssl_context()


def _unreachable(destination: Destination, error: Exception) -> PageUnreadableError:
    reason = one_line(str(error), 200) or type(error).__name__
    return PageUnreadableError(f"{destination.url} cannot be reached: {reason}", code="unreachable")


async def _read(response: "Response", destination: Destination, policy: FetchPolicy) -> Fetched | str:
    location = response.headers.get("location")
    if response.status_code in _REDIRECTS and location:
        return str(location)
    if response.status_code != 200:
        code = response.status_code
        raise PageUnreadableError(
            f"{destination.url}: HTTP {code} {response.reason_phrase}".strip(), code=f"http_{code}"
        )
    encoding = response.headers.get("content-encoding", "identity").strip().lower()
    chunks = _within(response.aiter_raw(), policy.wire_bytes, destination)
    if encoding != "identity":
        chunks = _decoded(chunks, encoding, policy.decoded_bytes, destination)
    body = b"".join([chunk async for chunk in chunks])
    return Fetched(str(destination.url), response.headers.get("content-type", ""), body)


async def _within(chunks: AsyncIterator[bytes], limit: int, destination: Destination) -> AsyncIterator[bytes]:
    size = 0
    async for chunk in chunks:
        size += len(chunk)
        if size > limit:
            raise PageUnreadableError(f"{destination.url} is larger than {limit:,} bytes", code="too_large")
        yield chunk


async def _decoded(
    chunks: AsyncIterator[bytes], encoding: str, limit: int, destination: Destination
) -> AsyncIterator[bytes]:
    """Unpacks gzip and deflate, never more than `limit` bytes in all: a bomb is noticed before it has gone off."""
    if encoding not in ("gzip", "x-gzip", "deflate"):
        shown = one_line(encoding, 40)
        raise PageUnreadableError(f"{destination.url}: the encoding {shown!r} cannot be read", code="bad_encoding")
    size, member = 0, zlib.decompressobj(wbits=47)
    try:
        async for chunk in chunks:
            while chunk:
                if member.eof:
                    member = zlib.decompressobj(wbits=47)
                piece = member.decompress(chunk, limit - size + 1)
                size += len(piece)
                if size > limit:
                    raise PageUnreadableError(
                        f"{destination.url} is larger than {limit:,} bytes when unpacked", code="too_large"
                    )
                yield piece
                chunk = member.unused_data
    except zlib.error as error:
        raise PageUnreadableError(
            f"{destination.url}: the {encoding} data are broken ({error})", code="bad_encoding"
        ) from None
    if not member.eof:
        raise PageUnreadableError(f"{destination.url}: the {encoding} data end too early", code="bad_encoding")
