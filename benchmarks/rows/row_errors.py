"""Where a row stands, and errors that say so."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple

from toolablate.traces.errors import InputError

SHOWN_CHARS = 80


class LineError(ValueError):
    """What is wrong with one line of a question file, without its place."""

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.hint = hint


def shown(value: Any) -> str:
    """A value as it stands in the file, cut short; what is no printable character is escaped."""
    text = json.dumps(value, ensure_ascii=False, default=str)
    start = "".join(map(_escaped, text[:SHOWN_CHARS]))
    return start if len(text) <= SHOWN_CHARS else f"{start}..."


def _escaped(character: str) -> str:
    return character if character.isprintable() else json.dumps(character)[1:-1]


Unit = Literal["line", "row"]


class RowPlace(NamedTuple):
    """Where a row stands, counted from 1: `questions.jsonl:17`, `train.parquet, row 17`, `hf:owner/name, row 17`."""

    source: str
    unit: Unit
    number: int

    def __str__(self) -> str:
        return f"{self.source}:{self.number}" if self.unit == "line" else f"{self.source}, row {self.number}"

    def seen_from(self, other: "RowPlace") -> str:
        """The same, for an error that has named the place `other` already."""
        return f"{self.unit} {self.number}" if self.source == other.source else str(self)


Located = tuple[RowPlace, dict[str, Any]]
"""A row, and where it stands."""


def at(place: RowPlace, error: LineError, *, code: str = "bad_row") -> InputError:
    """What a user is told of a row that is wrong."""
    return InputError(f"{place}: {error}", hint=error.hint, code=code)


# What is said of a file that cannot be read.


def unreadable(path: Path, error: OSError) -> InputError:
    return InputError(f"{path}: cannot be read: {str(error.strerror or error).strip()}", code="unreadable")


_GZIP = b"\x1f\x8b"


def not_text(place: str, raw: bytes, error: UnicodeDecodeError) -> InputError:
    if raw.startswith(_GZIP):
        return InputError(f"{place}: compressed with gzip", hint="Unpack the file first.", code="bad_encoding")
    return InputError(
        f"{place}: not UTF-8: byte 0x{raw[error.start]:02x} at position {error.start + 1}",
        hint="Save the file as UTF-8.",
        code="bad_encoding",
    )


class Identities:
    """The ids that the rows of a source have taken, and where each stands. `of` is what a row is, `key` its id's."""

    def __init__(self, of: str, key: str = "id") -> None:
        self.places: dict[str, RowPlace] = {}
        self._of, self._key = of, key

    def take(self, identity: str, place: RowPlace) -> None:
        """Raises LineError for an id that another row has, and for one that could not be shown in one line or typed."""
        check_id(identity)
        if identity in self.places:
            raise LineError(
                f"the {self._key} {shown(identity)} is already taken by {self.places[identity].seen_from(place)}",
                f"Every {self._of} needs an id of its own.",
            )
        self.places[identity] = place


def check_id(identity: str) -> None:
    """Raises LineError for an id that could not be shown in one line or typed."""
    if not identity.isprintable() or identity != identity.strip():
        raise LineError(f"the id {shown(identity)} has blanks around it or characters that cannot be printed")


def chosen(source: str, split: str, splits: Sequence[str]) -> str:
    """The split that is named, or the only one. Raises InputError."""
    if split in splits:
        return split
    if not split and len(splits) == 1:
        return splits[0]
    there = f"it has {', '.join(splits)}" if splits else "it has none"
    said = f"no split {split!r}; {there}" if split else f"several splits; {there}"
    base = source.removesuffix(f"#{split}") if split else source
    hint = f"Name one of them: {base}#{splits[0]}" if splits else f"Leave it out: {base}"
    raise InputError(f"{source}: {said}", hint=hint, code="no_split")
