"""What sort of document some bytes are, and their characters: byte order mark, UTF-8, declaration, appearance."""

import codecs
import contextlib
import re
import unicodedata
from dataclasses import dataclass
from typing import Literal

from toolablate.tools.text import one_line

_DECLARED = re.compile(r"charset\s*=\s*[\"']?\s*([\w.:-]+)", re.IGNORECASE)
_META = re.compile(rb"<meta\b[^>]*?\bcharset\s*=\s*[\"']?\s*([\w.:-]+)", re.IGNORECASE)
_XML = re.compile(rb"\s*<\?xml\b[^>]*?\bencoding\s*=\s*[\"']([\w.:-]+)", re.IGNORECASE)
_ASCII = bytes(range(128))
_META_BYTES = 4_096  # browsers look at 1,024; long comments and banners in front of the head are common
_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
# What is written under a label is more than its standard has; Python's codec of that name would give up.
_WIDER = {
    "gbk": "gb18030",
    "gb2312": "gb18030",
    "shift_jis": "cp932",
    "euc_kr": "cp949",
    "big5": "big5hkscs",
    "iso8859-11": "cp874",
    "iso8859-1": "cp1252",
}
_OF_PAIRS = frozenset({"gb18030", "big5hkscs", "cp932", "cp949", "euc_jp", "euc_kr"})
_FEW_BYTES = 16
"""Fewer than these, beyond ASCII, may be valid in UTF-8 by chance where a charset of byte pairs is declared."""
_SPOILT_SHARE = 0.01
"""Of a text's characters; with more of them undecodable, it was written in another charset."""
_WESTERN = "cp1252"
"""What browsers read an undeclared page in, and what a text with hardly any letter beyond ASCII is written in."""
_FEW_SIGNS = 3
# What bytes 0x80 to 0x9f are where the standard of the same letters has controls.
_WINDOWS = {
    "iso8859-2": "cp1250",
    "iso8859-5": "cp1251",
    "iso8859-6": "cp1256",
    "iso8859-7": "cp1253",
    "iso8859-8": "cp1255",
    "iso8859-9": "cp1254",
    "iso8859-13": "cp1257",
}
_C1 = bytes(range(0x80, 0xA0))
_LOOK_BYTES = 4_096
_SAME_SIDE = 0.9
_ZEROS_SHARE = 0.1


def decode(body: bytes, content_type: str = "") -> str:
    """The text of `body`; what its charset cannot say becomes U+FFFD."""
    for mark, charset in _MARKS:
        if body.startswith(mark):
            return body[len(mark) :].decode(charset, "replace")
    if codec := utf16_of(body, content_type):
        return body.decode(codec, "replace")
    declared = _declared(body, content_type)
    if not (declared and _may_be_no_utf8(declared[0], body)):
        with contextlib.suppress(UnicodeDecodeError):
            return body.decode("utf-8")
    best = ""
    for charset in dict.fromkeys((*declared, "utf-8")):
        text = body.decode(charset, "replace")
        spoilt = text.count("\ufffd")
        if spoilt == 0:
            return text
        if not best and spoilt <= _SPOILT_SHARE * len(text) and (charset != "utf-8" or _has_more_than(spoilt, text)):
            best = text
    return best or _by_look(body)


def utf16_of(body: bytes, content_type: str) -> str:
    """The codec, if that is what the reply's header says and `body` is written so; else empty."""
    header = _DECLARED.search(content_type)
    named = codec_of(header[1]) if header else ""
    if not named.startswith("utf-16"):
        return ""
    start = body[:_LOOK_BYTES]
    big, little = start[::2].count(0), start[1::2].count(0)
    # Text with hardly an ASCII character has hardly a zero, and those of U+4E00 are on the other side.
    if big + little < _ZEROS_SHARE * len(start) and _is_text_in(named, body):
        return named
    if max(big, little) <= _SAME_SIDE * (big + little):
        return ""
    return "utf-16-le" if little > big else "utf-16-be"


def _is_text_in(codec: str, body: bytes) -> bool:
    """Whether bytes that are no UTF-8 are characters that texts hold."""
    with contextlib.suppress(UnicodeDecodeError):
        body.decode("utf-8")
        return False
    try:
        text = body.decode(codec)
    except UnicodeDecodeError:
        return False
    return not any(
        unicodedata.category(each) in ("Cc", "Cn", "Co") and each not in "\t\r\n" for each in text[:_LOOK_BYTES]
    )


def _has_more_than(spoilt: int, text: str) -> bool:
    """Whether there are as many characters beyond ASCII that are right: bytes of another charset hardly ever are."""
    return len(text) - len(text.encode("ascii", "ignore")) >= 2 * spoilt


def _may_be_no_utf8(codec: str, body: bytes) -> bool:
    """Whether bytes that are valid in UTF-8 may still be in the charset that was declared."""
    if codec.startswith(("iso2022", "hz")):
        return True  # all ASCII, with escapes
    return codec in _OF_PAIRS and len(body.translate(None, _ASCII)) < _FEW_BYTES


def _declared(body: bytes, content_type: str) -> list[str]:
    """Codecs, the reply's header before the document's own word."""
    start = body[:_META_BYTES]
    header, meta, xml = _DECLARED.search(content_type), _META.search(start), _XML.match(start)
    labels = [header[1]] if header else []
    labels += [found[1].decode("ascii", "replace") for found in (meta, xml) if found]
    codecs_found = (codec_of(label) for label in labels)
    # A document that can be searched for ASCII is not in UTF-16, whatever it declares.
    return [codec for codec in codecs_found if codec and not codec.startswith("utf-16")]


def codec_of(label: str) -> str:
    """Python's codec for a label of the web (WHATWG Encoding Standard), empty where there is none."""
    from resiliparse.parse.encoding import map_encoding_to_html5

    codec = map_encoding_to_html5(label, False)
    return _WIDER.get(codec, codec) if codec else ""


def _by_look(body: bytes) -> str:
    codec = _guessed(body)
    text = body.decode(codec, "replace")
    # UTF-8 with a few bytes spoilt is guessed as about anything.
    as_utf8 = body.decode("utf-8", "replace")
    spoilt = as_utf8.count("\ufffd")
    return as_utf8 if spoilt <= text.count("\ufffd") and _has_more_than(spoilt, as_utf8) else text


def _guessed(body: bytes) -> str:
    from resiliparse.parse.encoding import detect_encoding

    found = detect_encoding(body, html5_compatible=False) or ""
    # A name of Python's that no page would use.
    codec = found if found == "cp949" else codec_of(found)
    signs = set(body.translate(None, _ASCII))
    if not codec or codec == "utf-8" or (len(signs) <= _FEW_SIGNS and codec not in _OF_PAIRS):
        return _WESTERN
    return _WINDOWS.get(codec, _WESTERN) if codec.startswith("iso8859") and signs.intersection(_C1) else codec


# Why a document gives no text.


class Unreadable(Exception):
    """A document without text that could be read; `code` is a stable word, `reason` a sentence."""

    def __init__(self, code: str, reason: str) -> None:
        super().__init__(reason)
        self.code = code
        self.reason = reason


Kind = Literal["html", "pdf", "xml", "text"]

_HTML = re.compile(
    rb"(?:\xef\xbb\xbf)?\s*(?:<\?xml[^>]*>\s*)?(?:<!--.*?-->\s*)*<(?:!doctype\s+html|html|head|body|frameset)\b",
    re.IGNORECASE | re.DOTALL,
)
_XML_START = re.compile(rb"(?:\xef\xbb\xbf)?\s*<(?:\?xml\b|rss\b|feed\b|rdf:RDF\b)")
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
_KIND_BYTES = 4_096
_CONTROL_SHARE = 0.02
_CONTROLS = bytes(set(range(32)) - set(b"\t\n\r\x0b\x0c\x1b"))


def kind_of(body: bytes, content_type: str) -> Kind:
    """Raises Unreadable (`not_text`) where it is neither a page nor a PDF nor text."""
    media = content_type.partition(";")[0].strip().lower()
    start = body[:_KIND_BYTES]
    if b"%PDF-" in start[:1_024] and (media == "application/pdf" or not media.startswith("text/")):
        return "pdf"
    codec = utf16_of(start, content_type)
    shown = start.decode(codec, "ignore").encode("utf-8", "ignore") if codec else start
    if start.startswith(_BINARY) or (_looks_binary(shown) and "html" not in media):
        raise _not_text(media, body)
    if media in ("text/html", "application/xhtml+xml") or _HTML.match(start):
        return "html"
    if media.endswith(("/xml", "+xml")) or (media in _UNKNOWN | {"text/plain"} and _XML_START.match(start)):
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


# What an extraction depends on besides the bytes.


@dataclass(frozen=True, slots=True)
class ExtractionOptions:
    """`url` makes links absolute; `content_type` is the reply's header as sent. The same bytes and options give the
    same text.

    Elements deeper than `max_depth` are taken out and their text is left; more than 200 counts as 200, since the parser
    drops what lies deeper than 255. Text is cut at `max_chars`.
    """

    url: str = ""
    content_type: str = ""
    max_depth: int = 200
    max_chars: int = 2_000_000
