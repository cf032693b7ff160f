"""Reads a JSONL file of which every line has the same keys, and says exactly what is wrong with a line that has not."""

import difflib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TypeVar

from pydantic import BaseModel, ValidationError

from toolablate.benchmarks.json_lines import json_object, lines_of
from toolablate.benchmarks.line_error import LineError, shown
from toolablate.traces.errors import InputError

Row = TypeVar("Row", bound=BaseModel)


def read_rows(path: Path, kind: type[Row], allowed: Mapping[str, str]) -> Iterator[tuple[int, Row]]:
    """Each row with the number of its line; `allowed` says of each key what it is.

    Raises InputError that names the file, the line, the key, what was found and what is allowed.
    """
    number = 0
    for number, line in lines_of(path):
        try:
            row = _row(line, kind, allowed)
        except LineError as error:
            raise at_line(path, number, error) from error
        yield number, row
    if not number:
        raise InputError(f"{path}: holds no row", hint="One JSON object per line is expected.", code="no_row")


def at_line(path: Path, number: int, error: LineError) -> InputError:
    return InputError(f"{path}:{number}: {error}", hint=error.hint, code="bad_row")


def check_id(identity: str) -> None:
    """Raises LineError for an id that could not be shown in one line or typed."""
    if not identity.isprintable() or identity != identity.strip():
        raise LineError(f"the id {shown(identity)} has blanks around it or characters that cannot be printed")


def _row(line: str, kind: type[Row], allowed: Mapping[str, str]) -> Row:
    content = json_object(line)
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
