"""The file of a build."""

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from toolablate.experiments.construction.stages import Kept
from toolablate.experiments.construction.workbench import Workbench
from toolablate.traces.database import UNRELEASED_ID
from toolablate.traces.errors import InputError, StoreError
from toolablate.traces.store import Store


def test_a_workbench_has_one_writer_and_is_no_other_file(tmp_path: Path) -> None:
    path = tmp_path / "w.sqlite"
    with pytest.raises(InputError, match="no workbench"), Workbench(path, write=False):
        pass
    with Workbench(path) as bench:
        bench.keep_step("s", "a", "check", Kept({"question": "q"}))
        with pytest.raises(InputError, match="another process"), Workbench(path):
            pass
        with Workbench(path, write=False) as reading:
            assert reading.steps("check") == {"s": Kept({"question": "q"})}
            assert reading.canary() == ""
            assert bench.canary() == bench.canary() == reading.canary() != ""
    (tmp_path / "text").write_text("not a database, but long enough to be one" * 20, encoding="utf-8")
    with pytest.raises(InputError, match="not a workbench"), Workbench(tmp_path / "text"):
        pass
    assert [each.name for each in tmp_path.iterdir() if each.name.endswith("-driver")] == []


def test_a_workbench_of_an_earlier_form_is_refused_with_what_to_do(tmp_path: Path) -> None:
    path = tmp_path / "w.sqlite"
    with Workbench(path) as bench:
        bench.keep_step("s", "a", "check", Kept({"question": "q"}))
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript(
            f"DROP TABLE failure; PRAGMA application_id = {UNRELEASED_ID}; PRAGMA user_version = 1"
        )
    before = path.read_bytes()
    for write in (False, True):
        with pytest.raises(InputError, match="written by a development version") as refused:
            Workbench(path, write=write).__enter__()
        assert refused.value.code == "older_version"
        assert "name another `workbench`" in (refused.value.hint or "")
    assert path.read_bytes() == before


def test_a_workbench_is_taken_for_no_store(tmp_path: Path) -> None:
    with Workbench(tmp_path / "w.sqlite"):
        pass
    with pytest.raises(StoreError, match="is a workbench of `toolablate build`, not a store") as refused:
        Store(tmp_path / "w.sqlite")
    assert "build status" in refused.value.hint
