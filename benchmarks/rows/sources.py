"""Rows of whatever source a user names, as records."""

import difflib
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from toolablate.benchmarks.rows.hub import PREFIX, file_rows, hub_rows
from toolablate.benchmarks.rows.parquet_rows import is_saved, parquet_rows, saved_rows
from toolablate.benchmarks.rows.row_errors import LineError, Located, RowPlace, at, chosen, shown
from toolablate.traces.errors import InputError

_OF_SPLIT = re.compile(r"(?P<shard>.+?)-\d+-of-\d+(?:-[0-9a-f]+)?|(?P<name>train|test|validation|valid|val|dev)")


def rows_of(source: str | Path, keys: Collection[str] | None = None) -> Iterator[Located]:
    """Each row with its place; of tables only the columns of `keys`, where they are given.

    A source is a JSONL file, a JSON file that is one array of objects (`.json`), a Parquet file (`.parquet`) or a
    folder of such files, a folder that `datasets` saved (either `FOLDER#SPLIT` where it has several), or a dataset of
    the Hugging Face hub (`hf:OWNER/NAME`, `hf:OWNER/NAME@REVISION`, either with `#SPLIT`). Raises InputError.
    """
    if str(source).startswith(PREFIX):
        return hub_rows(str(source), keys)
    path, split = _with_split(Path(source))
    if path.is_dir():
        return saved_rows(path, split, keys) if is_saved(path) else _folder_rows(path, split, keys)
    return file_rows(path, keys)


def _with_split(path: Path) -> tuple[Path, str]:
    """A name with # in it is a split only where it is no name of a file or folder itself."""
    base, _, split = str(path).rpartition("#")
    return (Path(base), split) if base and split and not path.exists() and Path(base).is_dir() else (path, "")


def _folder_rows(folder: Path, split: str, keys: Collection[str] | None) -> Iterator[Located]:
    files = sorted(folder.glob("*.parquet"))
    if not files:
        raise InputError(
            f"{folder}: cannot be read: a folder without Parquet files, and none that `datasets` saved",
            hint="Name a file, or a folder of Parquet files.",
            code="unreadable",
        )
    splits = _splits(files)
    if split or len(splits) > 1:
        named = chosen(f"{folder}#{split}" if split else str(folder), split, list(splits))
        files = splits[named]
    for file in files:
        yield from parquet_rows(file, keys)


def _splits(files: Sequence[Path]) -> dict[str, list[Path]]:
    """The files of each split, where the names of all tell one, as the hub's do: train-00000-of-00002.parquet."""
    found: dict[str, list[Path]] = {}
    for file in files:
        match = _OF_SPLIT.fullmatch(file.stem)
        if match is None:
            return {}
        found.setdefault(match["shard"] or match["name"], []).append(file)
    return found


# Rows that all have the same keys, as records of one kind; what is wrong with a row that has not is said exactly.


Row = TypeVar("Row", bound=BaseModel)


def typed_rows(source: str | Path, kind: type[Row], allowed: Mapping[str, str]) -> Iterator[tuple[RowPlace, Row]]:
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
    key, is_own = str(first["loc"][0]), len(first["loc"]) == 1
    if first["type"] == "extra_forbidden" and is_own:
        close = difflib.get_close_matches(key, allowed, n=1)
        guess = f"Did you mean '{close[0]}'? " if close else ""
        raise LineError(f"unknown key {shown(key)}", f"{guess}Allowed are {', '.join(allowed)}.")
    if first["type"] == "missing" and is_own:
        raise LineError(f"the key '{key}' is missing", f"It is {allowed[key]}.")
    raise LineError(f"'{key}' must be {allowed[key]}; found {shown(content[key])}")
