"""The files, documents and images that questions bring: found in one folder, and told apart by what they hold."""

import hashlib
import stat
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from io import BufferedReader
from pathlib import Path
from typing import Any

from toolablate.benchmarks.rows.row_errors import LineError, shown
from toolablate.traces.errors import InputError
from toolablate.traces.records import Picture, QuestionDocument, QuestionFile
from toolablate.traces.records.pictures import MAX_BYTES, mark, marked, picture_of_base64, picture_of_url

LARGEST_FILE = 1_000_000_000
"""Bytes. A kernel's work folder lies in memory, so that a larger file could be of no use there."""

KEYS = ("path", "name", "sha256", "size")
FORM = 'An item is a path ("data.csv") or {"path": "a/data.csv", "name": "left.csv"}.'
NAME_BYTES = 255

LARGEST_DOCUMENT = 20_000_000
"""Bytes of one document, which is a text in a question's record: about 5,000 pages."""

DOCUMENT_KEYS = ("path", "name", "text", "sha256")
DOCUMENT_FORM = (
    'An item is a path ("a.txt"), {"path": "b/a.txt", "name": "2021.txt"} or {"name": "a note", "text": "..."}.'
)

IMAGE_FORM = 'An image is a path ("a.png"), a data URL ("data:image/png;base64,...") or {"path": "a.png"}.'
_NO_IMAGE = "Allowed are still PNG, JPEG, GIF and WebP images; convert it, or make it smaller."
# How a record has it, and how the Hub's feature `Image` has it in a table.
_IMAGE_KEYS = ({"mime", "data", "width", "height"}, {"bytes", "path"}, {"path"}, {"bytes"})


class FileFinder:
    """Finds the files of one question file's questions in `folder`, and reads each of them once.

    A downloaded question file must not be able to carry a file of the user's into a kernel, so nothing outside of the
    folder is found, by whatever path or symbolic link.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._contents: dict[Path, tuple[str, int]] = {}
        self._documents: dict[tuple[Path, str], tuple[QuestionDocument, str]] = {}
        self._images: dict[Path, Picture] = {}

    def describe(self, items: Any) -> tuple[QuestionFile, ...]:
        """The records of what stands under `files`. Raises LineError."""
        if not isinstance(items, list):
            raise LineError(f"'files' must be a list; found {shown(items)}", FORM)
        files = tuple(self._describe(item, f"item {number} of 'files'") for number, item in enumerate(items, start=1))
        name, count = Counter(file.name for file in files).most_common(1)[0] if files else ("", 0)
        if count > 1:
            raise LineError(
                f"two of the 'files' have the name {shown(name)}",
                'Give one of them another: {"path": "a/data.csv", "name": "left.csv"}.',
            )
        return files

    def documents(self, items: Any) -> tuple[QuestionDocument, ...]:
        """The records of what stands under `documents`, with their texts. Raises LineError."""
        if not isinstance(items, list):
            raise LineError(f"'documents' must be a list; found {shown(items)}", DOCUMENT_FORM)
        found = tuple(self._document(item, f"item {number} of 'documents'") for number, item in enumerate(items, 1))
        name, count = Counter(document.name for document in found).most_common(1)[0] if found else ("", 0)
        if count > 1:
            raise LineError(
                f"two of the 'documents' have the name {shown(name)}",
                'Give one of them another: {"path": "a/report.txt", "name": "2021.txt"}.',
            )
        return found

    def images(self, items: Any) -> tuple[Picture, ...]:
        """The pictures that stand under `images`, with their bytes. Raises LineError."""
        if not isinstance(items, list):
            raise LineError(f"'images' must be a list; found {shown(items)}", IMAGE_FORM)
        return tuple(self._image(item, f"item {number} of 'images'") for number, item in enumerate(items, 1))

    def _image(self, item: Any, place: str) -> Picture:
        entry = {"path": item} if isinstance(item, str) else item
        entry = {key: part for key, part in entry.items() if part is not None} if isinstance(entry, dict) else {}
        held = entry.get("data", entry.get("bytes"))
        if set(entry) not in _IMAGE_KEYS or not isinstance(held or entry.get("path"), str):
            raise LineError(f"{place} is no image; found {shown(item)}", IMAGE_FORM)
        if str(entry.get("path")).lower().startswith(("http://", "https://")):
            raise LineError(
                f"{place}: {shown(entry['path'])} is an address on the web, and none is fetched",
                "Save the image beside the question file and name it by its path.",
            )
        try:
            if held is not None:
                return picture_of_base64(held)
            if entry["path"].startswith("data:"):
                return picture_of_url(entry["path"])
        except ValueError as error:
            raise LineError(f"{place}: it {error}", _NO_IMAGE) from error
        return self._read_image(entry["path"], place)

    def _read_image(self, path: str, place: str) -> Picture:
        """Questions that share a picture share its record."""
        with self._reading(path, place) as found:
            if found in self._images:
                return self._images[found]
            with found.open("rb") as file:
                content = file.read(MAX_BYTES + 1)
        try:
            self._images[found] = Picture.of(content)
        except ValueError as error:
            raise LineError(f"{place}: {shown(path)} {error}", _NO_IMAGE) from error
        return self._images[found]

    def _document(self, item: Any, place: str) -> QuestionDocument:
        entry = {"path": item} if isinstance(item, str) else item
        given = [key for key in ("path", "text") if isinstance(entry, dict) and key in entry]
        if len(given) != 1 or not isinstance(entry[given[0]], str) or not entry[given[0]]:
            raise LineError(f"{place} must have either a path or a text; found {shown(item)}", DOCUMENT_FORM)
        for key in entry:
            if key not in DOCUMENT_KEYS:
                raise LineError(f"{place}: unknown key {shown(key)}", f"Allowed are {', '.join(DOCUMENT_KEYS)}.")
        name = entry.get("name", entry.get("path", "").rpartition("/")[2])
        if not _is_plain(name):
            wrong = "has no name" if "name" not in entry and "text" in entry else f"{shown(name)} is no plain file name"
            raise LineError(f"{place}: {wrong}", DOCUMENT_FORM)
        said = f"{place}: {shown(name)}"
        if "text" in entry:
            text, digest = _text(entry["text"].encode("utf-8", "replace"), said)
            document = QuestionDocument(name=name, text=text)
        else:
            document, digest = self._read(entry["path"], name, place)
        if entry.get("sha256") not in (None, digest):
            raise LineError(f"{said}: the sha256 is {digest}, not {shown(entry['sha256'])}")
        return document

    def _read(self, path: str, name: str, place: str) -> tuple[QuestionDocument, str]:
        """With its sha256. Questions that share a document share its record, so that it is read and kept once."""
        with self._reading(path, place) as found:
            if known := self._documents.get((found, name)):
                return known
            with found.open("rb") as file:
                content = file.read(LARGEST_DOCUMENT + 1)
        text, digest = _text(content, f"{place}: {shown(name)}")
        self._documents[found, name] = QuestionDocument(name=name, text=text), digest
        return self._documents[found, name]

    def _describe(self, item: Any, place: str) -> QuestionFile:
        entry = {"path": item} if isinstance(item, str) else item
        if not isinstance(entry, dict) or not isinstance(entry.get("path"), str) or not entry["path"]:
            raise LineError(f"{place} names no path; found {shown(item)}", FORM)
        for key in entry:
            if key not in KEYS:
                raise LineError(f"{place}: unknown key {shown(key)}", f"Allowed are {', '.join(KEYS)}.")
        name = entry.get("name", entry["path"].rpartition("/")[2])
        if not _is_plain(name):
            raise LineError(
                f"{place}: {shown(name)} is no plain file name",
                'Give it one, without a dot at its start: {"path": "...", "name": "data.csv"}.',
            )
        sha256, size = self._content(entry["path"], place)
        for key, found in (("sha256", sha256), ("size", size)):
            if key in entry and entry[key] != found:
                raise LineError(f"{place}: the {key} of {shown(entry['path'])} is {found}, not {shown(entry[key])}")
        return QuestionFile(name=name, path=entry["path"], sha256=sha256, size=size)

    def _content(self, path: str, place: str) -> tuple[str, int]:
        with self._reading(path, place) as found:
            if found not in self._contents:
                with found.open("rb") as file:
                    self._contents[found] = hashlib.file_digest(file, "sha256").hexdigest(), file.tell()
            return self._contents[found]

    @contextmanager
    def _reading(self, path: str, place: str) -> Iterator[Path]:
        """The file that a path names. Raises LineError where there is none in the folder, or it cannot be read."""
        try:
            yield find(path, self._folder)
        except OSError as error:
            raise LineError(
                f"{place}: {shown(path)} cannot be read: {error.strerror}", _looked_in(self._folder)
            ) from error
        except ValueError as error:
            raise LineError(f"{place}: {shown(path)} {error}", _looked_in(self._folder)) from error


def in_order(parts: Any) -> tuple[str, list[Any]]:
    """A prompt that is a list of `{"text": ...}` and `{"image": ...}`, as a text with marks, and the images. Raises
    LineError."""
    texts, images = list[str](), list[Any]()
    for number, part in enumerate(parts, start=1):
        kind = next(iter(part), "") if isinstance(part, dict) and len(part) == 1 else ""
        if kind == "image":
            images.append(part["image"])
            texts.append(mark(len(images)))
        elif kind == "text" and isinstance(part["text"], str):
            if marked(part["text"]):
                raise LineError(f"item {number} of 'prompt' has a mark for an image", "Images have their own items.")
            texts.append(part["text"])
        else:
            raise LineError(
                f"item {number} of 'prompt' is neither text nor image; found {shown(part)}",
                'A prompt is a text, or a list of {"text": "..."} and {"image": "a.png"}.',
            )
    return " ".join(texts), images


def _text(content: bytes, place: str) -> tuple[str, str]:
    """A document's text, line ends as `\\n`, and its sha256. Raises LineError where it is too large or no text."""
    if len(content) > LARGEST_DOCUMENT:
        raise LineError(
            f"{place} has more than {LARGEST_DOCUMENT:,} bytes",
            "Split it into several documents, or give it as one of the 'files'.",
        )
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise LineError(f"{place} is no text in UTF-8 (byte {error.start:,})", _NO_TEXT) from error
    if "\0" in text:
        raise LineError(f"{place} is no text: it has null characters", _NO_TEXT)
    if not text.strip():
        raise LineError(f"{place} holds no text")
    return text.replace("\r\n", "\n").replace("\r", "\n"), hashlib.sha256(content).hexdigest()


_NO_TEXT = "Convert it to text first (PDF, HTML and office formats too), or give it as one of the 'files'."


def read_content(file: QuestionFile, folder: Path) -> bytes:
    """What a file holds. Raises InputError where that is not what it held when its question was read."""
    with _opened(file, folder) as opened:
        content = opened.read(file.size + 1)
    _require_same(file, hashlib.sha256(content).hexdigest())
    return content


def require_content(file: QuestionFile, folder: Path) -> None:
    """Raises InputError as `read_content` does; no more than a part of the file is in memory."""
    with _opened(file, folder) as opened:
        found = hashlib.file_digest(opened, "sha256").hexdigest()
    _require_same(file, found)


@contextmanager
def _opened(file: QuestionFile, folder: Path) -> Iterator[BufferedReader]:
    try:
        with find(file.path, folder).open("rb") as opened:
            yield opened
    except OSError as error:
        raise InputError(
            f"the question's file {file.path} cannot be read: {error.strerror}", code="unreadable_file"
        ) from error
    except ValueError as error:
        raise InputError(f"the question's file {file.path} {error}", code="unreadable_file") from error


def _require_same(file: QuestionFile, found: str) -> None:
    if found != file.sha256:
        raise InputError(
            f"the question's file {file.path} has changed since the plan was read"
            f" ({file.size:,} bytes, SHA-256 {file.sha256[:12]}...)",
            hint="restore the file, or run the plan again: a changed file makes it another question",
            code="file_changed",
        )


def find(path: str, folder: Path) -> Path:
    """The regular file at `path` in `folder`, links resolved. Raises OSError, and ValueError that says why not."""
    if "\0" in path:
        raise ValueError("contains a character that paths cannot contain")
    root = folder.resolve()
    if path.startswith("/"):
        raise ValueError("must be relative")
    try:
        found = (root / path).resolve(strict=True)
    except RuntimeError:
        raise ValueError("is a symbolic link that leads to itself") from None
    if not found.is_relative_to(root):
        raise ValueError("leads out of the folder")
    status = found.stat()
    if not stat.S_ISREG(status.st_mode):
        raise ValueError("is a folder" if stat.S_ISDIR(status.st_mode) else "is not a regular file")
    if status.st_size > LARGEST_FILE:
        raise ValueError(f"has {status.st_size:,} bytes; allowed are {LARGEST_FILE:,}")
    return found


def _is_plain(name: object) -> bool:
    """Whether it is the name of a file that a listing shows. A hidden one could be some program's configuration."""
    return (
        isinstance(name, str)
        and 0 < len(name.encode()) <= NAME_BYTES
        and name.isprintable()
        and name == name.strip()
        and not name.startswith(".")
        and not {"/", "\\"} & set(name)
    )


def _looked_in(folder: Path) -> str:
    return f'Files are looked for in {folder}; a plan can name another folder: [questions] folder = "...".'
