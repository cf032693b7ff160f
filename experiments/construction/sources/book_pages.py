"""The pages of a book that is a PDF file: their text, and each line with where it stands and how it is set."""

import ctypes
import math
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import groupby, islice
from operator import itemgetter
from pathlib import Path
from typing import Any

from toolablate.experiments.construction.sources.notation import ACCENTS, Letter, with_accents, with_scripts
from toolablate.tools.extraction.kinds import Unreadable
from toolablate.tools.extraction.pdf import BROKEN_WORD, opened_pdf, whole_words
from toolablate.tools.text import plain_text
from toolablate.traces.errors import InputError

Box = tuple[float, float, float, float]
"""Left, top, right and bottom in points (1/72 inch), from the upper left corner of the page as it is shown."""


@dataclass(frozen=True, slots=True)
class Line:
    """What stands beside each other. `baseline` is from the page's upper edge, `size` is its first letter's, in points.
    `head` counts the characters of bold type that it begins with; a `broken` one ends within a word."""

    text: str
    box: Box
    baseline: float
    size: float
    head: int = 0
    mono: bool = False
    broken: bool = False

    @property
    def bold(self) -> bool:
        return self.head >= len(self.text)


@dataclass(frozen=True, slots=True)
class BookPage:
    """`index` counts from 0, `number` is what the page calls itself. `section` is the outline's first entry on it,
    else the last before it, "" without one. `text` and `lines` are in the file's order, without what stands above and
    below each page."""

    index: int
    number: str
    section: str
    text: str
    lines: tuple[Line, ...]

    def row(self, book: str) -> dict[str, str]:
        """As `[worlds] pages` reads it."""
        place = f"{book}, page {self.number}"
        return {"text": self.text, "title": f"{place}: {self.section}" if self.section else place, "page": self.number}


@dataclass(frozen=True, slots=True)
class Book:
    """`title` is what the file says, else its name."""

    title: str
    pages: tuple[BookPage, ...]


def read_book(path: str) -> Book:
    """Raises InputError as `pages_of` does."""
    return Book(title_of(Path(path)), tuple(pages_of(Path(path))))


def pages_of(path: Path) -> Iterator[BookPage]:
    """All pages, those without text too. Raises InputError for a file that is no PDF, or needs a password."""
    pages: list[BookPage] = []
    with opened_book(path) as document:
        sections = _sections(document)
        section = ""
        for index in range(len(document)):
            here = sections.get(index, [section])
            pages.append(_page(document, index, here[0]))
            section = here[-1]
    tops, body = Counter(_without_numbers(page.lines[0].text) for page in pages if page.lines), body_size(pages)
    for page in pages:
        yield _without_frame(page, tops, body)


def body_size(pages: Sequence[BookPage]) -> float:
    """In points, that of most characters."""
    sizes = Counter[float]()
    for page in pages:
        for line in page.lines:
            sizes[round(line.size, 1)] += 0 if line.mono else len(line.text)
    return sizes.most_common(1)[0][0] if sizes else 0.0


def title_of(path: Path) -> str:
    """As the file says, else its name. Raises InputError likewise."""
    with opened_book(path) as document:
        return " ".join(plain_text(document.get_metadata_value("Title")).split()) or path.stem


@contextmanager
def opened_book(path: Path) -> Iterator[Any]:
    try:
        with path.open("rb") as file:
            if b"%PDF-" not in file.read(1_024):
                raise InputError(f"{path} is no PDF file", hint="name a book as a PDF file", code="not_pdf")
        document = opened_pdf(path)
    except Unreadable as error:
        hint = "save it without one" if error.code == "encrypted" else "it may be cut off or damaged: get it again"
        raise InputError(f"{path}: {error.reason}", hint=hint, code=f"pdf_{error.code}") from None
    except OSError as error:
        raise InputError(f"{path}: {error.strerror or 'there is no such file'}", code="pdf_missing") from None
    try:
        yield document
    finally:
        document.close()


def _sections(document: Any) -> dict[int, list[str]]:
    """Entries of the outline by the index of the page on which they begin."""
    found: dict[int, list[str]] = {}
    for entry in document.get_toc():
        place = entry.get_dest()
        index = place.get_index() if place else None
        title = " ".join(plain_text(entry.get_title()).split())
        if index is not None and title:
            found.setdefault(index, []).append(title)
    return found


def _page(document: Any, index: int, section: str) -> BookPage:
    import pypdfium2

    number = plain_text(document.get_page_label(index)).strip() or str(index + 1)
    try:
        page = document[index]
        shown = page.get_textpage()
    except pypdfium2.PdfiumError:
        return BookPage(index, number, section, "", ())  # one broken page does not spoil the others
    place = Place(page, shown)
    letters = with_scripts([*with_accents(place.letters(_GLYPH_OF_NO_LETTER.sub(BULLET, shown.get_text_range())))])
    lines = _with_bullets(_joined(_lines(place, letters)), _small_shapes(page, shown))
    shown.close()
    page.close()
    written = "".join(each.sign for each in letters)
    said = [line for line in plain_text(whole_words(written)).split("\n") if line.strip()]
    return BookPage(index, number, section, "\n".join(said), tuple(lines))


def _lines(place: "Place", letters: Sequence[Letter]) -> Iterator[Line]:
    written = "".join(each.sign for each in letters)
    at = 0
    for piece in re.split(f"(\r\n|{BROKEN_WORD}(?:\r\n)?)", written):
        broken = written.startswith(BROKEN_WORD, at + len(piece))
        if not piece.startswith(("\r", BROKEN_WORD)) and plain_text(piece).strip():
            line = place.line(letters[at : at + len(piece)], broken)
            if line is not None:
                yield line
        at += len(piece)


_BOLD = re.compile(rb"bold|black|heavy|demi|CM(?:SS)?BX", re.IGNORECASE)
_MONO = re.compile(rb"mono|courier|typewriter|consol|CM[A-Z]*TT", re.IGNORECASE)
_FIXED_PITCH = 1  # PDF 32000-1, table 123
_FINE = 100
_FAR = 1_000.0


class Place:
    """Asks PDFium where characters of a page stand, and how they are set."""

    def __init__(self, page: Any, shown: Any) -> None:
        import pypdfium2.raw as pdfium

        self._pdfium, self._page, self._shown = pdfium, page, shown
        self._sides = [round(side * _FINE) for side in page.get_size()]
        self._sides_of_one, self._scale = [ctypes.c_double() for _ in range(4)], pdfium.FS_MATRIX()
        # Asked once, not for each letter.
        (x, y), *ends = (self._shown_at(*corner) for corner in ((0, 0), (_FAR, 0), (0, _FAR)))
        self._map = ((x, y), *(((across - x) / _FAR, (down - y) / _FAR) for across, down in ends))

    def letters(self, written: str) -> Iterator[Letter]:
        """Of the page's text. A hyphen at a line's end, as PDFium writes it, is none."""
        found = [
            (sign, at, 0 if at < 0 or sign.isspace() or sign == BROKEN_WORD else self._drawn_with(at))
            for sign, at in self.signs(written)
        ]
        for place in range(1, len(found) - 1):
            sign, at, _ = found[place]
            if sign == " " and found[place - 1][2] == found[place + 1][2]:
                found[place] = sign, at, found[place - 1][2]
        for drawn, together in groupby(found, key=itemgetter(2)):
            stretch = [(sign, at) for sign, at, _ in together]
            yield from self._placed(stretch) if drawn else (Letter(*each) for each in stretch)

    def signs(self, written: str) -> Iterator[tuple[str, int]]:
        """Of the page's text, each with its place among the page's characters, below 0 where it is none."""
        unit = 0
        for sign in written:
            yield sign, int(self._pdfium.FPDFText_GetCharIndexFromTextIndex(self._shown, unit))
            unit += 1 + (sign > "\uffff")

    def _drawn_with(self, at: int) -> int:
        """What is drawn at once has one size and one baseline."""
        drawn = self._pdfium.FPDFText_GetTextObject(self._shown, at)
        return ctypes.cast(drawn, ctypes.c_void_p).value or 0

    def _placed(self, stretch: Sequence[tuple[str, int]]) -> Iterator[Letter]:
        """Of letters that are drawn at once. Where one begins and ends is asked of the outermost and at accents alone,
        since a page has thousands."""
        first, last = stretch[0][1], stretch[-1][1]
        size, (_, baseline) = self._size_of(first), self._origin(first)
        _, top, _, bottom = self.ink(first)
        # Large signs of LaTeX hang from their baseline.
        baseline = bottom if top >= baseline and bottom - baseline > 0.7 * size else baseline
        accented = {
            place + beside for place, (sign, _) in enumerate(stretch) if sign in ACCENTS for beside in (-1, 0, 1)
        }
        for place, (sign, at) in enumerate(stretch):
            left = right = 0.0
            if at in (first, last) or place in accented:
                left = self._origin(at)[0]
                right = max(left, self.ink(at)[2])
            yield Letter(sign, at, left, right, baseline, size)

    def line(self, letters: Sequence[Letter], broken: bool) -> Line | None:
        """None where they are nowhere."""
        text = plain_text("".join(each.sign for each in letters)).strip()
        there = [each for each in letters if each.at >= 0 and not each.sign.isspace()]
        if not there:
            return None
        first, last = there[0].at, there[-1].at
        box = self._box(first, last - first + 1)
        if box is None:
            return None
        fonts = {at: self._font(at) for at in {first, (first + last) // 2, last}}
        head = self._head(letters) if _is_bold(fonts[first]) else 0
        size = self._pdfium.FPDFText_GetFontSize(self._shown, first)
        return Line(text, box, there[0].baseline, size, head, all(map(_is_mono, fonts.values())), broken)

    def _box(self, first: int, count: int) -> Box | None:
        corners = []
        for number in range(self._pdfium.FPDFText_CountRects(self._shown, first, count)):
            sides = [ctypes.c_double() for _ in range(4)]
            self._pdfium.FPDFText_GetRect(self._shown, number, *sides)
            left, top, right, bottom = (side.value for side in sides)
            corners += [self._seen(left, top), self._seen(right, bottom)]
        if not corners:
            return None
        across, down = [x for x, _ in corners], [y for _, y in corners]
        return min(across), min(down), max(across), max(down)

    def box_of(self, left: float, top: float, right: float, bottom: float) -> Box:
        """As the page is shown, of what the file says."""
        (x, y), (other_x, other_y) = self._seen(left, top), self._seen(right, bottom)
        return min(x, other_x), min(y, other_y), max(x, other_x), max(y, other_y)

    def _origin(self, at: int) -> tuple[float, float]:
        x, y, *_ = self._sides_of_one
        self._pdfium.FPDFText_GetCharOrigin(self._shown, at, x, y)
        return self._seen(x.value, y.value)

    def ink(self, at: int) -> Box:
        left, right, bottom, top = self._sides_of_one
        self._pdfium.FPDFText_GetCharBox(self._shown, at, left, right, bottom, top)
        return self.box_of(left.value, top.value, right.value, bottom.value)

    def _size_of(self, at: int) -> float:
        """As it is shown: some files draw all in one size, and scale it."""
        scale = self._scale
        self._pdfium.FPDFText_GetMatrix(self._shown, at, scale)
        return float(self._pdfium.FPDFText_GetFontSize(self._shown, at)) * math.hypot(scale.c, scale.d)

    def _seen(self, x: float, y: float) -> tuple[float, float]:
        """As the page is shown, turned and cut."""
        (left, top), (right, down), (across, up) = self._map
        return left + x * right + y * across, top + x * down + y * up

    def _shown_at(self, x: float, y: float) -> tuple[float, float]:
        across, down = ctypes.c_int(), ctypes.c_int()
        self._pdfium.FPDF_PageToDevice(self._page, 0, 0, *self._sides, 0, x, y, across, down)
        return across.value / _FINE, down.value / _FINE

    def _font(self, at: int) -> tuple[bytes, int]:
        name, flags = ctypes.create_string_buffer(128), ctypes.c_int()
        self._pdfium.FPDFText_GetFontInfo(self._shown, at, name, 128, flags)
        return name.value, flags.value

    def _head(self, letters: Sequence[Letter]) -> int:
        """How many characters are bold from the first on; blanks, and what was put in, have no type of their own."""
        begin = 0
        for number, each in enumerate(letters):
            if each.at < 0 or each.sign.isspace():
                begin += begin == number
            elif not _is_bold(self._font(each.at)):
                return number - begin
        return len(letters) - begin


def _is_bold(font: tuple[bytes, int]) -> bool:
    return bool(_BOLD.search(font[0]))


def _is_mono(font: tuple[bytes, int]) -> bool:
    return bool(font[1] & _FIXED_PITCH or _MONO.search(font[0]))


def _joined(lines: Iterator[Line]) -> list[Line]:
    """A raised or lowered letter, and what follows it, begin no line."""
    found: list[Line] = []
    for line in lines:
        before = found[-1] if found else None
        if before and abs(line.baseline - before.baseline) < 0.6 * before.size and line.box[0] > before.box[0]:
            text = f"{before.text} {line.text}"
            found[-1] = replace(before, text=text, box=around(before.box, line.box), broken=line.broken)
        else:
            found.append(line)
    return found


def _small_shapes(page: Any, shown: Any) -> list[Box]:
    """Where something small is drawn: browsers that print draw the bullets of lists."""
    import pypdfium2.raw as pdfium

    place = Place(page, shown)
    found = []
    for shape in islice(page.get_objects([pdfium.FPDF_PAGEOBJ_PATH], max_depth=1), _MOST_SHAPES):
        left, bottom, right, top = sides = [ctypes.c_float() for _ in range(4)]
        if (
            pdfium.FPDFPageObj_GetBounds(shape.raw, *sides)
            and max(right.value - left.value, top.value - bottom.value) < _SMALL
        ):
            found.append(place.box_of(left.value, top.value, right.value, bottom.value))
    return found


_SMALL = 15
"""Points."""
_MOST_SHAPES = 20_000
"""Of a page; drawings may have many more."""
BULLET = "•"
_GLYPH_OF_NO_LETTER = re.compile("(?:(?<=\n)|^)[\x00-\x08\x0e-\x1f\x7f-\x9f\ue000-\uf8ff](?=[ \t]+\\S)")
"""Alone before a line: fonts of bullets name no letter of Unicode for them."""


def _with_bullets(lines: list[Line], shapes: list[Box]) -> list[Line]:
    return [_with_bullet(line, shapes) for line in lines] if shapes else lines


def _with_bullet(line: Line, shapes: list[Box]) -> Line:
    """A line with a shape before it, at its middle, that is about as wide as high and no higher than a letter."""
    left, top, _, bottom = line.box
    height = bottom - top
    for shape in shapes:
        across, down = shape[2] - shape[0], shape[3] - shape[1]
        before = left - 1.5 * height <= shape[2] <= left and top <= (shape[1] + shape[3]) / 2 <= bottom
        if before and 0.15 * height <= down <= 0.7 * height and 0.6 * down <= across <= 1.6 * down:
            head = line.head + len(BULLET) + 1 if line.head else 0
            return replace(line, text=f"{BULLET} {line.text}", box=around(line.box, shape), head=head)
    return line


def around(one: Box, other: Box) -> Box:
    """The smallest box that holds both."""
    return (min(one[0], other[0]), min(one[1], other[1]), max(one[2], other[2]), max(one[3], other[3]))


def _without_frame(page: BookPage, tops: Counter[str], body: float) -> BookPage:
    """Without a first and a last line that has the page's number at an end. A heading may begin with it by chance: it
    is larger than most text, and no other page begins with it."""
    first = page.lines[0] if page.lines else None
    heading = first is not None and first.size > 1.05 * body and tops[_without_numbers(first.text)] == 1
    said = page.text.split("\n") if page.text else []
    lines = page.lines[_framed([each.text for each in page.lines], page.number, heading)]
    return replace(page, text="\n".join(said[_framed(said, page.number, heading)]), lines=lines)


def _without_numbers(text: str) -> str:
    return re.sub(r"\d+", "#", text)


def _framed(texts: list[str], number: str, heading: bool) -> slice:
    start, end = 0, len(texts)
    if texts and not heading and number in _ends(texts[0]):
        start = 1
    if end > start and number in _ends(texts[-1]):
        end -= 1
    return slice(start, end)


def _ends(text: str) -> tuple[str, str]:
    words = text.split()
    return words[0], words[-1]
