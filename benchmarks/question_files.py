"""The files that questions bring: found in one folder, and told apart by what they hold."""

import hashlib
import stat
from collections import Counter
from pathlib import Path
from typing import Any

from toolablate.benchmarks.rows.row_errors import LineError, shown
from toolablate.traces.errors import InputError
from toolablate.traces.records import QuestionFile

LARGEST_FILE = 1_000_000_000
"""Bytes. A kernel's work folder lies in memory, so that a larger file could be of no use there."""

KEYS = ("path", "name", "sha256", "size")
FORM = 'An item is a path ("data.csv") or {"path": "a/data.csv", "name": "left.csv"}.'
NAME_BYTES = 255


class FileFinder:
    """Finds the files of one question file's questions in `folder`, and reads each of them once.

    A downloaded question file must not be able to carry a file of the user's into a kernel, so nothing outside of the
    folder is found, by whatever path or symbolic link.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._contents: dict[Path, tuple[str, int]] = {}

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
        try:
            found = find(path, self._folder)
            if found not in self._contents:
                with found.open("rb") as file:
                    self._contents[found] = hashlib.file_digest(file, "sha256").hexdigest(), file.tell()
            return self._contents[found]
        except OSError as error:
            raise LineError(
                f"{place}: {shown(path)} cannot be read: {error.strerror}", _looked_in(self._folder)
            ) from error
        except ValueError as error:
            raise LineError(f"{place}: {shown(path)} {error}", _looked_in(self._folder)) from error


def read_content(file: QuestionFile, folder: Path) -> bytes:
    """What a file holds. Raises InputError where that is not what it held when its question was read."""
    try:
        with find(file.path, folder).open("rb") as opened:
            content = opened.read(file.size + 1)
    except OSError as error:
        raise InputError(
            f"the question's file {file.path} cannot be read: {error.strerror}", code="unreadable_file"
        ) from error
    except ValueError as error:
        raise InputError(f"the question's file {file.path} {error}", code="unreadable_file") from error
    found = hashlib.sha256(content).hexdigest()
    if found != file.sha256:
        raise InputError(
            f"the question's file {file.path} has changed since the plan was read"
            f" ({file.size:,} bytes, SHA-256 {file.sha256[:12]}...)",
            hint="restore the file, or run the plan again: a changed file makes it another question",
            code="file_changed",
        )
    return content


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
