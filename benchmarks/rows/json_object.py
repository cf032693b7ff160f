"""JSON, read strictly: no key twice, no number that is none, no half of a surrogate pair."""

import json
import math
from collections import Counter
from collections.abc import Sequence
from typing import Any, NoReturn

from toolablate.benchmarks.line_error import LineError, shown

ONE_A_LINE = "One JSON object per line; an array of them needs a file whose name ends in .json."


def json_object(text: str) -> dict[str, Any]:
    """A text that is one JSON object, without blanks around it. Raises LineError."""
    try:
        content = _DECODER.decode(text)
    except json.JSONDecodeError as error:
        raise LineError(f"broken JSON at column {error.colno}: {error.msg}", ONE_A_LINE) from error
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
