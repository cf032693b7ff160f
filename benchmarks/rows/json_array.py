"""Reads a JSON file that is one array of objects, and says which of them is wrong."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from toolablate.benchmarks.line_error import LineError
from toolablate.benchmarks.rows.json_object import checked_object, json_value
from toolablate.benchmarks.rows.place import Located, Place, at
from toolablate.benchmarks.rows.reading import not_text, unreadable

_BLANK = re.compile(r"[ \t\n\r]*")
_AN_ARRAY = "An array of JSON objects is expected."
_PEEKED = 4096


def begins_an_array(path: Path) -> bool:
    """Whether the first character that is not blank is a square bracket. Raises InputError."""
    try:
        with path.open("rb") as file:
            return file.read(_PEEKED).removeprefix(b"\xef\xbb\xbf").lstrip().startswith(b"[")
    except OSError as error:
        raise unreadable(path, error) from error


def json_array(path: Path) -> Iterator[Located]:
    """The objects of the array; the file is in memory as long as they are read. Raises InputError."""
    try:
        raw = path.read_bytes()
    except OSError as error:
        raise unreadable(path, error) from error
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise not_text(str(path), raw, error) from error
    source, number = str(path), 0
    position = _after_blanks(text, _after_blanks(text, 0) + 1)
    while number or not text.startswith("]", position):
        number += 1
        place = Place(source, "row", number)
        try:
            content, end = _item(text, position)
            position, is_last = _after_separator(text, end)
        except LineError as error:
            raise at(place, error) from error
        yield place, content
        if is_last:
            return


def _item(text: str, start: int) -> tuple[dict[str, Any], int]:
    try:
        content, end = json_value(text, start)
    except json.JSONDecodeError as error:
        raise _broken(error) from error
    return checked_object(content, text[start:end], _AN_ARRAY), end


def _after_separator(text: str, end: int) -> tuple[int, bool]:
    """Where the next item begins, and whether there is none because the array ends here."""
    position = _after_blanks(text, end)
    if text.startswith(",", position):
        return _after_blanks(text, position + 1), False
    if not text.startswith("]", position):
        raise _broken(json.JSONDecodeError("Expecting ',' or ']'", text, position))
    after = _after_blanks(text, position + 1)
    if after < len(text):
        raise _broken(json.JSONDecodeError("Extra data after the array", text, after))
    return after, True


def _after_blanks(text: str, position: int) -> int:
    match = _BLANK.match(text, position)
    return match.end() if match else position


def _broken(error: json.JSONDecodeError) -> LineError:
    return LineError(
        f"broken JSON at line {error.lineno}, column {error.colno}: {error.msg}",
        _AN_ARRAY,
    )
