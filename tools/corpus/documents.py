"""What a corpus is made of: one JSONL file or the documents in a folder, and how each is read."""

import asyncio
import hashlib
import os
from collections.abc import Iterator
from concurrent.futures import Future
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from threading import Thread
from typing import Self
from urllib.parse import quote, urlsplit

from pydantic import Field, ValidationError

from toolablate.tools.extraction import ExtractionOptions, ExtractionWorker
from toolablate.tools.text import one_line
from toolablate.traces.errors import InputError
from toolablate.traces.records import Link, PageText, Record, clean_text

LINES = ".jsonl"
CONTENT_TYPES = {
    ".txt": "text/plain",
    ".md": "text/markdown",
    ".html": "text/html",
    ".htm": "text/html",
    ".pdf": "application/pdf",
}
"""Suffixes of files that are one document each, and what they hold."""


@dataclass(frozen=True, slots=True)
class SourceFile:
    """`name` is the path relative to the corpus, with slashes. A file holds documents in lines, or is one document."""

    path: Path
    name: str
    holds_lines: bool


@dataclass(frozen=True)
class Source:
    """The files of a corpus, sorted by name."""

    path: Path
    files: tuple[SourceFile, ...]

    @cached_property
    def digest(self) -> str:
        """SHA-256 of all that is in it, first 128 bits: of names and contents, since a document's name is its id and
        tells its kind; of a file of lines the content only."""
        if self.path.is_file() and not self.is_extracted:
            return _content_digest(self.path)[:32]
        listing = "".join(f"{file.name}\0{_content_digest(file.path)}\n" for file in self.files)
        return hashlib.sha256(listing.encode()).hexdigest()[:32]

    def state(self) -> tuple[tuple[str, int, int], ...]:
        """Whatever changes when a file is written: tells whether the source stayed the same while it was read."""
        return tuple((file.name, *_size_and_time(file.path)) for file in self.files)

    @property
    def bytes(self) -> int:
        return sum(size for _, size, _ in self.state())

    @property
    def is_extracted(self) -> bool:
        """Whether what its documents say depends on what extracts text from files."""
        return not all(file.holds_lines for file in self.files)


def find_source(path: Path) -> Source:
    """Raises InputError where there is nothing, or where a link leads out of the folder."""
    if path.is_dir():
        files = tuple(sorted(_files_below(path), key=lambda file: file.name))
        if not files:
            kinds = ", ".join((LINES, *CONTENT_TYPES))
            raise InputError(f"the corpus {path} holds no document ({kinds})", code="bad_corpus")
        return Source(path, files)
    if not path.exists():
        raise InputError(f"there is no corpus at {path}", code="no_corpus")
    if not os.access(path, os.R_OK):
        raise InputError(f"cannot read the corpus {path}: permission denied", code="unreadable_corpus")
    return Source(path, (SourceFile(path, clean_text(path.name), path.suffix.lower() not in CONTENT_TYPES),))


def corpus_digest(path: Path) -> str:
    """Tells apart what corpora hold; 32 hexadecimal digits. Raises InputError as `find_source` does."""
    return find_source(path).digest


def _files_below(folder: Path) -> Iterator[SourceFile]:
    root = folder.resolve()
    for parent, names, files in os.walk(folder):
        names[:] = sorted(name for name in names if not name.startswith("."))
        for name in (*names, *files):
            path = Path(parent, name)
            if path.is_symlink() and not name.startswith("."):
                _refuse_way_out(path, root)
        for name in files:
            path = Path(parent, name)
            suffix = path.suffix.lower()
            if not name.startswith(".") and (suffix == LINES or suffix in CONTENT_TYPES):
                yield SourceFile(path, clean_text(path.relative_to(folder).as_posix()), suffix == LINES)


def _refuse_way_out(link: Path, root: Path) -> None:
    target = link.resolve()
    if not target.is_relative_to(root):
        raise InputError(
            f"the corpus {root}: {link} is a link that leads out of the folder",
            hint="copy the file into the folder, or remove the link",
            code="bad_corpus",
        )


def _content_digest(path: Path) -> str:
    """Empty where the file cannot be read: it is told elsewhere."""
    digest = hashlib.sha256()
    try:
        if not path.is_file():
            return ""
        with path.open("rb") as file:
            while block := file.read(1 << 20):
                digest.update(block)
    except OSError:
        return ""
    return digest.hexdigest()


def _size_and_time(path: Path) -> tuple[int, int]:
    try:
        status = path.stat()
    except OSError:
        return 0, 0
    return status.st_size, status.st_mtime_ns


# One document of a corpus, and how a line of JSON becomes one.


ORIGIN = "https://corpus.invalid/"
"""Where documents without a URL of their own are said to be; `.invalid` never resolves (RFC 2606)."""


class Document(Record):
    """A document as its author gives it. `url` is by default made of the id; `published` is a hint, as text. What is
    said of it for those who pass it on (`canary`, `licence`, and whether it is `falsified` on purpose) is neither
    searched nor shown."""

    id: str = Field(min_length=1)
    text: str = Field(min_length=1)
    url: str = ""
    title: str = ""
    published: str = ""
    canary: str = ""
    licence: str = ""
    falsified: bool = False

    @property
    def address(self) -> str:
        return self.url or url_of(self.id)


class DocumentHeading(Record):
    """All that is known of a stored document but its text."""

    id: str
    url: str
    title: str = ""
    published: str = ""
    links: tuple[Link, ...] = ()


class Skipped(Record):
    """A file whose text could not be had, and why; `path` is relative to the corpus."""

    path: str
    reason: str


def url_of(identity: str) -> str:
    return ORIGIN + quote(identity, safe="/")


def url_key(url: str) -> str:
    """What URLs of the same document have in common: scheme, `www.`, fragment and a last slash make no difference."""
    try:
        parts = urlsplit(url.strip())
        host = (parts.hostname or "").removeprefix("www.")
        port = f":{parts.port}" if parts.port not in (None, 80, 443) else ""
    except ValueError:
        return url.strip()
    query = f"?{parts.query}" if parts.query else ""
    return f"{host}{port}{parts.path.rstrip('/')}{query}"


def parse_document(line: bytes, where: str) -> Document:
    """Raises InputError that names `where` and what is wrong there."""
    try:
        return Document.from_json(line)
    except ValidationError as error:
        detail = error.errors(include_url=False)[0]
    field = ".".join(str(part) for part in detail["loc"])
    found = "" if detail["type"] in ("missing", "json_invalid") else f", found {one_line(repr(detail['input']), 60)}"
    raise InputError(
        f"{where}: {field + ': ' if field else ''}{detail['msg']}{found}",
        hint="a line holds a JSON object with id, text, and if there are any url, title and published",
        code="bad_corpus",
    )


# Reads the text of files in processes that can be killed, several ahead of the one that is wanted next.


PROCESSES = max(1, min(4, os.cpu_count() or 1))
SECONDS = 60.0
"""Of processor time for one document: a long one of the user's own may take longer than a page of the web."""


class SourceReader:
    """Has an event loop in a thread of its own, since whoever opens a corpus may be in one already."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = Thread(target=self._loop.run_forever, name="corpus-reading", daemon=True)
        self._worker: ExtractionWorker | None = None

    def start(self, body: bytes, url: str, content_type: str) -> "Future[PageText]":
        """The future raises ToolError where no process starts."""
        options = ExtractionOptions(url=url, content_type=content_type)
        return asyncio.run_coroutine_threadsafe(self._read(body, options), self._loop)

    async def _read(self, body: bytes, options: ExtractionOptions) -> PageText:
        if self._worker is None:
            self._worker = ExtractionWorker(processes=PROCESSES, seconds=SECONDS)
        return await self._worker.extract(body, options)

    async def _close(self) -> None:
        if self._worker is not None:
            await self._worker.close()

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *exception: object) -> None:
        asyncio.run_coroutine_threadsafe(self._close(), self._loop).result()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()
