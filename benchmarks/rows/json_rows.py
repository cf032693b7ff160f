"""Rows of JSON: lines, or one array."""

import json
import math
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NoReturn

from toolablate.benchmarks.rows.row_errors import LineError, Located, RowPlace, at, not_text, shown, unreadable

ONE_A_LINE = "One JSON object per line; an array of them needs a file whose name ends in .json."


def json_object(text: str) -> dict[str, Any]:
    """A text that is one JSON object, without blanks around it. Raises LineError."""
    try:
        content = _DECODER.decode(text)
    except json.JSONDecodeError as error:
        raise LineError(f"invalid JSON at column {error.colno}: {error.msg}", ONE_A_LINE) from error
    except RecursionError as error:
        raise _too_deep() from error
    return checked_object(content, text, ONE_A_LINE)


def json_value(text: str, start: int = 0) -> tuple[Any, int]:
    """The JSON value that begins at `start`, and where it ends; what follows it is not looked at. Raises LineError, and
    json.JSONDecodeError, whose place is counted from the beginning of the text."""
    try:
        return _DECODER.raw_decode(text, start)
    except RecursionError as error:
        raise _too_deep() from error


def checked_object(content: Any, text: str, hint: str) -> dict[str, Any]:
    """What the text was read as. Raises LineError where it holds what is no character, and where it is no object, with
    the hint."""
    if not isinstance(content, dict):
        raise LineError(f"expected a JSON object, found {shown(content)}", hint)
    try:
        text.encode() if "\\u" not in text else json.dumps(content, ensure_ascii=False).encode()
    except UnicodeEncodeError as error:
        raise LineError("half of a surrogate pair (\\ud800 to \\udfff) stands alone", "It is no character.") from error
    return content


def _too_deep() -> LineError:
    return LineError("the JSON is nested too deeply")


def _no_duplicates(pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    content = dict(pairs)
    if len(content) < len(pairs):
        twice, _ = Counter(name for name, _ in pairs).most_common(1)[0]
        raise LineError(f"the field {shown(twice)} is given twice")
    return content


def _no_constant(text: str) -> NoReturn:
    raise LineError(f"{text} is no number", "Allowed are finite numbers.")


def _int(text: str) -> int:
    _float(text)
    return int(text)


def _float(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise LineError(f"the number {shown(text)} is too large", "Allowed are numbers below 1.8e308.")
    return value


_DECODER = json.JSONDecoder(
    object_pairs_hook=_no_duplicates, parse_constant=_no_constant, parse_int=_int, parse_float=_float
)


# Reads a JSON file that is one array of objects, and says which of them is wrong.


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
        place = RowPlace(source, "row", number)
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
        f"invalid JSON at line {error.lineno}, column {error.colno}: {error.msg}",
        _AN_ARRAY,
    )


# Reads a JSONL file, line by line, and says exactly what is wrong with a line that is no JSON object.


def json_lines(path: Path) -> Iterator[Located]:
    """The lines that are not blank; a byte order mark is passed over. Raises InputError."""
    source = str(path)
    for number, line in _lines_of(path):
        place = RowPlace(source, "line", number)
        try:
            content = json_object(line)
        except LineError as error:
            raise at(place, error) from error
        yield place, content


def _lines_of(path: Path) -> Iterator[tuple[int, str]]:
    try:
        with path.open("rb") as file:
            for number, raw in enumerate(file, start=1):
                try:
                    line = raw.decode("utf-8-sig" if number == 1 else "utf-8").strip()
                except UnicodeDecodeError as error:
                    raise not_text(f"{path}:{number}", raw, error) from error
                if line:
                    yield number, line
    except OSError as error:
        raise unreadable(path, error) from error
