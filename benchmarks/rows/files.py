"""One file of rows, by its kind."""

from collections.abc import Collection, Iterator
from pathlib import Path

from toolablate.benchmarks.rows.json_array import begins_an_array, json_array
from toolablate.benchmarks.rows.json_lines import json_lines
from toolablate.benchmarks.rows.place import Located
from toolablate.benchmarks.rows.tables import parquet_rows

DATA_KINDS = (".json", ".jsonl", ".ndjson", ".parquet")


def file_rows(path: Path, keys: Collection[str] | None = None) -> Iterator[Located]:
    """A Parquet file, a JSON file that is one array, or a JSONL, by the end of its name and its beginning. Raises
    InputError."""
    kind = path.suffix.lower()
    if kind == ".parquet":
        return parquet_rows(path, keys)
    if kind == ".json" and begins_an_array(path):
        return json_array(path)
    return json_lines(path)
