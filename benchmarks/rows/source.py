"""A source of rows, as a user names it."""

import re
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path

from toolablate.benchmarks.rows.files import file_rows
from toolablate.benchmarks.rows.hub import PREFIX, hub_rows
from toolablate.benchmarks.rows.place import Located
from toolablate.benchmarks.rows.saved import is_saved, saved_rows
from toolablate.benchmarks.rows.splits import chosen
from toolablate.benchmarks.rows.tables import parquet_rows
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
