"""The regions of books that people cut out: a plan of books, what code proposes, what people made of it, and the items
of a pipeline that a model reads off them."""

import asyncio
import base64
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Annotated, Any, Literal, Self

from pydantic import Field, ValidationError, model_validator

from toolablate.benchmarks.rows.row_errors import LineError, at
from toolablate.benchmarks.rows.sources import rows_of
from toolablate.experiments.construction.plan_files import load_plan
from toolablate.experiments.construction.sources.apart import OF_A_BOOK, OF_A_PAGE, DocumentReader, apart, read_apart
from toolablate.experiments.construction.sources.book_crops import Crop, Part, crop, numbers_in, page_picture, sizes_of
from toolablate.experiments.construction.sources.book_pages import Box, read_book
from toolablate.experiments.construction.sources.book_regions import Region as Proposal
from toolablate.experiments.construction.sources.book_regions import regions_of
from toolablate.experiments.construction.sources.captures import TileName, keep_picture
from toolablate.experiments.construction.stages import Content, worked_on
from toolablate.experiments.plans.sections import Section
from toolablate.experiments.record_file import RecordFile
from toolablate.traces.errors import InputError
from toolablate.traces.paths import PathText
from toolablate.traces.records import Picture, Record, digest_json

MOST_BOXES, MOST_MASKS = 4, 50
LEAST_SIDE = 4.0
"""Points, of a box. A mask may be thinner."""


class BookFile(Section):
    """`file` is a PDF. `title` is by default as the file says; an `edition` stands behind it. `language` is a code of
    two letters. `offset` is how many pages of the file come before its page 1; by default pages have the numbers that
    the file says."""

    file: PathText = Field(min_length=1)
    discipline: str = Field(min_length=1)
    title: str = ""
    edition: str = ""
    field: str = ""
    subfield: str = ""
    language: str = Field(default="", pattern=r"^(?:[a-z]{2})?$")
    licence: str = ""
    offset: int | None = None


class RegionsPlan(Section):
    """`output` is the JSONL of regions, which a pipeline of statements with a `reader` reads."""

    output: PathText = "regions.jsonl"
    books: tuple[BookFile, ...] = Field(min_length=1)

    @model_validator(mode="after")
    def _files_differ(self) -> Self:
        if len({each.file for each in self.books}) < len(self.books):
            raise ValueError("books: two are one file; name each once")
        return self


def load_regions_plan(path: Path) -> RegionsPlan:
    """Relative paths are relative to its folder. Raises InputError that names the key, what was found and what is
    allowed."""
    plan = load_plan(RegionsPlan, path, "build regions")
    folder = path.parent.resolve()
    books = tuple(each.model_copy(update={"file": str(folder / each.file)}) for each in plan.books)
    return plan.model_copy(update={"output": str(folder / plan.output), "books": books})


class PagePart(Record):
    """A box on a page, which counts from 1: left, top, right, bottom in points from the upper left corner of the page
    as it is shown."""

    page: int = Field(gt=0)
    box: Box

    @property
    def part(self) -> Part:
        return self.page - 1, self.box


State = Literal["proposed", "accepted", "deleted"]


class Region(Record):
    """`boxes` stand below each other in the picture, `tiles`, that a model gets of an accepted one; `masks` hide what
    it is not to read. `pages` are what the book calls the pages that it is on, and `text` is what the text layer has
    there."""

    id: str
    state: State = "proposed"
    boxes: tuple[PagePart, ...] = Field(min_length=1, max_length=MOST_BOXES)
    masks: Annotated[tuple[PagePart, ...], Field(max_length=MOST_MASKS)] = ()
    kind: str = ""
    tiles: tuple[TileName, ...] = ()
    text: str = ""
    pages: tuple[str, ...] = ()
    section: str = ""
    book: str = ""
    discipline: str = ""
    field: str = ""
    subfield: str = ""
    language: str = ""
    licence: str = ""

    @property
    def version(self) -> str:
        """Of what people decide on."""
        return digest_json(self.model_dump(mode="json", include={"state", "boxes", "masks"}))


@dataclass(frozen=True, slots=True)
class CutPage:
    """As its book calls it; width and height in points."""

    number: str
    section: str
    width: float
    height: float


@dataclass(frozen=True, slots=True)
class CutBook:
    about: BookFile
    name: str
    pages: tuple[CutPage, ...]

    def of(self, boxes: Sequence[PagePart]) -> dict[str, Any]:
        """What the regions of these boxes say of their book."""
        on = sorted({each.page - 1 for each in boxes})
        about = self.about.model_dump(include={"discipline", "field", "subfield", "language", "licence"})
        pages = tuple(self.pages[index].number for index in on)
        return {"book": self.name, "pages": pages, "section": self.pages[on[0]].section, **about}


class CutBooks:
    """The books of a plan with their regions, held by one process at a time. Each change is kept when it returns.

    Raises InputError where a book cannot be read, another process holds the regions, or they cannot be written."""

    def __init__(self, plan: RegionsPlan, tell: Callable[[str], None] = lambda _: None) -> None:
        self._folder = Path(plan.output).parent
        opened = asyncio.run(_opened(plan.books, tell))
        self.books = tuple(book for book, _ in opened)
        if len({book.name for book in self.books}) < len(self.books):
            raise InputError("books: two have one title", hint="give each a title", code="bad_plan")
        self._file = RecordFile(
            Path(plan.output), Region, lambda each: each.id, head=b'{"id":', what="region", latest=True
        )
        try:
            for book, proposed in opened:
                self._propose(book, proposed)
        except BaseException:
            self._file.__exit__(None, None, None)
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._file.__exit__(kind, error, trace)

    @property
    def regions(self) -> Mapping[str, Region]:
        """By id, as they are now."""
        return self._file.found

    def of(self, book: CutBook, page: int | None = None) -> list[Region]:
        """A book's regions that are not deleted, in its order; with a `page`, by its index, those on it."""
        found = [each for each in list(self.regions.values()) if each.book == book.name and each.state != "deleted"]
        on = [each for each in found if page is None or any(box.page - 1 == page for box in each.boxes)]
        return sorted(on, key=lambda each: (each.boxes[0].page, each.boxes[0].box[1], each.boxes[0].box[0]))

    def picture(self, book: CutBook, index: int) -> bytes:
        """Of a page, as PNG. Raises InputError where it cannot be drawn."""
        return base64.b64decode(read_apart(book.name, OF_A_PAGE, page_picture, book.about.file, index))

    def cut(
        self,
        book: CutBook,
        region: str,
        state: State,
        boxes: Sequence[PagePart],
        masks: Sequence[PagePart] = (),
        *,
        seen: str | None = None,
    ) -> Region:
        """Changes a region, or adds one where `region` is "". An accepted one has its picture. `seen` is the `version`
        of the region that was changed. Raises InputError for boxes that are on no page, and where the region is another
        by now; StoreError where it cannot be kept."""
        if seen is not None and (now := self.regions.get(region)) is not None and now.version != seen:
            raise InputError(
                "Somebody has changed this region since the page was opened.",
                hint="Load the page again to see it.",
                code="changed",
            )
        made = self._made(book, region, state, boxes, masks)
        if state == "accepted":
            found = read_apart(book.name, OF_A_PAGE, crop, *_cropped(book, made))
            made = self._with_picture(made, found)
        self._keep(made)
        return made

    def accept_all(self) -> int:
        """Of what is proposed; returns how many."""
        left = [(book, each) for book in self.books for each in self.of(book) if each.state == "proposed"]

        async def cut() -> None:
            async with apart(OF_A_PAGE) as reader:
                for book, each in left:
                    made = self._made(book, each.id, "accepted", each.boxes, each.masks)
                    found = await reader.call(book.name, crop, *_cropped(book, made))
                    self._keep(self._with_picture(made, found))

        asyncio.run(cut())
        return len(left)

    def _made(
        self, book: CutBook, region: str, state: State, boxes: Sequence[PagePart], masks: Sequence[PagePart]
    ) -> Region:
        boxes = [_within(book, each, LEAST_SIDE) for each in boxes]
        masks = [_within(book, each, 0.0) for each in masks]
        on = {each.page for each in boxes}
        if not boxes or len(boxes) > MOST_BOXES or max(on) - min(on) > 1:
            raise InputError(f"A region has 1 to {MOST_BOXES} boxes, on one page or on two that follow.", code="region")
        if len(masks) > MOST_MASKS or any(each.page not in on for each in masks):
            raise InputError(f"A region has up to {MOST_MASKS} masks, on its own pages.", code="region")
        before = self.regions.get(region)
        if region and (before is None or before.book != book.name):
            raise InputError("No region of this book has this id.", code="region")
        return Region(
            id=region or self._new_id(book, boxes),
            state=state,
            boxes=tuple(boxes),
            masks=tuple(masks),
            kind=before.kind if before else "",
            **book.of(boxes),
        )

    def _new_id(self, book: CutBook, boxes: Sequence[PagePart]) -> str:
        """Another than that of a region that was drawn here and moved; the same where the same is drawn again."""
        found, moved = _id(book, boxes), 0
        while (there := self.regions.get(found)) is not None and there.boxes != tuple(boxes):
            moved += 1
            found = _id(book, boxes, moved)
        return found

    def _with_picture(self, region: Region, found: Crop) -> Region:
        tile = keep_picture(self._folder, Picture.of(base64.b64decode(found.picture)))
        return region.model_copy(update={"tiles": (tile,), "text": found.text})

    def _keep(self, region: Region) -> None:
        if self.regions.get(region.id) != region:
            self._file.append(region)

    def _propose(self, book: CutBook, proposed: Sequence[Region]) -> None:
        for each in proposed:
            if each.id not in self.regions:
                self._file.append(each)
        # What the plan says of the book may have been corrected.
        for each in list(self.regions.values()):
            if each.book == book.name and all(box.page <= len(book.pages) for box in each.boxes):
                self._keep(each.model_copy(update=book.of(each.boxes)))


async def _opened(books: Sequence[BookFile], tell: Callable[[str], None]) -> list[tuple[CutBook, list[Region]]]:
    """Each with the regions that code proposes."""
    async with apart(OF_A_BOOK) as reader:
        return [await _one_opened(about, reader, tell) for about in books]


async def _one_opened(
    about: BookFile, reader: DocumentReader, tell: Callable[[str], None]
) -> tuple[CutBook, list[Region]]:
    file = about.file
    tell(f"Reading {file} ...")
    read = await reader.call(file, read_book, file)
    sizes = await reader.call(file, sizes_of, file)
    title = about.title.strip() or read.title
    pages = tuple(
        CutPage(_number(about, page.index, page.number), page.section, *size)
        for page, size in zip(read.pages, sizes, strict=True)
    )
    book = CutBook(about, f"{title}, {about.edition}" if about.edition else title, pages)
    found = list(regions_of(read.pages))
    masks = await reader.call(file, numbers_in, file, [list(each.boxes) for each in found])
    return book, [_proposed(book, each, over) for each, over in zip(found, masks, strict=True)]


def _proposed(book: CutBook, found: Proposal, masks: Sequence[Part]) -> Region:
    boxes = tuple(_part(part, _AROUND) for part in found.boxes)
    over = tuple(map(_part, masks[:MOST_MASKS]))
    return Region(id=_id(book, boxes), boxes=boxes, masks=over, kind=found.kind, **book.of(boxes))


_AROUND = 2.0
"""Points around a proposal, since its box ends where its letters do."""


def _part(part: Part, margin: float = 0.0) -> PagePart:
    index, (left, top, right, bottom) = part
    wider = (max(0.0, left - margin), max(0.0, top - margin), right + margin, bottom + margin)
    return PagePart(page=index + 1, box=tuple(round(side, 1) for side in wider))


def _cropped(book: CutBook, region: Region) -> tuple[str, list[Part], list[Part]]:
    """What `crop` is asked."""
    boxes, masks = ([each.part for each in parts] for parts in (region.boxes, region.masks))
    return book.about.file, boxes, masks


def _number(about: BookFile, index: int, said: str) -> str:
    return said if about.offset is None or index < about.offset else str(index + 1 - about.offset)


def _id(book: CutBook, boxes: Sequence[PagePart], moved: int = 0) -> str:
    """`moved` is how many regions were drawn at these boxes before, and moved."""
    return digest_json([book.name, [each.model_dump(mode="json") for each in boxes], *([moved] if moved else [])])


def _within(book: CutBook, part: PagePart, least: float) -> PagePart:
    """Inside its page. Raises InputError where nothing of it is."""
    if part.page > len(book.pages):
        raise InputError(f"There is no page {part.page}; the file has {len(book.pages)}.", code="region")
    page = book.pages[part.page - 1]
    left, right = sorted(min(max(side, 0.0), page.width) for side in part.box[::2])
    top, bottom = sorted(min(max(side, 0.0), page.height) for side in part.box[1::2])
    if min(right - left, bottom - top) <= least:
        raise InputError(f"A box on page {part.page} is too small, or beside the page.", code="region")
    return PagePart(page=part.page, box=tuple(round(side, 1) for side in (left, top, right, bottom)))


# What a pipeline takes.


def load_region_items(path: str | Path) -> dict[str, Content]:
    """The content of each accepted region by its id, the digest of its picture, text, book and pages; of lines with one
    `id` the last counts. Raises InputError that names the file, the row and what is wrong."""
    latest: dict[str, Region] = {}
    for place, row in rows_of(path):
        try:
            found = Region.model_validate_json(json.dumps(row))
        except ValidationError as error:
            first = error.errors(include_url=False)[0]
            told = f"no region: {'.'.join(map(str, first['loc']))}: {first['msg']}"
            raise at(place, LineError(told, "`toolablate build regions` writes these rows.")) from error
        latest[found.id] = found
    items: dict[str, Content] = {}
    for content in _accepted(latest.values()):
        # The reader is told the pages.
        items.setdefault(digest_json(worked_on(content)), content)
    if not items:
        raise InputError(
            f"items: no region in {path} is accepted", hint="`toolablate build regions` shows them", code="no_items"
        )
    return items


def _accepted(regions: Iterable[Region]) -> Iterator[Content]:
    for each in regions:
        if each.state == "accepted" and each.tiles:
            row = each.model_dump(mode="json", exclude={"id", "state", "masks", "kind"})
            yield {**row, "page": each.pages[0]}
