"""Files that a command writes beside what it prints."""

import re
from pathlib import Path

from toolablate.traces.errors import InputError

STORE_BEGINS = b"SQLite format 3\0"
_BESIDE = re.compile(r"-(?:wal|shm|journal|recorder-\d+)$")
"""What a store that is written has beside it."""


def export(text: str, path: Path, option: str) -> None:
    """Writes a table as UTF-8, into a folder that is made where it is lacking. Raises InputError where the file cannot
    be written, or is a store."""
    refuse_store(path, option)
    make_folder(path, option)
    try:
        path.write_text(text, encoding="utf-8", errors="replace", newline="")
    except OSError as error:
        raise InputError(f"{option}: cannot write {path}: {error.strerror}", code="unwritable") from None


def make_folder(path: Path, option: str) -> None:
    """That which the file is to be in, with those around it. Raises InputError where it cannot be made."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(
            f"{option}: cannot make the folder {path.parent}: {error.strerror}",
            hint="Name a file in another folder.",
            code="unwritable",
        ) from None


def refuse_store(path: Path, option: str) -> None:
    """Raises InputError where `path` is an SQLite file, most likely the store that was to be read, or what such a file
    has beside it while it is written."""
    for place, what in ((path, "is a store"), (path.with_name(_BESIDE.sub("", path.name)), "belongs to a store")):
        if is_store(place):
            raise InputError(
                f"{option}: {path} {what} and would be overwritten", hint="Name another file.", code="same_file"
            )


def is_store(path: Path) -> bool:
    """Whether it is an SQLite file; not one that is not there, or cannot be read."""
    try:
        with path.open("rb") as file:
            return file.read(len(STORE_BEGINS)) == STORE_BEGINS
    except OSError:
        return False  # not there yet, or not to be read; writing will tell
