"""Builds a corpus (index, texts, addresses) in one folder, kept under the digest of all it depends on."""

import ctypes
import os
import shutil
import tempfile
import time
import zlib
from array import array
from collections import deque
from collections.abc import Callable, Generator
from contextlib import closing, suppress
from dataclasses import dataclass, field
from functools import partial
from itertools import pairwise
from pathlib import Path
from secrets import token_hex
from typing import BinaryIO, Self

from pydantic import ValidationError

from toolablate.tools.corpus.document_texts import (
    KEYS_PER_DOCUMENT,
    ShelfWriter,
    document_keys,
    sorted_places,
    write_addresses,
)
from toolablate.tools.corpus.documents import (
    CONTENT_TYPES,
    PROCESSES,
    DocumentHeading,
    Skipped,
    Source,
    SourceFile,
    SourceReader,
    parse_document,
    url_key,
    url_of,
)
from toolablate.tools.corpus.inverted_index import IndexWriter
from toolablate.traces.errors import InputError
from toolablate.traces.records import Record

BOM = b"\xef\xbb\xbf"
MAX_OPEN = 64

Read = Callable[[int], None]
"""Is told of bytes that were read."""


@dataclass(frozen=True, slots=True)
class IndexedText:
    """What is indexed and kept of one document; `entry` counts the documents in the order of the source."""

    entry: int
    heading: DocumentHeading
    text: str


@dataclass
class Entries:
    """Where each document is: file, line and its offset; arrays, since there may be millions. `keys` as `document_keys`
    gives them, `places` as `sorted_places` does."""

    source: Source
    read: Read
    ids: list[str] = field(default_factory=list)
    files: "array[int]" = field(default_factory=lambda: array("I"))
    offsets: "array[int]" = field(default_factory=lambda: array("Q"))
    line_numbers: "array[int]" = field(default_factory=lambda: array("I"))
    keys: "array[int]" = field(default_factory=lambda: array("Q"))
    places: "array[int]" = field(default_factory=lambda: array("I"))
    skipped: list[Skipped] = field(default_factory=list)

    @classmethod
    def of(cls, source: Source, read: Read) -> "Entries":
        """Raises InputError for a line that is wrong, and for an id or a URL that is there twice."""
        entries = cls(source, read)
        for number, file in enumerate(source.files):
            if file.holds_lines:
                entries._add_lines(number, file)
            else:
                entries._add(file.name, url_of(file.name), number, 0, 0)
        if not entries.ids:
            raise InputError(f"the corpus {source.path} holds no document", code="bad_corpus")
        entries._refuse_duplicates()
        return entries

    def _add_lines(self, number: int, file: SourceFile) -> None:
        offset = 0
        with _opened(file.path) as lines:
            for line_number, line in enumerate(lines, 1):
                content = line.removeprefix(BOM) if line_number == 1 else line
                if not content.isspace() and content:
                    document = parse_document(content, f"{file.path}:{line_number}")
                    self._add(document.id, document.address, number, offset, line_number)
                offset += len(line)
                self.read(len(line))

    def _add(self, identity: str, url: str, file: int, offset: int, line_number: int) -> None:
        self.ids.append(identity)
        self.keys.extend(document_keys(identity, url))
        self.files.append(file)
        self.offsets.append(offset)
        self.line_numbers.append(line_number)

    def in_order_of_ids(self) -> Generator[IndexedText, None, None]:
        """Every document that can be read. Frees the ids: this can be asked once. Raises ToolError as Reading does."""
        order = array("I", sorted(range(len(self.ids)), key=self.ids.__getitem__))
        self.ids.clear()
        ahead: deque[Callable[[], IndexedText | None]] = deque()
        with OpenFiles(self.source) as files, SourceReader() as reading:
            for entry in order:
                file = self.source.files[self.files[entry]]
                begun = self._line(entry, file, files) if file.holds_lines else self._file(entry, file, reading)
                ahead.append(begun)
                if len(ahead) > PROCESSES:
                    yield from _there(ahead.popleft()())
            for finish in ahead:
                yield from _there(finish())

    def _line(self, entry: int, file: SourceFile, files: "OpenFiles") -> Callable[[], IndexedText]:
        line = files.line(self.files[entry], self.offsets[entry])
        self.read(len(line))

        def finish() -> IndexedText:
            document = parse_document(line, f"{file.path}:{self.line_numbers[entry]}")
            heading = DocumentHeading(
                id=document.id, url=document.address, title=document.title, published=document.published
            )
            return IndexedText(entry, heading, document.text)

        return finish

    def _file(self, entry: int, file: SourceFile, reading: SourceReader) -> Callable[[], IndexedText | None]:
        """Begins to read a file; a file that cannot be read is told of in `skipped`."""
        url = url_of(file.name)
        try:
            body = _content(file.path)
        except OSError as error:
            return partial(self._skip, file, error.strerror or str(error))
        self.read(2 * len(body))
        page = reading.start(body, url, CONTENT_TYPES[file.path.suffix.lower()])

        def finish() -> IndexedText | None:
            found = page.result()
            if not found.text.strip():
                self._skip(file, found.reason or found.code or "it holds no text")
                return None
            title = found.title or file.name
            heading = DocumentHeading(
                id=file.name, url=url, title=title, published=found.published_at, links=found.links
            )
            return IndexedText(entry, heading, found.text)

        return finish

    def _skip(self, file: SourceFile, reason: str) -> None:
        self.skipped.append(Skipped(path=file.name, reason=reason))

    def _refuse_duplicates(self) -> None:
        """Looks again where digests are equal: equal ids or URLs are refused, not equal digests."""
        self.places = sorted_places(self.keys)
        for one, other in pairwise(self.places):
            if self.keys[one] == self.keys[other]:
                self._refuse_duplicate(*sorted((one, other)))

    def _refuse_duplicate(self, one: int, other: int) -> None:
        key = self._key(other)
        if self._key(one) == key:
            first, second = (self._where(place // KEYS_PER_DOCUMENT) for place in (one, other))
            raise InputError(f"{second}: {key} is a duplicate: first at {first}", code="bad_corpus")

    def _key(self, place: int) -> str:
        entry, kind = divmod(place, KEYS_PER_DOCUMENT)
        if kind == 0:
            return f"id {self.ids[entry]!r}"
        file = self.source.files[self.files[entry]]
        if not file.holds_lines:
            return f"url {url_key(url_of(file.name))!r}"
        with OpenFiles(self.source) as files:
            document = parse_document(files.line(self.files[entry], self.offsets[entry]), self._where(entry))
        return f"url {url_key(document.address)!r}"

    def _where(self, entry: int) -> str:
        file = self.source.files[self.files[entry]]
        return f"{file.path}:{self.line_numbers[entry]}" if file.holds_lines else str(file.path)


def _there(document: IndexedText | None) -> tuple[IndexedText, ...]:
    return () if document is None else (document,)


def _content(path: Path) -> bytes:
    # A pipe that is called a document would never end.
    if not path.is_file():
        raise OSError("no regular file")
    return path.read_bytes()


def _opened(path: Path) -> BinaryIO:
    try:
        return path.open("rb")
    except OSError as error:
        raise InputError(f"cannot read the corpus {path}: {error.strerror}", code="unreadable_corpus") from None


class OpenFiles:
    """The files that lines are read from in whatever order; not more are open than a process may have."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self._files: dict[int, BinaryIO] = {}

    def line(self, file: int, offset: int) -> bytes:
        if file not in self._files:
            if len(self._files) >= MAX_OPEN:
                self._files.pop(next(iter(self._files))).close()
            self._files[file] = _opened(self._source.files[file].path)
        self._files[file].seek(offset)
        line = self._files[file].readline()
        return line if offset else line.removeprefix(BOM)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        for file in self._files.values():
            file.close()


# Built corpora are kept, since large ones take a while: one folder each, named by the digest of all it depends on.


MANIFEST = "manifest.json"
_BLOCK = 1 << 20
_ABANDONED_SECONDS = 86_400.0


class Built(Record):
    """What became of a source: how many documents it holds, and what of it could not be read."""

    documents: int
    skipped: tuple[Skipped, ...] = ()


class Manifest(Record):
    """Written last. `files` holds the CRC-32 of each file by its path in the folder, to tell what was damaged since."""

    built: Built
    files: dict[str, int]


@dataclass(frozen=True, slots=True)
class Kept:
    """A built corpus on disk. Where nothing could be kept, `temporary` is the folder that ends with the process."""

    folder: Path
    manifest: Manifest
    temporary: "tempfile.TemporaryDirectory[str] | None" = None


Fill = Callable[[Path], Built]
"""Builds into an empty folder."""


def default_cache() -> Path | None:
    """`$XDG_CACHE_HOME/toolablate/corpus`, by default below `~/.cache`; None for a user who has no home."""
    try:
        parent = Path(os.environ.get("XDG_CACHE_HOME") or Path("~/.cache").expanduser())
    except RuntimeError:
        return None
    return parent / "toolablate" / "corpus"


def kept(key: str, fill: Fill, cache: Path | None) -> Kept:
    """What was built under this key, or is built now. Several processes may ask at once; each builds if it must.

    Without a cache it is built for the moment.
    """
    if cache is None:
        return _unkept(fill)
    folder = cache / key
    manifest = _intact(folder)
    if manifest is not None:
        return Kept(folder, manifest)
    try:
        cache.mkdir(parents=True, exist_ok=True)
        _sweep(cache)
        building = Path(tempfile.mkdtemp(prefix=f".{key}.", dir=cache))
    except OSError:
        return _unkept(fill)
    try:
        return Kept(folder, _published(building, folder, _filled(building, fill)))
    finally:
        shutil.rmtree(building, ignore_errors=True)


def _sweep(cache: Path) -> None:
    """Removes what was being built when a process was killed."""
    for left in cache.glob(".*"):
        with suppress(FileNotFoundError):
            if time.time() - left.stat().st_mtime > _ABANDONED_SECONDS:
                shutil.rmtree(left, ignore_errors=True)


def _unkept(fill: Fill) -> Kept:
    temporary = tempfile.TemporaryDirectory(prefix="toolablate-corpus-")
    folder = Path(temporary.name)
    return Kept(folder, _filled(folder, fill), temporary)


def _filled(folder: Path, fill: Fill) -> Manifest:
    built = fill(folder)
    paths = (path for path in sorted(folder.rglob("*")) if path.is_file() and path.suffix != ".lock")
    files = {path.relative_to(folder).as_posix(): _checksum(path) for path in paths}
    manifest = Manifest(built=built, files=files)
    (folder / MANIFEST).write_text(manifest.to_json(), encoding="utf-8")
    return manifest


def _published(building: Path, folder: Path, manifest: Manifest) -> Manifest:
    """Puts what was built in its place, and tells what is there then: where another process was faster, what that has
    built, since others may be opening it. What is damaged goes."""
    while True:
        try:
            building.rename(folder)
        except OSError:
            # Not empty: a folder can be renamed, not replaced, in one step.
            if (theirs := _intact(folder)) is not None:
                return theirs
            replaced = folder.with_name(f".{folder.name}.{token_hex(4)}.old")
            with suppress(FileNotFoundError):
                folder.rename(replaced)
            shutil.rmtree(replaced, ignore_errors=True)
        else:
            return manifest


def _intact(folder: Path) -> Manifest | None:
    try:
        manifest = Manifest.from_json((folder / MANIFEST).read_bytes())
        whole = all(_checksum(folder / name) == checksum for name, checksum in manifest.files.items())
    except (OSError, ValidationError):
        return None
    return manifest if whole else None


def _checksum(path: Path) -> int:
    checksum = 0
    with path.open("rb") as file:
        while block := file.read(_BLOCK):
            checksum = zlib.crc32(block, checksum)
    return checksum


VERSION = 1
"""Raise it whenever the same documents would be ranked, split or kept otherwise."""

INDEX_FOLDER = "index"

Progress = Callable[[int, int], None]
"""Is told how many bytes of how many were read; every document is read twice."""


def build(source: Source, folder: Path, progress: Progress | None = None) -> Built:
    """Fills an empty folder.

    Raises InputError for a line that is wrong, an id or URL that is there twice, a source that changes meanwhile, and
    where nothing can be read at all; ToolError where the process that reads files does not start.
    """
    state = source.state()
    entries = Entries.of(source, _counter(2 * source.bytes, progress))
    added = array("I")
    _give_memory_back()
    (folder / INDEX_FOLDER).mkdir()
    index = IndexWriter(folder / INDEX_FOLDER)
    with ShelfWriter(folder) as shelf, closing(entries.in_order_of_ids()) as documents:
        for document in documents:
            heading = document.heading
            index.add(heading.title, document.text, heading.published)
            shelf.add(heading.to_json().encode(), document.text.encode())
            added.append(document.entry)
    if not added:
        first = entries.skipped[0]
        raise InputError(
            f"the corpus {source.path} contains no readable document; {first.path}: {first.reason}",
            code="bad_corpus",
        )
    write_addresses(folder, entries.keys, entries.places, added)
    skipped = tuple(entries.skipped)
    # The index needs most memory while it is written.
    del entries, documents
    _give_memory_back()
    index.finish()
    if source.state() != state:
        raise InputError(f"the corpus {source.path} changed while it was read; try again", code="changed_corpus")
    return Built(documents=len(added), skipped=skipped)


def _give_memory_back() -> None:
    """What the main thread has freed, to the threads of the index: glibc would keep it."""
    with suppress(AttributeError, OSError):
        ctypes.CDLL(None).malloc_trim(0)


def _counter(total: int, progress: Progress | None) -> Callable[[int], None]:
    done = 0

    def count(read: int) -> None:
        nonlocal done
        done += read
        if progress is not None:
            progress(done, total)

    return count
