"""Rows of Parquet files and of Arrow tables."""

from collections.abc import Collection, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from toolablate.benchmarks.line_error import LineError, shown
from toolablate.benchmarks.rows.cells import plain_cell
from toolablate.benchmarks.rows.extra import imported
from toolablate.benchmarks.rows.place import Located, Place, at
from toolablate.benchmarks.rows.reading import unreadable
from toolablate.traces.errors import InputError

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
            place = Place(source, "row", number)
            try:
                cells = {name: plain_cell(column[index], kind, name) for name, column, kind in columns}
            except LineError as error:
                raise at(place, error) from error
            yield place, {name: cell for name, cell in cells.items() if cell is not None}


def broken(source: str, what: str, error: Exception) -> InputError:
    said = str(error).partition("\n")[0][:200]
    return InputError(f"{source}: {what}: {said}", code="unreadable")
