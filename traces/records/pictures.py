"""Pictures that a model is shown: what kind they are, how large, and whether they are whole.

They are told apart, measured and re-written by their bytes, and never decoded: a decoder would be open to whatever a
stranger wrote, and a few bytes can stand for more pixels than there is memory.
"""

import base64
import binascii
import re
from collections.abc import Iterator
from typing import Self

from pydantic import Field

from toolablate.traces.records._base import Record, digest_text
from toolablate.traces.records.picture_files import DAMAGE, FILES, Moving, PictureKind, kind_of, rewritten, sides

MAX_BYTES = 5_000_000
"""As much as providers take: https://docs.claude.com/en/docs/build-with-claude/vision."""
MAX_SIDE, MAX_PIXELS = 8_000, 16_000_000

PICTURE_KINDS = frozenset[str](FILES)
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
        """Of the bytes of a file, without what is no picture in them. Raises ValueError, which says why it cannot be
        shown to a model."""
        if len(data) > MAX_BYTES:
            raise ValueError(f"has more than {MAX_BYTES:,} bytes")
        kind = kind_of(data)
        if kind is None:
            raise ValueError("is no PNG, JPEG, GIF or WebP")
        name = FILES[kind].name
        try:
            width, height = sides(kind, data)
            # Not before, since its data may be as large as its sides say.
            content = rewritten(kind, data) if small_enough(width, height) else b""
        except Moving:
            raise ValueError(f"is a moving {name}, of which models see one frame or none") from None
        except DAMAGE:
            raise ValueError(f"is no whole {name}: it is cut off or damaged") from None
        if not content:
            raise ValueError(
                f"has {width:,} by {height:,} pixels; allowed are {MAX_SIDE:,} on a side and {MAX_PIXELS:,} in all"
            )
        return cls(mime=kind, data=base64.b64encode(content).decode(), width=width, height=height)

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
        name, digest = FILES[self.mime].name, digest_text(self.data)[:12]
        return f"[image: {self.width} x {self.height} {name}, {size:,} bytes, {digest}]"


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
