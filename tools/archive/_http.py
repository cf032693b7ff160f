"""An exchange as the bytes of HTTP/1.1 that a WARC record holds, and back.

Headers are text of one byte each (ISO 8859-1), as the web room reads them, so they are kept byte for byte. What could
end a line early (CR, LF, NUL and other controls) cannot come over HTTP; in an exchange of other making it becomes a
blank, so that no header can forge another, or the start of the body.
"""

import hashlib
import re
from dataclasses import replace
from urllib.parse import quote

from toolablate.tools.web.exchange import Exchange
from toolablate.traces.records import canonical_json, clean_text

Headers = tuple[tuple[str, str], ...]

_CONTROLS = re.compile(r"[\x00-\x08\x0a-\x1f\x7f]")
_NOT_IN_NAMES = re.compile(r"[\x00-\x20\x7f:]")
_NOT_IN_URLS = re.compile(r"[^\x21-\x7e]|[<>\"]")
_NOT_IN_ADDRESSES = re.compile(r"[^0-9A-Za-z.:%]")
ORIGINAL = "X-Archive-Orig-"
"""Before the name of a header that would mislead a reader of the body as it is kept: WARC tools that meet
`Transfer-Encoding` undo it, and it is undone already. Before a name that begins like this anyway, it is doubled."""


def as_kept(exchange: Exchange) -> Exchange:
    """The exchange as it can be kept; nearly always the very same."""
    return replace(
        exchange,
        url=_NOT_IN_URLS.sub(lambda found: quote(found[0]), clean_text(exchange.url)),
        reason=_line(exchange.reason),
        headers=_clean(exchange.headers),
        request_headers=_clean(exchange.request_headers),
        address=_NOT_IN_ADDRESSES.sub("", exchange.address),
        method=_name(exchange.method),
    )


def _clean(headers: Headers) -> Headers:
    return tuple((_name(name), _line(value)) for name, value in headers)


def _name(text: str) -> str:
    return _NOT_IN_NAMES.sub("_", _as_sent(text)) or "_"


def _line(text: str) -> str:
    return _CONTROLS.sub(" ", _as_sent(text)).strip(" \t")


def _as_sent(text: str) -> str:
    """Each character one byte: what has others is read as a client that sends UTF-8 would be."""
    return text if text.isascii() or max(text) <= "\xff" else clean_text(text).encode().decode("latin-1")


def exchange_digest(exchange: Exchange) -> bytes:
    """SHA-256 of all that a reply's reader could tell; the time is not in it."""
    content = [
        exchange.method,
        exchange.url,
        exchange.status,
        exchange.reason,
        [list(header) for header in exchange.headers],
        [list(header) for header in exchange.request_headers],
        exchange.address,
        hashlib.sha256(exchange.body).hexdigest(),
    ]
    return hashlib.sha256(canonical_json(content).encode()).digest()


def response_block(exchange: Exchange) -> bytes:
    length = str(len(exchange.body))
    named = [(_kept_name(name, value, length), value) for name, value in exchange.headers]
    return _head(f"HTTP/1.1 {exchange.status} {exchange.reason}", named) + exchange.body


def request_block(exchange: Exchange) -> bytes:
    _, _, rest = exchange.url.partition("://")
    slash = re.search(r"[/?]", rest)
    target = rest[slash.start() :] if slash else "/"
    return _head(f"{exchange.method} {target} HTTP/1.1", exchange.request_headers)


def _kept_name(name: str, value: str, length: str) -> str:
    lower = name.lower()
    misleading = lower == "transfer-encoding" or (lower == "content-length" and value != length)
    return ORIGINAL + name if misleading or lower.startswith(ORIGINAL.lower()) else name


def _head(first: str, headers: list[tuple[str, str]] | Headers) -> bytes:
    lines = [first, *(f"{name}: {value}" for name, value in headers)]
    return "".join(f"{line}\r\n" for line in lines).encode("latin-1") + b"\r\n"


def parse_response(block: bytes) -> tuple[int, str, Headers, bytes]:
    """Status, reason, headers and body. Raises ValueError where it is no block of ours."""
    first, headers, body = _parse(block)
    protocol, status, reason = (*first.split(" ", 2), "", "")[:3]
    if protocol != "HTTP/1.1":
        raise ValueError("it is no HTTP reply")
    return int(status), reason, tuple((_sent_name(name), value) for name, value in headers), body


def parse_request(block: bytes) -> tuple[str, Headers]:
    """Method and headers. Raises ValueError where it is no block of ours."""
    first, headers, _ = _parse(block)
    return first.partition(" ")[0], headers


def _sent_name(name: str) -> str:
    return name[len(ORIGINAL) :] if name.lower().startswith(ORIGINAL.lower()) else name


def _parse(block: bytes) -> tuple[str, Headers, bytes]:
    head, found, body = block.partition(b"\r\n\r\n")
    if not found:
        raise ValueError("its HTTP headers have no end")
    first, *lines = head.decode("latin-1").split("\r\n")
    headers = []
    for line in lines:
        name, _, value = line.partition(":")
        headers.append((name, value.strip(" \t")))
    return first, tuple(headers), body
