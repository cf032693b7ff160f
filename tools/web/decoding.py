"""Undoes the content encoding of a reply."""

import zlib

from toolablate.tools.plain import one_line
from toolablate.tools.web.exchange import Exchange, FetchError

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
