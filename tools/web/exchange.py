"""One request and its reply as they went over the wire: records, failures, content encodings."""

import errno
import ssl
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from toolablate.tools.text import one_line


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
    """One HTTP exchange; a redirect is one of its own.

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


class HttpClient(Protocol):
    """Gets one URL, without following redirects: from the live web, or from an archive."""

    async def get(self, url: str) -> Exchange:
        """`url` is in normal form. Raises FetchError."""
        ...


# What it means that a request failed, by the exceptions of sockets, TLS and HTTP.


def connection_failure(url: str, addresses: Sequence[str], failures: Sequence[Exception]) -> FetchError:
    """No address could be connected to: `tls`, `timeout`, `unreachable`, or `no_network` for this machine's fault.

    `failures` are in the order of `addresses`; the last one is told.
    """
    from httpx2 import ConnectTimeout

    causes = [cause for failure in failures for cause in _causes(failure)]
    shown = one_line(url, 300)
    # A handshake that is waiting for more is no refusal.
    refusals = (cause for cause in causes if isinstance(cause, ssl.SSLError) and cause.errno != ssl.SSL_ERROR_WANT_READ)
    if refused := next(refusals, None):
        return FetchError(f"{shown}: no secure connection can be made: {_reason(refused)}", code="tls")
    # A machine without IPv6 reaches no IPv6 address, but one that reaches no IPv4 address either is cut off.
    if any("." in address for address in addresses) and all(map(_is_cut_off, failures)):
        return FetchError("no address can be reached: there is no network", code="no_network", transient=True)
    if failures and all(isinstance(failure, ConnectTimeout) for failure in failures):
        return FetchError(f"{shown} cannot be reached: nobody answers", code="timeout", transient=True)
    reasons = [_reason(cause) for cause in causes if str(cause)]
    message = f"{shown} cannot be reached: {reasons[-1] if reasons else 'it has no address'}"
    return FetchError(message, code="unreachable", transient=True)


def reply_failure(url: str, error: Exception) -> FetchError:
    """What was sent got no reply that can be read: `bad_reply`, or `unreachable` where the connection broke."""
    from httpx2 import ProtocolError

    if isinstance(error, ProtocolError):
        message = f"{one_line(url, 300)} gives no valid reply: {_reason(error)}"
        return FetchError(message, code="bad_reply", transient=True)
    message = f"{one_line(url, 300)} cannot be reached: {_reason(error)}"
    return FetchError(message, code="unreachable", transient=True)


def _is_cut_off(failure: Exception) -> bool:
    without_route = (errno.ENETUNREACH, errno.EADDRNOTAVAIL)
    return any(isinstance(cause, OSError) and cause.errno in without_route for cause in _causes(failure))


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__


def _reason(error: BaseException) -> str:
    return one_line(str(error), 200) or type(error).__name__


# Undoes the content encoding of a reply.


ACCEPTED = "gzip, deflate"
"""What is asked for, and no more than can be undone here."""

_GZIP_OR_ZLIB = 32 + zlib.MAX_WBITS
_RAW = -zlib.MAX_WBITS
# What is left of a piece behind a member is copied, so pieces are small, and so is the number of members.
_PIECE_BYTES = 16_384
_MEMBERS = 1_000


def decoded_body(exchange: Exchange, limit: int) -> bytes:
    """The body unpacked, never more than `limit` bytes of it: a bomb is noticed before it has gone off.

    Raises FetchError: `too_large`, or `bad_encoding` for what is broken, cut short or in an unknown encoding.
    """
    encodings = _encodings(exchange)
    if not exchange.body or not encodings:
        if len(exchange.body) > limit:
            raise _too_large(exchange, limit)
        return exchange.body
    if len(encodings) > 1 or encodings[0] not in ("gzip", "x-gzip", "deflate"):
        shown = one_line(", ".join(encodings), 40)
        raise _bad(exchange, f"the encoding {shown!r} cannot be read")
    if encodings[0] == "deflate" and not _is_zlib(exchange.body):
        return _unpacked(exchange, limit, _RAW)
    return _unpacked(exchange, limit, _GZIP_OR_ZLIB)


def _encodings(exchange: Exchange) -> list[str]:
    values = (value for name, value in exchange.headers if name.lower() == "content-encoding")
    named = (encoding.strip().lower() for value in values for encoding in value.split(","))
    return [encoding for encoding in named if encoding not in ("", "identity")]


def _is_zlib(body: bytes) -> bool:
    """By the two bytes that zlib data (RFC 1950) begin with; some servers send bare deflate data (RFC 1951) instead."""
    return len(body) > 1 and body[0] & 0x0F == 8 and body[0] >> 4 <= 7 and (body[0] << 8 | body[1]) % 31 == 0


def _is_gzip(data: bytes) -> bool:
    """By the two bytes that each member of gzip data begins with (RFC 1952)."""
    return data.startswith(b"\x1f\x8b")


def _unpacked(exchange: Exchange, limit: int, wbits: int) -> bytes:
    pieces: list[bytes] = []
    size, members, member = 0, 1, zlib.decompressobj(wbits)
    try:
        for start in range(0, len(exchange.body), _PIECE_BYTES):
            end = start + _PIECE_BYTES
            packed = exchange.body[start:end]
            while packed:
                if member.eof:
                    # Some servers pad with zeros behind the end, or with what browsers and gzip(1) pass over.
                    if not (packed := packed.lstrip(b"\0")):
                        break
                    if not _is_gzip(packed + exchange.body[end : end + 1]):
                        return b"".join(pieces)
                    if (members := members + 1) > _MEMBERS:
                        raise _bad(exchange, f"the data have more than {_MEMBERS:,} parts")
                    member = zlib.decompressobj(wbits)
                piece = member.decompress(packed, limit - size + 1)
                size += len(piece)
                if size > limit:
                    raise _too_large(exchange, limit)
                pieces.append(piece)
                packed = member.unused_data
    except zlib.error as error:
        raise _bad(exchange, f"the packed data are broken ({one_line(str(error), 100)})") from None
    if not member.eof:
        raise _bad(exchange, "the packed data end too early")
    return b"".join(pieces)


def _bad(exchange: Exchange, reason: str) -> FetchError:
    return FetchError(f"{one_line(exchange.url, 300)}: {reason}", code="bad_encoding")


def _too_large(exchange: Exchange, limit: int) -> FetchError:
    return FetchError(f"{one_line(exchange.url, 300)} is larger than {limit:,} bytes when unpacked", code="too_large")
