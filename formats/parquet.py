"""Trials as Parquet files, one a table."""

from collections import Counter, OrderedDict
from collections.abc import Iterable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Literal, Self
from urllib.parse import quote

import click

from toolablate.formats.commands import choosing, output_folder
from toolablate.traces import options
from toolablate.traces.errors import InputError
from toolablate.traces.installing import to_install

if TYPE_CHECKING:
    import pyarrow as pa

    from toolablate.formats.exporting import Exported
    from toolablate.formats.trial_tables import ExportTable, Kind, Row


Partition = Literal["condition", "model"]


@click.command(
    "parquet",
    epilog=options.example(
        "toolablate export parquet STORE -o tables",
        "toolablate export parquet STORE -o tables --partition condition --partition model",
    ),
    short_help="Tables of trials, events, scores, attributions, labels and what they are about.",
)
@click.argument("store", type=options.FilePath())
@output_folder
@click.option(
    "--partition",
    type=click.Choice(["condition", "model"]),
    multiple=True,
    help="A folder for each of these, in each table of trials. May be given twice.",
)
@click.option(
    "--file-rows", type=click.IntRange(min=1), metavar="N", help="Several files for each table, of at most N rows."
)
@choosing
def export_command(
    store: Path, output: Path, partition: tuple[Partition, ...], file_rows: int | None, **given: Any
) -> None:
    """Write the trials of STORE as tables: trials, events, scores, attributions, diagnoses, labels, questions, models
    and conditions, each a Parquet file.

    With --partition or --file-rows, a table of trials is a folder of files instead, as a dataset of Arrow
    (events/condition=python/part-0.parquet), which Arrow, DuckDB, Polars and Spark read as one table.

    The folder is there whole or not at all; an earlier export is replaced. docs/exports.md has the columns.
    """
    from toolablate.formats.exporting import exporting
    from toolablate.traces.new_files import new_folder

    require_parquet()
    if "condition" in partition and given["replays"]:
        raise InputError(
            "--partition condition: each replay has a condition of its own",
            hint="partition by model, or leave out --replays",
            code="usage",
        )
    parts = Parts(tuple(dict.fromkeys(partition)), file_rows)
    with new_folder(output, is_export) as folder, exporting(store, given) as export:
        rows = write_parquet(export.trials, folder, export.scorers, parts=parts)
    told = ", ".join(f"{count} {name}" for name, count in rows.items() if count)
    click.echo(f"{told} in {click.format_filename(output)}", err=True)


# Tables as Parquet files, written group by group.


GROUP_ROWS = 20_000
GROUP_CHARS = 32_000_000
"""A group of rows is written when it has so many rows or characters."""

MAX_OPEN = 100
MAX_CHARS = 2 * GROUP_CHARS
"""Of a table: so many files are open at once, and so many characters wait in all of them."""

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

    columns = {table.name: [column.name for column in table.columns] for table in TABLES}.get(path.stem)
    if columns is None or (path.suffix == "") is not path.is_dir():
        return False
    try:
        if path.is_dir():
            # Of a folder's table what its folders tell is in no file.
            each = [file for file in path.rglob("*") if not file.is_dir()]
            kept = [[name for name in columns if f"{name}=" not in str(file.relative_to(path).parent)] for file in each]
            return all(file.match("part-*.parquet") for file in each) and all(
                pq.read_schema(file).names == names for file, names in zip(each, kept, strict=True)
            )
        return path.suffix == ".parquet" and bool(pq.read_schema(path).names == columns)
    except (OSError, pa.ArrowException):
        return False


@dataclass(frozen=True, slots=True)
class Parts:
    """How a table of trials is divided into files: by folders, and by rows; not at all by default."""

    by: tuple[Partition, ...] = ()
    rows: int | None = None


def write_parquet(
    exported: "Iterable[Exported]",
    folder: Path,
    scorers: Sequence[str],
    *,
    categories: bool = True,
    parts: Parts = Parts(),
) -> dict[str, int]:
    """One file a table into a folder that is there, all of them, even where they have no row; or a folder of `parts`
    for each table of trials. Returns the number of rows by table. `scorers` are those whose scores count; `categories`
    says whether columns of few texts are dictionaries to their readers. Holds a group of rows of each table at a time.
    Raises OSError."""
    from toolablate.formats.trial_tables import TABLES, ExportLayout

    layout = ExportLayout(scorers)
    with ExitStack() as stack:
        tables = {table.name: stack.enter_context(_ParquetTable(folder, table, categories, parts)) for table in TABLES}
        for each in exported:
            place = tuple(f"{name}={quote(getattr(each.called, name), safe='')}" for name in parts.by)
            for table, row in layout.rows(each):
                tables[table.name].add(row, place)
    return {name: table.count for name, table in tables.items()}


def schema_of(table: "ExportTable", *, categories: bool = True) -> "pa.Schema":
    import pyarrow as pa

    types = arrow_types(categories)
    return pa.schema([pa.field(column.name, types[column.kind]) for column in table.columns])


class _ParquetTable:
    """One table's file, or its files by their folders. The file that has waited longest for a row is closed where too
    many are open; a later row of its folder begins another."""

    def __init__(self, folder: Path, table: "ExportTable", categories: bool, parts: Parts) -> None:
        of_trials = table.columns[0].name == "trial"
        self._by = parts.by if of_trials else ()
        self._most = parts.rows if of_trials else None
        self._schema = schema_of(table, categories=categories)
        self._folder = folder / table.name if of_trials and parts != Parts() else None
        self._open: OrderedDict[tuple[str, ...], _ParquetFile] = OrderedDict()
        self._made: Counter[tuple[str, ...]] = Counter()
        self._waiting = 0
        self.count = 0
        if self._folder is None:
            self._open[()] = _ParquetFile(folder / f"{table.name}.parquet", self._schema)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if not (self._open or self._made):
            self._begin(())  # what has no row has its columns all the same
        for file in self._open.values():
            file.close(whole=error is None)

    def add(self, row: "Row", place: tuple[str, ...]) -> None:
        place = place if self._by else ()
        file = self._open.get(place) or self._begin(place)
        self._open.move_to_end(place)
        self._waiting -= file.chars
        file.add(row)
        self._waiting += file.chars
        self.count += 1
        if file.count == self._most or len(self._open) > MAX_OPEN:
            of_first = place if file.count == self._most else next(iter(self._open))
            closed = self._open.pop(of_first)
            self._waiting -= closed.chars
            closed.close()
        if self._waiting > MAX_CHARS:
            largest = max(self._open.values(), key=lambda each: each.chars)
            self._waiting -= largest.chars
            largest.flush()

    def _begin(self, place: tuple[str, ...]) -> "_ParquetFile":
        assert self._folder is not None
        folder, schema = self._folder.joinpath(*place), self._schema
        folder.mkdir(parents=True, exist_ok=True)
        for name in [name for name in self._by if place and name in schema.names]:
            schema = schema.remove(schema.get_field_index(name))
        file = self._open[place] = _ParquetFile(folder / f"part-{self._made[place]}.parquet", schema)
        self._made[place] += 1
        return file


class _ParquetFile:
    """What is added is written when there is enough of it."""

    def __init__(self, path: Path, schema: "pa.Schema") -> None:
        import pyarrow.parquet as pq

        self._schema = schema
        self._writer = pq.ParquetWriter(path, self._schema, compression="zstd")
        self._rows: list[Row] = []
        self.chars = 0
        self.count = 0

    def close(self, *, whole: bool = True) -> None:
        if whole:
            self.flush()
        self._writer.close()

    def add(self, row: "Row") -> None:
        self._rows.append(row)
        self.chars += sum(map(_chars, row.values()))
        self.count += 1
        if len(self._rows) >= GROUP_ROWS or self.chars >= GROUP_CHARS:
            self.flush()

    def flush(self) -> None:
        import pyarrow as pa

        arrays = [arrow_array([row.get(field.name) for row in self._rows], field.type) for field in self._schema]
        if self._rows:
            self._writer.write_table(pa.Table.from_arrays(arrays, schema=self._schema))
        self._rows, self.chars = [], 0


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
