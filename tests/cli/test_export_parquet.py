"""`toolablate export parquet`."""

from pathlib import Path

import pytest
from tests.cli.test_export_jsonl import called, refused, store

from toolablate.formats.tables import TABLES

pyarrow = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")

__all__ = ["store"]


def test_it_writes_a_folder_of_tables_and_replaces_its_own(store: Path, tmp_path: Path) -> None:
    folder = tmp_path / "new" / "tables"
    result = called("parquet", store, "-o", folder)
    assert result.exit_code == 0, result.output
    assert "4 trials, " in result.stderr
    assert {path.name for path in folder.iterdir()} == {f"{table.name}.parquet" for table in TABLES}
    assert called("parquet", store, "-o", folder, "--condition", "none", "--no-attributions").exit_code == 0
    trials = pq.read_table(folder / "trials.parquet").to_pylist()
    assert {each["condition"] for each in trials} == {"none"}
    assert trials[0]["scorer"] == "choice"
    assert pq.read_table(folder / "attributions.parquet").num_rows == 0
    assert [path.name for path in folder.parent.iterdir()] == ["tables"]


def test_what_is_not_its_own_is_left_alone(store: Path, tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("mine", encoding="utf-8")
    assert "holds other things, such as 'mine.txt'" in refused("parquet", store, "-o", tmp_path)
    assert "is a file" in refused("parquet", store, "-o", store)
    assert "is a file" in refused("parquet", store, "-o", tmp_path / "mine.txt")
    assert [path.name for path in tmp_path.iterdir()] == ["mine.txt"]


def test_a_table_of_others_that_has_the_name_of_one_of_these_is_no_earlier_export(store: Path, tmp_path: Path) -> None:
    theirs = tmp_path / "questions.parquet"
    pq.write_table(pyarrow.table({"prompt": ["mine"]}), theirs)
    assert "holds other things, such as 'questions.parquet'" in refused("parquet", store, "-o", tmp_path)
    assert pq.read_table(theirs).to_pylist() == [{"prompt": "mine"}]
    theirs.write_bytes(b"no table")
    assert "holds other things" in refused("parquet", store, "-o", tmp_path)
    assert theirs.read_bytes() == b"no table"


def test_scores_of_another_scorer_count_where_it_is_named(store: Path, tmp_path: Path) -> None:
    assert called("parquet", store, "-o", tmp_path, "--scorer", "gpt-x", "--no-attributions").exit_code == 0
    values = {each["value"] for each in pq.read_table(tmp_path / "trials.parquet").to_pylist()}
    assert values == {None, 0.5}
    assert "have scores by choice, judge" in refused("parquet", store, "-o", tmp_path, "--scorer", "other")


def test_a_store_that_is_none_leaves_no_folder(tmp_path: Path) -> None:
    result = called("parquet", tmp_path / "absent.sqlite", "-o", tmp_path / "tables")
    assert "absent.sqlite" in str(result.exception)
    assert list(tmp_path.iterdir()) == []
