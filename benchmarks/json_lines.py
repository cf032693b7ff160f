"""Reads a JSONL file, line by line, and says exactly what is wrong with a line that is no JSON object."""

import json
import math
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NoReturn

from toolablate.benchmarks.line_error import LineError, shown
from toolablate.traces.errors import InputError


def lines_of(path: Path) -> Iterator[tuple[int, str]]:
    """The lines that are not blank, with their numbers from 1; a byte order mark is passed over. Raises InputError."""
    try:
        with path.open("rb") as file:
            for number, raw in enumerate(file, start=1):
                try:
                    line = raw.decode("utf-8-sig" if number == 1 else "utf-8").strip()
                except UnicodeDecodeError as error:
                    raise InputError(
                        f"{path}:{number}: not UTF-8: byte 0x{raw[error.start]:02x} at position {error.start + 1}",
                        hint="Save the file as UTF-8.",
                        code="bad_encoding",
                    ) from error
                if line:
                    yield number, line
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror}", code="unreadable") from error


def json_object(line: str) -> dict[str, Any]:
    """Strict: no key twice, no number that is none, no half of a surrogate pair. Raises LineError."""
    try:
        content = json.loads(
            line, object_pairs_hook=_no_duplicates, parse_constant=_no_constant, parse_int=_int, parse_float=_float
        )
    except json.JSONDecodeError as error:
        raise LineError(f"broken JSON at column {error.colno}: {error.msg}", "One JSON object per line.") from error
    except RecursionError as error:
        raise LineError("the JSON is nested too deeply") from error
    if not isinstance(content, dict):
        raise LineError(f"expected a JSON object, found {shown(content)}", "One JSON object per line.")
    try:
        line.encode() if "\\u" not in line else json.dumps(content, ensure_ascii=False).encode()
    except UnicodeEncodeError as error:
        raise LineError("half of a surrogate pair (\\ud800 to \\udfff) stands alone", "It is no character.") from error
    return content


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
