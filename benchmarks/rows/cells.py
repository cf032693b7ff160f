"""Cells of a table as the values that JSON has."""

import json
import math
from typing import Any

from toolablate.benchmarks.line_error import LineError, shown
from toolablate.benchmarks.rows.json_object import json_value

_ALLOWED = "Allowed is what JSON has: texts, finite numbers, true and false, lists and objects."
_JSON = "extension<arrow.json>"


def plain_cell(scalar: Any, kind: Any, name: str) -> Any:
    """The value of an Arrow scalar of this type, in the column `name`. What is null in an object is left out of it.

    Raises LineError for what JSON has no form for: dates, bytes, decimal numbers, numbers that are none.
    """
    try:
        value = scalar.as_py()
    except (ValueError, OverflowError) as error:
        raise LineError(f"{shown(name)} cannot be read: {str(error)[:100]}", _ALLOWED) from error
    return _plain(value, kind, name)


def _plain(value: Any, kind: Any, name: str) -> Any:
    if value is None or isinstance(value, bool | int):
        return value
    if isinstance(value, str):
        return _parsed(value, name) if str(kind) == _JSON else value
    if isinstance(value, float):
        if not math.isfinite(value):
            raise LineError(f"{shown(name)} holds {value}, which is no number", "Allowed are finite numbers.")
        return value
    if isinstance(value, dict):
        parts = {key: _plain(part, kind.field(key).type, f"{name}.{key}") for key, part in value.items()}
        return {key: part for key, part in parts.items() if part is not None}
    if isinstance(value, list) and not any(isinstance(item, tuple) for item in value):
        return [_plain(item, kind.value_type, name) for item in value]
    raise LineError(f"{shown(name)} holds {_called(value)}", _ALLOWED)


def _parsed(text: str, name: str) -> Any:
    """Of a column whose every cell is a JSON text: `datasets` keeps values of several types so."""
    try:
        value, end = json_value(text.strip())
    except json.JSONDecodeError as error:
        raise LineError(f"{shown(name)} holds broken JSON: {error.msg}") from error
    if text.strip()[end:]:
        raise LineError(f"{shown(name)} holds broken JSON: Extra data")
    return value


def _called(value: Any) -> str:
    named = {"bytes": "bytes", "list": "a map", "date": "a date", "datetime": "a time", "Timestamp": "a time"}
    kind = type(value).__name__
    return named.get(kind, f"a value of type {kind}")
