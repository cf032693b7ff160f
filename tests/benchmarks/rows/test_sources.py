"""Rows come out the same whatever they are kept in, and what is wrong with one is said with its place."""

import base64
import datetime
import shutil
import sys
from decimal import Decimal
from pathlib import Path
from typing import Any

import datasets
import pyarrow
import pyarrow.parquet
import pytest
from tests.benchmarks.rows.forms import (
    FORMS,
    ROWS,
    TABLES,
    Write,
    as_array,
    as_lines,
    as_parquet,
    as_parquet_folder,
    as_saved,
    as_saved_split,
)
from tests.browser.hostile import png

from toolablate.benchmarks.questions import load_questions
from toolablate.benchmarks.rows.sources import rows_of
from toolablate.traces.errors import InputError
from toolablate.traces.installing import to_install
from toolablate.traces.records import ChoiceTarget, Picture, SpansTarget


@pytest.mark.parametrize("write", FORMS)
def test_rows_are_the_same_in_all_forms(tmp_path: Path, write: Write) -> None:
    source = write(tmp_path, ROWS)
    assert [row for _, row in rows_of(source)] == ROWS
    first, second = load_questions(source)
    assert (first.prompt, first.target, first.metadata) == ("中文 p", ChoiceTarget(letters=("B",)), ROWS[0]["metadata"])
    assert (second.choices, second.target) == ((), SpansTarget(spans=("Paris",)))


@pytest.mark.parametrize(
    ("write", "place", "earlier"),
    [
        (as_lines, "rows.jsonl:2", "line 1"),
        (as_array, "rows.json, row 2", "row 1"),
        (as_parquet, "rows.parquet, row 2", "row 1"),
        (as_parquet_folder, "parts/train-00001.parquet, row 1", "{folder}/parts/train-00000.parquet, row 1"),
        (as_saved, "saved, row 2", "row 1"),
        (as_saved_split, "splits#train, row 2", "row 1"),
    ],
)
def test_an_error_names_the_row(tmp_path: Path, write: Write, place: str, earlier: str) -> None:
    source = write(tmp_path, [ROWS[1], ROWS[1]])
    with pytest.raises(InputError) as caught:
        load_questions(source)
    told = f'{tmp_path / place}: the id "b" is already taken by {earlier.format(folder=tmp_path)}'
    assert str(caught.value).startswith(told)


@pytest.mark.parametrize("write", TABLES)
@pytest.mark.parametrize(
    ("value", "said"),
    [
        (float("nan"), '"x" holds nan, which is no number'),
        (float("inf"), '"x" holds inf, which is no number'),
        (b"\xff", '"x" holds bytes'),
        (datetime.date(2026, 1, 2), '"x" holds a date'),
        (datetime.datetime(2026, 1, 2, 3), '"x" holds a time'),
        (Decimal("1.5"), '"x" holds a value of type Decimal'),
        ({"y": [b"1"]}, '"x.y" holds bytes'),
        ([float("nan")], '"x" holds nan'),
    ],
)
def test_values_that_json_has_no_form_for_are_refused_by_name_and_row(
    tmp_path: Path, write: Write, value: Any, said: str
) -> None:
    source = write(tmp_path, [{"id": "a", "x": None}, {"id": "b", "x": value}])
    with pytest.raises(InputError) as caught:
        list(rows_of(source))
    assert said in str(caught.value)
    assert "train-00001.parquet, row 1: " in str(caught.value) or ", row 2: " in str(caught.value)
    assert [row for _, row in rows_of(source, {"id"})] == [{"id": "a"}, {"id": "b"}]


def test_a_table_without_the_columns_that_are_asked_for_has_rows_without_them(tmp_path: Path) -> None:
    for write in TABLES:
        assert [row for _, row in rows_of(write(tmp_path, ROWS), {"x"})] == [{}, {}]


@pytest.mark.parametrize("write", [as_parquet, as_saved])
def test_values_of_several_types_in_one_column_are_read(tmp_path: Path, write: Write) -> None:
    values: list[Any] = ["Paris", 12.5, ["2018", "2019"], {"k": [None, "v"]}, 'x "y"']
    mixed = datasets.Dataset.from_dict({"id": list("abcde"), "answer": values}, on_mixed_types="use_json")
    if write is as_saved:
        source = str(tmp_path / "saved")
        mixed.save_to_disk(source)
    else:
        source = str(tmp_path / "rows.parquet")
        mixed.to_parquet(source)
    assert [row["answer"] for _, row in rows_of(source)] == values


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[{}, 3]", ", row 2: expected a JSON object, found 3"),
        ("[{}, {]", ", row 2: invalid JSON at line 1, column 7"),
        ("[{}\n,\n{} {}]", ", row 2: invalid JSON at line 3, column 4: Expecting ',' or ']'"),
        ("[{},]", ", row 2: invalid JSON at line 1, column 5"),
        ("[{}", ", row 1: invalid JSON at line 1, column 4"),
        ("[", ", row 1: invalid JSON at line 1, column 2"),
        ("[{}] x", ", row 1: invalid JSON at line 1, column 6: Extra data after the array"),
        ('[{"a": 1, "a": 2}]', ', row 1: the field "a" is given twice'),
        ('[{"a": NaN}]', ", row 1: NaN is no number"),
        ('[{"a": "\\ud800"}]', ", row 1: half of a surrogate pair"),
        ("[{}, " + "[" * 100_000, ", row 2: the JSON is nested too deeply"),
        ("[]", ": holds no question"),
        (" [ ] ", ": holds no question"),
        ('{"data": []}\n', ':1: unknown field "data"'),
    ],
)
def test_what_is_wrong_with_an_array_is_said(tmp_path: Path, text: str, said: str) -> None:
    path = tmp_path / "rows.json"
    path.write_text(text.replace("{}", '{"id": "q", "prompt": "p", "answer": 1}', 1), encoding="utf-8")
    with pytest.raises(InputError) as caught:
        load_questions(path)
    message = str(caught.value)
    assert message.startswith(f"{path}")
    assert said.partition(" column")[0] in message


def test_a_column_that_is_there_twice_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "rows.parquet"
    twice = pyarrow.table([pyarrow.array([1]), pyarrow.array([2])], names=["a", "a"])
    pyarrow.parquet.write_table(twice, path)
    with pytest.raises(InputError, match='the column "a" is there twice'):
        list(rows_of(path))


def test_text_that_is_none_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "rows.parquet"
    broken = pyarrow.array([b"fine", b"\xff"]).view(pyarrow.string())
    pyarrow.parquet.write_table(pyarrow.table({"a": broken}), path)
    with pytest.raises(InputError, match=r'rows\.parquet, row 2: "a" cannot be read: '):
        list(rows_of(path))


def test_an_array_that_is_no_text_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "rows.json"
    path.write_bytes(b'[{"a": "\xe9"}]')
    with pytest.raises(InputError, match="not UTF-8: byte 0xe9 at position 9"):
        list(rows_of(path))


def test_folders_and_files_that_are_none_are_named(tmp_path: Path) -> None:
    empty, other, text = tmp_path / "empty", tmp_path / "other.parquet", tmp_path / "rows.json"
    empty.mkdir()
    other.write_bytes(b"PAR1 is how it begins")
    broken = Path(as_saved(tmp_path, ROWS))
    for data in broken.glob("*.arrow"):
        data.write_bytes(b"")
    strange = tmp_path / "strange"
    shutil.copytree(broken, strange)
    (strange / "state.json").write_text("[]")
    cases = [
        (strange, "no dataset that can be read"),
        (empty, "cannot be read: a folder without Parquet files"),
        (other, "no Parquet file, or a broken one"),
        (text, "cannot be read: No such file"),
        (tmp_path / "none.parquet", "cannot be read: No such file"),
        (broken, "no dataset that can be read"),
    ]
    for path, said in cases:
        with pytest.raises(InputError, match=said) as caught:
            list(rows_of(path))
        assert str(caught.value).startswith(str(path))


@pytest.mark.parametrize(
    ("module", "source"), [("pyarrow.parquet", "rows.parquet"), ("datasets", "saved"), ("huggingface_hub", "hf:o/n")]
)
def test_a_missing_extra_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, module: str, source: str) -> None:
    as_parquet(tmp_path, ROWS)
    as_saved(tmp_path, ROWS)
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(InputError) as caught:
        list(rows_of(source if source.startswith("hf:") else tmp_path / source))
    assert to_install("datasets") in caught.value.hint


def test_lines_are_read_as_they_are_asked_for(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_text('{"a": 1}\n{', encoding="utf-8")
    rows = rows_of(path)
    assert next(rows)[1] == {"a": 1}
    with pytest.raises(InputError, match=":2: invalid JSON"):
        next(rows)


def test_images_of_tables_are_read(tmp_path: Path) -> None:
    data = base64.b64decode(png())
    rows = [{"id": "a", "prompt": "p", "answer": "x", "image": {"bytes": data, "path": "a.png"}}]
    several = [{"id": "a", "prompt": "p", "answer": "x", "images": [data, data]}]
    features = datasets.Dataset.from_list(rows).cast_column("image", datasets.Image(decode=False))
    features.save_to_disk(str(tmp_path / "saved"))
    features.to_parquet(str(tmp_path / "hub.parquet"))
    pyarrow.parquet.write_table(pyarrow.Table.from_pylist(several), tmp_path / "raw.parquet")
    for source, count in (("saved", 1), ("hub.parquet", 1), ("raw.parquet", 2)):
        (question,) = load_questions(tmp_path / source)
        assert question.images == (Picture.of(data),) * count
    pyarrow.parquet.write_table(pyarrow.Table.from_pylist([{**rows[0], "prompt": b"p"}]), tmp_path / "bytes.parquet")
    with pytest.raises(InputError, match='"prompt" holds bytes'):
        load_questions(tmp_path / "bytes.parquet")
