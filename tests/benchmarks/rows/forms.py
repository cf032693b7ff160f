"""The same rows in every form that they are kept in."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import datasets
import pyarrow
import pyarrow.parquet

ROWS: list[dict[str, Any]] = [
    {
        "id": "a",
        "prompt": "中文 p",
        "choices": ["x", "y"],
        "answer": "B",
        "metadata": {"n": [1, 2.5], "s": {"t": True}},
    },
    {"id": "b", "prompt": "p", "answer": "Paris"},
]
Write = Callable[[Path, list[dict[str, Any]]], str]


def as_lines(folder: Path, rows: list[dict[str, Any]]) -> str:
    path = folder / "rows.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return str(path)


def as_array(folder: Path, rows: list[dict[str, Any]]) -> str:
    path = folder / "rows.json"
    path.write_text("\ufeff\n" + json.dumps(rows, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    return str(path)


def as_lines_named_json(folder: Path, rows: list[dict[str, Any]]) -> str:
    return str(Path(as_lines(folder, rows)).rename(folder / "rows.json"))


def as_parquet(folder: Path, rows: list[dict[str, Any]]) -> str:
    path = folder / "rows.parquet"
    pyarrow.parquet.write_table(pyarrow.Table.from_pylist(all_keys(rows)), path, row_group_size=1)
    return str(path)


def as_parquet_folder(folder: Path, rows: list[dict[str, Any]]) -> str:
    parts = folder / "parts"
    parts.mkdir()
    whole = pyarrow.Table.from_pylist(all_keys(rows))
    for number in range(len(rows)):
        pyarrow.parquet.write_table(whole.slice(number, 1), parts / f"train-{number:05}.parquet")
    return str(parts)


def as_saved(folder: Path, rows: list[dict[str, Any]]) -> str:
    datasets.Dataset.from_list(all_keys(rows)).save_to_disk(folder / "saved")
    return str(folder / "saved")


def as_saved_split(folder: Path, rows: list[dict[str, Any]]) -> str:
    whole = datasets.Dataset.from_list(all_keys(rows))
    datasets.DatasetDict({"train": whole, "test": whole.select([0])}).save_to_disk(folder / "splits")
    return f"{folder / 'splits'}#train"


def all_keys(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Tables are made of the keys of the first row, and have them all in each."""
    keys = {key: None for row in rows for key in row}
    return [keys | row for row in rows]


TABLES = (as_parquet, as_parquet_folder, as_saved, as_saved_split)
FORMS = (as_lines, as_array, as_lines_named_json, *TABLES)
