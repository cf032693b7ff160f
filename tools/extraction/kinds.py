"""What sort of document some bytes are, by what they look like and what they are called."""

import re
from typing import Literal

from toolablate.tools.extraction.charsets import utf16_of
from toolablate.tools.extraction.unreadable import Unreadable
from toolablate.tools.plain import one_line

Kind = Literal["html", "pdf", "xml", "text"]

_HTML = re.compile(
    rb"(?:\xef\xbb\xbf)?\s*(?:<\?xml[^>]*>\s*)?(?:<!--.*?-->\s*)*<(?:!doctype\s+html|html|head|body|frameset)\b",
    re.IGNORECASE | re.DOTALL,
)
_XML = re.compile(rb"(?:\xef\xbb\xbf)?\s*<(?:\?xml\b|rss\b|feed\b|rdf:RDF\b)")
_BINARY = (
    b"\x89PNG", b"\xff\xd8\xff", b"GIF8", b"PK\x03\x04", b"PK\x05\x06", b"\x1f\x8b\x08", b"\x7fELF", b"MZ\x90",
    b"\xd0\xcf\x11\xe0", b"Rar!", b"7z\xbc\xaf", b"OggS", b"ID3", b"RIFF", b"\x00\x00\x00", b"wOFF", b"wOF2",
    b"\x28\xb5\x2f\xfd", b"BZh", b"\xfd7zXZ", b"SQLite format 3",
)  # fmt: skip
_TEXT_TYPES = frozenset({"application/json", "application/javascript", "application/x-javascript", "application/yaml",
                         "application/toml", "application/x-ndjson", "application/sql", "application/x-sh",
                         "application/x-tex", "application/rtf"})  # fmt: skip
_UNKNOWN = frozenset({"", "application/octet-stream", "binary/octet-stream", "application/download", "unknown/unknown"})
_UTF16 = (b"\xff\xfe", b"\xfe\xff")
_LOOK_BYTES = 4_096
_CONTROL_SHARE = 0.02
_CONTROLS = bytes(set(range(32)) - set(b"\t\n\r\x0b\x0c\x1b"))


def kind_of(body: bytes, content_type: str) -> Kind:
    """Raises Unreadable (`not_text`) where it is neither a page nor a PDF nor text."""
    media = content_type.partition(";")[0].strip().lower()
    start = body[:_LOOK_BYTES]
    if b"%PDF-" in start[:1_024] and (media == "application/pdf" or not media.startswith("text/")):
        return "pdf"
    codec = utf16_of(start, content_type)
    shown = start.decode(codec, "ignore").encode("utf-8", "ignore") if codec else start
    if start.startswith(_BINARY) or (_looks_binary(shown) and "html" not in media):
        raise _not_text(media, body)
    if media in ("text/html", "application/xhtml+xml") or _HTML.match(start):
        return "html"
    if media.endswith(("/xml", "+xml")) or (media in _UNKNOWN | {"text/plain"} and _XML.match(start)):
        return "xml"
    if media.startswith("text/") or media in _TEXT_TYPES or media.endswith("+json") or media in _UNKNOWN:
        return "text"
    raise _not_text(media, body)


def _looks_binary(start: bytes) -> bool:
    if start.startswith(_UTF16):
        return False
    return len(start) - len(start.translate(None, _CONTROLS)) > _CONTROL_SHARE * len(start)


def _not_text(media: str, body: bytes) -> Unreadable:
    return Unreadable("not_text", f"it is no text: {one_line(media, 80) or 'of no stated type'}, {len(body):,} bytes")
