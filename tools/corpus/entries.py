"""Reads every document of a corpus twice: once to check and to sort them, once to index them in that order."""

from array import array
from collections import deque
from collections.abc import Callable, Generator
from dataclasses import dataclass, field
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import BinaryIO, Self

from toolablate.tools.corpus.addresses import KEYS_PER_DOCUMENT, document_keys, sorted_places
from toolablate.tools.corpus.document import Heading, Skipped, parse_document, url_key, url_of
from toolablate.tools.corpus.reading import PROCESSES, Reading
from toolablate.tools.corpus.source import CONTENT_TYPES, Source, SourceFile
from toolablate.traces.errors import InputError

BOM = b"\xef\xbb\xbf"
MAX_OPEN = 64

Read = Callable[[int], None]
"""Is told of bytes that were read."""


@dataclass(frozen=True, slots=True)
class Text:
    """What is indexed and kept of one document; `entry` counts the documents in the order of the source."""

    entry: int
    heading: Heading
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

    def in_order_of_ids(self) -> Generator[Text, None, None]:
        """Every document that can be read. Frees the ids: this can be asked once. Raises ToolError as Reading does."""
        order = array("I", sorted(range(len(self.ids)), key=self.ids.__getitem__))
        self.ids.clear()
        ahead: deque[Callable[[], Text | None]] = deque()
        with OpenFiles(self.source) as files, Reading() as reading:
            for entry in order:
                file = self.source.files[self.files[entry]]
                begun = self._line(entry, file, files) if file.holds_lines else self._file(entry, file, reading)
                ahead.append(begun)
                if len(ahead) > PROCESSES:
                    yield from _there(ahead.popleft()())
            for finish in ahead:
                yield from _there(finish())

    def _line(self, entry: int, file: SourceFile, files: "OpenFiles") -> Callable[[], Text]:
        line = files.line(self.files[entry], self.offsets[entry])
        self.read(len(line))

        def finish() -> Text:
            document = parse_document(line, f"{file.path}:{self.line_numbers[entry]}")
            heading = Heading(id=document.id, url=document.address, title=document.title, published=document.published)
            return Text(entry, heading, document.text)

        return finish

    def _file(self, entry: int, file: SourceFile, reading: Reading) -> Callable[[], Text | None]:
        """Begins to read a file; a file that cannot be read is told of in `skipped`."""
        url = url_of(file.name)
        try:
            body = _content(file.path)
        except OSError as error:
            return partial(self._skip, file, error.strerror or str(error))
        self.read(2 * len(body))
        page = reading.start(body, url, CONTENT_TYPES[file.path.suffix.lower()])

        def finish() -> Text | None:
            found = page.result()
            if not found.text.strip():
                self._skip(file, found.reason or found.code or "it holds no text")
                return None
            title = found.title or file.name
            heading = Heading(id=file.name, url=url, title=title, published=found.published_at, links=found.links)
            return Text(entry, heading, found.text)

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
            raise InputError(f"{second}: {key} was there already, at {first}", code="bad_corpus")

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


def _there(document: Text | None) -> tuple[Text, ...]:
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
