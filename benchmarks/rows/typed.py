"""Rows that all have the same keys, as records of one kind; what is wrong with a row that has not is said exactly."""

import difflib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from toolablate.benchmarks.line_error import LineError, shown
from toolablate.benchmarks.rows.place import Place, at
from toolablate.benchmarks.rows.source import rows_of
from toolablate.traces.errors import InputError

Row = TypeVar("Row", bound=BaseModel)


def typed_rows(source: str | Path, kind: type[Row], allowed: Mapping[str, str]) -> Iterator[tuple[Place, Row]]:
    """Each row with its place; `allowed` says of each key what it is. A key that may be missing may be null.

    Raises InputError that names the place, the key, what was found and what is allowed.
    """
    keys = None if kind.model_config.get("extra") == "forbid" else allowed.keys()
    optional = {name for name, field in kind.model_fields.items() if not field.is_required()}
    place = None
    for place, content in rows_of(source, keys):
        try:
            given = {key: value for key, value in content.items() if value is not None or key not in optional}
            row = _row(given, kind, allowed)
        except LineError as error:
            raise at(place, error) from error
        yield place, row
    if place is None:
        raise InputError(f"{source}: holds no row", hint="One JSON object per line is expected.", code="no_row")


def _row(content: dict[str, Any], kind: type[Row], allowed: Mapping[str, str]) -> Row:
    try:
        return kind.model_validate(content, strict=True)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
    key = str(first["loc"][0])
    if first["type"] == "extra_forbidden":
        close = difflib.get_close_matches(key, allowed, n=1)
        guess = f"Did you mean '{close[0]}'? " if close else ""
        raise LineError(f"unknown key {shown(key)}", f"{guess}Allowed are {', '.join(allowed)}.")
    if first["type"] == "missing":
        raise LineError(f"the key '{key}' is missing", f"It is {allowed[key]}.")
    raise LineError(f"'{key}' must be {allowed[key]}; found {shown(content[key])}")
