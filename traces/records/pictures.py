"""Pictures that a model is shown: what kind they are, how large, and whether they are whole.

They are told apart and measured by their first bytes, and never decoded: a decoder would be open to whatever a stranger
wrote, and a few bytes can stand for more pixels than there is memory.
"""

import base64
import binascii
import re
import struct
import zlib
from collections.abc import Callable, Iterator, Mapping
from typing import Literal, Self

from pydantic import Field

from toolablate.traces.records._base import Record, digest_text

MAX_BYTES = 5_000_000
"""As much as providers take: https://docs.claude.com/en/docs/build-with-claude/vision."""
MAX_SIDE, MAX_PIXELS = 8_000, 16_000_000

PictureKind = Literal["image/png", "image/jpeg", "image/gif", "image/webp"]
_PIXELS_PER_TOKEN, _MOST_TOKENS = 750, 1_600


class Picture(Record):
    """A still picture that a model is shown beside a text; `data` is its bytes in base64, sides are in pixels.

    Where the text holds `<image 1>`, the first picture stands behind that mark; one without a mark stands before the
    text. A store keeps each picture once, whichever questions and messages it belongs to.
    """

    mime: PictureKind
    data: str = Field(min_length=1)
    width: int = Field(gt=0)
    height: int = Field(gt=0)

    @classmethod
    def of(cls, data: bytes) -> Self:
        """Of the bytes of a file. Raises ValueError, which says why it cannot be shown to a model."""
        if len(data) > MAX_BYTES:
            raise ValueError(f"has more than {MAX_BYTES:,} bytes")
        kind = next((kind for kind, begins in _BEGINNINGS.items() if begins(data)), None)
        if kind is None:
            raise ValueError("is no PNG, JPEG, GIF or WebP")
        name = _NAMES[kind]
        try:
            width, height = sides(kind, data)
            frames = _FRAMES[kind](data)
        except (ValueError, struct.error, IndexError):
            raise ValueError(f"is no whole {name}: it is cut off or damaged") from None
        if not small_enough(width, height):
            raise ValueError(
                f"has {width:,} by {height:,} pixels; allowed are {MAX_SIDE:,} on a side and {MAX_PIXELS:,} in all"
            )
        if frames > 1:
            raise ValueError(f"is a moving {name}, of which models see one frame or none")
        return cls(mime=kind, data=base64.b64encode(data).decode(), width=width, height=height)

    @property
    def content(self) -> bytes:
        return base64.b64decode(self.data)

    @property
    def url(self) -> str:
        """The picture itself, as a data URL."""
        return f"data:{self.mime};base64,{self.data}"

    @property
    def tokens(self) -> int:
        """About how many tokens it is read as; models shrink what is larger."""
        return min(-(-self.width * self.height // _PIXELS_PER_TOKEN), _MOST_TOKENS)

    @property
    def said(self) -> str:
        """In words, for where no picture can be shown."""
        size = len(self.data) * 3 // 4
        return (
            f"[image: {self.width} x {self.height} {_NAMES[self.mime]}, {size:,} bytes, {digest_text(self.data)[:12]}]"
        )


def mark(number: int) -> str:
    """What stands in a text before the picture of this number, which counts from 1."""
    return f"<image {number}>"


_MARK = re.compile(r"<image (\d{1,4})>")


def marked(text: str) -> set[int]:
    """The numbers of the pictures that a text has marks for."""
    return {int(number) for number in _MARK.findall(text)}


def order_of(text: str, count: int) -> list[int]:
    """The numbers of so many pictures in the order in which they are given: first those without a mark in the text."""
    there = [number for found in _MARK.finditer(text) if 1 <= (number := int(found[1])) <= count]
    return [number for number in range(1, count + 1) if number not in there] + list(dict.fromkeys(there))


def parts_of(text: str, pictures: tuple[Picture, ...]) -> Iterator[str | Picture]:
    """The text and its pictures in the order in which a model is given them: each picture behind its first mark, and
    before all what has none. Marks stay in the text."""
    there = marked(text)
    yield from (picture for number, picture in enumerate(pictures, 1) if number not in there)
    begin, given = 0, set[int]()
    for found in _MARK.finditer(text):
        number = int(found[1])
        if 1 <= number <= len(pictures) and number not in given:
            given.add(number)
            yield text[begin : found.end()]
            yield pictures[number - 1]
            begin = found.end()
    if text[begin:].strip():
        yield text[begin:]


def picture_of_url(url: str) -> Picture:
    """Of a data URL (RFC 2397) in base64. Raises ValueError."""
    head, comma, data = url.partition(",")
    if not (comma and head.startswith("data:") and head.endswith(";base64")):
        raise ValueError("is no data URL in base64")
    return picture_of_base64(data)


def picture_of_base64(data: str) -> Picture:
    """Raises ValueError."""
    if len(data) > 2 * MAX_BYTES:
        raise ValueError(f"has more than {MAX_BYTES:,} bytes")
    try:
        return Picture.of(base64.b64decode("".join(data.split()), validate=True))
    except binascii.Error:
        raise ValueError("is not written in base64") from None


def small_enough(width: int, height: int) -> bool:
    return 0 < width <= MAX_SIDE and 0 < height <= MAX_SIDE and width * height <= MAX_PIXELS


def sides(kind: str, data: bytes) -> tuple[int, int]:
    """Width and height in pixels, by the first bytes. Raises ValueError, struct.error or IndexError where these are
    none of this kind."""
    return _SIDES[kind](data)


def _png(data: bytes) -> tuple[int, int]:
    """By the first chunk (PNG specification, 11.2.2)."""
    if data[:8] != b"\x89PNG\r\n\x1a\n" or data[12:16] != b"IHDR":
        raise ValueError("no PNG")
    width, height = struct.unpack(">II", data[16:24])
    return width, height


def _png_frames(data: bytes) -> int:
    """By its chunks, whose sums have to be right up to the last (5.3, 11.3.6.1)."""
    place, frames = 8, 1
    while True:
        length, kind = struct.unpack(">I4s", data[place : place + 8])
        end = place + 8 + length
        if zlib.crc32(data[place + 4 : end]) != struct.unpack(">I", data[end : end + 4])[0]:
            raise ValueError("damaged")
        if kind == b"acTL":
            frames = struct.unpack(">I", data[place + 8 : place + 12])[0]
        if kind == b"IEND":
            return frames
        place = end + 4


def _gif(data: bytes) -> tuple[int, int]:
    """By the logical screen descriptor (GIF89a, 18), or the first image where that is larger (20): browsers are as
    large then."""
    place = _gif_image(data, _gif_begin(data))
    if place is None:
        raise ValueError("no image")
    left, top, width, height = struct.unpack("<HHHH", data[place + 1 : place + 9])
    screen = struct.unpack("<HH", data[6:10])
    return max(screen[0], left + width), max(screen[1], top + height)


def _gif_begin(data: bytes) -> int:
    if data[:6] not in (b"GIF87a", b"GIF89a"):
        raise ValueError("no GIF")
    return 13 + _gif_table(data[10])


def _gif_table(packed: int) -> int:
    return 3 << (packed & 7) + 1 if packed & 0x80 else 0


def _gif_image(data: bytes, place: int) -> int | None:
    """Where the next image begins, None where the trailer comes first."""
    while data[place] == 0x21:
        place = _gif_blocks(data, place + 2)
    if data[place] not in (0x2C, 0x3B):
        raise ValueError("no image")
    return place if data[place] == 0x2C else None


def _gif_blocks(data: bytes, place: int) -> int:
    while length := data[place]:
        place += 1 + length
    return place + 1


def _gif_frames(data: bytes) -> int:
    frames, place = 0, _gif_begin(data)
    while (image := _gif_image(data, place)) is not None:
        frames += 1
        place = _gif_blocks(data, image + 10 + _gif_table(data[image + 9]) + 1)
    return frames


def _jpeg(data: bytes) -> tuple[int, int]:
    """By the first start of a frame (ITU-T T.81, B.2.2)."""
    for marker, place in _jpeg_segments(data):
        if 0xC0 <= marker <= 0xCF and marker not in (0xC4, 0xC8, 0xCC):
            height, width = struct.unpack(">HH", data[place + 5 : place + 9])
            return width, height
    raise ValueError("no frame")


def _jpeg_segments(data: bytes) -> Iterator[tuple[int, int]]:
    """The markers before the scan, and where they stand."""
    if data[:3] != b"\xff\xd8\xff":
        raise ValueError("no JPEG")
    place = 2
    while data[place] == 0xFF:
        yield data[place + 1], place
        place += 2 + struct.unpack(">H", data[place + 2 : place + 4])[0]


def _jpeg_frames(data: bytes) -> int:
    """The end's marker stands behind the scan: nothing in a scan looks like it, as a thumbnail before it may."""
    scan = next((place for marker, place in _jpeg_segments(data) if marker == 0xDA), None)
    if scan is None or data.find(b"\xff\xd9", scan) < 0:
        raise ValueError("cut off")
    return 1


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


def _webp_frames(data: bytes) -> int:
    if int.from_bytes(data[4:8], "little") + 8 > len(data):
        raise ValueError("cut off")
    return 2 if data[12:16] == b"VP8X" and data[20] & 0x02 else 1


_NAMES: Mapping[str, str] = {
    "image/png": "PNG",
    "image/jpeg": "JPEG",
    "image/gif": "GIF",
    "image/webp": "WebP",
}
_BEGINNINGS: Mapping[PictureKind, Callable[[bytes], bool]] = {
    "image/png": lambda data: data.startswith(b"\x89PNG\r\n\x1a\n"),
    "image/jpeg": lambda data: data.startswith(b"\xff\xd8\xff"),
    "image/gif": lambda data: data.startswith((b"GIF87a", b"GIF89a")),
    "image/webp": lambda data: data[:4] == b"RIFF" and data[8:12] == b"WEBP",
}
_SIDES: Mapping[str, Callable[[bytes], tuple[int, int]]] = {
    "image/png": _png,
    "image/jpeg": _jpeg,
    "image/gif": _gif,
    "image/webp": _webp,
}
PICTURE_KINDS = frozenset(_SIDES)
_FRAMES: Mapping[str, Callable[[bytes], int]] = {
    "image/png": _png_frames,
    "image/jpeg": _jpeg_frames,
    "image/gif": _gif_frames,
    "image/webp": _webp_frames,
}
