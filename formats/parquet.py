"""Trials as Parquet files, one a table."""

from collections.abc import Iterable, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

import click

from toolablate.formats.commands import choosing, output_folder
from toolablate.traces import options
from toolablate.traces.errors import InputError
from toolablate.traces.installing import to_install

if TYPE_CHECKING:
    import pyarrow as pa

    from toolablate.formats.exporting import Exported
    from toolablate.formats.trial_tables import ExportTable, Kind, Row


@click.command(
    "parquet",
    epilog=options.example("toolablate export parquet STORE -o tables"),
    short_help="Tables of trials, events, scores, attributions, labels and what they are about.",
)
@click.argument("store", type=options.FilePath())
@output_folder
@choosing
def export_command(store: Path, output: Path, **given: Any) -> None:
    """Write the trials of STORE as tables: trials, events, scores, attributions, diagnoses, labels, questions, models
    and conditions, each a Parquet file.

    The folder is there whole or not at all; an earlier export is replaced. docs/exports.md has the columns.
    """
    from toolablate.formats.exporting import exporting, new_folder

    require_parquet()
    with new_folder(output, is_export) as folder, exporting(store, given) as export:
        rows = write_parquet(export.trials, folder, export.scorers)
    told = ", ".join(f"{count} {name}" for name, count in rows.items() if count)
    click.echo(f"{told} in {click.format_filename(output)}", err=True)


# Tables as Parquet files, written group by group.


GROUP_ROWS = 20_000
GROUP_CHARS = 32_000_000
"""A group of rows is written when it has so many rows or characters."""

_LARGEST = 2**63


def require_parquet() -> None:
    """Raises InputError where pyarrow is not installed."""
    try:
        import pyarrow.parquet  # noqa: F401
    except ImportError:
        raise InputError("pyarrow is not installed", hint=to_install("parquet"), code="no_pyarrow") from None


def is_export(path: Path) -> bool:
    """Whether `write_parquet` wrote this file, by its columns: others have a `questions.parquet`, too."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    from toolablate.formats.trial_tables import TABLES

    columns = {f"{table.name}.parquet": [column.name for column in table.columns] for table in TABLES}
    try:
        return path.name in columns and pq.read_schema(path).names == columns[path.name]
    except (OSError, pa.ArrowException):
        return False


def write_parquet(
    exported: "Iterable[Exported]", folder: Path, scorers: Sequence[str], *, categories: bool = True
) -> dict[str, int]:
    """One file a table into a folder that is there, all of them, even where they have no row. Returns the number of
    rows by table. `scorers` are those whose scores count; `categories` says whether columns of few texts are
    dictionaries to their readers. Holds a group of rows of each table at a time. Raises OSError."""
    from toolablate.formats.trial_tables import TABLES, ExportLayout

    layout = ExportLayout(scorers)
    with ExitStack() as stack:
        files = {
            table.name: stack.enter_context(_ParquetFile(folder / f"{table.name}.parquet", table, categories))
            for table in TABLES
        }
        for each in exported:
            for table, row in layout.rows(each):
                files[table.name].add(row)
    return {name: file.count for name, file in files.items()}


def schema_of(table: "ExportTable", *, categories: bool = True) -> "pa.Schema":
    import pyarrow as pa

    types = arrow_types(categories)
    return pa.schema([pa.field(column.name, types[column.kind]) for column in table.columns])


class _ParquetFile:
    """One table's file. What is added is written when there is enough of it."""

    def __init__(self, path: Path, table: "ExportTable", categories: bool) -> None:
        import pyarrow.parquet as pq

        self._schema = schema_of(table, categories=categories)
        self._writer = pq.ParquetWriter(path, self._schema, compression="zstd")
        self._rows: list[Row] = []
        self._chars = 0
        self.count = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if error is None:
            self._flush()
        self._writer.close()

    def add(self, row: "Row") -> None:
        self._rows.append(row)
        self._chars += sum(map(_chars, row.values()))
        self.count += 1
        if len(self._rows) >= GROUP_ROWS or self._chars >= GROUP_CHARS:
            self._flush()

    def _flush(self) -> None:
        import pyarrow as pa

        arrays = [arrow_array([row.get(field.name) for row in self._rows], field.type) for field in self._schema]
        if self._rows:
            self._writer.write_table(pa.Table.from_arrays(arrays, schema=self._schema))
        self._rows, self._chars = [], 0


def _chars(value: Any) -> int:
    """Of a text, or of all that a list or a mapping holds: an image may be larger than all texts."""
    if isinstance(value, str):
        return len(value)
    if isinstance(value, dict):
        value = value.values()
    return sum(map(_chars, value)) if isinstance(value, Iterable) else 0


def arrow_array(values: Sequence[Any], of: "pa.DataType") -> "pa.Array":
    import pyarrow as pa

    try:
        return pa.array(values, of)
    except (UnicodeEncodeError, OverflowError, pa.ArrowInvalid):
        # What no recorder of ours writes, a store that somebody else wrote may hold.
        return pa.array([_mended(value) for value in values], of)


def _mended(value: Any) -> Any:
    """Without lone surrogates; a whole number beyond 64 bits is no number."""
    from toolablate.traces.records import clean_text

    if isinstance(value, str):
        return clean_text(value)
    if isinstance(value, list):
        return [_mended(item) for item in value]
    if isinstance(value, dict):
        return {name: _mended(item) for name, item in value.items()}
    return None if isinstance(value, int) and not -_LARGEST <= value < _LARGEST else value


def arrow_types(categories: bool = True) -> "Mapping[Kind, pa.DataType]":
    import pyarrow as pa

    return {
        "text": pa.string(),
        "name": pa.dictionary(pa.int32(), pa.string()) if categories else pa.string(),
        "int": pa.int64(),
        "float": pa.float64(),
        "bool": pa.bool_(),
        "time": pa.timestamp("us", tz="UTC"),
        "names": pa.list_(pa.string()),
        "ints": pa.list_(pa.int64()),
        "json": pa.string(),
        "artifacts": pa.list_(pa.struct([("mime", pa.string()), ("data", pa.string())])),
    }
