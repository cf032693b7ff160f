"""Datasets that `datasets` saved into a folder (`save_to_disk`)."""

from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Any

from toolablate.benchmarks.rows.extra import imported
from toolablate.benchmarks.rows.place import Located
from toolablate.benchmarks.rows.splits import chosen
from toolablate.benchmarks.rows.tables import BATCH_ROWS, broken, table_rows, wanted

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
