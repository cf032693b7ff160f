"""What a page of a book looks like, and what a region of it looks like: its boxes cut out, its masks laid over them."""

import base64
import math
import re
import struct
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import reduce
from pathlib import Path
from typing import TYPE_CHECKING, Any

from toolablate.experiments.construction.sources.book_pages import Box, Place, around, opened_book
from toolablate.tools.extraction.pdf import whole_words
from toolablate.tools.text import plain_text
from toolablate.traces.errors import InputError
from toolablate.traces.records.picture_files import png_of

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Grey = NDArray[np.uint8]

Part = tuple[int, Box]
"""A box on a page, by the page's index."""

SCALE = 2.0
"""Pixels of a point: 144 dpi."""
MOST_PIXELS = 4_500_000
"""Of a picture in grey, so that also a scan's has less bytes than a model takes."""
_MOST_DRAWN = 40_000_000
"""Pixels of a page."""
MASK = 128
"""The grey of a mask."""


@dataclass(frozen=True, slots=True)
class Crop:
    """`picture` is a PNG in base64; `text` is what the file's text layer has there, "" where it has none."""

    picture: str
    text: str


def sizes_of(path: str) -> list[tuple[float, float]]:
    """Width and height of each page as it is shown, in points. Raises InputError as `pages_of` does."""
    with opened_book(Path(path)) as document:
        return [document.get_page_size(index) for index in range(len(document))]


def page_picture(path: str, index: int) -> str:
    """A PNG in base64. Raises InputError likewise, and for a page that cannot be drawn."""
    with opened_book(Path(path)) as document, _shown(document, index) as page:
        return _png(_drawn(page, _scale([page.get_size()])))


def crop(path: str, boxes: Sequence[Part], masks: Sequence[Part]) -> Crop:
    """The boxes below each other, in their order. Under a mask is one grey, whatever stands there, and no text. Raises
    InputError likewise."""
    import numpy as np

    scale = _scale([(right - left, bottom - top) for _, (left, top, right, bottom) in boxes])
    pieces, texts = [], []
    with opened_book(Path(path)) as document:
        # A page is drawn whole: of a poster's a region is less sharp.
        largest = max(math.prod(document.get_page_size(index)) for index, _ in boxes)
        scale = min(scale, math.sqrt(_MOST_DRAWN / largest))
        for index, box in boxes:
            over = [mask for at, mask in masks if at == index]
            with _shown(document, index) as page:
                picture = _drawn(page, scale)
                texts.append(_text(page, box, over))
            for mask in over:
                # Outwards: what is at the edge of a mask shows nothing of what is below it.
                picture[_pixels(mask, scale)] = MASK
            pieces.append(picture[_pixels(box, scale)])
    width = max(piece.shape[1] for piece in pieces)
    joined = [np.pad(each, ((0, 0), (0, width - each.shape[1])), constant_values=255) for each in pieces]
    return Crop(_png(np.concatenate(joined)), "\n".join(filter(None, texts)))


def numbers_in(path: str, regions: Sequence[Sequence[Part]]) -> list[list[Part]]:
    """For each region, where numbers of formulas and references stand in it: what a mask should cover. Raises
    InputError likewise."""
    pages = {index for boxes in regions for index, _ in boxes}
    with opened_book(Path(path)) as document:
        found = {index: list(_numbers(document, index)) for index in sorted(pages)}
    return [[(index, mask) for index, box in boxes for mask in found[index] if _holds(box, mask)] for boxes in regions]


_NUMBER = re.compile(
    # Of a formula, at the end of its line; of a reference. An index stands at its name, as in ind[1], and an interval
    # behind a sign or a word that says so.
    r"(?<=\S)[ \t]+(?P<formula>[(（][1-9]\d?(?:[.-]\d{1,3})*[a-z]?[)）])[ \t]*(?=\r|\n|$)"
    r"|(?<=[^\W\d_])(?<!\bin)(?<!\bon)(?<!\bto)(?<!\bover)(?<!\brange)(?<!interval)[,.;]?[ \t]+"
    r"(?P<reference>\[[1-9]\d{0,2}(?:\s*[,–-]\s*[1-9]\d{0,2})*\])"
)
_GAP = 1.5
"""Of a number's height, from a formula to its number: an argument stands nearer."""
_SIGN_OF_A_FORMULA = re.compile(r"[=<>≤≥≈≡∈+−∑∏∫→≠]")


def _numbers(document: Any, index: int) -> Iterator[Box]:
    with _shown(document, index) as page:
        shown = page.get_textpage()
        place, written = Place(page, shown), shown.get_text_range()
        signs = list(place.signs(written))
        for found in _NUMBER.finditer(written):
            line = written[written.rfind("\n", 0, found.start()) + 1 : found.start()]
            if found["formula"] and not _SIGN_OF_A_FORMULA.search(line):
                continue
            start, end = found.span("formula" if found["formula"] else "reference")
            boxes = [place.ink(at) for _, at in signs[start:end] if at >= 0]
            if not boxes:
                continue
            left, top, right, bottom = reduce(around, boxes)
            before = signs[found.start() - 1][1]
            if found["formula"] and before >= 0 and left - place.ink(before)[2] < _GAP * (bottom - top):
                continue
            yield left - 1, top - 1, right + 1, bottom + 1
        shown.close()


@contextmanager
def _shown(document: Any, index: int) -> Iterator[Any]:
    """A page, closed in the end. Raises InputError."""
    import pypdfium2

    try:
        page = document[index]
    except (pypdfium2.PdfiumError, IndexError):
        raise InputError(
            f"page {index + 1} of the file cannot be drawn", hint="leave it out", code="pdf_page"
        ) from None
    try:
        yield page
    finally:
        page.close()


def _drawn(page: Any, scale: float) -> "Grey":
    picture: Grey = page.render(scale=scale, grayscale=True).to_numpy()
    # One that PDFium owns goes with its bitmap.
    return picture.reshape(picture.shape[:2]).copy()


def _scale(sides: Sequence[tuple[float, float]]) -> float:
    """As large as all of it may be, one below the other."""
    points = max(width for width, _ in sides) * sum(height for _, height in sides)
    return min(SCALE, math.sqrt(MOST_PIXELS / max(points, 1.0)))


def _pixels(box: Box, scale: float) -> tuple[slice, slice]:
    left, top, right, bottom = (max(0.0, side * scale) for side in box)
    return slice(int(top), -int(-bottom // 1)), slice(int(left), -int(-right // 1))


def _text(page: Any, box: Box, masks: Sequence[Box]) -> str:
    shown = page.get_textpage()
    place = Place(page, shown)
    kept = []
    for sign, at in place.signs(shown.get_text_range()):
        if at < 0 or sign.isspace():
            kept.append(sign)
        else:
            ink = place.ink(at)
            if _holds(box, ink) and not any(_holds(mask, ink) for mask in masks):
                kept.append(sign)
    shown.close()
    lines = (" ".join(line.split()) for line in plain_text(whole_words("".join(kept))).split("\n"))
    return "\n".join(filter(None, lines))


def _holds(box: Box, other: Box) -> bool:
    """Its middle."""
    across, down = (other[0] + other[2]) / 2, (other[1] + other[3]) / 2
    return box[0] <= across <= box[2] and box[1] <= down <= box[3]


def _png(picture: "Grey") -> str:
    import numpy as np

    height, width = picture.shape
    rows = np.concatenate([np.zeros((height, 1), np.uint8), picture], axis=1).tobytes()
    head = struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    found = png_of([(b"IHDR", head), (b"IDAT", zlib.compress(rows, 6)), (b"IEND", b"")])
    return base64.b64encode(found).decode()
