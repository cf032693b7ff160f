"""Thread pages of any forum as pictures: which are captured, what is kept of each, and how it is read back."""

import asyncio
import hashlib
from collections.abc import AsyncIterator, Collection, Sequence
from contextlib import AsyncExitStack
from datetime import date
from pathlib import Path
from typing import Annotated, Any, Self

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, model_validator

from toolablate.benchmarks.rows.sources import typed_rows
from toolablate.experiments.construction.plan_files import load_plan
from toolablate.experiments.construction.sources.chromium import Captured, GuardedChromium, Limits, guarded_chromium
from toolablate.experiments.construction.sources.forum_listing import ListedPage, listed_pages
from toolablate.experiments.construction.sources.forum_threads import rows_there
from toolablate.experiments.construction.sources.proposals import ProposedForum
from toolablate.experiments.construction.stages import Content, worked_on
from toolablate.experiments.plans.sections import Section, WebSection
from toolablate.experiments.record_file import RowFile
from toolablate.tools.archive import Archive, Missing, open_archive, unmade_if_unused
from toolablate.tools.web import Exchange, FetchError, request_key
from toolablate.tools.web.urls import page_url
from toolablate.traces.database import digest_bytes
from toolablate.traces.errors import InputError
from toolablate.traces.paths import PathText
from toolablate.traces.records import Picture, digest_json

TILES = "tiles"
"""The folder beside the rows, where each tile has the name of its digest."""
WEB = "web"
"""That of the archive of what Chromium drew the tiles of, whose `warc` has it as WARC."""
MOST_TILES = 30
_USUAL = Limits()
_ENDINGS = {"image/png": "png", "image/jpeg": "jpg"}


class CapturedForum(ProposedForum):
    """Threads by their addresses, and those of a page that lists threads; `name` and `licence` go with each. Of the
    listed ones the output has at most `limit`; with `since` only those that the listing says were written in from that
    day on."""

    threads: tuple[str, ...] = ()
    listing: str = ""
    since: date | None = None
    limit: int = Field(default=100, gt=0)

    @property
    def address(self) -> str:
        return self.listing or self.threads[0]

    @model_validator(mode="after")
    def _has_threads(self) -> Self:
        if not self.threads and not self.listing:
            raise ValueError("threads: name some, or a page that lists them: listing")
        return self


class BrowserSection(Section):
    """As `Limits`."""

    seconds: float = Field(default=_USUAL.seconds, gt=0, le=600)
    width: int = Field(default=_USUAL.width, ge=320, le=2_000)
    height: int = Field(default=_USUAL.height, ge=500, le=MOST_TILES * 1_400)
    scripts: bool = False

    @property
    def limits(self) -> Limits:
        return Limits(self.seconds, self.width, self.height, self.scripts)


class CapturePlan(Section):
    """`output` is the JSONL of items, which a pipeline with a `reader` reads."""

    output: PathText = "captures.jsonl"
    forums: tuple[CapturedForum, ...] = Field(min_length=1)
    browser: BrowserSection = BrowserSection()
    web: WebSection = WebSection()


def load_capture_plan(path: Path) -> CapturePlan:
    """Relative paths are relative to its folder. Raises InputError that names the key, what was found and what is
    allowed."""
    plan = load_plan(CapturePlan, path, "build capture")
    return plan.model_copy(update={"output": str(path.parent.resolve() / plan.output)})


async def capture_threads(
    plan: CapturePlan, approved: Collection[str] = ()
) -> AsyncIterator[tuple[str, str, Captured | ListedPage | FetchError]]:
    """The threads that the plan's output has not, of proposed forums that are not among the `approved` ones the samples
    alone: forum, address, and what was kept of it or why nothing was; and the
    pages of listings. A page that cannot be had costs no other. Raises InputError where nothing can be captured, or
    another process adds to the output, and StoreError where it cannot be written any more."""
    with RowFile(Path(plan.output), head=b'{"url": ') as rows:
        async for found in _capture(plan, rows, approved):
            yield found


async def _capture(
    plan: CapturePlan, rows: RowFile, approved: Collection[str]
) -> AsyncIterator[tuple[str, str, Captured | ListedPage | FetchError]]:
    there = rows_there(rows.path)
    known = {url for url, _ in there}
    # Chromium is started for nothing else.
    if not any(
        (forum.listing and forum.is_open(approved)) or set(_named(forum, approved)) - known for forum in plan.forums
    ):
        return
    web = rows.path.parent / WEB
    async with AsyncExitStack() as stack:
        chromium = await stack.enter_async_context(guarded_chromium(plan.web.policy, plan.browser.limits))
        stack.enter_context(unmade_if_unused(web))
        archive = stack.enter_context(open_archive(web, write=True))
        for forum in plan.forums:
            left = forum.limit - sum(name == forum.name for _, name in there)
            try:
                async for url, page in _threads_of(forum, chromium, approved):
                    if left <= 0:
                        break
                    if page is not None:
                        yield forum.name, url, page
                    elif url not in known:
                        known.add(url)
                        found = await _captured(rows, archive, forum, url, chromium)
                        left -= isinstance(found, Captured)
                        yield forum.name, url, found
            except FetchError as error:
                yield forum.name, forum.listing, error


def _named(forum: CapturedForum, approved: Collection[str]) -> tuple[str, ...]:
    return (*forum.samples, *(forum.threads if forum.is_open(approved) else ()))


async def _threads_of(
    forum: CapturedForum, chromium: GuardedChromium, approved: Collection[str]
) -> AsyncIterator[tuple[str, ListedPage | None]]:
    """Addresses of threads, and before those of a listing's page the page itself."""
    for url in _named(forum, approved):
        yield url, None
    if forum.listing and forum.is_open(approved):
        async for page in listed_pages(page_url(forum.listing), chromium.client, chromium.policy, forum.since):
            yield page.url, page
            for listed in page.threads:
                yield listed.url, None


async def _captured(
    rows: RowFile, archive: Archive, forum: CapturedForum, url: str, chromium: GuardedChromium
) -> Captured | FetchError:
    """Kept in `archive` and `rows` before it is returned."""
    try:
        found = await chromium.capture(page_url(url))
    except FetchError as error:
        return error
    await asyncio.to_thread(_archive, archive, found.given, chromium.policy.language)
    tiles = [keep_picture(rows.path.parent, tile) for tile in found.tiles]
    about = {"url": url, "title": found.title, "forum": forum.name, "licence": forum.licence}
    rows.append(about | {"text": found.text, "tiles": tiles})
    return found


def _archive(archive: Archive, given: Sequence[Exchange], language: str) -> None:
    """The pages of a forum share what they are drawn with, which is there once as long as it stays the same."""
    for exchange in given:
        key = request_key("GET", exchange.url, language=language)
        there = archive.find_exchange(key, exchange.url)
        if isinstance(there, Missing) or there.payload_digest != digest_bytes(exchange.body).hex():
            archive.keep_exchange(key, exchange, refresh=True)


def keep_picture(beside: Path, tile: Picture) -> str:
    """Writes it under its digest into the folder of tiles, and returns that name. Raises InputError where it cannot be
    written."""
    folder = beside / TILES
    name = f"{hashlib.sha256(tile.content).hexdigest()}.{_ENDINGS[tile.mime]}"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        half = folder / f".{name}.part"
        half.write_bytes(tile.content)
        half.replace(folder / name)
    except OSError as error:
        raise InputError(f"output: cannot write {folder}: {error.strerror}", code="unwritable") from None
    return name


# What a pipeline takes.

# What a name may be: no row leads to another file.
TileName = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{64}\.(?:png|jpg)$")]


class CaptureRow(BaseModel):
    """A captured page: `tiles` are pictures of it from top to bottom, `text` is what it shows."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    tiles: Annotated[list[TileName], Field(min_length=1, max_length=MOST_TILES)]
    text: str = ""
    title: str = ""
    url: str = ""
    forum: str = ""
    licence: str = ""


ALLOWED = {
    "tiles": f"a list of 1 to {MOST_TILES} names of files in the folder {TILES!r}, as `build capture` wrote them",
    **dict.fromkeys(("text", "title", "url", "forum", "licence"), "a text in quotes"),
}


def load_capture_items(path: str | Path) -> dict[str, Content]:
    """The content of each item by its id, the digest of its pictures, texts and address; of rows with equal ones the
    first is kept. Raises InputError that names the file, the row, the key, what was found and what is allowed."""
    items: dict[str, Content] = {}
    for _, row in typed_rows(path, CaptureRow, ALLOWED):
        content = row.model_dump(mode="json")
        # The reader is told the address.
        items.setdefault(digest_json({**worked_on(content), "url": row.url}), content)
    if not items:
        raise InputError(f"items: there is no row in {path}", code="no_items")
    return items


def pictures_of(folder: Path, names: Sequence[str]) -> tuple[Picture, ...]:
    """The tiles of an item. Raises InputError where one is missing or is not what was captured."""
    return tuple(_picture(folder / TILES / name) for name in names)


def _picture(path: Path) -> Picture:
    def refused(why: str) -> InputError:
        return InputError(
            f"{path}: {why}", hint="capture the page or cut the region anew, or restore the file", code="bad_tile"
        )

    try:
        content = path.read_bytes()
    except OSError as error:
        raise refused(f"cannot be read: {error.strerror}") from None
    if hashlib.sha256(content).hexdigest() != path.stem:
        raise refused("is not the picture that was captured")
    try:
        return Picture.of(content)
    except ValueError as error:
        raise refused(str(error)) from None


def row_of(content: Content) -> dict[str, Any]:
    """What a question keeps of the page that it was read from."""
    return {key: content[key] for key in ("title", "url", "forum", "licence", "tiles")}
