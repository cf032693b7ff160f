"""The bytes of PNG, JPEG, GIF and WebP files: how large a picture is, whether it is whole, and the file without what is
no picture.

No pixel is decoded here: a decoder would be open to whatever a stranger wrote. The data of a PNG are inflated, to see
whether there are as many as its header says, and thrown away.
"""

import re
import struct
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Literal, get_args

PictureKind = Literal["image/png", "image/jpeg", "image/gif", "image/webp"]

DAMAGE = (ValueError, struct.error, IndexError)
"""What is raised where bytes are none of their kind, cut off or damaged."""


class Moving(Exception):
    """It has several frames."""


def kind_of(data: bytes) -> PictureKind | None:
    kinds: tuple[PictureKind, ...] = get_args(PictureKind)
    return next((kind for kind in kinds if FILES[kind].begins.match(data)), None)


def sides(kind: str, data: bytes) -> tuple[int, int]:
    """Width and height in pixels, as it is shown, by the first bytes. Raises one of DAMAGE."""
    return FILES[kind].sides(data)


def rewritten(kind: str, data: bytes) -> bytes:
    """The file with what its pixels need, and nothing else; the very bytes where there is nothing else. Its sides are
    to be looked at before. Raises one of DAMAGE, Moving."""
    return FILES[kind].rewritten(data)


# PNG: https://www.w3.org/TR/png-3/.


_PNG = b"\x89PNG\r\n\x1a\n"
# By colour type: how many samples a pixel has, and of how many bits (11.2.1).
_SAMPLES: Mapping[int, tuple[int, tuple[int, ...]]] = {
    0: (1, (1, 2, 4, 8, 16)),
    2: (3, (8, 16)),
    3: (1, (1, 2, 4, 8)),
    4: (2, (8, 16)),
    6: (4, (8, 16)),
}
# How colours are meant, with its length. A profile (iCCP) would not do: it can hold any text.
_COLOURS = {b"gAMA": 4, b"cHRM": 32, b"sRGB": 1}
# Where each pass of an interlaced picture begins, and its steps (8.1).
_PASSES = ((0, 0, 8, 8), (4, 0, 8, 8), (0, 4, 4, 8), (2, 0, 4, 4), (0, 2, 2, 4), (1, 0, 2, 2), (0, 1, 1, 2))
_INPUT, _OUTPUT = 1 << 14, 1 << 18
_Chunk = tuple[bytes, bytes]


def _png(data: bytes) -> tuple[int, int]:
    """By the first chunk (11.2.1)."""
    if data[:8] != _PNG or data[12:16] != b"IHDR":
        raise ValueError("no PNG")
    width, height = struct.unpack(">II", data[16:24])
    return width, height


def _png_rewritten(data: bytes) -> bytes:
    chunks = list(_png_chunks(data))
    header = chunks[0][1]
    if any(kind == b"acTL" and struct.unpack(">I", content[:4])[0] > 1 for kind, content in chunks):
        raise Moving
    wanted = _png_size(header)
    colours = next((len(content) // 3 for kind, content in chunks if kind == b"PLTE"), 0)
    kept = [chunk for chunk in chunks if _is_needed(*chunk, header[9], colours)]
    _require_order([kind for kind, _ in kept], needs_palette=header[9] == 3)
    packed = b"".join(content for kind, content in kept if kind == b"IDAT")
    behind = _behind(packed, wanted)
    if behind:
        # What stands behind the data within their chunks is no part of them.
        place = next(number for number, (kind, _) in enumerate(kept) if kind == b"IDAT")
        others = [chunk for chunk in kept if chunk[0] != b"IDAT"]
        kept = [*others[:place], (b"IDAT", packed[:-behind]), *others[place:]]
    return png_of(kept)


def _png_chunks(data: bytes) -> Iterator[_Chunk]:
    """Kinds and contents up to the last. Their sums have to be right (5.3)."""
    place, kind = 8, b""
    while kind != b"IEND":
        length, kind = struct.unpack(">I4s", data[place : place + 8])
        end = place + 8 + length
        if zlib.crc32(data[place + 4 : end]) != struct.unpack(">I", data[end : end + 4])[0]:
            raise ValueError("damaged")
        yield kind, data[place + 8 : end]
        place = end + 4


def _is_needed(kind: bytes, content: bytes, colour: int, colours: int) -> bool:
    """Raises ValueError for a chunk that a decoder has to know and that is none of PNG's (5.4)."""
    match kind:
        case b"IHDR" | b"IDAT" | b"IEND":
            if kind == b"IEND" and content:
                raise ValueError("no end")
            return True
        case b"PLTE":
            if len(content) % 3 or not 0 < len(content) <= 768:
                raise ValueError("no palette")
            return colour in (2, 3, 6)
        case b"tRNS":
            return 0 < len(content) <= colours if colour == 3 else len(content) == {0: 2, 2: 6}.get(colour)
    if not kind.isalpha() or kind[:1].isupper():
        raise ValueError("unknown chunk")
    return len(content) == _COLOURS.get(kind)


def _require_order(kinds: list[bytes], *, needs_palette: bool) -> None:
    """Raises ValueError where chunks are missing, come twice or at another place than theirs (5.6)."""
    count = kinds.count(b"IDAT")
    before, others = kinds[: -count - 1], set(kinds) - {b"IDAT"}
    told = kinds == [*before, *[b"IDAT"] * count, b"IEND"] and len(before) == len(set(before)) == len(others) - 1
    if not told or not count or (needs_palette and b"PLTE" not in before):
        raise ValueError("chunks in disorder")


def _png_size(header: bytes) -> int:
    """How many bytes the data are: one for each row of each pass, and those of its pixels."""
    width, height, depth, colour, packing, filtering, interlaced = struct.unpack(">IIBBBBB", header)
    samples, depths = _SAMPLES.get(colour, (0, ()))
    if depth not in depths or packing or filtering or interlaced > 1:
        raise ValueError("no such PNG")
    total = 0
    for left, top, across, down in _PASSES if interlaced else ((0, 0, 1, 1),):
        columns, rows = -(-(width - left) // across), -(-(height - top) // down)
        if columns > 0 and rows > 0:
            total += rows * (1 + (columns * samples * depth + 7) // 8)
    return total


def _behind(packed: bytes, wanted: int) -> int:
    """How many bytes stand behind the data. Raises ValueError where these inflate to fewer or more than are wanted; no
    more than a piece of them is held."""
    inflating = zlib.decompressobj()
    for place in range(0, len(packed), _INPUT):
        left = packed[place : place + _INPUT]
        while not inflating.eof:
            try:
                found = inflating.decompress(left, _OUTPUT)
            except zlib.error:
                raise ValueError("damaged") from None
            wanted, left = wanted - len(found), inflating.unconsumed_tail
            if wanted < 0:
                raise ValueError("more than the header says")
            if not found and not left:
                break
        if inflating.eof:
            break
    if wanted or not inflating.eof:
        raise ValueError("fewer than the header says")
    return len(packed) - min(place + _INPUT, len(packed)) + len(inflating.unused_data)


def png_of(chunks: Iterable[_Chunk]) -> bytes:
    """The file of these kinds and contents (5.3)."""
    written = (
        struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))
        for kind, content in chunks
    )
    return _PNG + b"".join(written)


# JPEG: ITU-T T.81; JFIF: T.871; the orientation: Exif 2.32, 4.6.


_SCAN, _EXIF, _ADOBE, _JFIF = 0xDA, b"Exif\0\0", b"Adobe", b"JFIF\0"
_TABLES = frozenset({0xC4, 0xCC, 0xDB, 0xDC, 0xDD, _SCAN})
_FRAMES = frozenset(range(0xC0, 0xD0)) - {0xC4, 0xC8, 0xCC}
# What ends the data of a scan: no stuffed byte, no restart, no fill.
_MARKER = re.compile(rb"\xff[^\x00\xd0-\xd7\xff]")


@dataclass(frozen=True, slots=True)
class _Segment:
    """`scanned` are the data behind the head of a scan."""

    marker: int
    content: bytes
    scanned: bytes = b""

    @property
    def written(self) -> bytes:
        return struct.pack(">BBH", 0xFF, self.marker, len(self.content) + 2) + self.content + self.scanned


def _jpeg(data: bytes) -> tuple[int, int]:
    """By the first start of a frame (T.81, B.2.2), turned as it is shown."""
    turned = 1
    for segment in _segments(data):
        if segment.marker == 0xE1 and turned == 1:
            turned = _orientation(segment.content)
        if segment.marker in _FRAMES:
            height, width = struct.unpack(">HH", segment.content[1:5])
            return (height, width) if turned > 4 else (width, height)
    raise ValueError("no frame")


def _segments(data: bytes) -> Iterator[_Segment]:
    """Up to the end's marker. Raises ValueError or IndexError where there is none."""
    if data[:3] != b"\xff\xd8\xff":
        raise ValueError("no JPEG")
    place = 2
    while True:
        if data[place] != 0xFF:
            raise ValueError("no marker")
        while data[place] == 0xFF:
            place += 1
        marker = data[place]
        if marker == 0xD9:
            return
        length = struct.unpack(">H", data[place + 1 : place + 3])[0]
        begin, end = place + 3, place + 1 + length
        if length < 2 or end > len(data):
            raise ValueError("cut off")
        place = end
        if marker == _SCAN:
            found = _MARKER.search(data, end)
            if found is None:
                raise ValueError("cut off")
            place = found.start()
        yield _Segment(marker, data[begin:end], data[end:place])


def _jpeg_rewritten(data: bytes) -> bytes:
    segments = list(_segments(data))
    markers = [segment.marker for segment in segments]
    frames = [number for number, marker in enumerate(markers) if marker in _FRAMES]
    if len(frames) != 1 or _SCAN not in markers[frames[0] :] or _SCAN in markers[: frames[0]]:
        raise ValueError("no frame with its scan")
    kept: dict[int, bytes] = {}
    for number, segment in enumerate(segments):
        if (left := _jpeg_needed(segment)) is not None:
            # Of what applications add, the first counts.
            only = segment.marker if 0xE0 <= segment.marker <= 0xEF else -1 - number
            kept.setdefault(only, left.written)
    return b"\xff\xd8" + b"".join(kept.values()) + b"\xff\xd9"


def _jpeg_needed(segment: _Segment) -> _Segment | None:
    content = segment.content
    if segment.marker in _TABLES | _FRAMES:
        return segment
    if segment.marker == 0xE0 and content.startswith(_JFIF) and len(content) >= 14:
        return _Segment(0xE0, content[:12] + b"\0\0")
    if segment.marker == 0xEE and content.startswith(_ADOBE) and len(content) >= 12:
        return _Segment(0xEE, content[:12])
    if segment.marker == 0xE1 and (turned := _orientation(content)) > 1:
        entry = struct.pack("<HHIHH", 0x0112, 3, 1, turned, 0)
        return _Segment(0xE1, _EXIF + b"II*\0\x08\0\0\0\x01\0" + entry + bytes(4))
    return None


def _orientation(content: bytes) -> int:
    """Of an application's segment: 1 where it says none, above 4 where sides change places."""
    if not content.startswith(_EXIF):
        return 1
    exif = content[len(_EXIF) :]
    order = "<" if exif[:2] == b"II" else ">"
    try:
        (place,) = struct.unpack(f"{order}I", exif[4:8])
        (count,) = struct.unpack(f"{order}H", exif[place : place + 2])
        for number in range(count):
            at = place + 2 + 12 * number
            tag, form, values, turned = struct.unpack(f"{order}HHIH", exif[at : at + 10])
            if tag == 0x0112:
                return turned if (form, values) == (3, 1) and 1 <= turned <= 8 else 1
    except struct.error:
        pass
    return 1


# GIF: https://www.w3.org/Graphics/GIF/spec-gif89a.txt.


def _gif(data: bytes) -> tuple[int, int]:
    """By the logical screen descriptor (18), or the first image where that is larger (20): browsers are as large
    then."""
    image, _ = _gif_image(data, _gif_begin(data))
    if image is None:
        raise ValueError("no image")
    left, top, width, height = struct.unpack("<HHHH", data[image + 1 : image + 9])
    screen = struct.unpack("<HH", data[6:10])
    return max(screen[0], left + width), max(screen[1], top + height)


def _gif_begin(data: bytes) -> int:
    if data[:6] not in (b"GIF87a", b"GIF89a"):
        raise ValueError("no GIF")
    return 13 + _gif_table(data[10])


def _gif_table(packed: int) -> int:
    return 3 << (packed & 7) + 1 if packed & 0x80 else 0


def _gif_image(data: bytes, place: int) -> tuple[int | None, bytes]:
    """Where the next image begins, None where the trailer comes first; and the graphic control before it (23)."""
    control = b""
    while data[place] == 0x21:
        end = _gif_blocks(data, place + 2)
        if data[place + 1 : place + 3] == b"\xf9\x04" and end == place + 8:
            control = data[place:end]
        place = end
    if data[place] not in (0x2C, 0x3B):
        raise ValueError("no image")
    return (place if data[place] == 0x2C else None), control


def _gif_blocks(data: bytes, place: int) -> int:
    while length := data[place]:
        place += 1 + length
    return place + 1


def _gif_rewritten(data: bytes) -> bytes:
    begin = _gif_begin(data)
    image, control = _gif_image(data, begin)
    if image is None:
        raise ValueError("no image")
    end = _gif_blocks(data, image + 10 + _gif_table(data[image + 9]) + 1)
    if _gif_image(data, end)[0] is not None:
        raise Moving
    return data[:begin] + control + data[image:end] + b";"


# WebP: RFC 9649.


def _webp(data: bytes) -> tuple[int, int]:
    """By the first chunk (2.5 to 2.7)."""
    if data[:4] != b"RIFF" or data[8:12] != b"WEBP":
        raise ValueError("no WebP")
    return _webp_sides(data[12:16], data[20:30])


def _webp_sides(kind: bytes, content: bytes) -> tuple[int, int]:
    match kind:
        case b"VP8X" if len(content) >= 10:
            return 1 + int.from_bytes(content[4:7], "little"), 1 + int.from_bytes(content[7:10], "little")
        case b"VP8L" if len(content) >= 5 and content[0] == 0x2F:
            bits = int.from_bytes(content[1:5], "little")
            return 1 + (bits & 0x3FFF), 1 + (bits >> 14 & 0x3FFF)
        case b"VP8 " if content[3:6] == b"\x9d\x01\x2a":
            width, height = struct.unpack("<HH", content[6:10])
            return width & 0x3FFF, height & 0x3FFF
    raise ValueError("no WebP")


def _webp_rewritten(data: bytes) -> bytes:
    chunks = dict(reversed(list(_webp_chunks(data))))
    extended, alpha = chunks.get(b"VP8X"), chunks.get(b"ALPH")
    if b"ANIM" in chunks or (extended and extended[0] & 0x02):
        raise Moving
    kind = next((each for each in (b"VP8L", b"VP8 ") if each in chunks), None)
    if kind is None or _webp_sides(kind, chunks[kind]) != _webp(data):
        raise ValueError("no picture of this size")
    kept: list[_Chunk] = [(kind, chunks[kind])]
    if extended:
        has_alpha = extended[0] & 0x10
        if alpha is not None and kind == b"VP8 " and has_alpha:
            kept.insert(0, (b"ALPH", alpha))
        kept.insert(0, (b"VP8X", bytes([has_alpha, 0, 0, 0]) + extended[4:10]))
    written = b"".join(_webp_written(*chunk) for chunk in kept)
    return b"RIFF" + struct.pack("<I", 4 + len(written)) + b"WEBP" + written


def _webp_chunks(data: bytes) -> Iterator[_Chunk]:
    end = 8 + struct.unpack("<I", data[4:8])[0]
    place = 12
    while place + 8 <= end:
        kind, length = struct.unpack("<4sI", data[place : place + 8])
        if place + 8 + length > min(end, len(data)):
            raise ValueError("cut off")
        yield kind, data[place + 8 : place + 8 + length]
        place += 8 + length + (length & 1)


def _webp_written(kind: bytes, content: bytes) -> bytes:
    return kind + struct.pack("<I", len(content)) + content + bytes(len(content) & 1)


@dataclass(frozen=True, slots=True)
class _File:
    name: str
    begins: re.Pattern[bytes]
    sides: Callable[[bytes], tuple[int, int]]
    rewritten: Callable[[bytes], bytes]


FILES: Mapping[str, _File] = {
    "image/png": _File("PNG", re.compile(re.escape(_PNG)), _png, _png_rewritten),
    "image/jpeg": _File("JPEG", re.compile(rb"\xff\xd8\xff"), _jpeg, _jpeg_rewritten),
    "image/gif": _File("GIF", re.compile(b"GIF8[79]a"), _gif, _gif_rewritten),
    "image/webp": _File("WebP", re.compile(b"(?s)RIFF....WEBP"), _webp, _webp_rewritten),
}
