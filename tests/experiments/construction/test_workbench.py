"""The file of a build."""

import sqlite3
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

import pytest

from toolablate.experiments.construction.stages import Kept
from toolablate.experiments.construction.workbench import Decision, Workbench
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


def _said(item: str, reviewer: str, verdict: str = "accept") -> Decision:
    return Decision.model_validate({"item": item, "seen": "s", "reviewer": reviewer, "verdict": verdict, "reason": "r"})


def test_each_decision_is_read_once_and_what_others_decide_meanwhile_is_seen(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    read, own, given = list[str](), Decision.from_json, list[Decision]()
    path = tmp_path / "w.sqlite"
    with Workbench(path) as bench:
        bench.decide(_said(f"item {number}", "ann") for number in range(20))
    monkeypatch.setattr(Decision, "from_json", lambda text: read.append(text) or own(text))
    with Workbench(path, beside=True) as bench, Workbench(path, beside=True) as other:
        assert len(bench.decisions()) == len(read) == 20
        other.decide([_said("item 3", "ben", "reject"), _said("item 4", "ben")])
        read.clear()
        bench.decide([_said("item 3", "cleo")], lambda before: given.extend(before))
        # Of the item alone, with what the other has said of it.
        assert [(each.item, each.reviewer) for each in given] == [("item 3", "ann"), ("item 3", "ben")]
        assert [each.reviewer for each, _ in bench.history("item 3")] == ["ann", "ben", "cleo"]
        assert bench.decisions() == other.decisions()
        assert len(bench.decisions()) == 23
        with pytest.raises(InputError):
            bench.decide([_said("item 5", "ben")], _refuse)
        assert [each.reviewer for each, _ in bench.history("item 5")] == ["ann"]
        # Three that are new, by each of the two.
        assert len(read) == 6


def _refuse(before: Sequence[Decision]) -> None:
    raise InputError("no")


def test_of_a_person_s_words_in_one_file_the_last_counts_also_where_it_was_the_first(tmp_path: Path) -> None:
    words = [_said("a", "ann"), _said("a", "ann", "reject"), _said("a", "ann")]
    with Workbench(tmp_path / "w.sqlite") as bench:
        assert bench.decide(words) == 3
        assert bench.decisions()[-1].verdict == "accept"
        assert bench.decide(words[-1:]) == 0
