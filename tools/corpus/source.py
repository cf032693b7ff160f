"""What a corpus is made of: one JSONL file, or the documents in a folder."""

import hashlib
import os
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from toolablate.traces.errors import InputError
from toolablate.traces.records import clean_text

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
