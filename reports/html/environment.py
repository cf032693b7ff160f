"""The template environment that pages and reports share, with images."""

import base64
import binascii
import struct
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache

from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined

from toolablate.reports import numbers
from toolablate.reports.html.beliefs import with_links
from toolablate.reports.html.cards import Text
from toolablate.reports.html.marking import as_shown, inert, marked, shown
from toolablate.reports.html.rendered import Rendered, Rich, rendered, rich
from toolablate.reports.html.side_by_side import beside
from toolablate.traces.records import Artifact
from toolablate.traces.terminal_text import one_line

# Images of tools, shown only where they are what they say and not too large for a browser.


MAX_BYTES = 4_000_000
MAX_SIDE, MAX_PIXELS = 8_000, 16_000_000
"""A few bytes can stand for more pixels than a browser has memory for."""


@dataclass(frozen=True, slots=True)
class Image:
    """`url` holds the image itself; sides are in pixels, `size` in bytes."""

    url: str
    width: int
    height: int
    size: int


@dataclass(frozen=True, slots=True)
class NoImage:
    """`source` is to be shown as text instead, "" where there is nothing that one could read."""

    reason: str
    source: str = ""


def image(artifact: Artifact) -> Image | NoImage:
    """Never SVG or HTML, which can do things: these are shown as their source."""
    kind = artifact.mime.partition(";")[0].strip().lower()
    sides = _SIDES.get(kind)
    if sides is None:
        text = kind.startswith("text/") or kind.endswith(("json", "xml", "javascript"))
        return NoImage("shown as its source" if text else "not shown", artifact.data if text else "")
    if len(artifact.data) > MAX_BYTES * 4 // 3 + 4:
        return NoImage(f"not shown: more than {MAX_BYTES:,} bytes")
    try:
        data = base64.b64decode("".join(artifact.data.split()), validate=True)
        width, height = sides(data)
    except (binascii.Error, ValueError, struct.error, IndexError):
        return NoImage(f"not shown: its bytes are no {kind.removeprefix('image/')}")
    if not (0 < width <= MAX_SIDE and 0 < height <= MAX_SIDE and width * height <= MAX_PIXELS):
        return NoImage(f"not shown: {width:,} by {height:,} pixels")
    return Image(f"data:{kind};base64,{base64.b64encode(data).decode()}", width, height, len(data))


def _png(data: bytes) -> tuple[int, int]:
    """Width and height by the first chunk (PNG specification, 11.2.2)."""
    if data[:8] != b"\x89PNG\r\n\x1a\n" or data[12:16] != b"IHDR":
        raise ValueError("no PNG")
    return struct.unpack(">II", data[16:24])


def _gif(data: bytes) -> tuple[int, int]:
    """By the logical screen descriptor (GIF89a, 18), or the first image where that is larger (20): browsers are as
    large then."""
    if data[:6] not in (b"GIF87a", b"GIF89a"):
        raise ValueError("no GIF")
    sides, packed = struct.unpack("<HH", data[6:10]), data[10]
    place = 13 + (3 << (packed & 7) + 1 if packed & 0x80 else 0)
    while data[place] == 0x21:
        place += 2
        while length := data[place]:
            place += 1 + length
        place += 1
    if data[place] != 0x2C:
        raise ValueError("no image")
    left, top, width, height = struct.unpack("<HHHH", data[place + 1 : place + 9])
    return max(sides[0], left + width), max(sides[1], top + height)


def _jpeg(data: bytes) -> tuple[int, int]:
    """By the first start of a frame (ITU-T T.81, B.2.2)."""
    if data[:3] != b"\xff\xd8\xff":
        raise ValueError("no JPEG")
    place = 2
    while data[place] == 0xFF:
        marker, length = data[place + 1], struct.unpack(">H", data[place + 2 : place + 4])[0]
        if 0xC0 <= marker <= 0xCF and marker not in (0xC4, 0xC8, 0xCC):
            height, width = struct.unpack(">HH", data[place + 5 : place + 9])
            return width, height
        place += 2 + length
    raise ValueError("no frame")


def _webp(data: bytes) -> tuple[int, int]:
    """By the first chunk (RFC 9649, 2.5 to 2.7)."""
    if data[:4] != b"RIFF" or data[8:12] != b"WEBP":
        raise ValueError("no WebP")
    match data[12:16]:
        case b"VP8X" if len(data) >= 30:
            return 1 + int.from_bytes(data[24:27], "little"), 1 + int.from_bytes(data[27:30], "little")
        case b"VP8L" if data[20] == 0x2F:
            bits = int.from_bytes(data[21:25], "little")
            return 1 + (bits & 0x3FFF), 1 + (bits >> 14 & 0x3FFF)
        case b"VP8 " if data[23:26] == b"\x9d\x01\x2a":
            width, height = struct.unpack("<HH", data[26:30])
            return width & 0x3FFF, height & 0x3FFF
    raise ValueError("no WebP")


_SIDES: Mapping[str, Callable[[bytes], tuple[int, int]]] = {
    "image/png": _png,
    "image/jpeg": _jpeg,
    "image/gif": _gif,
    "image/webp": _webp,
}


def _laid_out(text: Text) -> Rendered:
    """The beginning of a text, all of it where it is not long, as it was meant."""
    return rendered(as_shown(text.head, text.form), text.marks)


def _rich(artifact: Artifact) -> Rich:
    return rich(artifact.mime, artifact.data)


@cache
def environment(*packages: str) -> Environment:
    """Finds templates in the folders `templates` of these packages, then in that of this one."""
    loaders = [PackageLoader(package) for package in (*packages, "toolablate.reports.html")]
    made = Environment(
        loader=ChoiceLoader(loaders), autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    made.filters |= {
        "inert": inert,
        "one_line": one_line,  # for attributes and titles, which hold no elements
        "shown": shown,
        "image": image,
        "quoted": marked,
        "beside": beside,
        "with_links": with_links,
        "duration": numbers.duration,
        "rendered": rendered,
        "laid_out": _laid_out,
        "rich": _rich,
    }
    return made
