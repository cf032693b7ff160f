"""Rows of Parquet files and of folders that `datasets` saved."""

import base64
import importlib
import json
import math
import os
from collections.abc import Collection, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from toolablate.benchmarks.rows.json_rows import json_value
from toolablate.benchmarks.rows.row_errors import LineError, Located, RowPlace, at, chosen, shown, unreadable
from toolablate.traces.errors import InputError
from toolablate.traces.installing import to_install

_ALLOWED = "Allowed is what JSON has: texts, finite numbers, true and false, lists and objects."
_JSON = "extension<arrow.json>"
# Columns whose bytes are images, alone or as the feature `Image` of `datasets` has them, beside a path.
_IMAGES = ("image", "images")


def plain_cell(scalar: Any, kind: Any, name: str) -> Any:
    """The value of an Arrow scalar of this type, in the column `name`. What is null in an object is left out of it.

    Raises LineError for what JSON has no form for: dates, bytes but those of images, decimal numbers, numbers that are
    none.
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
    if isinstance(value, bytes) and name.partition(".")[0] in _IMAGES:
        text = base64.b64encode(value).decode()
        return text if name.endswith(".bytes") else {"bytes": text}
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
        raise LineError(f"{shown(name)} contains invalid JSON: {error.msg}") from error
    if text.strip()[end:]:
        raise LineError(f"{shown(name)} contains invalid JSON: Extra data")
    return value


def _called(value: Any) -> str:
    named = {"bytes": "bytes", "list": "a map", "date": "a date", "datetime": "a time", "Timestamp": "a time"}
    kind = type(value).__name__
    return named.get(kind, f"a value of type {kind}")


# The libraries of the extra `datasets`, imported when a source needs them.


_SILENCE = {
    "HF_HUB_DISABLE_TELEMETRY": "1",
    "HF_UPDATE_DOWNLOAD_COUNTS": "0",
    "HF_HUB_DISABLE_PROGRESS_BARS": "1",
    "HF_DATASETS_DISABLE_PROGRESS_BARS": "1",
    "HF_HUB_VERBOSITY": "error",
    "DATASETS_VERBOSITY": "error",
}
"""They read this once, when they are imported. What a user has set already stays."""


def imported(module: str, needed_for: str) -> Any:
    """A module of the extra. Raises InputError where it is not installed."""
    for name, value in _SILENCE.items():
        os.environ.setdefault(name, value)
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise InputError(
            f"{needed_for}: cannot be read without the package {module.partition('.')[0]}",
            hint=to_install("datasets"),
            code="no_datasets",
        ) from error


BATCH_ROWS = 1_000


def parquet_rows(path: Path, keys: Collection[str] | None = None) -> Iterator[Located]:
    """The rows of one file; of its columns only those of `keys`, where they are given. Raises InputError."""
    parquet = imported("pyarrow.parquet", str(path))
    failed = imported("pyarrow", str(path)).ArrowException
    try:
        with path.open("rb") as opened, parquet.ParquetFile(opened) as file:
            columns = wanted(file.schema_arrow.names, keys)
            yield from table_rows(str(path), file.iter_batches(batch_size=BATCH_ROWS, columns=columns), keys)
    except failed as error:
        raise broken(str(path), "no Parquet file, or a broken one", error) from error
    except OSError as error:
        raise unreadable(path, error) from error


def wanted(columns: Sequence[str], keys: Collection[str] | None) -> Sequence[str]:
    """Those that are in `keys`, where these are given; at least one, since without columns there are no rows."""
    return columns if keys is None else [name for name in columns if name in keys] or columns[:1]


def table_rows(source: str, batches: Iterable[Any], keys: Collection[str] | None = None) -> Iterator[Located]:
    """The rows of Arrow tables or record batches, numbered throughout; of the columns only those of `keys`, where they
    are given.

    A cell that is null is left out, since a table has no other way to leave out a key. Raises InputError for a column
    that is there twice, and for a cell that JSON has no form for.
    """
    number = 0
    for batch in batches:
        names = batch.schema.names
        if len(set(names)) < len(names):
            twice = next(name for name in names if names.count(name) > 1)
            raise InputError(f"{source}: the column {shown(twice)} is there twice", code="bad_row")
        fields = [field for field in batch.schema if keys is None or field.name in keys]
        columns = [(field.name, batch.column(field.name), field.type) for field in fields]
        for index in range(batch.num_rows):
            number += 1
            place = RowPlace(source, "row", number)
            try:
                cells = {name: plain_cell(column[index], kind, name) for name, column, kind in columns}
            except LineError as error:
                raise at(place, error) from error
            yield place, {name: cell for name, cell in cells.items() if cell is not None}


def broken(source: str, what: str, error: Exception) -> InputError:
    said = str(error).partition("\n")[0][:200]
    return InputError(f"{source}: {what}: {said}", code="unreadable")


# Datasets that `datasets` saved into a folder (`save_to_disk`).


_NOT_ONE = "no dataset that can be read"
_ONE, _SEVERAL = "dataset_info.json", "dataset_dict.json"


def is_saved(folder: Path) -> bool:
    return (folder / _ONE).is_file() or (folder / _SEVERAL).is_file()


def saved_rows(folder: Path, split: str, keys: Collection[str] | None = None) -> Iterator[Located]:
    """The rows of the dataset, or of one split of several; of its columns only those of `keys`, where they are given.
    Raises InputError."""
    source = f"{folder}#{split}" if split else str(folder)
    failed = imported("pyarrow", source).ArrowException
    found = _loaded(folder, source)
    if isinstance(found, dict):
        found = found[chosen(source, split, list(found))]
    elif split:
        chosen(source, split, [])
    rows = found.select_columns(list(wanted(found.column_names, keys))).with_format("arrow")
    try:
        yield from table_rows(source, rows.iter(batch_size=BATCH_ROWS), keys)
    except failed as error:
        raise broken(source, _NOT_ONE, error) from error


def _loaded(folder: Path, source: str) -> Any:
    datasets = imported("datasets", source)
    try:
        return datasets.load_from_disk(str(folder))
    except Exception as error:
        # Its state is told by files that anyone may have written, and the library checks few of them.
        raise broken(source, _NOT_ONE, error) from error
