"""Files that a command writes beside what it prints."""

from pathlib import Path

from toolablate.traces.errors import InputError

STORE_BEGINS = b"SQLite format 3\0"


def export(text: str, path: Path, option: str) -> None:
    """Writes a table as UTF-8. Raises InputError where the file cannot be written, or is a store."""
    refuse_store(path, option)
    try:
        path.write_text(text, encoding="utf-8", errors="replace", newline="")
    except OSError as error:
        raise InputError(f"{option}: cannot write {path}: {error.strerror}", code="unwritable") from None


def refuse_store(path: Path, option: str) -> None:
    """Raises InputError where `path` is an SQLite file: most likely the store that was to be read."""
    try:
        with path.open("rb") as file:
            begins = file.read(len(STORE_BEGINS))
    except OSError:
        return  # not there yet, or not to be read; writing will tell
    if begins == STORE_BEGINS:
        raise InputError(
            f"{option}: {path} is a store and would be overwritten", hint="Name another file.", code="same_file"
        )
