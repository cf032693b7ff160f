"""Splits of folders, and what else a name can mean."""

import gzip
import shutil
from pathlib import Path

import pytest
from tests.benchmarks.rows.forms import ROWS, as_lines, as_parquet, as_parquet_folder, as_saved, as_saved_split

from toolablate.benchmarks.rows.sources import rows_of
from toolablate.traces.errors import InputError


def test_splits_are_named_where_there_are_several_and_only_there(tmp_path: Path) -> None:
    train = as_saved_split(tmp_path, ROWS)
    base = train.removesuffix("#train")
    assert len(list(rows_of(f"{base}#test"))) == 1
    one, parts = as_saved(tmp_path, ROWS), as_parquet_folder(tmp_path, ROWS)
    cases = [
        (base, f"several splits; it has train, test\n  Name one of them: {base}#train"),
        (f"{base}#dev", f"no split 'dev'; it has train, test\n  Name one of them: {base}#train"),
        (f"{one}#dev", f"no split 'dev'; it has none\n  Leave it out: {one}"),
        (f"{parts}#dev", f"no split 'dev'; it has none\n  Leave it out: {parts}"),
    ]
    for source, said in cases:
        with pytest.raises(InputError) as caught:
            list(rows_of(source))
        assert str(caught.value) == f"{source}: {said}"


@pytest.mark.parametrize("names", [("train-00000-of-00001", "test-00000-of-00001"), ("train", "test")])
def test_files_of_several_splits_are_not_read_as_one(tmp_path: Path, names: tuple[str, str]) -> None:
    for name in names:
        Path(as_parquet(tmp_path, ROWS)).rename(tmp_path / f"{name}.parquet")
    with pytest.raises(InputError, match="several splits; it has test, train"):
        list(rows_of(tmp_path))
    assert [place.source for place, _ in rows_of(f"{tmp_path}#train")] == [f"{tmp_path / names[0]}.parquet"] * 2
    (tmp_path / f"{names[1]}.parquet").unlink()
    assert len(list(rows_of(tmp_path))) == 2


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        (
            "rows.jsonl.gz",
            gzip.compress(b"{}", mtime=0),
            "rows.jsonl.gz:1: compressed with gzip\n  Unpack the file first.",
        ),
        ("rows.jsonl", b"[\n{}]", "needs a file whose name ends in .json."),
        ("rows.jsonl", b"[{}]", "needs a file whose name ends in .json."),
        ("rows.json", b"[3]", "An array of JSON objects is expected."),
    ],
)
def test_what_to_do_with_another_form_is_said(tmp_path: Path, name: str, content: bytes, said: str) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(InputError) as caught:
        list(rows_of(tmp_path / name))
    assert str(caught.value).endswith(said)


def test_a_name_with_a_number_sign_is_a_name(tmp_path: Path) -> None:
    folder = tmp_path / "set#1"
    folder.mkdir()
    assert len(list(rows_of(as_lines(folder, ROWS)))) == 2
    assert len(list(rows_of(as_parquet_folder(folder, ROWS)))) == 2
    shutil.copytree(as_saved(folder, ROWS), tmp_path / "saved#1")
    assert len(list(rows_of(tmp_path / "saved#1"))) == 2
