"""Datasets that `datasets` saved into a folder (`save_to_disk`)."""

from collections.abc import Collection, Iterator
from pathlib import Path

from toolablate.benchmarks.rows.extra import imported
from toolablate.benchmarks.rows.place import Located
from toolablate.benchmarks.rows.splits import chosen
from toolablate.benchmarks.rows.tables import BATCH_ROWS, broken, table_rows

_ONE, _SEVERAL = "dataset_info.json", "dataset_dict.json"


def is_saved(folder: Path) -> bool:
    return (folder / _ONE).is_file() or (folder / _SEVERAL).is_file()


def saved_rows(folder: Path, split: str, keys: Collection[str] | None = None) -> Iterator[Located]:
    """The rows of the dataset, or of one split of several; of its columns only those of `keys`, where they are given.
    Raises InputError."""
    source = f"{folder}#{split}" if split else str(folder)
    datasets = imported("datasets", source)
    try:
        found = datasets.load_from_disk(str(folder))
        one = found[chosen(source, split, list(found))] if isinstance(found, dict) else found
        if split and one is found:
            chosen(source, split, [])
        columns = [name for name in one.column_names if keys is None or name in keys]
        batches = one.select_columns(columns).with_format("arrow").iter(batch_size=BATCH_ROWS)
        yield from table_rows(source, batches)
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise broken(source, "no dataset that can be read", error) from error
